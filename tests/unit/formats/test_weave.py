"""Are calls of Weave read with what the model asked for and what ran, in every container that holds them?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forensics.core.jsonvalue import text_of, value_of
from forensics.core.trace import StepKind
from forensics.errors import EvidenceError
from tests.unit.formats.conftest import hiding, outcomes, read_evidence, read_records, read_value

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "weave.jsonl"
LOG: list[Fields] = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
PAGED = [
    ("0.0", "pager_trigger", {"page_id": "pg_8812"}, "recorded"),
    ("0.1", "flaky", "error: no such page", "failed"),
]


def _whole() -> list[Fields]:
    """Each call with its start and its end in one, as an export has it."""
    found: dict[str, Fields] = {}
    for record in LOG:
        for told in record["req"].values():
            found.setdefault(told["id"], {}).update(told)
    return list(found.values())


CALLS = _whole()


def op(name: str, at: int = 9, **members: Any) -> Fields:
    told = {"id": f"op-{name}-{at}", "project_id": "acme/oncall", "trace_id": "trace-2", "parent_id": "call-1"}
    named: Fields = {"op_name": f"weave:///acme/oncall/op/{name}:0a1b", "attributes": {}, "inputs": {}, "output": None}
    when = {"started_at": f"2026-11-30T18:33:{at:02}Z", "ended_at": f"2026-11-30T18:33:{at:02}Z"}
    return {**told, **named, **when, **members}


def test_the_log_that_the_sdk_keeps() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert (reading.evidence.format, trace.id, trace.session) == ("weave", "trace-2", "t-1")
    assert outcomes(reading) == PAGED
    assert [value_of(call.arguments or b"") for call in trace.calls] == [{"person": "Ida"}, {}]
    said = [text_of(raw) for row in trace.rows(StepKind.MODEL) if (raw := trace.payload[row]) is not None]
    assert (said, trace.facts["pager_trigger"].description) == (["Paged."], "Pages")
    assert (reading.counts.input_tokens, reading.counts.output_tokens) == (10, 4)
    assert not reading.gaps


def test_every_container_tells_the_same(tmp_path: Path) -> None:
    batch = [{"mode": one["type"].removeprefix("call_"), "req": one["req"]} for one in LOG]
    told = [
        read_records(tmp_path, *CALLS),
        read_value(tmp_path, CALLS),
        read_value(tmp_path, {"calls": CALLS}),
        read_records(tmp_path, *({"call": one} for one in CALLS)),
        read_value(tmp_path, {"batch": batch}),
        read_value(tmp_path, {"entity": "acme", "batch": CALLS}),
        read_records(tmp_path, *CALLS[::-1]),
        read_records(tmp_path, *LOG, {"type": "obj_create", "req": {"obj": {"object_id": "run"}}}),
    ]
    for reading in told:
        assert (reading.evidence.format, outcomes(reading)) == ("weave", PAGED)
        assert not reading.gaps


def test_a_plain_op_is_a_tool_where_the_model_asked_for_one_of_its_name() -> None:
    (plain,) = [one for one in CALLS if "pager_trigger" in one["op_name"]]
    assert "kind" not in plain["attributes"]["weave"]
    assert read_evidence(SAMPLE).traces[0].calls[0].executed is not None


def test_a_method_of_that_name_is_one_as_well(tmp_path: Path) -> None:
    told = json.loads(json.dumps(CALLS).replace("op/pager_trigger:", "op/Desk.pager_trigger:"))
    told[2]["inputs"]["self"] = "weave:///acme/oncall/object/Desk:0a1b"
    reading = read_value(tmp_path, told)
    assert outcomes(reading) == PAGED
    assert value_of(reading.traces[0].calls[0].arguments or b"") == {"person": "Ida"}
    assert not reading.gaps


def test_what_an_op_that_calls_no_other_did_is_not_known(tmp_path: Path) -> None:
    assert not hiding(read_records(tmp_path, *CALLS, op("outer"), op("flaky", 10, parent_id="op-outer-9")))
    (said,) = hiding(read_records(tmp_path, *CALLS, op("wipe")))
    assert "kind is not said" in said


@pytest.mark.parametrize(
    ("kind", "tools"), [("tool", ["search"]), ("search", ["search"]), ("scorer", []), ("guardrail", []), ("agent", [])]
)
def test_what_the_kinds_of_ops_are(tmp_path: Path, kind: str, tools: list[str]) -> None:
    told = op("search", attributes={"weave": {"kind": kind}}, inputs={"q": "x"}, output=["Ida"])
    reading = read_records(tmp_path, *CALLS, told)
    assert [call.tool for call in reading.traces[0].calls][2:] == tools
    assert not any("kind is not said" in said for said in hiding(reading))


def test_ops_of_integrations_of_older_releases_have_no_kind(tmp_path: Path) -> None:
    told = json.loads(json.dumps(CALLS).replace('"kind": "llm", ', ""))
    assert outcomes(read_value(tmp_path, told)) == PAGED


def test_a_run_of_langchain_stands_in_its_output(tmp_path: Path) -> None:
    message = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"]}
    asked = [{"name": "lookup", "args": {"q": "x"}, "id": "c9", "type": "tool_call"}]
    message["kwargs"] = {"content": "", "type": "ai", "tool_calls": asked}
    model = op(
        "langchain.Llm.ChatX",
        7,
        attributes={"weave": {"kind": "llm"}},
        inputs={"messages": [[{"role": "user", "content": "who?"}]]},
        output={"outputs": {"generations": [[{"text": "", "message": message}]]}, "name": "ChatX"},
    )
    tool = op(
        "langchain.Tool.lookup",
        8,
        attributes={"weave": {"kind": "tool"}},
        inputs={"input": '{"q": "x"}'},
        output={"outputs": {"output": "Ida"}, "name": "lookup", "extra": {"tool_call_id": "c9"}},
    )
    (trace,) = read_records(tmp_path, CALLS[0], model, tool).traces
    assert trace.calls[0].executed is not None
    assert [(call.tool, value_of(call.result or b""), call.turn) for call in trace.calls] == [("lookup", "Ida", 0)]


def test_what_is_kept_on_the_server_is_a_gap(tmp_path: Path) -> None:
    reference = "weave:///acme/oncall/object/rows:0a1b"
    told = op("load", attributes={"weave": {"kind": "tool"}}, output=reference)
    reading = read_records(tmp_path, *CALLS, told)
    assert reading.traces[0].calls[2].result is None
    assert any("only referred to" in said for said in hiding(reading))


HIDING: list[Any] = [
    op("ask", attributes={"weave": {"kind": "llm"}}, output={"strange": 1}),
    op("ask", attributes={"weave": {"kind": "mystery"}}),
    {"id": "end-only", "project_id": "acme/oncall", "trace_id": "trace-2", "ended_at": "2026-11-30T18:33:00Z"},
    {"op_name": "lost", "inputs": {}},
    op("ask", attributes={"weave": {"kind": "llm"}}),
    op("ask", attributes={"weave": {"kind": "scorer"}}, more={"tool": "rm", "arguments": {}}),
    {"call": op("ask", attributes={"weave": {"kind": "scorer"}}), "more": {"tool": "rm", "arguments": {}}},
]


@pytest.mark.parametrize("one", HIDING)
def test_what_may_hide_a_call_is_a_gap(tmp_path: Path, one: Any) -> None:
    assert hiding(read_records(tmp_path, *CALLS, one))


def test_an_op_that_did_not_end_gave_nothing(tmp_path: Path) -> None:
    cut = [one for one in LOG if not ("end" in one["req"] and one["req"]["end"]["id"] == "call-4")]
    reading = read_records(tmp_path, *cut)
    assert [call.ended for call in reading.traces[0].calls] == [False, True]


def test_a_function_of_the_openai_agents_sdk_names_its_tool_among_the_inputs(tmp_path: Path) -> None:
    told = op(
        "openai_agent_function", inputs={"name": "lookup"}, output={"output": "Ida", "metrics": {}, "error": None}
    )
    call = read_records(tmp_path, *CALLS, told).traces[0].calls[2]
    assert (call.tool, call.arguments, value_of(call.result or b"")) == ("lookup", None, "Ida")


@pytest.mark.parametrize(
    "content",
    [{"calls": [{"id": "1", "name": "x"}]}, [{"op_name": "x"}], {"batch": [{"id": "1", "trace_id": "2"}]}],
)
def test_other_lists_of_calls_are_none_of_it(tmp_path: Path, content: Any) -> None:
    with pytest.raises(EvidenceError, match="not recognised"):
        read_value(tmp_path, content)
