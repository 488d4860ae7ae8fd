"""What does the run of a trace answer to the same run, to another one, and to a list of calls?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import Options
from forensics.api_match import match
from forensics.core.build import Spot
from forensics.core.evidence import Evidence
from forensics.core.jsonvalue import raw
from forensics.core.reading import EvidenceBuilder
from forensics.core.trace import StepKind
from forensics.errors import ConfigurationError
from forensics.replay.dry_run import dry_run
from forensics.replay.gate import Status
from forensics.replay.traced import trace_record, trace_requests

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from forensics.api_match import Matched
    from forensics.core.trace import Trace
    from forensics.replay.dry_run import Matching

RERUN = "b8e63f8cbf6c25fa4a3ea78ce086851c"
TRACES = (
    "pager.db pager.json pager.otlp.jsonl pager.chat.json pager.langgraph.db pager.agents.json pager.mcp.jsonl "
    "double_charge.chat.json parallel.anthropic.json mailing.events.jsonl readonly.responses.json"
)


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"kind": "tool", "request": {"tool": tool, "arguments": arguments}}


def event_log(*calls: tuple[str, dict[str, Any], Any]) -> list[dict[str, Any]]:
    """A run that asks for each call in a turn of its own."""
    rows: list[dict[str, Any]] = [{"type": "user", "text": "go"}]
    for number, (tool, arguments, result) in enumerate(calls):
        rows.append({"type": "model", "text": f"turn {number}"})
        rows.append({"type": "tool_call", "call_id": f"c{number}", "name": tool, "args": arguments})
        rows.append({"type": "tool_result", "call_id": f"c{number}", "result": result})
    return [*rows, {"type": "model", "text": "done"}]


@pytest.mark.parametrize("name", TRACES.split())
def test_a_run_is_served_to_itself(samples: Path, name: str) -> None:
    matched = match(samples / name, samples / name)
    assert [reply.row for reply in matched.matching.replies] == list(range(len(matched.matching.requests)))
    told = {"same_request_different_answers", "time_tie", "dialect", "multiple_traces"}
    assert {f.code for f in matched.matching.findings} <= told


def test_the_rerun_that_paged_again_is_stopped_where_it_was_shown_another_page(samples: Path) -> None:
    matched = match(samples / "pager.db", samples / "pager.db", requests_trace=RERUN)
    near = matched.matching.nearest[0]
    assert matched.matching.stop == 4
    assert (near.pointer, near.left, near.right) == ("/shown/0/says/id", '"pg_8812"', '"pg_9147"')


def test_calls_alone_are_served_and_the_turns_are_not_called_unused(
    dry: Callable[[Any, Any], Matched], samples: Path
) -> None:
    requests = [
        call("query_metrics", service="checkout"),
        call("pager.trigger", severity="sev1", service="checkout"),
        call("incident.annotate", page_id="pg_8812", note="error_rate 0.31"),
    ]
    matched = dry(samples / "pager.db", requests)
    assert [row.served for row in matched.document().requests][1] == {"status": "paged", "id": "pg_8812"}
    assert matched.matching.stop is None
    assert [one.code for one in matched.matching.findings] == ["multiple_traces"]


def test_another_severity_is_not_served_the_recorded_page(dry: Callable[[Any, Any], Matched], samples: Path) -> None:
    matched = dry(samples / "pager.db", [call("pager.trigger", severity="sev2", service="checkout")])
    near = matched.document().requests[0].nearest[0]
    assert (near.pointer, near.left, near.right) == ("/arguments/severity", '"sev1"', '"sev2"')
    assert matched.matching.replies[0].row is None


def test_calls_of_one_tool_get_their_own_results(dry: Callable[[Any, Any], Matched]) -> None:
    recording = event_log(("page", {"s": 1}, "pg_1"), ("page", {"s": 2}, "pg_2"), ("page", {"s": 1}, "pg_3"))
    matched = dry(recording, [call("page", s=2), call("page", s=1), call("page", s=1)])
    assert [row.served for row in matched.document().requests] == ["pg_2", "pg_1", "pg_3"]
    assert {f.code for f in matched.matching.findings} == {"same_request_different_answers", "replay_order_changed"}


def test_an_unanswered_call_is_not_served_and_not_passed_over(dry: Callable[[Any, Any], Matched]) -> None:
    recording = event_log(("page", {"s": 1}, "pg_1"), ("page", {"s": 2}, "pg_2"))
    del recording[3]  # the result of the first call
    matched = dry(recording, [call("page", s=1)])
    row = matched.document().requests[0]
    assert (row.status, row.recorded) == ("miss", None)
    assert row.because == "page was asked for and no result is recorded"


def test_a_gap_in_the_record_stops_everything(dry: Callable[[Any, Any], Matched]) -> None:
    text = "".join(json.dumps(row) + "\n" for row in event_log(("page", {"s": 1}, "pg_1")))
    matched = dry(text + '{"type": "tool_ca\n', [call("page", s=1)])
    row = matched.document().requests[0]
    assert row.status == "ambiguous"
    assert "a gap may hide an equal request" in (row.because or "")


def test_a_gap_in_the_requests_stops_everything(dry: Callable[[Any, Any], Matched], write: Any) -> None:
    run = event_log(("page", {"s": 1}, "pg_1"))
    cut = write("cut", "".join(json.dumps(row) + "\n" for row in run) + '{"type": "tool_ca\n')
    row = dry(run, cut).document().requests[0]
    assert row.status == "ambiguous"
    assert "a gap may hide a request" in (row.because or "")


def test_calls_of_one_turn_may_come_in_any_order(dry: Callable[[Any, Any], Matched], samples: Path) -> None:
    own = match(samples / "parallel.anthropic.json", samples / "parallel.anthropic.json").matching.requests
    calls = [{"kind": "tool", "request": request.value} for request in own if request.kind == "tool"]
    matched = dry(samples / "parallel.anthropic.json", calls[::-1])
    assert matched.matching.stop is None
    assert {f.code for f in matched.matching.findings} == {"parallel_order_differs"}


def test_a_trace_that_was_not_chosen_is_asked_for(write: Any) -> None:
    turns = ({"type": "user", "text": "go"}, {"type": "model", "text": "x"})
    both = write("both.jsonl", [{**turn, "trace": name} for name in ("run-a", "run-b") for turn in turns])
    with pytest.raises(ConfigurationError) as raised:
        match(both, both)
    assert "--trace ID: run-a, run-b" in raised.value.hint
    with pytest.raises(ConfigurationError) as raised:
        match(both, both, Options(trace="run-a"))
    assert "--requests-trace ID" in raised.value.hint
    assert match(both, both, Options(trace="run-a"), requests_trace="run-b").matching.stop is None


def test_a_prompt_with_another_history_is_another_request(dry: Callable[[Any, Any], Matched], write: Any) -> None:
    run = event_log(("page", {"s": 1}, "pg_1"), ("read", {}, "ok"))
    other = [{**row, "text": "stop"} if row.get("text") == "go" else row for row in run]
    matched = dry(run, write("other", other))
    assert matched.matching.stop == 0
    assert matched.matching.nearest[0].pointer == "/shown/0/says"


Row = tuple[str, str]


def traced(*rows: Row) -> Trace:
    """A trace of these rows: what a user said to all ("", text), and turns of an agent (agent, text)."""
    build = EvidenceBuilder(Evidence(0, "x", "", 0, "test"), records_calls=True)
    builder = build.trace("t")
    for agent, text in rows:
        spot = Spot(build.places.add(line=1))
        if agent:
            builder.turn(builder.lane(agent, agent), spot, text=raw(text))
        else:
            builder.step(StepKind.USER, spot, payload=raw(text))
    return build.finish().traces[0]


def between(recorded: tuple[Row, ...], asked: tuple[Row, ...]) -> Matching:
    return dry_run(trace_record(traced(*recorded)), trace_requests(traced(*asked)))


RUN = (("", "go"), ("a", "1"), ("b", "2"), ("", "on"), ("b", "3"))


def test_what_no_agent_stands_at_was_shown_to_all() -> None:
    assert between(RUN, RUN).stop is None
    for place, stop in ((0, 0), (3, 2)):
        matching = between(RUN, (*RUN[:place], ("", "stop"), *RUN[place + 1 :]))
        assert (matching.stop, matching.nearest[0].pointer) == (stop, "/shown/0/says")


def test_which_agent_is_first_does_not_change_what_it_was_shown() -> None:
    matching = between(RUN[:3], (RUN[0], RUN[2], RUN[1]))
    assert [reply.row for reply in matching.replies] == [1, 0]
    assert matching.findings == ()


def test_a_turn_of_which_no_prompt_is_recorded_is_not_served() -> None:
    (reply,) = between((("a", "1"),), (("a", "1"),)).replies
    assert (reply.status, reply.because) == (Status.AMBIGUOUS, "what the model was shown is not recorded")


def test_what_is_long_past_counts_by_its_digest() -> None:
    run = (*(("", str(n)) for n in range(60)), ("a", "x"))
    matching = between(run, (("", "other"), *run[1:]))
    assert len(matching.requests[0].value["shown"]) == 20
    assert matching.nearest[0].pointer == "/before"
