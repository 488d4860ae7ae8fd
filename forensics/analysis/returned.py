"""Does the result of one listed call hold a value that the call made?

The flow over a whole trace knows every earlier text; a list of calls has only the arguments, so what they hold is not
new. What is left counts as minted where the call is not known to only read, or where its shape alone says new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.analysis.minting import NEW_BY_SHAPE
from forensics.core.classes import ClassEvidence, Effect, Source, Stability, Tier
from forensics.core.leaves import Leaf, leaves_of, pointer_of
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.rules.engine import RuleSet

_LONGEST = 4096
_TELLING = 6
_CLOCKS = frozenset({"timestamp", "etag", "hash"})


def minted_by_call(arguments: object, result: object, effect: Effect, rules: RuleSet) -> tuple[ClassEvidence, ...]:
    """One piece of evidence for the first value of the result that the call made; none where there is none. `effect` is
    what is known of the call without it.
    """
    given = _Given(arguments)
    for leaf, kind in _opaque(result, rules):
        value = str(leaf[3])
        if (effect is not Effect.NONE or kind in NEW_BY_SHAPE) and not given.holds(value):
            where = pointer_of(leaf[0], leaf[1])
            says = f"its result holds {one_line(value, 60)} ({kind}) at {where}, which no argument holds"
            return (ClassEvidence(Source.BEHAVIOUR, Tier.PACK, says, result=Stability.HANDLE),)
    return ()


class _Given:
    """The scalars of the arguments. A value of some length may also stand inside one of them."""

    def __init__(self, arguments: object) -> None:
        self._values = frozenset(str(leaf[3]) for leaf in leaves_of(arguments))
        self._text = "\n".join(sorted(self._values))

    def holds(self, value: str) -> bool:
        return value in self._values or (len(value) >= _TELLING and value in self._text)


def _opaque(result: object, rules: RuleSet) -> Iterator[tuple[Leaf, str]]:
    """The scalars under a key that identify something, with their kind; a clock or a digest names no new thing."""
    for leaf in leaves_of(result):
        _, _, key, item = leaf
        if key is None or len(str(item)) > _LONGEST or (isinstance(item, int) and not rules.is_id_key(key)):
            continue
        kind = rules.handle_kind(str(item), key)
        if kind is not None and kind not in _CLOCKS:
            yield leaf, kind
