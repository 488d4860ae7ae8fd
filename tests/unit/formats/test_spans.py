"""Do spans keep what they say, and do parent links and call ids beat clocks and file order?"""

from __future__ import annotations

import base64

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.core.pointers import escape
from forensics.formats.shared.span_names import Role
from forensics.formats.shared.span_order import Clocks, build_tree, grain, nearest_above, order_events
from forensics.formats.shared.span_rows import TraceSpans
from forensics.formats.shared.spans import Shape, Span, hex_id, nanoseconds


def span(span_id: str, parent: str = "", start: int = 0, end: int = -1) -> Span:
    failed, pointer = False, ""
    return Span("t", span_id, parent, span_id, start, end, 0, failed, None, Shape({}, ()), (), (), 0, pointer)


def entered(spans: list[Span], pairs: list[tuple[str, str]] = [], left: frozenset[str] = frozenset()) -> list[str]:  # noqa: B006
    """The order of the events: a span's id, with a dot where it is left."""
    tree = build_tree(TraceSpans.of(spans))
    row = {s.id: i for i, s in enumerate(tree.spans)}
    rows = list(range(len(tree.spans)))
    events = order_events(
        tree, rows, frozenset(row[i] for i in left), [(row[a], row[b]) for a, b in pairs], lambda _: 0
    )
    return [tree.spans[e.row].id + ("." if e.leaving else "") for e in events]


# ids and times -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recorded", "expected", "was_base64"),
    [
        ("0AF7651916CD43DD8448EB211C80319C", "0af7651916cd43dd8448eb211c80319c", False),
        ("CvdlGRbNQ92ESOshHIAxnA==", "0af7651916cd43dd8448eb211c80319c", True),
        ("AAAAAAAAAOE=", "00000000000000e1", True),
        ("0000000000000000", "", False),
        ("", "", False),
        ("AAAAAAAAAAA=", "", True),
        ("not an id", "not an id", False),
        ("not-base64!!", "not-base64!!", False),
    ],
)
def test_ids_become_hex(recorded: str, expected: str, *, was_base64: bool) -> None:
    assert hex_id(recorded) == (expected, was_base64)


@given(st.binary(min_size=16, max_size=16).filter(any))
def test_hex_is_never_taken_for_base64_and_base64_keeps_every_bit(raw: bytes) -> None:
    assert hex_id(raw.hex()) == (raw.hex(), False)
    assert hex_id(base64.b64encode(raw).decode()) == (raw.hex(), True)


@given(st.integers(min_value=1, max_value=2**63 - 1))
def test_nanoseconds_never_pass_through_a_float(moment: int) -> None:
    assert nanoseconds(moment) == nanoseconds(str(moment)) == moment


@pytest.mark.parametrize("recorded", [None, "", "0", 0, -5, "soon", True, "9" * 40, float("nan")])
def test_what_is_no_time_is_not_recorded(recorded: object) -> None:
    assert nanoseconds(recorded) == -1


def test_a_pointer_escapes_its_names() -> None:
    assert escape("a/b~c") == "a~1b~0c"


@pytest.mark.parametrize(("starts", "expected"), [
    ((1_000_000_007, 1_000_000_001), True),
    ((1_000_000_001, 1_000_000_007), False),
    ((1_795_000_000_123_001_000, 1_795_000_000_123_000_000), True),
    ((1_795_000_000_056_612_096, 1_795_000_000_056_612_096), False),
    ((-1, 5), False),
    ((5, -1), False),
])  # fmt: skip
def test_time_runs_backwards_only_beyond_the_clocks_resolution(starts: tuple[int, int], *, expected: bool) -> None:
    before, after = (span(str(i), "", start) for i, start in enumerate(starts))
    assert Clocks(TraceSpans.of([before, after])).runs_backwards(before, after) is expected


def test_a_coarse_clock_hides_less_than_its_tick() -> None:
    fine, coarse = span("fine", "", 1_790_000_000_123_456_789), span("coarse", "", 1_790_000_000_123_000_000)
    far = msgspec.structs.replace(coarse, start=1_790_000_000_122_000_000, service="other")
    coarse = msgspec.structs.replace(coarse, service="other")
    clocks = Clocks(TraceSpans.of([fine, coarse, far]))
    assert (clocks.runs_backwards(fine, coarse), clocks.runs_backwards(fine, far)) == (False, True)


def test_grain_is_that_of_the_coarsest_clock() -> None:
    assert grain([1_790_000_000_123_000_000, 1_790_000_000_001_000_000, -1]) == 1_000_000
    assert grain([1_790_000_000_123_456_789, 1_790_000_000_001_000_000]) == 1
    assert grain([-1]) == grain([]) == 1


# order ---------------------------------------------------------------------------------------------------------------


def test_parents_beat_clocks() -> None:
    assert entered([span("child", "root", 1), span("root", "", 9)]) == ["root", "child"]


def test_who_asked_comes_before_what_ran() -> None:
    assert entered([span("tool", "", 1), span("turn", "", 5), span("other", "", 3)], [("turn", "tool")]) == [
        "other",
        "turn",
        "tool",
    ]


def test_what_happens_inside_a_span_is_over_before_it_is_left() -> None:
    spans = [span("tool", "", 1, 3), span("inner", "tool", 2), span("late", "tool", 9)]
    assert entered(spans, left=frozenset({"tool"})) == ["tool", "inner", "late", "tool."]


def test_rules_that_contradict_each_other_yield_to_the_clocks() -> None:
    assert entered([span("a", "", 1), span("b", "", 2)], [("a", "b"), ("b", "a")]) == ["a", "b"]


def test_a_cycle_of_parents_is_cut_and_nothing_is_lost() -> None:
    tree = build_tree(TraceSpans.of([span("a", "b", 1), span("b", "a", 2), span("c", "b", 3), span("self", "self", 4)]))
    assert sorted(tree.spans[row].id for row in tree.down) == ["a", "b", "c", "self"]
    assert [tree.spans[row].id for row in tree.cyclic] == ["a", "self"]


def test_orphans_hang_under_the_only_root() -> None:
    tree = build_tree(TraceSpans.of([span("root", "", 1), span("o", "gone", 2), span("p", "gone", 3)]))
    assert {p: [tree.spans[r].id for r in rows] for p, rows in tree.missing.items()} == {"gone": ["o", "p"]}
    assert [tree.parent[r] for r in tree.missing["gone"]] == [0, 0]


def test_a_hundred_thousand_levels_do_not_exhaust_the_stack() -> None:
    spans = [span(str(i), str(i - 1) if i else "", i) for i in range(100_000)]
    tree = build_tree(TraceSpans.of(spans))
    found = nearest_above(tree, [Role.AGENT] + [Role.OTHER] * (len(spans) - 1), frozenset({Role.AGENT}))
    assert found[-1] == 0


@given(st.data())
def test_the_order_of_the_file_changes_nothing_and_every_rule_holds(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 12))
    spans = [
        span(f"s{i}", data.draw(st.sampled_from(["", *(f"s{j}" for j in range(i))])), data.draw(st.integers(0, 4)), 5)
        for i in range(count)
    ]
    left = frozenset(s.id for s in spans if data.draw(st.booleans()))
    events = entered(spans, left=left)
    assert events == entered(data.draw(st.permutations(spans)), left=left)
    place = {e: i for i, e in enumerate(events)}
    assert len(place) == count + len(left)
    for one in spans:
        if one.parent:
            assert place[one.parent] < place[one.id]
            if one.parent in left:
                assert place[one.id] < place[one.parent + "."]
