"""Which spans are written as OTLP's JSON says, without a blank, and in one way only?

Such a span is decoded with every member that the standard has, and written again. No object can be written shorter than
so: a blank, a member that stands twice or that the standard does not have, one that is spelled with escapes make it
longer. So a span of that length is nothing but what was decoded; what stands in it as it was is still to be looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

if TYPE_CHECKING:
    from collections.abc import Sequence

Part = msgspec.Raw | UnsetType
Holder = dict[str, msgspec.Raw]
"""What a value of OTLP is written as: one member, which says of what kind it is."""


class ToldAttribute(msgspec.Struct, gc=False):
    """An attribute and what holds its value."""

    key: str
    value: Holder


class ToldSpan(msgspec.Struct, rename="camel", gc=False, kw_only=True):
    """A span with every member that the standard has."""

    trace_id: str
    span_id: str
    parent_span_id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    start_time_unix_nano: str
    end_time_unix_nano: str
    attributes: list[ToldAttribute] | UnsetType = UNSET
    kind: int | str | UnsetType = UNSET
    flags: int | str | UnsetType = UNSET
    status: Part = UNSET
    events: Part = UNSET
    links: Part = UNSET
    trace_state: Part = UNSET
    dropped_attributes_count: Part = UNSET
    dropped_events_count: Part = UNSET
    dropped_links_count: Part = UNSET


_told = msgspec.json.Decoder(ToldSpan).decode
read_told = _told
"""Reads a span that is written so, which is known already."""
_write = msgspec.json.Encoder().encode
_REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def told_one_way(spans: Sequence[msgspec.Raw]) -> list[ToldSpan | None]:
    """These spans, of which there are some; None for one that is written otherwise."""
    try:
        told: list[ToldSpan | None] = list(map(_told, spans))
    except _REFUSED:
        return [_told_alone(span) for span in spans]
    if _is_so_long(told, sum(map(len, spans)) + len(b",") * (len(spans) - 1)):
        return told
    return [_told_alone(span) for span in spans]


def _told_alone(span: msgspec.Raw) -> ToldSpan | None:
    try:
        told = _told(span)
    except _REFUSED:
        return None
    return told if _is_so_long([told], len(span)) else None


def _is_so_long(told: list[ToldSpan | None], length: int) -> bool:
    """Whether spans that are written again, with a comma between them, are a text of UTF-8 that has this length."""
    text = _write(told)
    return len(text) == length + len(b"[]") and (text.isascii() or _is_utf8(text))


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
