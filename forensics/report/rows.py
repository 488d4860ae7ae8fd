"""How does a document hold many rows? As a list, or as a sequence that makes each row when it is asked for, so that a
document over a long trace costs no more than the rows that somebody shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")


class Rows(Sequence[_T]):
    """Rows that are made one by one: `make` is given the number of a row."""

    def __init__(self, count: int, make: Callable[[int], _T]) -> None:
        self._count = count
        self._make = make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, number: int) -> _T: ...
    @overload
    def __getitem__(self, number: slice) -> list[_T]: ...
    def __getitem__(self, number: int | slice) -> _T | list[_T]:
        if isinstance(number, slice):
            return [self._make(one) for one in range(*number.indices(self._count))]
        return self._make(range(self._count)[number])

    def __iter__(self) -> Iterator[_T]:
        return map(self._make, range(self._count))
