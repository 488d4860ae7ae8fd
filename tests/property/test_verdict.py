"""What makes a refusal a clearance? Nothing that an attacker or an accident can do to a trace (monotonicity).

Traces are made by the builder from random runs; each change is one that ARCHITECTURE.md promises about.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.analysis.run import analyse_trace
from forensics.core.build import Spot, TraceBuilder
from forensics.core.classes import Effect, Stability
from forensics.core.evidence import Evidence
from forensics.core.jsonvalue import raw
from forensics.core.policy import BasePolicy, Policy, ToolEntry
from forensics.core.reading import EvidenceBuilder
from forensics.core.trace import StepKind, Trace
from forensics.core.verdict import Clearance, Level, Reason, Verdict
from forensics.rules import load_policy, load_rules

if TYPE_CHECKING:
    from collections.abc import Callable

RULES = load_rules()
TODAY = datetime.date(2026, 11, 29)
VOUCHED = ("read_file", "lookup")


class Event(msgspec.Struct, frozen=True):
    """One call of a random run."""

    tool: str
    arguments: dict[str, str]
    result: str | None
    failed: bool = False


tools = st.sampled_from([*VOUCHED, "send_email", "frobnicate"])
events = st.builds(
    Event,
    tool=tools,
    arguments=st.dictionaries(st.sampled_from(["path", "key", "to"]), st.sampled_from(["a", "b", "c1"]), max_size=2),
    result=st.none() | st.sampled_from(["ok", "timeout=30", '{"id": "pg_77"}']),
    failed=st.booleans(),
)
runs = st.lists(events, min_size=1, max_size=5)


def policy(base: BasePolicy = BasePolicy.STRICT, *, vouch: tuple[str, ...] = VOUCHED) -> Policy:
    entries = tuple(ToolEntry(t, "only reads", "a test", effect=Effect.NONE, result=Stability.STABLE) for t in vouch)
    return Policy("test", base, "sha256:test", tools=entries)


def build(run: list[Event], change: Callable[[EvidenceBuilder, TraceBuilder], None] | None = None) -> Trace:
    evidence = EvidenceBuilder(Evidence(0, "run", "0" * 64, 1, "test"), records_calls=True)
    builder = evidence.trace("t")
    lane = builder.lane()
    place = evidence.places.add(line=1, offset=0, length=1)
    builder.step(StepKind.USER, Spot(place), payload=raw("go"))
    for number, event in enumerate(run):
        turn = builder.turn(lane, Spot(place), text=raw("next"))
        builder.request(lane, turn, event.tool, f"c{number}", raw(event.arguments), Spot(place))
        if event.result is not None:
            builder.show(lane, f"c{number}", "", raw(event.result), Spot(place), failed=event.failed)
    builder.turn(lane, Spot(place), text=raw("done"))
    if change is not None:
        change(evidence, builder)
    return evidence.finish().traces[0]


def verdict(trace: Trace, applied: Policy | None = None) -> Verdict:
    return analyse_trace(trace, RULES, applied or policy()).verdict


def never_safer(before: Verdict, after: Verdict) -> None:
    order = [Level.STATIC, Level.INJECT, Level.DYNAMIC]
    assert order.index(after.level) <= order.index(before.level)


@given(runs)
def test_cleared_under_strict_is_cleared_under_inject(run: list[Event]) -> None:
    found = verdict(build(run))
    assert set(found.inject) <= set(found.strict)
    assert found.level is not Level.DYNAMIC or not found.inject


@given(runs, st.integers(0, 4))
def test_removing_a_result_never_clears(run: list[Event], at: int) -> None:
    index = at % len(run)
    without = [msgspec.structs.replace(e, result=None) if i == index else e for i, e in enumerate(run)]
    never_safer(verdict(build(run)), verdict(build(without)))


@given(runs, events)
def test_adding_a_call_of_another_tool_never_clears(run: list[Event], event: Event) -> None:
    other = msgspec.structs.replace(event, tool="transmogrify")
    never_safer(verdict(build(run)), verdict(build([*run, other])))
    never_safer(verdict(build(run)), verdict(build([other, *run])))


@given(runs)
def test_adding_a_gap_never_clears(run: list[Event]) -> None:
    def damage(evidence: EvidenceBuilder, builder: TraceBuilder) -> None:
        evidence.bad_line(2, "malformed_line", "line 2 is no JSON", Spot(0))

    after = verdict(build(run, damage))
    never_safer(verdict(build(run)), after)
    assert after.level is Level.STATIC


@given(runs, st.sampled_from(VOUCHED))
def test_deleting_a_policy_entry_never_clears(run: list[Event], tool: str) -> None:
    fewer = tuple(t for t in VOUCHED if t != tool)
    never_safer(verdict(build(run)), verdict(build(run), policy(vouch=fewer)))


@given(runs)
def test_an_orphan_result_never_clears(run: list[Event]) -> None:
    def damage(evidence: EvidenceBuilder, builder: TraceBuilder) -> None:
        builder.show(builder.lane(), "nobody", "", raw("late"), Spot(0))

    never_safer(verdict(build(run)), verdict(build(run, damage)))


@given(runs)
def test_another_story_about_a_result_never_clears(run: list[Event]) -> None:
    def damage(evidence: EvidenceBuilder, builder: TraceBuilder) -> None:
        builder.show(builder.lane(), "c0", "", raw("another story"), Spot(0))

    answered = [msgspec.structs.replace(run[0], result=run[0].result or "ok"), *run[1:]]
    after = build(answered, damage)
    never_safer(verdict(build(answered)), verdict(after))
    assert verdict(after).level is Level.STATIC


@given(runs)
def test_level_follows_from_the_reasons(run: list[Event]) -> None:
    found = verdict(build(run))
    wanted = Level.DYNAMIC if not found.strict else Level.INJECT if not found.inject else Level.STATIC
    assert found.level is wanted
    assert found.cleared == (not found.reasons)


def test_a_vouched_read_only_run_is_dynamic_and_clears() -> None:
    found = verdict(build([Event("read_file", {"path": "a"}, "timeout=30")]))
    assert found.level is Level.DYNAMIC
    clearance = found.clear()
    assert clearance is not None
    assert clearance.trace == "t"
    assert clearance.digests[0] == "0" * 64


def test_nothing_but_an_empty_list_of_reasons_makes_a_clearance() -> None:
    refused = Verdict("t", BasePolicy.STRICT, (Reason("evidence_gap", "a gap"),), ())
    assert refused.clear() is None
    with pytest.raises(TypeError):
        Clearance(object(), Verdict("t", BasePolicy.STRICT, (), ()))
    with pytest.raises(TypeError):
        Clearance(None, refused)


def test_a_clearance_can_not_be_changed() -> None:
    clearance = Verdict("t", BasePolicy.STRICT, (), ()).clear()
    assert clearance is not None
    with pytest.raises(AttributeError):
        clearance.policy = BasePolicy.INJECT  # type: ignore[misc]


def test_a_trace_without_calls_is_dynamic_only_where_its_format_records_calls() -> None:
    evidence = EvidenceBuilder(Evidence(0, "run", "0" * 64, 1, "test"), records_calls=False)
    builder = evidence.trace("t")
    builder.turn(builder.lane(), Spot(evidence.places.add(line=1)), text=raw("hello"))
    silent = evidence.finish().traces[0]
    assert verdict(silent).level is Level.STATIC
    assert verdict(build([])).level is Level.DYNAMIC


def test_the_shipped_policies_are_strict_and_inject() -> None:
    assert load_policy(None, TODAY).base is BasePolicy.STRICT
    assert load_policy("inject", TODAY).base is BasePolicy.INJECT
