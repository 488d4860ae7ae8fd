"""How does a document hold many rows? As a list, or as a sequence that makes rows when they are asked for, so that a
document over a long trace costs no more memory than the rows that somebody shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_T = TypeVar("_T")
_BLOCK = 256


class Rows(Sequence[_T]):
    """Rows that are made in blocks: `make` is given the numbers of those that it is to make, and `parts` says which
    are made together where all are asked for.
    """

    def __init__(
        self, count: int, make: Callable[[range], list[_T]], parts: Callable[[], Iterable[range]] | None = None
    ) -> None:
        self._count = count
        self._make = make
        self.parts = parts or self._equal_parts

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
        return map(self._make, self.parts())

    def _equal_parts(self) -> Iterator[range]:
        return (range(start, min(start + _BLOCK, self._count)) for start in range(0, self._count, _BLOCK))
