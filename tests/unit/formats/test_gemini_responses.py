"""Are recorded responses of Gemini CLI told as what models answered, and never as all that happened?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics import examine
from forensics.core.jsonvalue import text_of, value_of
from forensics.core.trace import StepKind
from forensics.errors import EvidenceError
from tests.unit.formats.conftest import outcomes, read_evidence

if TYPE_CHECKING:
    from forensics.core.reading import Reading

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "gemini-responses.jsonl"


def answered(*parts: Fields, **members: Any) -> Fields:
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}, "finishReason": "STOP", **members}]}


def streamed(*responses: Fields) -> Fields:
    return {"method": "generateContentStream", "response": list(responses)}


def lines(tmp_path: Path, *records: Any) -> Reading:
    path = tmp_path / "run.responses"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records), encoding="utf-8")
    return read_evidence(path)


def test_what_models_answered() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert reading.evidence.format == "gemini-responses"
    assert outcomes(reading) == [("1.0", "roster", None, "absent"), ("1.1", "pager_trigger", None, "absent")]
    assert [value_of(call.arguments or b"") for call in trace.calls] == [{"team": "checkout"}, {"person": "Ida"}]
    said = [text_of(raw) for row in trace.rows(StepKind.MODEL) if (raw := trace.payload[row]) is not None]
    assert said == ["flash", "Whoever is on call.", "Paged Ida."]
    assert (reading.counts.input_tokens, reading.counts.output_tokens, reading.counts.records) == (250, 17, 4)
    (gap,) = reading.gaps
    assert gap.hides


def test_answers_alone_are_never_cleared(tmp_path: Path) -> None:
    path = tmp_path / "calm.responses"
    path.write_text(json.dumps(streamed(answered({"text": "hello"}))), encoding="utf-8")
    (trace,) = examine(str(path)).audit().traces
    assert not trace.calls
    assert trace.verdict.level == "static"


def test_one_response_alone(tmp_path: Path) -> None:
    one = {"method": "generateContent", "response": answered({"functionCall": {"name": "rm", "args": {}}})}
    assert outcomes(lines(tmp_path, one)) == [("0.0", "rm", None, "absent")]


HIDING: list[Any] = [
    streamed(),
    streamed({"candidates": [{"content": {"parts": [{"text": "I"}], "role": "model"}}]}),
    streamed(answered({"text": "I"}, finishReason="MALFORMED_FUNCTION_CALL")),
    {"method": "generateContent"},
    {"method": "predict", "response": {}},
    {"method": "generateContent", "response": {"strange": 1}},
]


@pytest.mark.parametrize("one", HIDING)
def test_what_may_hide_a_call_is_a_gap_of_its_own(tmp_path: Path, one: Any) -> None:
    reading = lines(tmp_path, streamed(answered({"text": "hello"})), one)
    assert len([gap for gap in reading.gaps if gap.hides]) > 1


@pytest.mark.parametrize("one", [{"method": "predict", "response": {}}, {"method": "generateContent", "request": {}}])
def test_other_methods_are_none_of_it(tmp_path: Path, one: Fields) -> None:
    with pytest.raises(EvidenceError, match="not recognised"):
        lines(tmp_path, one, one)


@pytest.mark.parametrize(("name", "calls", "turns"), [("tool-error-recovery", 4, 8), ("agent-resume-session", 0, 2)])
def test_real_recordings(cases: Path, name: str, calls: int, turns: int) -> None:
    folder = cases / "traces" / "gemini-fake-responses"
    (trace,) = read_evidence(folder / f"gemini-cli__packages_sdk_test-data_{name}.json").traces
    assert (len(trace.calls), trace.turns) == (calls, turns)
