"""Which of many ids stand more often than once? Without a table of all of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MARKS = 21  # bits of a hash value


def several_times(count: int, ids: Callable[[], Iterable[str]]) -> dict[str, int]:
    """The ids that stand more often than once, with how often, among so many or more, which can be gone through again;
    "" is none. A byte for some hash values says of which that may be so.
    """
    mask = (1 << min((64 * count).bit_length(), _MARKS)) - 1
    seen, again = bytearray(mask + 1), set[int]()
    for at in map(mask.__and__, map(hash, ids())):
        if seen[at]:
            again.add(at)
        seen[at] = 1
    held = Counter(one for one in ids() if hash(one) & mask in again) if again else Counter[str]()
    return {recorded_id: number for recorded_id, number in held.items() if recorded_id and number > 1}
