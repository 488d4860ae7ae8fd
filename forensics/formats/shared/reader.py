"""What must a reader offer? A name, a sniff over the first look at the evidence, and a walk over its records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from forensics.formats.shared.fields import fields_of, items_of
from forensics.formats.shared.lines import lines
from forensics.formats.shared.mending import mend

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.source import Source

SQLITE_MAGIC = b"SQLite format 3\x00"
_FIRST_LINES = 8
HEAD_BYTES = 1 << 16
_LEFT_OVER = 16  # bytes of blank lines after an only line
_FRAGMENT_BYTES = 1 << 22

_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_array = msgspec.json.Decoder(list[msgspec.Raw]).decode

Fields = dict[str, msgspec.Raw]


class Look(msgspec.Struct, frozen=True):
    """A first look at the evidence: its content decides what it is, never its name.

    `head` is its first 64 KiB. `document` holds the fields of a whole-file JSON object, `array` the items of a
    whole-file JSON array; `lines` the fields of the first JSON objects of a line format, `line_arrays` its first lines
    that are JSON arrays. `fragment` and `fragment_array` are what a whole-file object or array still says that breaks
    off or is damaged. Values are still JSON text.
    """

    head: bytes
    document: Fields | None = None
    array: list[msgspec.Raw] | None = None
    lines: tuple[Fields, ...] = ()
    line_arrays: tuple[list[msgspec.Raw], ...] = ()
    fragment: Fields | None = None
    fragment_array: list[msgspec.Raw] | None = None

    @property
    def is_sqlite(self) -> bool:
        """Whether the file is a SQLite database."""
        return self.head.startswith(SQLITE_MAGIC)

    def items(self) -> list[Fields]:
        """The fields of the first items of a whole-file array."""
        return [fields_of(raw) for raw in (self.array or [])[:_FIRST_LINES]]

    def members(self) -> Fields:
        """The fields of a whole-file object, damaged or not; empty for anything else."""
        return self.document or self.fragment or {}

    def records(self) -> list[Fields]:
        """The fields of the first items of a whole-file array, damaged or not."""
        return [fields_of(raw) for raw in (self.array or self.fragment_array or [])[:_FIRST_LINES]]


class Reader(Protocol):
    """A module of this package that reads one format.

    `NAME` is its name for `--input-format`; `ABOUT`, `CARRIES`, `LACKS` and `RERUN` (what a rerun from it
    would miss) are lines for `forensics formats`; `RECORDS_CALLS` says that the
    format always records calls as such; `SPANS_ARE_COMPLETE` that it writes a span for every turn and execution.
    `WHOLE_ONLY`, where it is there and true, says that the reader reads whole documents: of a damaged one it is given
    the readable part (forensics.formats.shared.broken), and others read that themselves.
    """

    NAME: str
    ABOUT: str
    CARRIES: str
    LACKS: str
    RERUN: str
    RECORDS_CALLS: bool
    SPANS_ARE_COMPLETE: bool

    def sniff(self, look: Look) -> int:
        """0 (not this format) to 100 (certain)."""

    def read(self, source: Source, build: EvidenceBuilder) -> None:
        """Walk the records and tell the builder. Raises EvidenceError where nothing can be read."""


def look_at(source: Source) -> Look:
    """Take the first look. Never raises: what is no JSON leaves the parts None."""
    head = bytes(source.data[:HEAD_BYTES])
    if head.startswith(SQLITE_MAGIC):
        return Look(head)
    body = source.data[3:] if head.startswith(b"\xef\xbb\xbf") else source.data
    document = _whole(_object, body)
    array = None if document is not None else _whole(_array, body)
    if document is not None or array is not None:
        return Look(head, document, array, _only_line(source, document))
    objects, arrays = _first_lines(source)
    if not objects and not arrays:
        return _look_slowly(head, body)
    return Look(head, None, None, tuple(objects), tuple(arrays))


def _only_line(source: Source, document: Fields | None) -> tuple[Fields, ...]:
    """A document on one line is also the only line of a line format (a log that ended after its first event)."""
    end = source.find(b"\n", 0)
    after = source.data[end:] if end >= 0 else source.data[:0]
    is_one = len(after) <= _LEFT_OVER and not bytes(after).strip()
    return () if document is None or not is_one else (document,)


def _look_slowly(head: bytes, body: memoryview) -> Look:
    """A second look with the forgiving reader: a document with a lone surrogate or a NaN is still that document, and
    one that breaks off says what it is before it does.
    """
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start not in (b"{", b"["):
        return Look(head)
    document = fields_of(body) if start == b"{" else {}
    array = items_of(body) if start == b"[" else []
    if document or array:
        return Look(head, document or None, array or None)
    mended = mend(body[:_FRAGMENT_BYTES])
    if mended is None:
        return Look(head)
    return Look(head, fragment=fields_of(mended.text) or None, fragment_array=items_of(mended.text) or None)


def _whole(decode: Any, data: memoryview) -> Any:
    try:
        return decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _first_lines(source: Source) -> tuple[list[Fields], list[list[msgspec.Raw]]]:
    objects: list[Fields] = []
    arrays: list[list[msgspec.Raw]] = []
    for seen, line in enumerate(lines(source)):
        if seen >= _FIRST_LINES * 4 or len(objects) + len(arrays) >= _FIRST_LINES:
            break
        first = bytes(line.data[:1])
        if first == b"{" and (found := fields_of(line.data)):
            objects.append(found)
        elif first == b"[" and (items := items_of(line.data)):
            arrays.append(items)
    return objects, arrays
