"""Which scalars do many values hold at the same place? Values of one shape, as the results of a tool are, are told key
by key instead of one by one: what is to be known of a key is known once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.keyed import keyed
from forensics.core.leaves import Token, pointer_of
from forensics.core.places import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterator


_DEEPEST = 16
_LONGEST = 16  # items of an array that are told place by place
_AT_ONCE = 1 << 13  # items of a long array
_SCALARS = ({str}, {int})


class Column(msgspec.Struct, frozen=True):
    """The scalars of one type, texts or whole numbers, that stand at one place, each with the row of its value. `above`
    and `token` are that place and `key` is the nearest key above it, as in a leaf (forensics.core.leaves). Where the
    scalars are some items of one long array, `token` is None: the first is that of the number `begin`, and each stands
    in the place of its own number.
    """

    rows: Sequence[int]
    items: Sequence[Any]
    above: str
    token: Token | None
    key: str | None
    begin: int = 0

    @property
    def tokens(self) -> Sequence[Token]:
        """The key or index of each."""
        return self._places if self.token is None else [self.token] * len(self.rows)

    @property
    def pointer(self) -> str:
        """The JSON Pointer of the place; that of the array where the scalars are items of one."""
        return self.above if self.token is None else pointer_of(self.above, self.token)

    @property
    def numbers(self) -> Sequence[int]:
        """The place of each in the one array whose items they are, or NOWHERE."""
        return self._places if self.token is None else [NOWHERE] * len(self.rows)

    @property
    def _places(self) -> range:
        return range(self.begin, self.begin + len(self.rows))

    @property
    def is_text(self) -> bool:
        """Whether these are texts."""
        return isinstance(self.items[0], str)


class _Place(msgspec.Struct, frozen=True):
    """A place in values, and how many objects and arrays stand around it."""

    above: str
    token: Token
    key: str | None
    depth: int

    @property
    def pointer(self) -> str:
        return pointer_of(self.above, self.token) if self.depth else ""


_WHOLE = _Place("", "", None, 0)


class Columns:
    """Tells values in columns: the scalars of each value come in the order in which they stand in it. `left` are the
    rows of values that are too deep or too long to be told so; only a part of their scalars may have come.
    """

    def __init__(self) -> None:
        self.left: set[int] = set()

    def of(self, rows: Sequence[int], values: Sequence[Any]) -> Iterator[Column]:
        """The columns of the values of these rows; a scalar that is a whole value stands in none."""
        yield from self._objects(*_of_type(dict, rows, values), _WHOLE)
        yield from self._arrays(*_of_type(list, rows, values), _WHOLE)

    def _objects(self, rows: Sequence[int], objects: Sequence[Any], place: _Place) -> Iterator[Column]:
        for group in keyed(list(objects)).groups:
            of = list(map(rows.__getitem__, group.places))
            for key, items in group.columns.items():
                yield from self._at(of, items, _Place(place.pointer, key, key, place.depth + 1))

    def _arrays(self, rows: Sequence[int], arrays: Sequence[Any], place: _Place) -> Iterator[Column]:
        short = [(row, array) for row, array in zip(rows, arrays, strict=True) if len(array) <= _LONGEST]
        for at in range(max((len(array) for _, array in short), default=0)):
            of, items = zip(*[(row, array[at]) for row, array in short if at < len(array)], strict=True)
            yield from self._at(of, items, _Place(place.pointer, at, place.key, place.depth + 1))
        for row, array in zip(rows, arrays, strict=True) if len(short) < len(arrays) else ():
            if len(array) > _LONGEST:
                yield from self._long(row, array, place)

    def _long(self, row: int, array: Sequence[Any], place: _Place) -> Iterator[Column]:
        """The items of a long array, so many in one column, where all are texts or all are whole numbers."""
        if set(map(type, array)) not in _SCALARS:
            self.left.add(row)
            return
        for begin in range(0, len(array), _AT_ONCE):
            some = array[begin : begin + _AT_ONCE]
            yield Column([row] * len(some), some, place.pointer, None, place.key, begin)

    def _at(self, rows: Sequence[int], items: Sequence[Any], place: _Place) -> Iterator[Column]:
        types = set(map(type, items))
        for scalar in (str, int):
            if scalar in types:
                held = (rows, items) if len(types) == 1 else _of_type(scalar, rows, items)
                yield Column(*held, place.above, place.token, place.key)
        if place.depth > _DEEPEST and (dict in types or list in types):
            self.left.update(rows)
            return
        if dict in types:
            yield from self._objects(*_of_type(dict, rows, items), place)
        if list in types:
            yield from self._arrays(*_of_type(list, rows, items), place)


def _of_type(wanted: type, rows: Sequence[int], items: Sequence[Any]) -> tuple[list[int], list[Any]]:
    held = [(row, item) for row, item in zip(rows, items, strict=True) if type(item) is wanted]
    return [row for row, _ in held], [item for _, item in held]
