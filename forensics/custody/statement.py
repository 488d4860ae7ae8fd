"""What does a bundle's manifest say? An in-toto Statement whose predicate tells inputs, program and outputs.

https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md; the fields of custody are those of NIST SP 800-86
and ISO/IEC 27037 (what was examined, with what, when, and its digests before and after).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core import jsonvalue
from forensics.core.differences import ABSENT, differences
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:forensics:bundle:v1"
MANIFEST = "manifest.intoto.json"
EVENTS = "timeline.sha256"


class Digests(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An in-toto DigestSet of one digest, in hexadecimal digits."""

    sha256: str


class Subject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An in-toto ResourceDescriptor: a file of the bundle, by its path below the folder."""

    name: str
    digest: Digests


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """One evidence: its digest and size as it was read, and once more after everything was written (None: it can't be
    read twice, as standard input).
    """

    name: str
    sha256: str
    size: int
    sha256_after: str | None
    size_after: int | None


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """One file of the bundle. `size` is in bytes."""

    name: str
    sha256: str
    size: int


class Events(msgspec.Struct, frozen=True, kw_only=True):
    """The events of the timeline: their file, the file of their digests, how many, and the head of their chain."""

    file: str
    digests: str
    count: int
    head: str


class Custody(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an examination: the program, how it was called, when (UTC, by the clock of the machine that
    wrote it), by what it judged, what it counted, and what it read.
    """

    tool: dict[str, str]
    command: tuple[str, ...]
    started: str
    finished: str
    policy: dict[str, str]
    rules: dict[str, str]
    counts: dict[str, int]
    inputs: tuple[Input, ...]


class Predicate(Custody, frozen=True, kw_only=True):
    """The manifest proper: the examination, and the files that came of it."""

    outputs: tuple[Output, ...]
    events: Events | None = None


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """An in-toto Statement v1 about the files of a bundle."""

    type: str = msgspec.field(name="_type", default=STATEMENT_TYPE)
    subject: tuple[Subject, ...]
    predicate_type: str = msgspec.field(name="predicateType", default=PREDICATE_TYPE)
    predicate: Predicate


def encode(statement: Statement) -> bytes:
    """The statement as JSON, members in the order of the types, with a line feed at its end."""
    return msgspec.json.format(msgspec.json.encode(statement), indent=1) + b"\n"


def oddities(data: bytes, read: Any) -> Iterator[str]:
    """In what a JSON text is not what this program writes for what was `read` out of it: members that stand twice, of
    which another reader may take the first, and members that no type here has, or that are missing.

    A later type of manifest has another predicate type, so that what is unknown in this one was put there.
    """
    decoded = jsonvalue.decode(data)
    yield from (fault.message for fault in decoded.faults)
    meant = jsonvalue.decode(msgspec.json.encode(read)).value
    one = next(differences(meant, decoded.value), None)
    if one is not None:
        what = "lacks a member that every manifest has" if one.right is ABSENT else "holds what no manifest holds"
        yield f"it {what}, at {one_line(one.pointer, 200)}"


def spellings(data: bytes, read: Statement) -> Iterator[str]:
    """In what the bytes of a statement are not those that this program writes for it, though they say the same."""
    if data != encode(read):
        yield "its bytes are not those that this program writes for what it says"
    names = [one.name for one in read.predicate.outputs]
    if names != sorted(names) or names != [one.name for one in read.subject]:
        yield "its files stand otherwise than this program lists them: once as outputs, once as subjects, by name"
    if read.predicate.events is None and EVENTS in names:
        yield f"it lists {EVENTS}, and holds no head of its events"


def decode(data: bytes) -> Statement:
    """The statement out of its JSON. Raises ValueError for anything that is not a bundle's."""
    statement = msgspec.json.decode(data, type=Statement)
    if statement.type != STATEMENT_TYPE or statement.predicate_type != PREDICATE_TYPE:
        message = f"it is a {statement.type[:80]!r} of {statement.predicate_type[:80]!r}, not a bundle's"
        raise ValueError(message)
    if {(one.name, one.digest.sha256) for one in statement.subject} != {
        (one.name, one.sha256) for one in statement.predicate.outputs
    }:
        message = "its subjects are not its outputs"
        raise ValueError(message)
    return statement
