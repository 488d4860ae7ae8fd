"""Are LangSmith's runs read alike from exports and batches, with pauses, errors and both kinds of messages?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.trace import Boundary, Outcome
from forensics.errors import CorruptEvidenceError
from tests.unit.formats.conftest import outcomes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from forensics.core.reading import Reading

    Read = Callable[..., Reading]

Run = dict[str, Any]
CALL = {"name": "page_oncall", "args": {"team": "sre"}, "id": "c1", "type": "tool_call"}


def message(name: str, /, **fields: Any) -> Run:
    """A message as LangChain serialises it."""
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": fields}


HUMAN = message("HumanMessage", content="page somebody", type="human")
ASKED = message("AIMessage", content="", type="ai", tool_calls=[CALL])
PAGED = {"content": '{"page_id": "pg_8812"}', "type": "tool", "name": "page_oncall", "tool_call_id": "c1"}
SHOWN = message("ToolMessage", **PAGED)
SAID = message("AIMessage", content="paged", type="ai", tool_calls=[])


def run(number: int, kind: str, name: str, parent: int | None = 0, **fields: Any) -> Run:
    """A run of one trace that lasted a second."""
    return {
        "id": f"run-{number}",
        "trace_id": "run-0",
        "parent_run_id": None if parent is None else f"run-{parent}",
        "run_type": kind,
        "name": name,
        "start_time": f"2026-07-01T10:00:{number:02}.000000",
        "end_time": f"2026-07-01T10:00:{60 - number if number == 0 else number + 1:02}.000000".replace(":60.", ":59."),
        **fields,
    }


def model(number: int, shown: list[Run], said: Run) -> Run:
    told = [[{"text": "", "type": "ChatGeneration", "message": said}]]
    extra = {
        "invocation_params": {"model": "m-1", "tools": [{"type": "function", "function": {"name": "page_oncall"}}]}
    }
    outputs = {"generations": told, "llm_output": {"token_usage": {"prompt_tokens": 5, "completion_tokens": 2}}}
    return run(number, "llm", "ChatModel", inputs={"messages": [shown]}, outputs=outputs, extra=extra)


def tool(number: int, **fields: Any) -> Run:
    told = {"inputs": {"team": "sre"}, "outputs": {"output": PAGED}, "extra": {"tool_call_id": "c1"}}
    return run(number, "tool", "page_oncall", **{**told, **fields})


RUNS = [
    run(0, "chain", "LangGraph", None, inputs={"messages": [["user", "page somebody"]]}, outputs={}),
    model(1, [HUMAN], ASKED),
    tool(2),
    model(3, [HUMAN, ASKED, SHOWN], SAID),
]


def as_list(runs: list[Run]) -> str:
    return json.dumps(runs)


def as_lines(runs: list[Run]) -> str:
    return "\n".join(json.dumps(one) for one in runs)


def as_answer(runs: list[Run]) -> str:
    return json.dumps({"runs": runs, "cursors": {}})


def as_tree(runs: list[Run]) -> str:
    inner = [{k: v for k, v in one.items() if k not in ("parent_run_id", "trace_id")} for one in runs[1:]]
    return json.dumps({**runs[0], "child_runs": inner})


def as_batch(runs: list[Run]) -> str:
    """Each run in two halves: what was known at its start, and what its end brought."""
    late = ("end_time", "outputs", "error")
    post = [{**{k: v for k, v in one.items() if k not in late}, "outputs": {}} for one in runs]
    patch = [{k: v for k, v in one.items() if k in (*late, "id", "trace_id", "parent_run_id")} for one in runs]
    return json.dumps({"post": post, "patch": patch})


@pytest.mark.parametrize("write", [as_list, as_lines, as_answer, as_tree, as_batch])
def test_every_container_tells_the_same_run(read_text: Read, write: Callable[[list[Run]], str]) -> None:
    reading = read_text(write(RUNS))
    assert reading.evidence.format == "langsmith"
    assert outcomes(reading) == [("0.0", "page_oncall", {"page_id": "pg_8812"}, "recorded")]
    (trace,) = reading.traces
    assert trace.id == "run-0"
    assert [step.kind.label for step in trace.steps()] == ["user", "model", "tool_call", "tool_result", "model"]
    assert not reading.gaps
    assert not trace.findings
    assert "page_oncall" in trace.facts
    assert (reading.counts.spans, reading.counts.model_calls, reading.counts.input_tokens) == (4, 2, 10)
    assert trace.calls[0].executed is not None
    assert trace.calls[0].shown is not None


def test_a_pause_for_a_person_is_no_failure(read_text: Read) -> None:
    paused = tool(2, outputs={}, error="GraphInterrupt((Interrupt(value={'approve': 'sre'}),))Traceback …")
    reading = read_text(as_list([*RUNS[:2], paused]))
    assert reading.traces[0].calls[0].outcome is Outcome.INDETERMINATE


@pytest.mark.parametrize(
    ("error", "outcome"), [("ValueError('down')", Outcome.FAILED), ("ReadTimeout('x')", Outcome.INDETERMINATE)]
)
def test_an_error_is_told_by_its_type(read_text: Read, error: str, outcome: Outcome) -> None:
    reading = read_text(as_list([*RUNS[:2], tool(2, outputs=None, error=error)]))
    assert reading.traces[0].calls[0].outcome is outcome


def test_a_tool_message_that_says_it_failed(read_text: Read) -> None:
    failed = {**PAGED, "content": "no such team", "status": "error"}
    shown = message("ToolMessage", **failed)
    reading = read_text(
        as_list([*RUNS[:2], tool(2, outputs={"output": failed}), model(3, [HUMAN, ASKED, shown], SAID)])
    )
    assert outcomes(reading) == [("0.0", "page_oncall", "no such team", "failed")]
    assert not reading.traces[0].findings


def test_a_tool_that_returns_an_update_of_the_state(read_text: Read) -> None:
    update: Run = {"output": {"graph": None, "update": {"messages": [PAGED]}, "goto": []}}
    reading = read_text(as_list([*RUNS[:2], tool(2, outputs=update), RUNS[3]]))
    assert outcomes(reading)[0][2:] == ({"page_id": "pg_8812"}, "recorded")
    assert not reading.traces[0].findings


def test_a_hand_over_to_the_graph_around_is_no_error(read_text: Read) -> None:
    reading = read_text(as_list([*RUNS[:2], tool(2, error="ParentCommand(Command(goto='billing'))")]))
    assert reading.traces[0].calls[0].outcome is Outcome.RECORDED


def test_arguments_that_older_releases_wrote_as_one_text(read_text: Read) -> None:
    reading = read_text(as_list([*RUNS[:2], tool(2, inputs={"input": "{'team': 'sre'}"}), RUNS[3]]))
    assert not reading.traces[0].findings
    assert not reading.traces[0].calls[0].blocks


def test_a_record_that_asks_with_other_arguments_than_ran_is_found(read_text: Read) -> None:
    reading = read_text(as_list([*RUNS[:2], tool(2, inputs={"team": "all"}), RUNS[3]]))
    assert [f.code for f in reading.traces[0].findings] == ["inconsistent_tuple"]


def test_a_wrapped_client_keeps_requests_and_responses(read_text: Read) -> None:
    function = {"id": "c1", "type": "function", "function": {"name": "page_oncall", "arguments": '{"team": "sre"}'}}
    asked = {"role": "assistant", "content": None, "tool_calls": [function]}
    shown = [{"role": "user", "content": "page somebody"}]
    outputs = {"choices": [{"index": 0, "message": asked, "finish_reason": "tool_calls"}]}
    first = run(1, "llm", "ChatOpenAI", inputs={"messages": shown, "model": "m-1"}, outputs=outputs)
    reading = read_text(as_list([RUNS[0], first, tool(2, outputs={"output": "pg_8812"})]))
    assert outcomes(reading) == [("0.0", "page_oncall", "pg_8812", "recorded")]


def test_an_answer_in_a_shape_that_is_not_read_hides(read_text: Read) -> None:
    strange = {**RUNS[1], "outputs": {"something": {"tool_calls": [CALL]}}}
    assert any(gap.hides for gap in read_text(as_list([RUNS[0], strange])).gaps)


def test_a_kind_of_run_that_is_not_known_hides(read_text: Read) -> None:
    assert any(gap.hides for gap in read_text(as_list([*RUNS, run(4, "wormhole", "x")])).gaps)


def test_a_retriever_leaves_the_agent(read_text: Read) -> None:
    found = run(4, "retriever", "Docs", inputs={"query": "runbook"}, outputs={"documents": [{"page_content": "…"}]})
    reading = read_text(as_list([*RUNS, found]))
    assert [c.boundary for c in reading.traces[0].calls][1:] == [Boundary.RETRIEVER]


def test_runs_that_name_no_trace_find_it_by_the_runs_above(read_text: Read) -> None:
    bare = [{k: v for k, v in one.items() if k != "trace_id"} for one in RUNS]
    assert [t.id for t in read_text(as_list(bare)).traces] == ["run-0"]


def test_a_patch_without_an_id_is_laid_over_the_run_of_its_order(read_text: Read) -> None:
    order = "20260701T100000000000Zrun-0"
    post = {**model(1, [HUMAN], SAID), "id": "run-0", "parent_run_id": None, "dotted_order": order}
    patch = {
        "outputs": post.pop("outputs"),
        "end_time": post.pop("end_time"),
        "dotted_order": order,
        "trace_id": "run-0",
    }
    reading = read_text(json.dumps({"post": [post], "patch": [patch]}))
    assert reading.counts.spans == 1
    assert len(reading.traces[0]) == 2


def test_a_bad_line_is_a_gap_and_the_rest_is_read(read_text: Read) -> None:
    body = as_lines(RUNS).splitlines()
    reading = read_text("\n".join([*body[:2], '{"id": ', *body[2:]]))
    assert reading.counts.bad_lines == [3]
    assert len(reading.traces[0].calls) == 1


def test_a_key_that_stands_twice_blocks_the_calls(read_text: Read) -> None:
    body = as_list(RUNS).replace('"inputs": {"team": "sre"}', '"inputs": {"team": "sre"}, "inputs": {"team": "sre"}')
    assert "duplicate_key" in [b.code for c in read_text(body).traces[0].calls for b in c.blocks]


def test_evidence_without_a_run_is_refused(tmp_path: Path, read: Read) -> None:
    (tmp_path / "evidence").write_text("[]", encoding="utf-8")
    with pytest.raises(CorruptEvidenceError):
        read(tmp_path / "evidence", "langsmith")


def test_a_document_that_breaks_off_is_read_up_to_there(read_text: Read) -> None:
    body = as_list(RUNS)
    reading = read_text(body[: len(body) - 40])
    assert reading.evidence.format == "langsmith"
    assert len(reading.traces[0].calls) == 1
    assert any(gap.hides for gap in reading.gaps)


# the corpus ------------------------------------------------------------------------------------------------------


def test_the_batch_of_the_corpus(cases: Path, read: Read) -> None:
    """A run that paused in `refund`, the run that resumed it in a trace of its own, and one that failed."""
    reading = read(cases / "generated/langsmith/batch_2.json")
    told = [sorted((c.tool, c.recorded_id, c.outcome.value) for c in t.calls) for t in reading.traces]
    weather = [("get_weather", "call_1", "recorded"), ("get_weather", "call_2", "recorded")]
    assert told == [
        [*weather, ("refund", "call_3", "indeterminate")],
        [*weather, ("refund", "call_3", "recorded")],
        [("boom", "call_9", "failed")],
    ]


def test_every_batch_of_the_corpus_is_recognised(cases: Path, read: Read) -> None:
    for path in sorted((cases / "traces/langsmith").glob("*.json")):
        reading = read(path)
        assert (reading.evidence.format, reading.counts.model_calls, reading.counts.tool_results) == ("langsmith", 1, 0)
