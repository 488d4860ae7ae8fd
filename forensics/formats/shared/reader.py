"""What must a reader offer? A name, a sniff over the first look at the evidence, and a walk over its records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from forensics.core.jsonvalue import decode
from forensics.formats.shared.document import are_lines
from forensics.formats.shared.fields import fields_of, items_of
from forensics.formats.shared.lines import lines, plain_start

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.source import Source

SQLITE_MAGIC = b"SQLite format 3\x00"
_FIRST_LINES = 8
HEAD_BYTES = 1 << 16
_LEFT_OVER = 16  # bytes of blank lines after an only line
_BLANKS = 64  # bytes in which a text begins

_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_array = msgspec.json.Decoder(list[msgspec.Raw]).decode

Fields = dict[str, msgspec.Raw]


class Look(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """A first look at the evidence: its content decides what it is, never its name.

    `head` is its first 64 KiB. `document` holds the fields of a whole-file JSON object, `array` the items of a
    whole-file JSON array; `lines` the fields of the first JSON objects of a line format, `line_arrays` its first lines
    that are JSON arrays, and `from_the_first` says that the file begins with the first of these objects. A document
    that breaks off or is damaged is what stands before its first damaged record. Values are still JSON text.
    """

    head: bytes
    document: Fields | None = None
    array: list[msgspec.Raw] | None = None
    lines: tuple[Fields, ...] = ()
    line_arrays: tuple[list[msgspec.Raw], ...] = ()
    from_the_first: bool = False

    @property
    def is_sqlite(self) -> bool:
        """Whether the file is a SQLite database."""
        return self.head.startswith(SQLITE_MAGIC)

    def members(self) -> Fields:
        """The fields of a whole-file object; empty for anything else."""
        return self.document or {}

    def items(self) -> list[Fields]:
        """The fields of the first items of a whole-file array."""
        return [fields_of(raw) for raw in (self.array or [])[:_FIRST_LINES]]


class Reader(Protocol):
    """A module of this package that reads one format.

    `NAME` is its name for `--input-format`; `ABOUT`, `CARRIES`, `LACKS` and `RERUN` (what a rerun from it
    would miss) are lines for `forensics formats`; `RECORDS_CALLS` says that the
    format always records calls as such; `SPANS_ARE_COMPLETE` that it writes a span for every turn and execution.
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
    """Take the first look. What is no JSON leaves the parts None."""
    head = bytes(source.data[:HEAD_BYTES])
    if head.startswith(SQLITE_MAGIC):
        return Look(head)
    body = source.data[plain_start(source) :]
    document = _whole(_object, body)
    array = None if document is not None else _whole(_array, body)
    if document is None and array is None and not are_lines(source):
        document, array = _slowly(body)
    if document is not None or array is not None:
        return Look(head, document, array, _only_line(source, document))
    return Look(head, None, None, *_first_lines(source))


def _only_line(source: Source, document: Fields | None) -> tuple[Fields, ...]:
    """A document on one line is also the only line of a line format (a log that ended after its first event)."""
    end = source.find(b"\n", 0)
    after = source.data[end:] if end >= 0 else source.data[:0]
    is_one = len(after) <= _LEFT_OVER and not bytes(after).strip()
    return () if document is None or not is_one else (document,)


def _slowly(body: memoryview) -> tuple[Fields | None, list[msgspec.Raw] | None]:
    """A second look with the forgiving reader: a document with a lone surrogate or a NaN is still that document, and
    one that breaks off is what stands before its first damaged record.
    """
    start = bytes(body[:_BLANKS]).lstrip()[:1]
    text: memoryview | bytes = body
    if start in (b"{", b"[") and decode(body).error is not None:
        from forensics.formats.shared.mending import mend

        mended = mend(body)
        text = b"" if mended is None else mended.text
    document = fields_of(text) if start == b"{" else {}
    array = items_of(text) if start == b"[" else []
    return document or None, array or None


def _whole(decode: Any, data: memoryview) -> Any:
    try:
        return decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _first_lines(source: Source) -> tuple[tuple[Fields, ...], tuple[list[msgspec.Raw], ...], bool]:
    objects: list[Fields] = []
    arrays: list[list[msgspec.Raw]] = []
    from_the_first = False
    for seen, line in enumerate(lines(source)):
        if seen >= _FIRST_LINES * 4 or len(objects) + len(arrays) >= _FIRST_LINES:
            break
        first = bytes(line.data[:1])
        if first == b"{" and (found := fields_of(line.data)):
            objects.append(found)
            from_the_first = from_the_first or line.offset == 0
        elif first == b"[" and (items := items_of(line.data)):
            arrays.append(items)
    return tuple(objects), tuple(arrays), from_the_first
