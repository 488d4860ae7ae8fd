"""Why does a classification say what it says, what is missing, and what would change it?

Nothing here decides. The pieces that did are told by the rules of `resolve`, and every change is one that was tried:
the evidence with one thing different, resolved again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.classes import (
    ClassEvidence,
    Classification,
    Effect,
    RestsOn,
    Source,
    Stability,
    Tier,
    may_lower,
    resolve,
    weighs,
)
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

Pieces = tuple[ClassEvidence, ...]


class Change(msgspec.Struct, frozen=True):
    """What would have to be different, and the class that would follow from it."""

    what: str
    then: Classification


class Argument(msgspec.Struct, frozen=True):
    """The evidence as an argument. The numbers are places in the classification's evidence; a piece stands in exactly
    one of `speaks_for`, `against` and `without_weight`, and in `decided` when the answer rests on it.
    """

    speaks_for: tuple[int, ...]
    against: tuple[int, ...]
    without_weight: tuple[int, ...]
    decided: tuple[int, ...]
    missing: tuple[str, ...]
    changes: tuple[Change, ...]


def argue(known: Classification, server: str | None, answered: frozenset[str]) -> Argument:
    """The argument for a classification. `answered` holds the rules whose vetoes a proof over a text answers."""
    sides = [_side(known, piece) for piece in known.evidence]
    return Argument(
        speaks_for=_places(sides, "for"),
        against=_places(sides, "against"),
        without_weight=_places(sides, "without weight"),
        decided=tuple(place for place, piece in enumerate(known.evidence) if _decided(known, piece)),
        missing=tuple(_missing(known)),
        changes=tuple(change for change in _tried(known, server, answered) if _differs(known, change.then)),
    )


def _places(sides: list[str], wanted: str) -> tuple[int, ...]:
    return tuple(place for place, side in enumerate(sides) if side == wanted)


# what speaks for it and what decided ---------------------------------------------------------------------------------


def _side(known: Classification, piece: ClassEvidence) -> str:
    if not weighs(piece) or (piece.effect, piece.result, piece.scope) == (None, None, None):
        return "without weight"
    if piece.effect is not None:
        return "for" if (piece.effect is Effect.NONE) == (known.effect is Effect.NONE) else "against"
    agrees = piece.result is known.result if piece.result is not None else piece.scope is known.scope
    return "for" if agrees else "against"


def _decided(known: Classification, piece: ClassEvidence) -> bool:
    return _decided_effect(known, piece) or _decided_result(known, piece)


_SOURCES = {
    RestsOn.PROOF: frozenset({Source.PROOF}),
    RestsOn.PACK: frozenset({Source.PACK}),
    RestsOn.DECLARATION: frozenset({Source.DECLARATION, Source.NAME, Source.DESCRIPTION}),
    RestsOn.WORDS: frozenset({Source.NAME, Source.DESCRIPTION}),
}


def _decided_effect(known: Classification, piece: ClassEvidence) -> bool:
    """The worst that was said, or, where nobody said that it writes, the pieces that together say that it reads."""
    if piece.effect is not known.effect or not weighs(piece):
        return False
    if known.rests_on is RestsOn.OPERATOR:
        return piece.tier is Tier.OPERATOR
    return known.effect is not Effect.NONE or piece.source in _SOURCES.get(known.rests_on, frozenset())


def _decided_result(known: Classification, piece: ClassEvidence) -> bool:
    by_operator = any(p.tier is Tier.OPERATOR and p.result is not None for p in known.evidence)
    return piece.result is known.result and weighs(piece) and (piece.tier is Tier.OPERATOR or not by_operator)


# what is missing -----------------------------------------------------------------------------------------------------

_READING_WORDS = {
    Source.NAME: "a reading verb in its name",
    Source.DESCRIPTION: "a description that opens with a reading verb",
    Source.DECLARATION: "a declaration of a server that the policy trusts",
}


def _missing(known: Classification) -> Iterator[str]:
    if known.effect is Effect.UNKNOWN:
        yield _missing_kind(known)
    if known.effect is Effect.NONE and not known.vouched:
        yield "somebody who vouches for it: your policy file, a server that it trusts, or a proof from the arguments"
    if known.result is Stability.UNKNOWN:
        yield "anything that says what its result is: an output schema, or a recorded result"
    elif known.effect is Effect.NONE and all(piece.result is None for piece in known.evidence):
        yield "anything that shows its result to be the same next time; until then it counts as volatile"


def _missing_kind(known: Classification) -> str:
    there = {p.source for p in known.evidence if p.effect is Effect.NONE and may_lower(p)} & _READING_WORDS.keys()
    if not there:
        return "two independent kinds of evidence that say the tool only reads"
    absent = " or ".join(says for kind, says in _READING_WORDS.items() if kind not in there)
    return f"a second, independent kind of evidence that it only reads: {absent}"


# what would change it ------------------------------------------------------------------------------------------------

_ENTRY = ClassEvidence(Source.OPERATOR, Tier.OPERATOR, "", effect=Effect.NONE, result=Stability.STABLE)
_PROOF = ClassEvidence(Source.PROOF, Tier.PACK, "", effect=Effect.NONE)
_VETO = ClassEvidence(Source.RESULT, Tier.PACK, "", effect=Effect.REPEATING)
_OPENING = ClassEvidence(Source.DESCRIPTION, Tier.PACK, "", effect=Effect.NONE)


def _tried(known: Classification, server: str | None, answered: frozenset[str]) -> Iterator[Change]:
    """Every change worth naming, tried."""
    pieces = known.evidence
    if any(piece.tier is Tier.OPERATOR for piece in pieces):
        others = tuple(piece for piece in pieces if piece.tier is not Tier.OPERATOR)
        yield Change("the entry of your policy file were not there", resolve(others))
        return
    if server is not None and any(p.source is Source.DECLARATION and not p.trusted for p in pieces):
        named = one_line(server, 60)
        yield Change(f"your policy file trusts the server {named} (its declarations then count)", _trusting(pieces))
    if known.effect is Effect.UNKNOWN and all(piece.source is not Source.DESCRIPTION for piece in pieces):
        opened = resolve((*pieces, _OPENING))
        yield Change("its description were known and opened with a reading verb", opened)
    if any(piece.rule in answered for piece in pieces):
        rest = tuple(piece for piece in pieces if piece.rule not in answered)
        yield Change("a parser proves that the text of the call only reads", resolve((*rest, _PROOF)))
    if known.effect is Effect.NONE:
        yield Change(
            "there were one veto, such as a write word or a result that reports an act", resolve((*pieces, _VETO))
        )
    yield Change("an entry of your policy file says effect none, result stable", resolve((*pieces, _ENTRY)))


def _trusting(pieces: Pieces) -> Classification:
    declared = (p if p.source is not Source.DECLARATION else msgspec.structs.replace(p, trusted=True) for p in pieces)
    return resolve(declared)


def _differs(known: Classification, then: Classification) -> bool:
    return (known.effect, known.result, known.rests_on) != (then.effect, then.result, then.rests_on)
