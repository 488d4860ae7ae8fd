"""Which files make a bundle, and what does its manifest say of them? Given the outputs, the manifest is made here."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from forensics.custody.envelope import sign
from forensics.custody.events import digests, head, listing
from forensics.custody.statement import (
    EVENTS,
    MANIFEST,
    Custody,
    Digests,
    Events,
    Output,
    Predicate,
    Statement,
    Subject,
    encode,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def with_events(outputs: Mapping[str, bytes], timeline: str | None) -> dict[str, bytes]:
    """The outputs and, where one of them is a timeline (one event a line), the file of its events' digests."""
    if timeline is None:
        return dict(outputs)
    return {**outputs, EVENTS: listing(digests(outputs[timeline]))}


def manifest(outputs: Mapping[str, bytes], custody: Custody, timeline: str | None, key: Path | None) -> bytes:
    """The manifest over these outputs: a Statement or, where a private key is given, its envelope.

    Raises ConfigurationError for a key that can't be used.
    """
    written = tuple(
        Output(name=name, sha256=hashlib.sha256(outputs[name]).hexdigest(), size=len(outputs[name]))
        for name in sorted(outputs)
    )
    predicate = Predicate(
        **{name: getattr(custody, name) for name in Custody.__struct_fields__},
        outputs=written,
        events=None if timeline is None else _events(outputs[timeline], timeline),
    )
    subject = tuple(Subject(one.name, Digests(one.sha256)) for one in written)
    statement = encode(Statement(subject=subject, predicate=predicate))
    return statement if key is None else sign(statement, key)


def sealed(
    outputs: Mapping[str, bytes], custody: Custody, *, timeline: str | None = None, key: Path | None = None
) -> dict[str, bytes]:
    """Every file of the bundle by its name, the manifest last."""
    files = with_events(outputs, timeline)
    return {**files, MANIFEST: manifest(files, custody, timeline, key)}


def _events(timeline: bytes, name: str) -> Events:
    of = digests(timeline)
    return Events(file=name, digests=EVENTS, count=len(of), head=head(of))
