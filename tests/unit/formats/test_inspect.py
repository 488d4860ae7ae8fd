"""Is an Inspect log read event by event, whoever acts in it, and sample by sample where its archive is damaged?"""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import examine
from forensics.core.jsonvalue import text_of
from forensics.core.trace import Boundary, Outcome, StepKind
from forensics.errors import EvidenceError, UnknownFormatError
from forensics.formats.shared.packed import unpacking
from tests.unit.formats.conftest import read_evidence

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.core.reading import Reading
    from forensics.core.trace import Trace

Fields = dict[str, Any]
SPANS = ({"event": "span_begin", "id": "A", "type": "agent", "name": "main"},)


def user(content: Any = "go") -> Fields:
    return {"role": "user", "content": content, "source": "input"}


def asks(*calls: tuple[str, str], content: Any = "") -> Fields:
    told = [{"id": i, "function": f, "arguments": {"q": i}, "type": "function"} for i, f in calls]
    return {"role": "assistant", "content": content, "tool_calls": told}


def gives(call_id: str, function: str, content: Any = "ok", **more: Any) -> Fields:
    return {"role": "tool", "tool_call_id": call_id, "function": function, "content": content, **more}


def model(answer: Fields | None, *prompt: Fields, span: str = "A", **more: Any) -> Fields:
    choices = [] if answer is None else [{"message": answer, "stop_reason": "stop"}]
    output = {"choices": choices, "usage": {"input_tokens": 3, "output_tokens": 2}}
    return {"event": "model", "span_id": span, "model": "demo", "input": list(prompt), "output": output, **more}


def tool(call_id: str, function: str, result: Any = "ok", span: str = "A", **more: Any) -> Fields:
    return {"event": "tool", "span_id": span, "id": call_id, "function": function, "arguments": {"q": call_id},
            "result": result, **more}  # fmt: skip


def sample(*events: Fields, **more: Any) -> Fields:
    return {"id": "s", "epoch": 1, "input": "go", "messages": [], "output": {}, "scores": {}, "events": list(events),
            **more}  # fmt: skip


def log(*samples: Fields) -> Fields:
    head = {"task": "t", "model": "demo", "packages": {"inspect_ai": "0.3.1"}}
    return {"version": 2, "status": "success", "eval": head, "samples": list(samples)}


def read(tmp_path: Path, content: object) -> Reading:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return read_evidence(path)


def trace_of(tmp_path: Path, *events: Fields, **more: Any) -> Trace:
    return read(tmp_path, log(sample(*events, **more))).traces[0]


def archived(tmp_path: Path, *samples: Fields, method: int = zipfile.ZIP_DEFLATED) -> Path:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("_journal/start.json", "{}")
        for one in samples:
            archive.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        archive.writestr("header.json", json.dumps({k: v for k, v in log().items() if k != "samples"}))
    path = tmp_path / "log.eval"
    path.write_bytes(out.getvalue())
    return path


# events --------------------------------------------------------------------------------------------------------------


def test_request_execution_and_shown_result_are_one_call(tmp_path: Path) -> None:
    first, shown = asks(("c1", "look")), gives("c1", "look")
    trace = trace_of(tmp_path, *SPANS, model(first, user()), tool("c1", "look"),
                     model(asks(content="done"), user(), first, shown))  # fmt: skip
    (call,) = trace.calls
    assert (call.occurrence, call.agent, call.outcome) == ("0.0", "main", Outcome.RECORDED)
    assert None not in (call.requested, call.executed, call.shown)
    assert (trace.gaps, trace.findings, trace.ended_normally) == ((), [], True)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [("unknown", Outcome.FAILED), ("timeout", Outcome.INDETERMINATE), ("approval", Outcome.DENIED)],
)
def test_how_a_tool_failed_is_told(tmp_path: Path, error: str, outcome: Outcome) -> None:
    first, failed = asks(("c1", "pay")), {"type": error, "message": "it says no"}
    trace = trace_of(tmp_path, *SPANS, model(first, user()), tool("c1", "pay", "", error=failed),
                     model(asks(content="no"), user(), first, gives("c1", "pay", "", error=failed)))  # fmt: skip
    (call,) = trace.calls
    assert call.outcome is outcome
    assert not call.blocks
    assert call.result is not None
    assert text_of(call.result) == "it says no"


def test_a_sub_agent_stands_inside_its_call(tmp_path: Path) -> None:
    inner = {"event": "span_begin", "id": "B", "parent_id": "A", "type": "agent", "name": "helper"}
    trace = trace_of(tmp_path, *SPANS, model(asks(("c1", "helper")), user()),
                     tool("c1", "helper", "found", agent_span_id="B"), inner,
                     model(asks(("d1", "search")), user("sub"), span="B"), tool("d1", "search", span="B"),
                     {"event": "span_end", "id": "B"})  # fmt: skip
    assert [(c.tool, c.agent, c.boundary) for c in trace.calls] == [
        ("helper", "main", Boundary.SUB_AGENT),
        ("search", "helper", Boundary.TOOL),
    ]
    results = [trace.step(row).name for row in trace.rows(StepKind.TOOL_RESULT)]
    assert results == ["search", "helper"]


def test_events_inside_a_tool_of_older_logs_are_read(tmp_path: Path) -> None:
    inner = [model(asks(("d1", "search")), user("sub"), span=""), tool("d1", "search", span="")]
    trace = trace_of(tmp_path, model(asks(("c1", "helper")), user(), span=""),
                     tool("c1", "helper", span="", events=inner))  # fmt: skip
    assert [(c.tool, c.boundary) for c in trace.calls] == [("helper", Boundary.SUB_AGENT), ("search", Boundary.TOOL)]
    assert all(c.executed for c in trace.calls)


def test_a_prompt_that_was_compacted_tells_no_call_twice(tmp_path: Path) -> None:
    first, second = asks(("c1", "look")), asks(("c2", "look"))
    trace = trace_of(tmp_path, *SPANS, model(first, user()), tool("c1", "look"),
                     model(second, user(), first, gives("c1", "look")), tool("c2", "look"),
                     model(asks(content="done"), user("summary"), second, gives("c2", "look")))  # fmt: skip
    assert [c.recorded_id for c in trace.calls] == ["c1", "c2"]
    assert "compacted_history" in [f.code for f in trace.findings]


def test_a_hand_off_goes_on_with_the_conversation(tmp_path: Path) -> None:
    other = {"event": "span_begin", "id": "B", "type": "agent", "name": "next"}
    first = asks(("c1", "transfer"))
    trace = trace_of(tmp_path, *SPANS, other, model(first, user()), tool("c1", "transfer"),
                     model(asks(content="done"), user(), first, gives("c1", "transfer"), span="B"))  # fmt: skip
    assert [c.recorded_id for c in trace.calls] == ["c1"]


def test_pool_and_attachments_are_written_out(tmp_path: Path) -> None:
    long = "a" * 32
    first = asks(("c1", "look"))
    pool = [user(f"attachment://{long}"), first, gives("c1", "look", f"attachment://{'b' * 32}")]
    trace = trace_of(tmp_path, *SPANS, model(first, input_refs=[[0, 1]]),
                     tool("c1", "look", f"attachment://{'b' * 32}"),
                     model(asks(content="done"), input_refs=[[0, 3]]),
                     attachments={long: "the task", "b" * 32: "the result"},
                     events_data={"messages": pool})  # fmt: skip
    assert [text_of(p) for row in trace.rows(StepKind.USER) if (p := trace.payload[row])] == ["the task"]
    assert trace.calls[0].result is not None
    assert text_of(trace.calls[0].result) == "the result"
    assert not trace.gaps


def test_what_pool_and_attachments_lack_is_a_gap(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, *SPANS, model(asks(content="hm"), user(f"attachment://{'c' * 32}"), input_refs=[[0, 2]]))
    assert [g.message for g in trace.gaps] == [
        "a prompt points to 2 messages that are not in the log",
        "1 attachments that the sample names are not in it",
    ]


@pytest.mark.parametrize(("decision", "found"), [("reject", ["approval_contradicted"]), ("approve", [])])
def test_an_approval_is_held_against_what_ran(tmp_path: Path, decision: str, found: list[str]) -> None:
    approval = {"event": "approval", "approver": "human", "decision": decision, "call": {"id": "c1", "function": "pay"}}
    first = asks(("c1", "pay"))
    path = tmp_path / "log.json"
    events = (*SPANS, model(first, user()), approval, tool("c1", "pay", "paid"))
    path.write_text(json.dumps(log(sample(*events))), encoding="utf-8")
    codes = [f.code for f in examine(path).audit().findings]
    assert [c for c in codes if c.startswith("approval")] == found


def test_a_tool_that_the_provider_ran_is_a_call_with_its_result(tmp_path: Path) -> None:
    block = {"type": "tool_use", "tool_type": "web_search", "id": "w", "name": "web_search", "arguments": "{}",
             "result": "found"}  # fmt: skip
    trace = trace_of(tmp_path, *SPANS, model(asks(content=[block, {"type": "text", "text": "so"}]), user()))
    assert [(c.tool, c.boundary, c.outcome) for c in trace.calls] == [
        ("web_search", Boundary.PROVIDER_TOOL, Outcome.RECORDED)
    ]


def test_what_a_solver_does_in_its_sandbox_leaves_the_agent(tmp_path: Path) -> None:
    spans = ({"event": "span_begin", "id": "S", "type": "solver", "name": "setup"},
             {"event": "span_begin", "id": "T", "parent_id": "S", "type": "tool", "name": "bash"})  # fmt: skip
    ran = {"event": "sandbox", "action": "exec", "cmd": "ls", "output": "bin"}
    trace = trace_of(tmp_path, *spans, {**ran, "span_id": "S"}, {**ran, "span_id": "T"})
    assert [(c.tool, c.occurrence) for c in trace.calls] == [("sandbox.exec", "-.0")]


def test_the_model_of_a_scorer_is_no_turn_of_the_agent(tmp_path: Path) -> None:
    scorer = {"event": "span_begin", "id": "S", "type": "scorer", "name": "graded"}
    trace = trace_of(tmp_path, *SPANS, model(asks(content="42"), user()), scorer,
                     model(asks(content="GRADE: C"), user("grade"), span="S"))  # fmt: skip
    assert trace.turns == 1


def test_an_earlier_attempt_hides_what_it_did(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, *SPANS, model(asks(content="42"), user()), error_retries=[{"message": "API down"}])
    assert [g.hides for g in trace.gaps] == [True]
    assert trace.step(0).kind is StepKind.ERROR


@pytest.mark.parametrize("how", ["error", "limit"])
def test_what_broke_a_sample_off_is_said(tmp_path: Path, how: str) -> None:
    trace = trace_of(tmp_path, *SPANS, model(asks(content="hm"), user()), **{how: {"type": "token", "limit": 9}})
    assert trace.ended_normally is False


def test_a_turn_whose_output_is_missing_is_silent(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, *SPANS, model(None, user()))
    assert trace.silent_turns == [0]


def test_messages_are_the_record_where_no_event_was_kept(tmp_path: Path) -> None:
    told = [user(), asks(("c1", "look")), gives("c1", "look"), asks(content="done")]
    trace = trace_of(tmp_path, messages=told)
    assert [(c.tool, c.outcome) for c in trace.calls] == [("look", Outcome.RECORDED)]


def test_a_call_that_only_the_messages_show_is_a_gap(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, *SPANS, model(asks(content="hm"), user()), messages=[asks(("c9", "hidden"))])
    assert [g.message for g in trace.gaps] == ["the messages of the sample show a call that none of its events records"]


def test_an_unknown_event_that_looks_like_a_call_is_a_gap(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, {"event": "rpc", "tool_name": "pay", "arguments": {}})
    assert [g.hides for g in trace.gaps] == [True]


# containers ----------------------------------------------------------------------------------------------------------

ONE = sample(*SPANS, model(asks(("c1", "look")), user()), tool("c1", "look"))


def test_each_sample_is_a_trace(tmp_path: Path) -> None:
    samples = (ONE, {**ONE, "epoch": 2}, {**ONE, "id": 7})
    for reading in (read(tmp_path, log(*samples)), read_evidence(archived(tmp_path, *samples))):
        assert reading.evidence.format == "inspect"
        assert [t.id for t in reading.traces] == ["s_epoch_1", "s_epoch_2", "7_epoch_1"]
        assert [len(t.calls) for t in reading.traces] == [1, 1, 1]


def test_a_locator_names_the_member(tmp_path: Path) -> None:
    trace = read_evidence(archived(tmp_path, ONE)).traces[0]
    locator = trace.locator(trace.calls[0].step)
    assert (locator.member, locator.pointer) == (
        "samples/s_epoch_1.json",
        "/events/1/output/choices/0/message/tool_calls/0",
    )


def test_an_archive_without_its_directory_is_recovered(tmp_path: Path) -> None:
    path = archived(tmp_path, ONE, {**ONE, "epoch": 2})
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"PK\x01\x02")])
    reading = read_evidence(path)
    assert [len(t.calls) for t in reading.traces] == [1, 1]
    assert [(g.code, g.hides) for g in reading.gaps] == [("container_truncated", False)]
    assert reading.counts.recovered_records == 2


def test_a_sample_that_breaks_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = archived(tmp_path, ONE, {**ONE, "epoch": 2}, method=zipfile.ZIP_STORED)
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b'"arguments": {"q": "c1"}') - 2])
    reading = read_evidence(path)
    assert [t.id for t in reading.traces] == ["s_epoch_1", "s_epoch_2"]
    assert [any(g.hides for g in t.gaps) for t in reading.traces] == [False, True]


@pytest.mark.parametrize("part", range(1, 50, 4))
def test_no_cut_of_an_archive_raises_anything_but_our_errors(tmp_path: Path, part: int) -> None:
    path = archived(tmp_path, ONE, {**ONE, "epoch": 2})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * part // 50])
    try:
        reading = read_evidence(path, "inspect")
    except EvidenceError:
        return
    assert reading.gaps


def test_a_log_without_samples_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(UnknownFormatError, match="holds no sample"):
        read_evidence(archived(tmp_path))


def test_other_archives_are_strangers(tmp_path: Path) -> None:
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<x/>")
    with pytest.raises(UnknownFormatError, match="not recognised"):
        read_evidence(path)


def test_real_archives_say_what_their_json_says(cases: Path) -> None:
    pytest.importorskip("zstandard")
    packed, plain = sorted((cases / "generated" / "inspect").iterdir())
    one, other = read_evidence(packed).traces[0], read_evidence(plain).traces[0]
    assert [(c.occurrence, c.tool, c.agent, c.outcome) for c in one.calls] == [
        (c.occurrence, c.tool, c.agent, c.outcome) for c in other.calls
    ]
    assert len(one.calls) == 6


def test_without_the_extra_a_zstandard_archive_says_what_to_install(
    cases: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "_ZSTANDARD", ("forensics.no_such_module",))
    packed = min((cases / "generated" / "inspect").iterdir())
    with pytest.raises(EvidenceError, match="Zstandard"):
        read_evidence(packed)


def test_the_log_of_a_crashed_run_is_read(cases: Path) -> None:
    reading = read_evidence(cases / "damaged" / "inspect_truncated.eval")
    assert reading.partial
    assert [t.turns for t in reading.traces] == [1]


def test_a_sample_without_events_may_hide_what_its_sub_agents_did(tmp_path: Path) -> None:
    messages = [user(), asks(("c1", "look")), gives("c1", "look"), {"role": "assistant", "content": "done"}]
    one = {name: held for name, held in sample(messages=messages).items() if name != "events"}
    (trace,) = read(tmp_path, log({**one, "messages": messages})).traces
    assert [call.tool for call in trace.calls] == ["look"]
    assert [gap.code for gap in trace.gaps if gap.hides] == ["evidence_gap"]
