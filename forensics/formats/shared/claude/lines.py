"""Which records does one line of a Claude Code session hold? One, as a rule; two where a crash glued them together.

A line is read once, each level still as JSON text; only a text that can be read in two ways is read again with care.
NUL bytes around a record (a power cut between two appends) and records run together are told apart from damage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import Fault, decode
from forensics.core.trace import Payload
from forensics.formats.shared.fields import (
    Fields,
    fields_of,
    is_text,
    is_true,
    items_of,
    present,
    says_each_key_once,
    text,
)
from forensics.formats.shared.glued import covers, glued

if TYPE_CHECKING:
    from collections.abc import Iterator

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_BLANK = b" \t\r"
_NOTHING: Fields = {}


class Record(msgspec.Struct, frozen=True, gc=False):
    """One record: its fields, those of its `message`, and the blocks of the message's content (text: none).

    `kind`, `uuid`, `parent` and `aside` (of a side chain) are texts of its fields that are asked for often; `kinds` are
    the types of the blocks. `offset` and `length` are bytes in the line; `faults` are what it says in two ways.
    """

    kind: str
    uuid: str
    parent: str
    aside: bool
    fields: Fields
    message: Fields
    blocks: tuple[tuple[Payload, Fields], ...]
    kinds: tuple[str, ...]
    offset: int
    length: int
    faults: tuple[Fault, ...] = ()

    @property
    def content(self) -> Payload | None:
        """The content of the message as it stands: a text or a list of blocks."""
        return present(self.message, "content")


class Reading(msgspec.Struct, frozen=True, gc=False):
    """What a line gave: its records, and why the rest of it is none (""; nothing is left over). `nul` says that NUL
    bytes stand in it; `glued` that it held more than one record.
    """

    records: tuple[Record, ...]
    error: str = ""
    nul: bool = False
    glued: bool = False


def read_line(data: memoryview) -> Reading:
    """The records of a line. Never raises."""
    one = read_record(data)
    if isinstance(one, Record):
        return Reading((one,))
    text = bytes(data)
    if b"\x00" in text:
        return _around_nul(data, text, one)
    found = tuple(_glued(data, text))
    whole = covers([(record.offset, record.length) for record in found], text)
    return Reading(found, "" if whole else one, glued=len(found) > 1)


def read_record(data: memoryview | Payload, offset: int = 0) -> Record | str:
    """One JSON object as a record, or why it is none."""
    told = bytes(data)
    length = len(told)
    try:
        fields = _fields(data)
    except _REFUSED:
        return _read_slowly(data, offset, length)
    message, blocks, plain = _open(fields)
    if plain and says_each_key_once(fields, told) and is_utf8(told):
        return _record(fields, message, blocks, offset=offset, length=length)
    return _read_slowly(data, offset, length)


def _open(fields: Fields) -> tuple[Fields, tuple[tuple[Payload, Fields], ...], bool]:
    """The message of a record and its blocks, and whether no key in them stands twice."""
    raw = fields.get("message")
    message = fields_of(raw) if raw is not None and bytes(memoryview(raw)[:1]) == b"{" else _NOTHING
    plain = raw is None or not message or says_each_key_once(message, bytes(raw))
    content = message.get("content")
    if content is None or bytes(memoryview(content)[:1]) != b"[":
        return message, (), plain
    blocks = tuple((item, _NOTHING if is_text(item) else fields_of(item)) for item in items_of(content))
    once = all(not inner or says_each_key_once(inner, bytes(item)) for item, inner in blocks)
    return message, blocks, plain and once


def is_utf8(raw: bytes) -> bool:
    """Whether a text that was decoded is UTF-8: the decoder looks at the escapes in what it passes over, and refuses
    lone surrogates, but not at its bytes.
    """
    if raw.isascii():
        return True
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _read_slowly(data: memoryview | Payload, offset: int, length: int) -> Record | str:
    decoded = decode(data)
    if decoded.error is not None:
        return decoded.error
    if not isinstance(decoded.value, dict):
        return "a JSON value that is no object"
    fields = fields_of(data)
    message, blocks, _ = _open(fields)
    return _record(fields, message, blocks, offset=offset, length=length, faults=decoded.faults)


def _record(
    fields: Fields,
    message: Fields,
    blocks: tuple[tuple[Payload, Fields], ...],
    *,
    offset: int,
    length: int,
    faults: tuple[Fault, ...] = (),
) -> Record:
    return Record(
        kind=text(fields, "type"),
        uuid=text(fields, "uuid"),
        parent=text(fields, "parentUuid"),
        aside=is_true(fields, "isSidechain"),
        fields=fields,
        message=message,
        blocks=blocks,
        kinds=tuple(text(inner, "type") for _, inner in blocks),
        offset=offset,
        length=length,
        faults=faults,
    )


def _around_nul(data: memoryview, text: bytes, why: str) -> Reading:
    """A record between NUL bytes is recovered; a run of NUL bytes alone is storage damage."""
    start = len(text) - len(text.lstrip(b"\x00" + _BLANK))
    inner = text.strip(b"\x00" + _BLANK)
    if not inner:
        return Reading((), f"{text.count(0)} NUL bytes and no record", nul=True)
    one = read_record(data[start : start + len(inner)], start)
    found = (one,) if isinstance(one, Record) else ()
    return Reading(found, f"{text.count(0)} NUL bytes" if found else why, nul=True)


def _glued(data: memoryview, text: bytes) -> Iterator[Record]:
    """The records that stand one after another in a line, up to the first that is none."""
    for offset, size in glued(text):
        one = read_record(data[offset : offset + size], offset)
        if not isinstance(one, Record):
            return
        yield one
