"""How does a document hold many rows? As a list, or as a sequence that makes rows when they are asked for, so that a
document over a long trace costs no more memory than the rows that somebody shows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar, overload

import msgspec

_T = TypeVar("_T")
_BLOCK = 256


class Making(msgspec.Struct, frozen=True):
    """How rows are made: `parts` says which are made together where all are asked for, and `fields` makes no more than
    some fields of them.
    """

    parts: Callable[[], Iterable[range]]
    fields: Callable[[range, Sequence[str]], Iterable[tuple[Any, ...]]] | None = None


class Rows(Sequence[_T]):
    """Rows that are made in blocks: `make` is given the numbers of those that it is to make."""

    def __init__(self, count: int, make: Callable[[range], list[_T]], making: Making | None = None) -> None:
        self._count = count
        self._make = make
        self.making = making or Making(self._equal_parts)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, number: int) -> _T: ...
    @overload
    def __getitem__(self, number: slice) -> list[_T]: ...
    def __getitem__(self, number: int | slice) -> _T | list[_T]:
        if isinstance(number, slice):
            wanted = range(*number.indices(self._count))
            return self._make(wanted) if wanted.step == 1 and wanted else [self[one] for one in wanted]
        at = range(self._count)[number]
        return self._make(range(at, at + 1))[0]

    def __iter__(self) -> Iterator[_T]:
        return chain.from_iterable(self.blocks())

    def blocks(self) -> Iterator[list[_T]]:
        """Every row, block by block."""
        return map(self._make, self.making.parts())

    def _equal_parts(self) -> Iterator[range]:
        return (range(start, min(start + _BLOCK, self._count)) for start in range(0, self._count, _BLOCK))


def fields(rows: Sequence[Any], *names: str) -> Iterable[tuple[Any, ...]]:
    """These fields of every row; of rows that are not made yet, nothing else is made where that can be."""
    making = rows.making if isinstance(rows, Rows) else None
    if making is not None and making.fields is not None:
        return (told for part in making.parts() for told in making.fields(part, names))
    return (tuple(getattr(row, name) for name in names) for row in rows)


def field_at(rows: Sequence[Any], at: int, name: str) -> Any:
    """One field of one row; of rows that are not made yet, nothing else is made where that can be."""
    making = rows.making if isinstance(rows, Rows) else None
    if making is None or making.fields is None:
        return getattr(rows[at], name)
    ((value,),) = making.fields(range(at, at + 1), (name,))
    return value


def picked(rows: Sequence[_T], places: Sequence[int]) -> list[_T]:
    """The rows at these places, which ascend; what is made for them is made block by block."""
    if not isinstance(rows, Rows):
        return [rows[at] for at in places]
    found: list[_T] = []
    for part in rows.making.parts():
        wanted = places[len(found) : bisect_left(places, part.stop)]
        made = rows[part.start : part.stop] if wanted else []
        found += [made[at - part.start] for at in wanted]
    return found
