"""Which fields do the records of a block of lines have, at each level that is read, and where do their payloads stand?

All messages of a block are decoded at once, and so is what stands in them. What was decoded is taken where it is what
stood there, written again: then no key stands twice and nothing is written between the fields but commas.
"""

from __future__ import annotations

from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.times import all_nanoseconds
from forensics.core.trace import NOWHERE, Payload
from forensics.formats.shared.claude.history import Said, names_of
from forensics.formats.shared.claude.lines import is_clean
from forensics.formats.shared.claude.shapes import BY_ITSELF, Held, Shape, Shapes, all_held
from forensics.formats.shared.fields import Fields, is_text
from forensics.formats.shared.groups import Group, Names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from forensics.formats.shared.line_fields import Block

Where = tuple[int, int]
"""Where in the evidence a payload stands: its offset (NOWHERE: there is none) and its length."""

NONE: Where = (NOWHERE, 0)
_SPEAKERS = (b'"assistant"', b'"user"')
_NOTHING: Fields = {}
_ABSENT = msgspec.Raw(b"")
_TRUE = msgspec.Raw(b"true")
_REFUSED = (msgspec.DecodeError, UnicodeDecodeError, UnicodeEncodeError, RecursionError)
_objects = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode
_lists = msgspec.json.Decoder(list[list[dict[str, msgspec.Raw]]]).decode
_write = msgspec.json.Encoder().encode


class Records:
    """Records of one shape, in columns: their own fields, those of their messages and of the blocks of these, where
    the contents of the messages stand, and at which position of its block of lines each record does.
    """

    def __init__(self, shape: Shape, at: list[int], opened: Opened) -> None:
        self.shape = shape
        self.at = at
        self.top = opened.top(at)
        self.message = Group([opened.messages[row] for row in at]) if shape.speaks else None
        blocks = zip(*(opened.blocks[row] for row in at), strict=True) if shape.in_blocks else ()
        self.blocks = list(map(Group, blocks))
        self._lines = [opened.starts[row] for row in at]
        self.contents = self._find_contents()
        self._begins: list[list[int]] = []

    def texts(self, *names: str, among: Group | None = None) -> list[str]:
        """The text of a field of each: the first of these that they have; "" where there is none."""
        group = self.top if among is None else among
        return group.texts(_had(group, names)[:1])

    def payloads(self, *names: str) -> Sequence[Payload | None]:
        """The first of these fields of each that is not null."""
        return self.top.payloads(_had(self.top, names))

    def marked(self, name: str) -> list[bool]:
        """Whether a field of each is true."""
        return [raw == _TRUE for raw in self.top.column(name)] if self.top.has(name) else [False] * len(self.at)

    def times(self) -> list[int]:
        """When each was."""
        if not self.top.has("timestamp"):
            return [NOWHERE] * len(self.at)
        return all_nanoseconds(self.top.column("timestamp"))

    def said(self) -> list[Said]:
        """By what each is known."""
        owners = [""] * len(self.at)
        if self.message is not None:
            told = zip(self.texts("id", among=self.message), self.texts("timestamp"), strict=True)
            owners = [one or at for one, at in told]
        kind, known = self.shape.kind, zip(self.texts("uuid"), owners, self.contents, strict=True)
        return [Said(uuid, names_of(kind, uuid, owner, length), offset) for uuid, owner, (offset, length) in known]

    def _find_contents(self) -> list[Where]:
        if self.message is None:
            return [(0, 0)] * len(self.at)
        told = zip(
            self._lines,
            self.top.positions("message"),
            self.message.positions("content"),
            map(len, self.message.column("content")),
            strict=True,
        )
        return [(line + message + content, length) for line, message, content, length in told]

    def in_top(self, name: str) -> list[Where]:
        """Where a field of each stands."""
        return _places(self.top, self._lines, (name,))

    def in_block(self, number: int, names: Names) -> list[Where]:
        """Where the first of these fields that is not null stands in that block of each."""
        return _places(self.blocks[number], self._begin(number), names)

    def _begin(self, number: int) -> list[int]:
        """Where that block of each begins."""
        begins = self._begins or [[offset + len("[") for offset, _ in self.contents]]
        self._begins = begins
        while len(begins) <= number:
            before = zip(begins[-1], self.blocks[len(begins) - 1].sizes(), strict=True)
            begins.append([begin + size + len(",") for begin, size in before])
        return begins[number]


def _had(group: Group, names: Names) -> Names:
    return tuple(name for name in names if group.has(name))


def _places(group: Group, begins: list[int], names: Names) -> list[Where]:
    """Where the first of these fields that is not null stands in each record, by where the records begin."""
    names = _had(group, names)
    payloads = group.payloads(names)
    if names and payloads is group.column(names[0]):
        told = zip(begins, group.positions(names[0]), map(len, group.column(names[0])), strict=True)
        return [(begin + before, length) for begin, before, length in told]
    written = zip(begins, map(_write, group.records), payloads, strict=True)
    return [NONE if payload is None else (begin + text.find(payload), len(payload)) for begin, text, payload in written]


class Opened:
    """The records of a block of lines, opened as far as they are read: their fields, messages and blocks, and the shape
    of each.
    """

    def __init__(self, block: Block, shapes: Shapes) -> None:
        self.fields = block.fields
        self.starts = block.starts
        self.messages: list[Fields] = [_NOTHING] * len(block.fields)
        self.blocks: list[list[Fields]] = [[]] * len(block.fields)
        self.shapes = [BY_ITSELF] * len(block.fields)
        self._alike = {rows[0]: (list(rows), group) for rows, group in block.alike}
        self._find_shapes(shapes)
        for row, text in enumerate(() if is_clean(block.whole) else block.texts):
            self.shapes[row] = self.shapes[row] if is_clean(text) else BY_ITSELF

    def _find_shapes(self, shapes: Shapes) -> None:
        """Find the shape of each record."""
        speaking: dict[int, Held] = {}
        for held, rows in self._by_type():
            if held[1] in _SPEAKERS:
                speaking.update(zip(rows, repeat(held)))
            else:
                self._take(rows, shapes.of((held, (), None)))
        talking: list[int] = []
        for row, message in self._opened(speaking, self.fields, "message", _objects):
            self.messages[row] = message
            if is_text(message.get("content", _ABSENT)):
                self.shapes[row] = shapes.of((speaking[row], tuple(message), None))
            else:
                talking.append(row)
        told = dict(self._opened(talking, self.messages, "content", _lists))
        held_in_blocks = iter(all_held(list(chain.from_iterable(told.values()))))
        for row, blocks in told.items():
            self.blocks[row] = blocks
            key = (speaking[row], tuple(self.messages[row]), tuple(islice(held_in_blocks, len(blocks))))
            self.shapes[row] = shapes.of(key)

    def _by_type(self) -> Iterator[tuple[Held, list[int]]]:
        """The rows of the records that have the same keys and the same type."""
        for rows, group in self._alike.values():
            by_type: dict[bytes, list[int]] = {}
            for row, kind in zip(rows, group.column("type") if group.has("type") else (), strict=False):
                by_type.setdefault(bytes(kind), []).append(row)
            keys = tuple(group.records[0])
            yield from (((keys, kind), some) for kind, some in by_type.items())

    def _take(self, rows: list[int], shape: Shape) -> None:
        for row in rows:
            self.shapes[row] = shape

    def top(self, rows: list[int]) -> Group:
        """The fields of these records, which have the same keys."""
        alike, group = self._alike.get(rows[0], ((), None))
        return group if group is not None and alike == rows else Group([self.fields[row] for row in rows])

    def _opened(
        self, rows: Iterable[int], among: Sequence[Fields], name: str, decode: Callable[[bytes], list[Any]]
    ) -> Iterator[tuple[int, Any]]:
        """What stands in that field of these records, where it is what was asked for and is spelled as it would be."""
        having = [row for row in rows if name in among[row]]
        told = _decoded([among[row][name] for row in having], decode)
        return ((row, one) for row, one in zip(having, told, strict=True) if one is not None)

    def by_shape(self) -> Iterable[Records]:
        """The records of each usual shape."""
        rows: dict[Shape, list[int]] = {}
        for row, shape in enumerate(self.shapes):
            rows.setdefault(shape, []).append(row)
        rows.pop(BY_ITSELF, None)
        return (Records(shape, at, self) for shape, at in rows.items())


def _decoded(raws: list[Payload], decode: Callable[[bytes], list[Any]]) -> Sequence[Any]:
    """Each value decoded, all together if that can be; None for one that is not what was asked for, or not spelled as
    it would be written.
    """
    together = _decoded_together(raws, decode)
    if together is not None:
        return together
    alone = (_decoded_together([raw], decode) for raw in raws)
    return [one[0] if one else None for one in alone]


def _decoded_together(raws: list[Payload], decode: Callable[[bytes], list[Any]]) -> list[Any] | None:
    text = b"[" + b",".join(raws) + b"]"
    try:
        found = decode(text)
        return found if _write(found) == text else None
    except _REFUSED:
        return None
