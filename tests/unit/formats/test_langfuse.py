"""Are Langfuse's observations read alike from exports and batches, whatever instrumentation wrote them?"""

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

Observation = dict[str, Any]
FUNCTION = {"id": "c1", "type": "function", "function": {"name": "page_oncall", "arguments": '{"team": "sre"}'}}
USER = {"role": "user", "content": "page somebody"}
ASKED = {"role": "assistant", "content": "", "tool_calls": [FUNCTION]}
SHOWN = {"role": "tool", "tool_call_id": "c1", "content": '{"page_id": "pg_8812"}'}
SAID = {"role": "assistant", "content": "paged"}
OFFERED = {
    "role": "tool",
    "content": {"type": "function", "function": {"name": "page_oncall", "description": "Pages."}},
}


def observation(number: int, kind: str, name: str, **fields: Any) -> Observation:
    """An observation of one trace that lasted a second, below the first one."""
    return {
        "id": f"o{number}",
        "traceId": "t",
        "parentObservationId": None if number == 0 else "o0",
        "type": kind,
        "name": name,
        "startTime": f"2026-07-01T10:00:{number:02}.000Z",
        "endTime": f"2026-07-01T10:00:{30 if number == 0 else number + 1:02}.000Z",
        "level": "DEFAULT",
        "statusMessage": None,
        "input": None,
        "output": None,
        "metadata": {},
        **fields,
    }


def tool(number: int, kind: str = "TOOL", **fields: Any) -> Observation:
    return observation(number, kind, "page_oncall", **{"input": {"team": "sre"}, "output": SHOWN["content"], **fields})


ALL = [
    observation(0, "SPAN", "run"),
    observation(1, "GENERATION", "chat", input=[USER, OFFERED], output=ASKED, model="m-1", usageDetails={"input": 7}),
    tool(2),
    observation(3, "GENERATION", "chat", input=[USER, ASKED, SHOWN], output=SAID),
]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def as_export(told: list[Observation]) -> str:
    """As the interface writes it: input, output and metadata are JSON texts."""
    texts = [{k: _as_text(v) if k in ("input", "output", "metadata") else v for k, v in o.items()} for o in told]
    return json.dumps({"trace": {"id": "t", "projectId": "p", "observations": []}, "observations": texts})


def as_answer(told: list[Observation]) -> str:
    return json.dumps({"id": "t", "projectId": "p", "observations": told})


def as_list(told: list[Observation]) -> str:
    return json.dumps({"data": told, "meta": {"page": 1}})


def as_lines(told: list[Observation]) -> str:
    return "\n".join(json.dumps(one) for one in told)


def as_batch(told: list[Observation]) -> str:
    """As the SDKs send it: created, and later updated with what the end brought."""
    late = ("endTime", "output")
    batch = [{"id": "e", "type": "trace-create", "body": {"id": "t"}}]
    for one in told:
        kind = "generation" if one["type"] == "GENERATION" else "span" if one["type"] == "SPAN" else "observation"
        early = {k: v for k, v in one.items() if k not in late and (k != "type" or kind == "observation")}
        batch.append({"id": "e", "type": f"{kind}-create", "body": early})
        batch.append({"id": "e", "type": f"{kind}-update", "body": {k: one[k] for k in ("id", "traceId", *late)}})
    return json.dumps({"batch": batch})


@pytest.mark.parametrize("write", [as_export, as_answer, as_list, as_lines, as_batch])
def test_every_container_tells_the_same_run(read_text: Read, write: Callable[[list[Observation]], str]) -> None:
    reading = read_text(write(ALL))
    assert reading.evidence.format == "langfuse"
    assert outcomes(reading) == [("0.0", "page_oncall", {"page_id": "pg_8812"}, "recorded")]
    (trace,) = reading.traces
    assert [step.kind.label for step in trace.steps()] == ["user", "model", "tool_call", "tool_result", "model"]
    assert not reading.gaps
    assert not trace.findings
    assert trace.facts["page_oncall"].description == "Pages."
    assert (reading.counts.spans, reading.counts.input_tokens) == (4, 7)
    assert trace.calls[0].executed is not None


def test_a_plain_span_that_returned_a_tool_message_is_a_tool(read_text: Read) -> None:
    returned = {"type": "tool", "name": "page_oncall", "tool_call_id": "c1", "content": SHOWN["content"]}
    reading = read_text(as_export([*ALL[:2], tool(2, "SPAN", input="{'team': 'sre'}", output=returned), ALL[3]]))
    assert outcomes(reading) == [("0.0", "page_oncall", {"page_id": "pg_8812"}, "recorded")]
    assert reading.traces[0].calls[0].executed is not None
    assert not reading.traces[0].findings


def test_attributes_of_opentelemetry_are_read_in_the_metadata(read_text: Read) -> None:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "page_oncall",
        "gen_ai.tool.call.id": "c1",
        "gcp.vertex.agent.tool_call_args": '{"team": "sre"}',
        "gcp.vertex.agent.tool_response": SHOWN["content"],
    }
    span = observation(2, "SPAN", "x", input={}, output={}, metadata={"attributes": attributes})
    reading = read_text(as_export([*ALL[:2], span, ALL[3]]))
    assert outcomes(reading) == [("0.0", "page_oncall", {"page_id": "pg_8812"}, "recorded")]
    assert not reading.traces[0].findings


def test_an_error_is_told_by_its_level(read_text: Read) -> None:
    failed = tool(2, output=None, level="ERROR", statusMessage="TeamError('no such team')")
    assert read_text(as_export([*ALL[:2], failed])).traces[0].calls[0].outcome is Outcome.FAILED


def test_an_agent_and_a_retriever(read_text: Read) -> None:
    told = [
        {**ALL[0], "type": "AGENT", "name": "pager"},
        *ALL[1:],
        observation(4, "RETRIEVER", "docs", input="runbook"),
    ]
    (trace,) = read_text(as_export(told)).traces
    assert trace.agents == ["pager"]
    assert [c.boundary for c in trace.calls][1:] == [Boundary.RETRIEVER]


def test_a_type_that_is_not_known_hides(read_text: Read) -> None:
    assert any(g.hides for g in read_text(as_export([*ALL, observation(4, "WORMHOLE", "x")])).gaps)


def test_a_generation_without_an_answer_hides(read_text: Read) -> None:
    strange = {**ALL[1], "output": {"something": {"tool_calls": [FUNCTION]}}}
    assert any(g.hides for g in read_text(as_export([ALL[0], strange])).gaps)


def test_evidence_without_an_observation_is_refused(tmp_path: Path, read: Read) -> None:
    (tmp_path / "evidence").write_text("[]", encoding="utf-8")
    with pytest.raises(CorruptEvidenceError):
        read(tmp_path / "evidence", "langfuse")


def test_a_document_that_breaks_off_is_read_up_to_there(read_text: Read) -> None:
    body = as_answer(ALL)
    reading = read_text(body[: len(body) - 40])
    assert reading.evidence.format == "langfuse"
    assert len(reading.traces[0].calls) == 1
    assert any(gap.hides for gap in reading.gaps)


# the corpus: tool calls as INDEX.tsv counts them, model turns counted by hand ------------------------------------

COUNTS = {
    "langfuse-seed__openai-assistants-2024-05-29": (0, 2),
    "langfuse__crewai-2025-07-11.trace": (0, 1),
    "langfuse__csharp-agent-with-gemini-2026-03-09.trace": (2, 3),
    "langfuse__langgraph-python-2025-08-22.trace": (1, 2),
    "langfuse__pydantic-ai-2025-06-06.trace": (0, 1),
    "langfuse__pydantic-ai-tools-2025-06-06.trace": (0, 1),
    "langfuse__pydantic-ai-with-gemini-2025-12-24.trace": (0, 1),
}


@pytest.mark.parametrize("name", COUNTS)
def test_the_exports_of_the_corpus(cases: Path, read: Read, name: str) -> None:
    reading = read(cases / f"traces/langfuse/{name}.json")
    calls = sum(len(trace.calls) for trace in reading.traces)
    assert (reading.evidence.format, calls, reading.counts.model_calls) == ("langfuse", *COUNTS[name])
