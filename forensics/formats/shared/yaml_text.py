"""What does a YAML text say, as JSON, and where does each of its records stand?

The text is read event by event and written as JSON: nothing is constructed, no tag is obeyed, a plain scalar means what
JSON says it means, and an alias is written out within a limit. A key that stands twice stands twice in the JSON too, so
that whoever reads it next will say so. Where the text breaks off or is damaged, the records before that are kept.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from typing import TYPE_CHECKING, Protocol, cast

import msgspec

from forensics.core.limits import exceeded, limits
from forensics.core.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_RECORD_DEPTH = 2  # a record is an item of a list that is a member of the document, or a member of the document

_REFUSED = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), "null"),
    **dict.fromkeys(("true", "True", "TRUE"), "true"),
    **dict.fromkeys(("false", "False", "FALSE"), "false"),
}
_CLOSED = ("{", "[")  # such a text says where it ends; any other may end anywhere, but for the end of its last line
_BOM = b"\xef\xbb\xbf"
_BINARY = "tag:yaml.org,2002:binary"
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?)?")  # 12e4 is a text: ids look like that


class Extent(msgspec.Struct, frozen=True):
    """Where something stands in the bytes of the text; `line` counts newlines, from 1."""

    line: int
    offset: int
    length: int


class YamlText(msgspec.Struct, frozen=True):
    """A YAML document as JSON. `records` says where each record stands, by its JSON Pointer; `error` says why what
    stands at `unread` could not be read or may not be whole ("" and None: all of it was).
    """

    body: msgspec.Raw
    records: dict[str, Extent]
    error: str = ""
    unread: Extent | None = None


class _Mark(Protocol):
    """A place in the text: how many characters stand before it."""

    index: int


class _Event(Protocol):
    """A parser event; `value` and `style` only of a scalar, `anchor` and `tag` of a node."""

    start_mark: _Mark
    end_mark: _Mark
    value: str
    style: str | None
    anchor: str | None
    tag: str | None


class _Open(msgspec.Struct):
    """A mapping or list that is being written: what closes it, how many keys and values or items it has, where its text
    begins, and the name by which an alias calls it ("": none).
    """

    close: str
    count: int = 0
    begin: int = 0
    anchor: str = ""
    key: str = ""

    @property
    def is_mapping(self) -> bool:
        """Whether keys stand in it."""
        return self.close == "}"

    @property
    def here(self) -> str:
        """The JSON Pointer from it to the node that is written next (RFC 6901)."""
        step = escape(self.key) if self.is_mapping else self.count
        return f"/{step}"


def read_yaml(data: bytes | memoryview) -> YamlText:
    """A YAML text of one document; a second one is an error.

    Raises LimitExceededError where it exceeds `nodes`, `aliases`, `nesting` or, its aliases written out, `unpacked`
    (forensics.core.limits); all else that is wrong is said in `error`.
    """
    text, fault = _readable(bytes(data))
    writer = _Writer()
    whole, error, unread = None, "", 0
    try:
        for event in _events(text):
            writer.take(event)
    except _DamagedError as damage:
        whole, error, unread = writer.whole, str(damage), min(writer.reach, damage.index)
    else:
        if text and not text.endswith("\n") and text.lstrip()[:1] not in _CLOSED:
            error, unread = "its last line has no end", writer.begun
    if fault:  # the text was cut, so the record in which it ends only looks whole
        whole, error, unread = writer.before, fault, writer.begun
    at = _Bytes(data, text)
    records = {pointer: at.extent(begin, end) for pointer, (begin, end) in writer.extents.items()}
    return YamlText(writer.json(whole), records, error, at.rest(unread) if error else None)


class _Bytes:
    """Turns characters of the text into bytes of the evidence; cheap where they are asked for in ascending order."""

    def __init__(self, data: bytes | memoryview, text: str) -> None:
        self.data = data
        self.text = text
        self.known = (0, len(_BOM) if bytes(data[: len(_BOM)]) == _BOM else 0, 1)

    def extent(self, begin: int, end: int) -> Extent:
        """Where the characters from `begin` to `end` stand, without the white space behind them."""
        offset, line = self._place(begin)
        return Extent(line, offset, len(self.text[begin:end].rstrip().encode()))

    def rest(self, begin: int) -> Extent:
        """Where all that stands from a character on stands."""
        offset, line = self._place(begin)
        return Extent(line, offset, len(self.data) - offset)

    def _place(self, index: int) -> tuple[int, int]:
        known, offset, line = self.known
        between = self.text[min(known, index) : max(known, index)]
        step = 1 if index >= known else -1
        self.known = (index, offset + step * len(between.encode()), line + step * between.count("\n"))
        return self.known[1:]


def _readable(data: bytes) -> tuple[str, str]:
    """The text up to the first character that no YAML text may hold, and what is wrong there ("": nothing)."""
    fault = ""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text, fault = data[: error.start].decode("utf-8-sig"), f"byte {error.start} is not UTF-8"
    refused = _REFUSED.search(text)
    if refused is None:
        return text, fault
    return text[: refused.start()], f"U+{ord(refused[0]):04X} may not stand in a YAML text"


class _DamagedError(Exception):
    """The text is no YAML from this character on."""

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index


def _events(text: str) -> Iterator[_Event]:
    import yaml  # only who reads YAML pays for it

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from cast("Iterator[_Event]", yaml.parse(text, Loader=loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise _DamagedError(str(what), mark.index if mark is not None else 0) from None


def _quoted(event: _Event) -> str:
    """The text of a scalar; what is tagged as binary is decoded where it is text, and stays base64 where it is not."""
    if event.tag != _BINARY:
        return event.value
    try:
        return b64decode(event.value).decode()
    except ValueError:
        return event.value


def _plain(value: str) -> str:
    """A scalar without quotes, as JSON: a date, `yes` and `0x1f` are texts."""
    return value if _NUMBER.fullmatch(value) else _WORDS.get(value) or json.dumps(value)


class _Writer:
    """Writes JSON out of parser events; `extents` says at which characters a record begins and ends."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.extents: dict[str, tuple[int, int]] = {}
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[int, int]] = {}
        self.most = limits()
        self.nodes = self.aliases = 0  # events, and those among them that name an earlier value
        self.written = 0
        self.whole = (0, "")  # the parts of `out` up to the end of the last whole record, and what closes the document
        self.before = (0, "")  # the same for the record before the one that began last
        self.begun = 0  # the character at which that one began
        self.reach = 0  # and where it ended, once it has

    def take(self, event: _Event) -> None:
        """Write one event."""
        self.nodes += 1
        if self.nodes > self.most.nodes:
            raise exceeded("nodes", f"the YAML text has at least {self.nodes} values")
        kind = type(event).__name__
        if kind in _TAKES:
            _TAKES[kind](self, event)

    def begin_document(self, event: _Event) -> None:
        """A document begins: the only one."""
        if self.out:
            raise _DamagedError("a second document", event.start_mark.index)

    def scalar(self, event: _Event) -> None:
        """A key or a value."""
        at_key = self._begin(event)
        self._write(json.dumps(_quoted(event)) if at_key or event.style or event.tag else _plain(event.value))
        if at_key:
            self.open[-1].key = event.value
        self._ended(len(self.out) - 1, event.anchor or "", event)

    def begin_list(self, event: _Event) -> None:
        """A list begins."""
        self._nest(event, "[", "]")

    def begin_mapping(self, event: _Event) -> None:
        """A mapping begins."""
        self._nest(event, "{", "}")

    def end(self, event: _Event) -> None:
        """The innermost list or mapping ends."""
        done = self.open.pop()
        self._write(done.close)
        self._ended(done.begin, done.anchor, event)

    def alias(self, event: _Event) -> None:
        """What stands elsewhere, written here again."""
        self.aliases += 1
        if self.aliases > self.most.aliases:
            raise exceeded("aliases", f"the YAML text has at least {self.aliases} aliases")
        found = self.anchors.get(event.anchor or "")
        if found is None:
            raise _DamagedError(f"*{event.anchor} names nothing that was whole before it", event.start_mark.index)
        told = "".join(self.out[slice(*found)])
        if self._begin(event):
            if not told.startswith('"'):
                raise _DamagedError("a key that is no text", event.start_mark.index)
            self.open[-1].key = json.loads(told)
        self._write(told)
        self._ended(len(self.out) - 1, "", event)

    def json(self, whole: tuple[int, str] | None) -> msgspec.Raw:
        """What was written, as far as it is whole (None: all of it)."""
        parts, closers = whole or (len(self.out), "")
        return msgspec.Raw(("".join(self.out[:parts]) + closers).encode() or b"null")

    def _nest(self, event: _Event, opening: str, close: str) -> None:
        if len(self.open) >= self.most.nesting:
            raise exceeded("nesting", f"the YAML text nests {len(self.open) + 1} deep")
        if self._begin(event):
            raise _DamagedError("a key that is no text", event.start_mark.index)
        self.anchors.pop(event.anchor or "", None)
        self.open.append(_Open(close, begin=len(self.out), anchor=event.anchor or ""))
        self._write(opening)

    def _begin(self, event: _Event) -> bool:
        """Write what stands between the last node and this one, and note where a record begins; returns whether this
        node is a key.
        """
        if not self.open:
            return False
        inside = self.open[-1]
        is_value = inside.is_mapping and inside.count % 2 == 1
        if inside.count:
            self._write(":" if is_value else ",")
        is_key = inside.is_mapping and not is_value
        if not is_key and len(self.open) <= _RECORD_DEPTH:
            self.extents[self._pointer()] = (event.start_mark.index, event.end_mark.index)
            self.before, self.begun, self.reach = self.whole, event.start_mark.index, event.start_mark.index
        return is_key

    def _ended(self, begin: int, anchor: str, event: _Event) -> None:
        """A node is whole: it may be named, and is counted in what holds it."""
        if anchor:
            self.anchors[anchor] = (begin, len(self.out))
        if not self.open:
            return
        inside = self.open[-1]
        is_key = inside.is_mapping and inside.count % 2 == 0
        if not is_key and len(self.open) <= _RECORD_DEPTH:
            pointer = self._pointer()
            self.extents[pointer] = (self.extents[pointer][0], event.end_mark.index)
            self.whole = (len(self.out), "".join(one.close for one in reversed(self.open)))
            self.reach = event.end_mark.index
        inside.count += 1

    def _pointer(self) -> str:
        return "".join(one.here for one in self.open)

    def _write(self, told: str) -> None:
        self.written += len(told)
        if self.written > self.most.unpacked:
            raise exceeded("unpacked", f"the YAML text says at least {self.written} bytes, its aliases written out")
        self.out.append(told)


_TAKES: dict[str, Callable[[_Writer, _Event], None]] = {
    "DocumentStartEvent": _Writer.begin_document,
    "ScalarEvent": _Writer.scalar,
    "SequenceStartEvent": _Writer.begin_list,
    "SequenceEndEvent": _Writer.end,
    "MappingStartEvent": _Writer.begin_mapping,
    "MappingEndEvent": _Writer.end,
    "AliasEvent": _Writer.alias,
}
