"""Does anything show that a call adds to the world, or is it no more than that its tool runs what it is given?"""

from __future__ import annotations

from array import array
from itertools import compress
from typing import TYPE_CHECKING

from forensics.analysis.outcomes import ADDS
from forensics.core.classes import Classification, Effect, Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.core.classes import Classes
    from forensics.rules.engine import RuleSet

_OF_THE_TOOL = frozenset({Source.DESCRIPTION, Source.SCHEMA})


def shows_an_effect(kind: Classification, rules: RuleSet) -> bool:
    """Whether something shows that this call adds to the world, and not only that its tool runs what it is given: of a
    tool that runs a text, its description says what it can do, its name that it runs, and the text what it does.
    """
    adding = [piece for piece in kind.evidence if piece.effect in ADDS and piece.rule not in rules.about_any_text]
    if all(piece.rule not in rules.about_any_text for piece in kind.evidence):
        return bool(adding)
    runs = rules.answered_by_proof
    return any(p.source not in _OF_THE_TOOL and not (p.source is Source.NAME and p.rule in runs) for p in adding)


def unproved(classes: Classes, rules: RuleSet) -> Sequence[int]:
    """The rows of the calls that count as repeating for no other reason than that nothing proves the text that they run
    to only read.
    """
    told = classes.each(lambda kind: kind.effect is Effect.REPEATING and _only_runs(kind, rules))
    return array("i", compress(range(len(classes)), told))


def _only_runs(kind: Classification, rules: RuleSet) -> bool:
    runs = any(piece.rule in rules.about_any_text for piece in kind.evidence)
    return runs and not shows_an_effect(kind, rules)
