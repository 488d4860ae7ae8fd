"""Does the builder join what belongs together, and nothing else? Requests, executions and prompts of one tuple."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.core.build import Execution, Spot, TraceBuilder
from forensics.core.jsonvalue import raw, value_of
from forensics.core.messages import Message, Part
from forensics.core.pairing import OpenCalls
from forensics.core.trace import NOWHERE, Absence, Outcome, Places, Trace


def builder(*, complete: bool = False) -> tuple[TraceBuilder, Spot]:
    places = Places(0)
    return TraceBuilder("t", places, "test", spans_are_complete=complete), Spot(places.add(line=1, offset=0, length=1))


def ran(tool: str, spot: Spot, **fields: object) -> Execution:
    known = {k: raw(v) if k in ("arguments", "result", "error") else v for k, v in fields.items()}
    return Execution(tool, spot, **known)  # type: ignore[arg-type]


def codes(trace: Trace) -> list[str]:
    return sorted(f.code for f in trace.findings)


def test_request_execution_and_prompt_are_one_call() -> None:
    build, spot = builder(complete=True)
    lane = build.lane()
    turn = build.turn(lane, spot)
    build.request(lane, turn, "pay", "c1", raw({"to": "bob"}), spot)
    build.execute(lane, ran("pay", spot, arguments={"to": "bob"}, result={"tx": "t1"}))
    build.show(lane, "c1", "", raw('{"tx": "t1"}'), spot)
    trace = build.finish()
    (call,) = trace.calls
    assert (call.occurrence, call.outcome, call.agreement) == ("0.0", Outcome.RECORDED, "equal JSON values")
    assert codes(trace) == []


@pytest.mark.parametrize(
    ("executed", "shown", "wanted"),
    [
        ({"to": "eve"}, '{"tx": "t1"}', ["inconsistent_tuple"]),
        ({}, '{"tx": "t1"}', ["inconsistent_tuple"]),
        ({"to": "bob"}, '{"tx": "t2"}', ["inconsistent_tuple"]),
        ({"to": "bob", "request_id": "r1"}, '{"tx": "t1"}', ["args_replaced"]),
        ({"to": "bob"}, '{"tx": "t1"}', []),
    ],
)
def test_records_that_disagree_are_named(executed: dict[str, str], shown: str, wanted: list[str]) -> None:
    build, spot = builder()
    lane = build.lane()
    build.request(lane, build.turn(lane, spot), "pay", "c1", raw({"to": "bob"}), spot)
    build.execute(lane, ran("pay", spot, arguments=executed, result={"tx": "t1"}))
    build.show(lane, "c1", "", raw(shown), spot)
    trace = build.finish()
    assert codes(trace) == wanted
    assert bool(trace.calls[0].blocks) == (wanted == ["inconsistent_tuple"])
    assert trace.calls[0].arguments is not None
    assert value_of(trace.calls[0].arguments) == executed


def test_an_execution_without_an_id_goes_to_the_request_that_it_fits() -> None:
    build, spot = builder()
    lane = build.lane()
    turn = build.turn(lane, spot)
    for number, city in enumerate(("Paris", "Tokyo")):
        build.request(lane, turn, "weather", f"c{number}", raw({"city": city}), spot)
    build.execute(lane, ran("weather", spot, arguments={"city": "Tokyo"}, result="rain"))
    build.execute(lane, ran("weather", spot, arguments={"city": "Paris"}, result="sun"))
    build.show(lane, "c0", "", raw("sun"), spot)
    build.show(lane, "c1", "", raw("rain"), spot)
    trace = build.finish()
    assert [value_of(c.result) for c in trace.calls if c.result] == ["sun", "rain"]
    assert codes(trace) == []


def test_a_missing_execution_is_a_contradiction_where_the_format_writes_every_one() -> None:
    for complete, wanted in ((True, ["inconsistent_tuple"]), (False, [])):
        build, spot = builder(complete=complete)
        lane = build.lane()
        build.request(lane, build.turn(lane, spot), "pay", "c1", raw({}), spot)
        build.show(lane, "c1", "", raw("paid"), spot)
        assert codes(build.finish()) == wanted


def test_an_execution_that_nothing_asked_for_is_a_call_of_no_turn() -> None:
    build, spot = builder()
    build.execute(build.lane(), ran("sync", spot, result="ok"))
    (call,) = build.finish().calls
    assert (call.occurrence, call.outcome) == ("-.0", Outcome.RECORDED)


@pytest.mark.parametrize(
    ("fields", "outcome", "absence"),
    [
        ({"result": "ok"}, Outcome.RECORDED, None),
        ({"error": "boom", "status": "error"}, Outcome.FAILED, None),
        ({"status": "error"}, Outcome.FAILED, None),
        ({"result": "no", "status": "denied"}, Outcome.DENIED, None),
        ({"status": "pending"}, Outcome.INDETERMINATE, None),
        ({}, Outcome.ABSENT, Absence.NOT_CAPTURED),
        ({"ended": False}, Outcome.ABSENT, Absence.UNANSWERED),
    ],
)
def test_outcomes_of_executions(fields: dict[str, object], outcome: Outcome, absence: Absence | None) -> None:
    build, spot = builder()
    build.execute(build.lane(), ran("pay", spot, **fields))
    (call,) = build.finish().calls
    assert (call.outcome, call.absence) == (outcome, absence)


def test_a_call_that_ended_the_run_needs_no_result() -> None:
    build, spot = builder()
    lane = build.lane()
    turn = build.turn(lane, spot)
    for call in ("c1", "c2", "c3"):
        build.request(lane, turn, "finish", call, raw({}), spot)
    build.show(lane, "c1", "", raw("ok"), spot)
    build.end_by(lane, 0)
    build.end_by(lane, 1)
    trace = build.finish()
    told = [(call.outcome, call.absence, [block.code for block in call.blocks]) for call in trace.calls]
    assert told == [
        (Outcome.RECORDED, None, []),
        (Outcome.ABSENT, Absence.NOT_DUE, []),
        (Outcome.ABSENT, Absence.UNANSWERED, ["unanswered_call"]),
    ]


def test_a_result_of_a_call_that_ended_the_run_is_an_orphan() -> None:
    build, spot = builder()
    lane = build.lane()
    build.request(lane, build.turn(lane, spot), "finish", "c1", raw({}), spot)
    build.end_by(lane, 0)
    assert build.show(lane, "c1", "", raw("late"), spot) < 0
    assert codes(build.finish()) == ["orphan_result"]


def test_an_id_used_again_in_a_later_turn_names_two_calls() -> None:
    build, spot = builder()
    lane = build.lane()
    build.request(lane, build.turn(lane, spot), "run", "fn:1", raw({"cmd": "one"}), spot)
    build.show(lane, "fn:1", "", raw("ok-1"), spot)
    build.request(lane, build.turn(lane, spot), "run", "fn:1", raw({"cmd": "two"}), spot)
    trace = build.finish()
    assert [c.outcome for c in trace.calls] == [Outcome.RECORDED, Outcome.ABSENT]
    assert codes(trace) == ["duplicate_call_id", "unanswered_call"]


def test_an_id_used_twice_in_one_turn_pairs_nothing_for_certain() -> None:
    build, spot = builder()
    lane = build.lane()
    turn = build.turn(lane, spot)
    for order in (1, 2):
        build.request(lane, turn, "refund", "x", raw({"order": order}), spot)
    build.show(lane, "x", "", raw("done"), spot)
    build.show(lane, "x", "", raw("done too"), spot)
    trace = build.finish()
    assert codes(trace) == ["ambiguous_pairing", "duplicate_call_id"]
    assert all(b.code == "ambiguous_pairing" for c in trace.calls for b in c.blocks)


@pytest.mark.parametrize(
    ("ids", "tools", "found"),
    [
        (("c0", "c1"), ("get", "get"), []),
        (("", "c1"), ("get", "put"), [(2,)]),
        (("", ""), ("get", "put"), []),
        (("", "", "c2"), ("get", "put", "get"), [(2, 3)]),
    ],
)
def test_calls_without_an_id_beside_others_are_named(
    ids: tuple[str, ...], tools: tuple[str, ...], found: list[tuple[int, ...]]
) -> None:
    build, spot = builder()
    lane = build.lane()
    build.turn(lane, spot)
    turn = build.turn(lane, spot)
    for recorded_id, tool in zip(ids, tools, strict=True):
        build.request(lane, turn, tool, recorded_id, raw({}), spot)
    trace = build.finish()
    assert [f.steps for f in trace.findings if f.code == "missing_call_id"] == found


def test_calls_whose_results_can_not_be_told_apart_are_said_once() -> None:
    build, spot = builder()
    lane = build.lane()
    turn = build.turn(lane, spot)
    for number in range(2):
        build.request(lane, turn, "get", "", raw({"n": number}), spot)
    for number in range(2):
        build.show(lane, None, "get", raw(f"r{number}"), spot)
    assert codes(build.finish()) == ["ambiguous_pairing"]


STREAM = "<async_generator object search at 0x7f0a1c2d3e40>"


def test_what_only_names_a_stream_is_no_result() -> None:
    build, spot = builder()
    build.execute(build.lane(), ran("search", spot, result=STREAM))
    trace = build.finish()
    (call,) = trace.calls
    assert (call.outcome, call.absence) == (Outcome.ABSENT, Absence.STREAMED)
    assert value_of(trace.payload[call.result_step] or b"") == STREAM  # kept as it was recorded


@pytest.mark.parametrize("shown", ["3 rows", STREAM])
def test_what_the_prompt_shows_of_a_stream_is_its_result(shown: str) -> None:
    build, spot = builder()
    lane = build.lane()
    build.request(lane, build.turn(lane, spot), "search", "c1", raw({}), spot)
    build.execute(lane, ran("search", spot, arguments={}, result=STREAM))
    build.show(lane, "c1", "", raw(shown), spot)
    trace = build.finish()
    (call,) = trace.calls
    assert (call.outcome, codes(trace), call.blocks) == (Outcome.RECORDED, [], ())
    assert value_of(call.result or b"") == shown


@given(st.permutations(range(5)), st.booleans())
def test_results_find_their_calls_in_whatever_order_they_come(order: list[int], executed: bool) -> None:  # noqa: FBT001
    build, spot = builder()
    lane = build.lane()
    turn = build.turn(lane, spot)
    for number in range(5):
        build.request(lane, turn, "get", f"c{number}", raw({"n": number}), spot)
    for number in order:
        if executed:
            build.execute(lane, ran("get", spot, recorded_id=f"c{number}", result=f"r{number}"))
        build.show(lane, f"c{number}", "", raw(f"r{number}"), spot)
    trace = build.finish()
    assert [value_of(c.result) for c in trace.calls if c.result] == [f"r{n}" for n in range(5)]
    assert codes(trace) == []


@given(st.lists(st.sampled_from(["ask", "answer", "stray"]), max_size=20))
def test_nothing_is_lost_whatever_the_order(events: list[str]) -> None:
    """Every request is a call; every result either answers one or is an orphan."""
    build, spot = builder()
    lane = build.lane()
    turn, asked, shown = build.turn(lane, spot), 0, 0
    for event in events:
        if event == "ask":
            build.request(lane, turn, "get", f"c{asked}", raw({}), spot)
            asked += 1
        elif event == "answer":
            build.show(lane, f"c{shown}", "", raw("r"), spot)
            shown += 1
        else:
            build.show(lane, "nobody", "", raw("r"), spot)
            shown += 0
    trace = build.finish()
    answered = sum(c.outcome is Outcome.RECORDED for c in trace.calls)
    assert len(trace.calls) == asked
    assert answered + len(build.orphan_results) == build.result_count


@pytest.mark.parametrize(
    ("result", "shown", "wanted"),
    [
        ("012345678 [truncated 500 chars]", None, ["truncated_payload"]),
        ("012345678 [truncated 500 chars]", "0123456789 and so on", []),
        ("012345678 [truncated 500 chars]", "012345678 [truncated 500 chars]", []),
        ("wait for it...", None, []),
    ],
)
def test_a_result_that_only_a_cut_record_holds_is_not_injectable(
    result: str, shown: str | None, wanted: list[str]
) -> None:
    build, spot = builder()
    lane = build.lane()
    build.request(lane, build.turn(lane, spot), "read", "c1", raw({}), spot)
    build.execute(lane, ran("read", spot, recorded_id="c1", result=result))
    if shown is not None:
        build.show(lane, "c1", "", raw(shown), spot)
    trace = build.finish()
    assert codes(trace) == wanted
    assert [b.code for b in trace.calls[0].blocks] == wanted


@pytest.mark.parametrize(
    ("ran_as", "same"), [("pager.trigger", False), ("mcp__files__read_file", True), ("read_file", True)]
)
def test_another_tool_under_the_same_id_is_a_contradiction(ran_as: str, same: bool) -> None:  # noqa: FBT001
    build, spot = builder()
    lane = build.lane()
    build.request(lane, build.turn(lane, spot), "read_file", "c1", raw({}), spot)
    build.execute(lane, ran(ran_as, spot, recorded_id="c1", result="ok"))
    assert codes(build.finish()) == ([] if same else ["inconsistent_tuple"])
    build, spot = builder()
    lane = build.lane()
    build.request(lane, build.turn(lane, spot), "read_file", "c1", raw({}), spot)
    build.show(lane, "c1", ran_as, raw("ok"), spot)
    assert codes(build.finish()) == ([] if same else ["inconsistent_tuple"])


def test_of_two_records_the_whole_one_is_injected() -> None:
    build, spot = builder()
    lane = build.lane()
    build.request(lane, build.turn(lane, spot), "read", "c1", raw({}), spot)
    build.execute(lane, ran("read", spot, recorded_id="c1", result="a long text that goes..."))
    build.show(lane, "c1", "", raw("a long text that goes on"), spot)
    (call,) = build.finish().calls
    assert call.agreement == "a recorded prefix marked as cut"
    assert call.result is not None
    assert value_of(call.result) == "a long text that goes on"


def test_thousands_of_open_calls_are_called_ambiguous_once() -> None:
    build, spot = builder()
    lane = build.lane()
    turn = build.turn(lane, spot)
    for number in range(3_000):
        build.request(lane, turn, "t", None, raw({"n": number}), spot)
    for number in range(3_000):
        build.show(lane, None, "t", raw(number), spot)
    trace = build.finish()
    assert codes(trace) == ["ambiguous_pairing"]
    assert all([b.code for b in c.blocks] == ["ambiguous_pairing"] for c in trace.calls)


@pytest.mark.parametrize("prompts", [1, 2, 5])
def test_that_a_result_was_never_shown_is_said_once_however_many_prompts_follow(
    prompts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[int] = []
    say = TraceBuilder._contradiction  # noqa: SLF001

    def say_and_note(one: TraceBuilder, row: int, message: str, at: Spot) -> None:
        said.append(row)
        say(one, row, message, at)

    monkeypatch.setattr(TraceBuilder, "_contradiction", say_and_note)
    build, spot = builder()
    lane = build.lane()
    lane.whole = True
    for asked in range(3):
        build.request(lane, build.turn(lane, spot), "read", f"c{asked}", raw({"n": asked}), spot)
        for _ in range(prompts):
            build.feed(lane, (), spot)
    assert said == [0, 1, 2]
    assert codes(build.finish()).count("inconsistent_tuple") == 3


@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "ask"]), st.integers(0, 4)), max_size=30))
def test_open_calls_tell_what_was_added_since_they_were_asked(acts: list[tuple[str, int]]) -> None:
    build, spot = builder()
    lane = build.lane()
    for call in range(5):
        build.request(lane, NOWHERE, "read", f"c{call}", raw({}), spot)
    opened, told = OpenCalls(build.trace.calls), dict[int, None]()
    for act, call in acts:
        if act == "add":
            opened.add(call)
        elif act == "remove":
            opened.remove(call)
            told.pop(call, None)
        else:
            fresh = [one for one in opened if one not in told]
            assert opened.added() == fresh
            told |= dict.fromkeys(fresh)


def test_a_copy_that_leaves_a_call_out_contradicts_that_call_alone() -> None:
    build, spot = builder(complete=True)
    lane = build.lane()
    lane.whole = True
    calls = tuple(Part("read", name, raw({"id": name}), f"/{name}") for name in ("a", "b"))
    build.feed(lane, (), spot)
    build.respond(lane, Message("assistant", b"1", "", calls=calls), spot)
    for name in ("a", "b"):
        build.execute(lane, ran("read", spot, recorded_id=name, arguments={"id": name}, result=name))
    results = tuple(Part("read", name, raw(name), f"/{name}") for name in ("a", "b"))
    prompt = (Message("assistant", b"2", "", calls=calls[:1]), Message("tool", b"3", "", results=results))
    build.feed(lane, prompt, spot)
    assert [call.recorded_id for call in build.calls_of(0)] == ["a", "b"]
    trace = build.finish()
    assert [[block.code for block in call.blocks] for call in trace.calls] == [[], ["inconsistent_tuple"]]
