"""The argument for a classification: complete, and true of what `resolve` does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forensics.analysis.argue import argue
from forensics.core.classes import (
    ClassEvidence,
    Effect,
    RestsOn,
    Scope,
    Source,
    Stability,
    Tier,
    ToolFacts,
    resolve,
)
from forensics.core.policy import BasePolicy, Policy
from forensics.rules import load_rules

RULES = load_rules()
NOBODY = Policy(name="strict", base=BasePolicy.STRICT, digest="sha256:0")
ANSWERED = frozenset({"text"})

TIERS = {Source.OPERATOR: Tier.OPERATOR, Source.DECLARATION: Tier.CLAIMED}


@st.composite
def piece(draw: st.DrawFn) -> ClassEvidence:
    source = draw(st.sampled_from(list(Source)))
    return ClassEvidence(
        source,
        TIERS.get(source, Tier.PACK),
        "said",
        effect=draw(st.sampled_from([None, Effect.NONE, Effect.OVERWRITING, Effect.REPEATING, Effect.IRREVERSIBLE])),
        result=draw(st.sampled_from([None, Stability.STABLE, Stability.VOLATILE, Stability.HANDLE])),
        scope=draw(st.sampled_from([None, *(s for s in Scope if s is not Scope.UNKNOWN)])),
        rule=draw(st.sampled_from([None, "text", "other"])),
        trusted=draw(st.booleans()),
    )


@given(st.lists(piece(), max_size=6))
def test_every_piece_stands_on_one_side(pieces: list[ClassEvidence]) -> None:
    argument = argue(resolve(pieces), "server", ANSWERED)
    sides = (*argument.speaks_for, *argument.against, *argument.without_weight)
    assert sorted(sides) == list(range(len(pieces)))
    assert not set(argument.decided) & set(argument.without_weight)


@given(st.lists(piece(), max_size=6))
def test_without_what_decided_the_answer_is_another(pieces: list[ClassEvidence]) -> None:
    known = resolve(pieces)
    decided = set(argue(known, None, ANSWERED).decided)
    less = resolve(p for place, p in enumerate(pieces) if place not in decided)
    if known.effect is not Effect.UNKNOWN:
        assert decided
        assert (known.effect, known.rests_on) != (less.effect, less.rests_on)


@given(st.lists(piece(), max_size=6))
def test_every_change_changes_something_and_only_trust_vouches(pieces: list[ClassEvidence]) -> None:
    known = resolve(pieces)
    for change in argue(known, "server", ANSWERED).changes:
        then = change.then
        assert (then.effect, then.result, then.rests_on) != (known.effect, known.result, known.rests_on)
        if then.vouched and not known.vouched and then.effect is Effect.NONE:
            assert then.rests_on in (RestsOn.OPERATOR, RestsOn.DECLARATION, RestsOn.PROOF, RestsOn.PACK)


def test_a_name_alone_lacks_a_second_kind() -> None:
    argument = argue(resolve(RULES.tool_evidence(ToolFacts("get_page"), NOBODY)), None, RULES.answered_by_proof)
    assert argument.missing[0] == (
        "a second, independent kind of evidence that it only reads: a description that opens with a reading verb or "
        "a declaration of a server that the policy trusts"
    )
    assert [change.then.rests_on for change in argument.changes] == [RestsOn.WORDS, RestsOn.OPERATOR]


def test_a_text_to_run_would_be_answered_by_a_proof() -> None:
    facts = ToolFacts("execute_sql", description="Executes a statement.")
    argument = argue(resolve(RULES.tool_evidence(facts, NOBODY)), None, RULES.answered_by_proof)
    proof = next(change for change in argument.changes if "a parser proves" in change.what)
    assert (proof.then.effect, proof.then.rests_on) == (Effect.NONE, RestsOn.PROOF)
