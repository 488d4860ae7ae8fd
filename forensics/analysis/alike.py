"""Which calls have the same arguments? A number for each call, equal for equal JSON values."""

from __future__ import annotations

from array import array
from hashlib import blake2b
from typing import TYPE_CHECKING

from forensics.core.places import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable

_DIGEST = 16  # bytes: enough for no two to be equal by chance or on purpose


class Alike:
    """Numbers for arguments and, by number, the first call with an answer (-1: no call has one)."""

    def __init__(self) -> None:
        self.numbers = array("i")
        self.first = array("i")
        self._known: dict[bytes, int] = {}

    def add(self, arguments: Iterable[bytes]) -> list[int]:
        """Note the canonical arguments of the next calls; returns their numbers."""
        known = self._known
        numbers = [known.setdefault(blake2b(one, digest_size=_DIGEST).digest(), len(known)) for one in arguments]
        self.numbers.extend(numbers)
        self.first.extend([NOWHERE] * (len(known) - len(self.first)))
        return numbers

    def close(self) -> array[int]:
        """The number of each call, when the last one is there. What tells arguments apart is forgotten."""
        self._known.clear()
        return self.numbers
