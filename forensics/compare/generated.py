"""Did the run itself make this value? An id, a time or a random text that stands nowhere before, in either run.

Such a value differs from run to run by itself: a difference in it is the agent's own randomness and no decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.analysis.minting import NEW_BY_SHAPE

if TYPE_CHECKING:
    from forensics.core.differences import Difference
    from forensics.core.trace import Trace
    from forensics.rules.engine import RuleSet

_TELLING = NEW_BY_SHAPE | {"timestamp"}
_SEARCHES = 100  # of one comparison: each reads all that stands before a value
_LONGEST = 512


class Generated:
    """Tells generated values in two runs. After many of them it looks for no more: what differs stays a difference."""

    def __init__(self, left: Trace, right: Trace, rules: RuleSet) -> None:
        self._left = left
        self._right = right
        self._rules = rules
        self._searches = 0

    def is_one(self, place: Difference, steps: tuple[int, int], *, by_code: bool) -> bool:
        """Whether both values are of one opaque kind and new at their steps. A model may choose ids as it likes, so of
        what it writes only shapes that are new by themselves count; `by_code` says that no model wrote them.
        """
        key = place.pointer.rpartition("/")[2] or None
        kinds = {self._kind(place.left, key), self._kind(place.right, key)}
        kind = kinds.pop()
        if kinds or kind is None or not (by_code or kind in _TELLING):
            return False
        return self._is_new(self._left, steps[0], place.left) and self._is_new(self._right, steps[1], place.right)

    def _kind(self, value: object, key: str | None) -> str | None:
        if not isinstance(value, str) or len(value) > _LONGEST:
            return None
        return self._rules.handle_kind(value, key)

    def _is_new(self, trace: Trace, step: int, value: str) -> bool:
        self._searches += 1
        if self._searches > _SEARCHES:
            return False
        wanted = value.encode("utf-8", "surrogatepass")
        return not any(payload is not None and wanted in bytes(payload) for payload in trace.payload[:step])
