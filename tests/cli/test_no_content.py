"""Does an audit that was asked not to look through the content say so, and hide nothing that it could not know?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from forensics.api import Options, examine
from forensics.cli.program import program
from forensics.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

CREDENTIAL = "ghp_" + "0a1B2c3D4e5F6g7H8i9J" * 2  # made up
LOOKED_FOR = ["secret", "active_content", "control_sequence", "formula_like_text", "lookalike_key"]


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "run.jsonl"
    call = {"type": "tool_call", "id": "a", "name": "charge_card", "args": {"key": CREDENTIAL, "amount": 5}}
    lines = (call, {"type": "tool_result", "call_id": "a", "result": {"id": "ch_9f2c71d0"}})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def audit(trace: str, *options: str) -> Result:
    return CliRunner().invoke(program, ["audit", trace, *options])


def test_the_document_says_what_nobody_looked_for(trace: str) -> None:
    document = json.loads(audit(trace, "--no-content", "--no-redact", "--format", "json").stdout)
    assert document["not_looked_for"] == LOOKED_FOR
    assert (document["counts"]["secrets"], document["counts"]["personal_data"]) == (None, None)
    assert not {finding["code"] for finding in document["findings"]} & set(LOOKED_FOR)
    assert document["traces"][0]["calls"][0]["arguments"]["key"] == CREDENTIAL


def test_all_else_is_as_with_the_content(trace: str) -> None:
    without, looked = (
        json.loads(audit(trace, *options, "--no-redact", "--format", "json").stdout)
        for options in (["--no-content"], ["--content"])
    )
    assert "not_looked_for" not in looked
    assert looked["counts"]["secrets"] == 1
    assert without["traces"] == looked["traces"]
    assert without["findings"] == [finding for finding in looked["findings"] if finding["code"] != "secret"]


def test_the_text_says_it_beside_the_evidence(trace: str) -> None:
    result = audit(trace, "--no-content", "--no-redact")
    assert result.stdout.startswith("REFUSED under strict")
    assert "NOT LOOKED FOR (--no-content): secret, active_content" in result.stdout
    assert result.exit_code == 1


def test_what_nobody_looked_for_cannot_be_hidden(trace: str) -> None:
    result = audit(trace, "--no-content")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--no-redact" in result.stderr
    with pytest.raises(ConfigurationError, match="not looked through"):
        examine(trace, Options(content=False))


def test_a_corpus_is_looked_through(trace: str, tmp_path: Path) -> None:
    result = audit(trace, "--no-content", "--no-redact", "--into", str(tmp_path / "out"))
    assert (result.exit_code, (tmp_path / "out").exists()) == (2, False)
    assert "--no-content" in result.stderr


def test_a_report_says_it_too(trace: str) -> None:
    report = examine(trace, Options(content=False, redact=False)).report()
    assert report.privacy.statement.text.startswith("Nobody looked for credentials and personal data.")
    assert (report.privacy.searched.count, report.privacy.searched.of) == (0, 1)


@pytest.mark.parametrize("beside", [[], ["run.jsonl"]])
def test_where_nothing_was_read_nobody_looked_either(trace: str, tmp_path: Path, beside: list[str]) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    places = [str(tmp_path / name) for name in ("empty.jsonl", "nowhere.jsonl", *beside)]
    asked = ["audit", *places, "--no-content", "--no-redact"]
    document = json.loads(CliRunner().invoke(program, [*asked, "--format", "json"]).stdout)
    assert document["not_looked_for"] == LOOKED_FOR
    assert (document["counts"]["secrets"], document["counts"]["personal_data"]) == (None, None)
    assert "NOT LOOKED FOR (--no-content)" in CliRunner().invoke(program, asked).stdout


def test_a_report_of_what_could_not_be_read_counts_no_secrets(trace: str, tmp_path: Path) -> None:
    privacy = examine(tmp_path / "nowhere.jsonl").report().privacy
    assert privacy.statement.text.startswith("No input could be read, so that nobody knows of credentials")
    assert (privacy.searched.count, privacy.searched.of) == (0, 1)
    both = examine([trace, tmp_path / "nowhere.jsonl"]).report().privacy
    assert both.statement.text.startswith("1 credential and 0 different pieces")
    assert (both.searched.count, both.searched.of) == (1, 2)
