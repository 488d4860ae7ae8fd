"""What was answered of a value that comes again? Each is asked about once, as far as that many short ones are kept."""

from __future__ import annotations

from typing import TypeVar

from forensics.core.late import Made

_T = TypeVar("_T")

_SHORT = 64  # bytes of a value that is kept
_KEPT = 4096


class Asked(Made[bytes, _T]):
    """The answers by the values that were asked about. Those come from the evidence: there is no end to them."""

    def __missing__(self, value: bytes) -> _T:
        """Ask about a value that is not kept."""
        if len(value) > _SHORT:
            return self.make(value)
        if len(self) >= _KEPT:
            self.clear()
        return super().__missing__(value)
