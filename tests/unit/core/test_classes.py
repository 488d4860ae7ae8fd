"""What does evidence weigh, what does an effect rest on, and what does the table of classes hold?"""

from __future__ import annotations

from array import array

import pytest

from forensics.core.classes import (
    Classes,
    ClassEvidence,
    Effect,
    RestsOn,
    Source,
    Stability,
    Tier,
    derive_labels,
    resolve,
    weighs,
)


def piece(source: Source, effect: Effect | None, *, tier: Tier = Tier.PACK, trusted: bool = False) -> ClassEvidence:
    return ClassEvidence(source, tier, "said", effect=effect, trusted=trusted)


@pytest.mark.parametrize(
    ("pieces", "rests_on"),
    [
        ([piece(Source.PACK, Effect.REPEATING), piece(Source.NAME, Effect.REPEATING)], RestsOn.PACK),
        ([piece(Source.PROOF, Effect.REPEATING), piece(Source.PACK, Effect.REPEATING)], RestsOn.PROOF),
        ([piece(Source.NAME, Effect.REPEATING)], RestsOn.WORDS),
        ([piece(Source.DECLARATION, Effect.REPEATING, tier=Tier.CLAIMED)], RestsOn.WORDS),
        ([piece(Source.DECLARATION, Effect.REPEATING, tier=Tier.CLAIMED, trusted=True)], RestsOn.DECLARATION),
        ([piece(Source.PACK, Effect.OVERWRITING), piece(Source.NAME, Effect.IRREVERSIBLE)], RestsOn.WORDS),
    ],
)
def test_an_effect_rests_on_the_strongest_of_those_that_say_it(pieces: list[ClassEvidence], rests_on: RestsOn) -> None:
    assert resolve(pieces).rests_on is rests_on


@pytest.mark.parametrize(
    ("lowering", "tier", "trusted", "counts"),
    [
        (True, Tier.CLAIMED, False, False),
        (True, Tier.CLAIMED, True, True),
        (True, Tier.PACK, False, True),
        (False, Tier.CLAIMED, False, True),
    ],
)
def test_a_claim_that_would_lower_counts_where_it_is_trusted(
    lowering: bool,  # noqa: FBT001 - the four cases are a table
    tier: Tier,
    trusted: bool,  # noqa: FBT001
    counts: bool,  # noqa: FBT001
) -> None:
    effect = Effect.NONE if lowering else Effect.OVERWRITING
    assert weighs(piece(Source.DECLARATION, effect, tier=tier, trusted=trusted)) is counts
    result = Stability.STABLE if lowering else Stability.HANDLE
    said = ClassEvidence(Source.DECLARATION, tier, "said", result=result, trusted=trusted)
    assert weighs(said) is counts


def result(said: Stability, *, tier: Tier = Tier.PACK, trusted: bool = False) -> ClassEvidence:
    return ClassEvidence(Source.DECLARATION, tier, "said", result=said, trusted=trusted)


PROOF = piece(Source.PROOF, Effect.NONE)
WRITE = piece(Source.NAME, Effect.REPEATING)


@pytest.mark.parametrize(
    ("pieces", "stability"),
    [
        # nothing said: what reads may be another thing next time, and of a write nothing is known
        ([PROOF], Stability.VOLATILE),
        ([WRITE], Stability.UNKNOWN),
        ([], Stability.UNKNOWN),
        # what is said joins upward, whatever the effect
        ([PROOF, result(Stability.STABLE)], Stability.STABLE),
        ([PROOF, result(Stability.STABLE), result(Stability.HANDLE)], Stability.HANDLE),
        ([PROOF, result(Stability.HANDLE)], Stability.HANDLE),
        ([WRITE, result(Stability.STABLE)], Stability.STABLE),
        ([WRITE, result(Stability.VOLATILE)], Stability.VOLATILE),
        # a claim that nobody trusts raises and never lowers
        ([PROOF, result(Stability.STABLE, tier=Tier.CLAIMED)], Stability.VOLATILE),
        ([WRITE, result(Stability.STABLE, tier=Tier.CLAIMED)], Stability.UNKNOWN),
        ([PROOF, result(Stability.STABLE, tier=Tier.CLAIMED, trusted=True)], Stability.STABLE),
        ([PROOF, result(Stability.STABLE), result(Stability.HANDLE, tier=Tier.CLAIMED)], Stability.HANDLE),
        # the operator's word stands alone, and where it says nothing of the result, the others' does
        ([PROOF, result(Stability.STABLE, tier=Tier.OPERATOR), result(Stability.HANDLE)], Stability.STABLE),
        ([PROOF, result(Stability.HANDLE, tier=Tier.OPERATOR), result(Stability.STABLE)], Stability.HANDLE),
        ([piece(Source.OPERATOR, Effect.NONE, tier=Tier.OPERATOR), result(Stability.HANDLE)], Stability.HANDLE),
    ],
)
def test_what_a_result_is_taken_for(pieces: list[ClassEvidence], stability: Stability) -> None:
    assert resolve(pieces).result is stability


def test_what_is_missing_is_named_where_the_effect_is_not_known() -> None:
    assert resolve([]).missing == ("two independent kinds of evidence that say the tool only reads",)
    assert resolve([PROOF]).missing == resolve([WRITE]).missing == ()


def test_labels() -> None:
    assert derive_labels(Effect.NONE, Stability.STABLE) == ("idempotent",)
    assert derive_labels(Effect.NONE, Stability.VOLATILE) == ("idempotent", "volatile")
    assert derive_labels(Effect.NONE, Stability.HANDLE) == ("handle-returning",)
    assert derive_labels(Effect.NONE, Stability.UNKNOWN) == ("side-effecting",)
    assert derive_labels(Effect.REPEATING, Stability.HANDLE) == ("side-effecting", "handle-returning")


def test_a_slice_of_the_table_of_classes() -> None:
    kinds = (resolve([]), resolve([piece(Source.PROOF, Effect.NONE)]), resolve([piece(Source.NAME, Effect.REPEATING)]))
    classes = Classes(kinds, array("L", [0, 1, 2, 1]))
    assert list(classes[1:3]) == [kinds[1], kinds[2]]
    assert list(classes[1:]) == [kinds[1], kinds[2], kinds[1]]
    assert classes[-1] is kinds[1]
    assert len(classes[2:]) == 2
    assert list(classes[::2].each(lambda kind: kind.effect)) == [Effect.UNKNOWN, Effect.REPEATING]
