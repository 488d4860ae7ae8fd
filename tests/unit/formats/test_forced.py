"""Is an evidence that is read as another format than it is never cleared for what that format would not have seen?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forensics.api import Options, examine

if TYPE_CHECKING:
    from forensics.report.documents import TraceRow

SAMPLES = Path(__file__).resolve().parents[3] / "samples"


def forced(path: Path, name: str | None) -> tuple[TraceRow, ...]:
    return tuple(examine(path, Options(input_format=name)).audit().traces)


def test_another_format_than_the_evidence_surely_is_refuses() -> None:
    own, other = forced(SAMPLES / "pager.vcr.yaml", "vcr-cassette"), forced(SAMPLES / "pager.agents.json", "langsmith")
    assert [t.verdict.level for t in own] != ["static"]
    assert all(t.verdict.level == "static" for t in other)


@pytest.mark.parametrize(("name", "level"), [("sweagent", "static"), ("openai-chat", "static")])
def test_a_format_that_records_calls_vouches_only_for_evidence_of_its_kind(
    tmp_path: Path, name: str, level: str
) -> None:
    """A log of talk with code in it, which no reader knows: no call is found, and that proves nothing."""
    path = tmp_path / "talk.json"
    told = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "```sh\nrm -rf data\n```"}]
    path.write_text(json.dumps({"history": told, "question": "?"}), encoding="utf-8")
    assert {t.verdict.level for t in forced(path, name)} <= {level}


def test_a_format_that_fits_is_read_as_without_the_option() -> None:
    path = SAMPLES / "readonly.responses.json"
    assert forced(path, "openai-responses") == forced(path, None)
