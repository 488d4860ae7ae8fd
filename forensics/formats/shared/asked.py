"""What was answered of a value that comes again? Each is asked about once, as far as that many short ones are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")

_SHORT = 64  # bytes of a value that is kept
_KEPT = 4096


class Asked(dict[bytes, _T], Generic[_T]):
    """The answers of `ask` by the values that it was asked about."""

    def __init__(self, ask: Callable[[bytes], _T]) -> None:
        super().__init__()
        self._ask = ask

    def __missing__(self, value: bytes) -> _T:
        """Ask about a value that is not kept."""
        answer = self._ask(value)
        if len(value) <= _SHORT:
            if len(self) >= _KEPT:
                self.clear()
            self[value] = answer
        return answer
