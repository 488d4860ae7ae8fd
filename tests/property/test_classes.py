"""What holds for the join of evidence, whatever the evidence?"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forensics.core.classes import (
    ClassEvidence,
    Effect,
    RestsOn,
    Source,
    Stability,
    Tier,
    ToolClass,
    derive_class,
    derive_labels,
    join_effects,
    join_results,
    may_lower,
    resolve,
)

KNOWN_EFFECTS = [e for e in Effect if e is not Effect.UNKNOWN]
KNOWN_RESULTS = [r for r in Stability if r is not Stability.UNKNOWN]
CLAIMABLE: list[Source] = [Source.DECLARATION]
OURS: list[Source] = [s for s in Source if s not in (Source.OPERATOR, Source.DECLARATION)]

SPEAKERS: dict[Tier, list[Source]] = {
    Tier.OPERATOR: [Source.OPERATOR],
    Tier.CLAIMED: CLAIMABLE,
    Tier.PACK: OURS,
}


@st.composite
def pieces(draw: st.DrawFn) -> ClassEvidence:
    """Any piece of evidence that the engine can give: claims are declarations, the operator's are the operator's."""
    tier = draw(st.sampled_from(list(Tier)))
    sources = SPEAKERS[tier]
    return ClassEvidence(
        source=draw(st.sampled_from(sources)),
        tier=tier,
        says="says",
        effect=draw(st.none() | st.sampled_from(KNOWN_EFFECTS)),
        result=draw(st.none() | st.sampled_from(KNOWN_RESULTS)),
        trusted=tier is not Tier.PACK and draw(st.booleans()),
    )


many = st.lists(pieces(), max_size=7)


@given(st.lists(st.sampled_from(KNOWN_EFFECTS), max_size=5), st.lists(st.sampled_from(KNOWN_EFFECTS), max_size=5))
def test_the_join_of_effects_is_commutative_associative_and_idempotent(left: list[Effect], right: list[Effect]) -> None:
    assert join_effects([*left, *right]) is join_effects([*right, *left])
    if left and right:
        assert join_effects([join_effects(left), join_effects(right)]) is join_effects([*left, *right])
        assert join_effects([*left, *left]) is join_effects(left)
        assert join_results([Stability.STABLE]) is Stability.STABLE


def test_the_join_of_nothing_is_unknown() -> None:
    assert join_effects([]) is Effect.UNKNOWN
    assert join_results([]) is Stability.UNKNOWN
    assert resolve([]).effect is Effect.UNKNOWN
    assert resolve([]).rests_on is RestsOn.NONE
    assert resolve([]).tool_class is ToolClass.SIDE_EFFECTING


@given(many, st.randoms(use_true_random=False))
def test_the_order_of_evidence_decides_nothing(evidence: list[ClassEvidence], random: object) -> None:
    shuffled = list(evidence)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = resolve(evidence), resolve(shuffled)
    assert (one.effect, one.result, one.rests_on, one.scope) == (
        other.effect,
        other.result,
        other.rests_on,
        other.scope,
    )


@given(many, pieces())
def test_an_untrusted_claim_never_lowers(evidence: list[ClassEvidence], claim: ClassEvidence) -> None:
    untrusted = ClassEvidence(Source.DECLARATION, Tier.CLAIMED, "claims", claim.effect, claim.result)
    before, after = resolve(evidence), resolve([*evidence, untrusted])
    operator_speaks = any(p.tier is Tier.OPERATOR and p.effect is not None for p in evidence)
    if before.effect is not Effect.UNKNOWN or operator_speaks:
        assert after.effect >= before.effect
    assert not (before.tool_class is not ToolClass.IDEMPOTENT and after.tool_class is ToolClass.IDEMPOTENT)


@given(many, st.integers(0, 6))
def test_deleting_a_piece_that_lowers_never_makes_a_call_safe(evidence: list[ClassEvidence], at: int) -> None:
    lowering = [i for i, p in enumerate(evidence) if p.effect is Effect.NONE and may_lower(p)]
    if not lowering:
        return
    index = lowering[at % len(lowering)]
    without = resolve([p for i, p in enumerate(evidence) if i != index])
    whole = resolve(evidence)
    unsafe = whole.tool_class is not ToolClass.IDEMPOTENT or not whole.vouched
    operator = evidence[index].tier is Tier.OPERATOR
    if unsafe and not (operator and whole.effect is not Effect.NONE) and not _raises_result(evidence[index]):
        assert without.tool_class is not ToolClass.IDEMPOTENT or not without.vouched


def _raises_result(piece: ClassEvidence) -> bool:
    """A piece that says "no effect, and a handle" lowers one axis and raises the other; taking it away raises and
    lowers too, so the property speaks of pieces that only lower."""
    return piece.result is not None and piece.result is not Stability.STABLE


@given(many, st.sampled_from([Effect.OVERWRITING, Effect.REPEATING, Effect.IRREVERSIBLE]), st.sampled_from(OURS))
def test_evidence_of_an_effect_is_never_outvoted(evidence: list[ClassEvidence], effect: Effect, source: Source) -> None:
    told = resolve([*evidence, ClassEvidence(source, Tier.PACK, "does", effect)])
    if not any(p.tier is Tier.OPERATOR and p.effect is not None for p in evidence):
        assert told.effect >= effect
        assert told.tool_class is not ToolClass.IDEMPOTENT


@given(many)
def test_only_vouched_or_two_kinds_of_words_say_none(evidence: list[ClassEvidence]) -> None:
    told = resolve(evidence)
    if told.effect is Effect.NONE and told.rests_on is RestsOn.WORDS:
        kinds = {p.source for p in evidence if p.effect is Effect.NONE}
        assert {Source.NAME, Source.DESCRIPTION} <= kinds
        assert not told.vouched


@given(st.sampled_from(Effect), st.sampled_from(Stability))
def test_the_class_follows_from_the_axes(effect: Effect, result: Stability) -> None:
    labels = set(derive_labels(effect, result))
    is_idempotent = derive_class(effect, result) is ToolClass.IDEMPOTENT
    assert is_idempotent == (effect is Effect.NONE and result in (Stability.STABLE, Stability.VOLATILE))
    assert ("idempotent" in labels) == is_idempotent
    assert ("handle-returning" in labels) == (result is Stability.HANDLE)
    assert not ("idempotent" in labels and labels & {"side-effecting", "handle-returning"})
    if effect is not Effect.NONE:
        assert "side-effecting" in labels


def test_a_declaration_counts_only_from_a_trusted_server_and_not_alone() -> None:
    claim = ClassEvidence(Source.DECLARATION, Tier.CLAIMED, "readOnlyHint", Effect.NONE)
    trusted = ClassEvidence(Source.DECLARATION, Tier.CLAIMED, "readOnlyHint", Effect.NONE, trusted=True)
    name = ClassEvidence(Source.NAME, Tier.PACK, "get", Effect.NONE)
    assert resolve([claim, name]).effect is Effect.UNKNOWN
    assert resolve([trusted]).effect is Effect.UNKNOWN
    told = resolve([trusted, name])
    assert (told.effect, told.rests_on, told.vouched) == (Effect.NONE, RestsOn.DECLARATION, True)


def test_the_operator_stands_alone() -> None:
    vetoed = ClassEvidence(Source.NAME, Tier.PACK, "delete", Effect.IRREVERSIBLE)
    entry = ClassEvidence(Source.OPERATOR, Tier.OPERATOR, "only reads", Effect.NONE, Stability.STABLE)
    told = resolve([vetoed, entry])
    assert (told.effect, told.result, told.rests_on) == (Effect.NONE, Stability.STABLE, RestsOn.OPERATOR)
    assert told.tool_class is ToolClass.IDEMPOTENT


def test_a_pack_rule_vouches_only_where_its_pack_is_trusted() -> None:
    rule = ClassEvidence(Source.PACK, Tier.PACK, "reads a file", Effect.NONE)
    trusted = ClassEvidence(Source.PACK, Tier.PACK, "reads a file", Effect.NONE, trusted=True)
    assert not resolve([rule]).vouched
    assert resolve([trusted]).vouched
