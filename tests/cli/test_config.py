"""Which configuration file is read, what wins, and what is never read?"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from forensics.cli.program import program

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with evidence in another folder; home is above both."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    folder, evidence = tmp_path / "project" / "deep", tmp_path / "evidence"
    folder.mkdir(parents=True)
    evidence.mkdir()
    (evidence / "pager.json").write_bytes((SAMPLES / "pager.chat.json").read_bytes())
    monkeypatch.chdir(folder)
    return folder


def audit(*more: str, evidence: str = "../../evidence/pager.json") -> Result:
    return CliRunner().invoke(program, ["audit", evidence, *more])


def test_an_option_comes_from_forensics_toml(work: Path) -> None:
    (work / "forensics.toml").write_text('policy = "inject"\n')
    result = audit()
    assert result.exit_code == 0
    assert result.stderr == "note: policy from forensics.toml\n"


def test_an_option_comes_from_pyproject_toml(work: Path) -> None:
    (work.parent / "pyproject.toml").write_text('[tool.forensics]\npolicy = "inject"\nfail_on = "info"\n')
    result = audit()
    assert result.exit_code == 1
    assert result.stdout.startswith("CLEARED under inject")


@pytest.mark.parametrize(
    "table",
    [
        '[ tool . "forensics" ]\npolicy = "inject"',
        "[tool]\nforensics.policy = 'inject'",
        '["tool"]\n[tool.\'forensics\']\npolicy = "inject"',
        'tool.forensics.policy = "inject"',
        'tool = {forensics = {policy = "inject"}}',
        '"tool"={"forensics"={policy="inject"}}',
        '["to\\u006fl"."\\u0066orensics"]\npolicy = "inject"',
    ],
)
def test_the_table_is_found_however_it_is_spelled(work: Path, table: str) -> None:
    (work.parent / "pyproject.toml").write_text(f"{table}\n")
    assert audit().stdout.startswith("CLEARED under inject")


def test_a_project_that_does_not_name_us_may_be_broken(work: Path) -> None:
    (work.parent / "pyproject.toml").write_text("[project\n")
    result = audit()
    assert result.exit_code == 1
    assert result.stdout.startswith("REFUSED under strict")
    (work.parent / "pyproject.toml").write_text("[tool.forensics\n")
    assert "pyproject.toml can't be read" in audit().stderr


def test_the_command_line_wins(work: Path) -> None:
    (work / "forensics.toml").write_text('policy = "inject"\nformat = "json"\n')
    result = audit("--policy", "strict", "--format", "text")
    assert result.stdout.startswith("REFUSED under strict")
    assert result.stderr == ""


def test_limits_are_taken_by_name_from_both(work: Path) -> None:
    (work / "forensics.toml").write_text("[limit]\nsize = 10\nrecords = 1\n")
    assert "limit of 10;" in " ".join(audit().stdout.split())
    raised = audit("--limit", "size=1M")
    assert "limit of 1;" in " ".join(raised.stdout.split())
    assert raised.exit_code == 3
    (work / "forensics.toml").write_text('[limit]\ncolour = "3"\n')
    assert "there is no limit" in audit().stderr


def test_paths_are_relative_to_the_file(work: Path) -> None:
    (work.parent / "team.yaml").write_text("schema: forensics/policy/v1\nname: team\nextends: inject\n")
    (work.parent / "forensics.toml").write_text('policy = "team.yaml"\n')
    assert "by policy team" in audit().stdout


def test_an_inventory_beside_the_evidence_may_be_configured(work: Path) -> None:
    (work.parent / "tools.json").write_text('{"tools": [{"name": "query_metrics", "description": "Gets a metric."}]}')
    (work.parent / "forensics.toml").write_text('tools = "tools.json"\n')
    result = audit()
    assert result.stderr == "note: tools from forensics.toml\n"
    assert "tools.json: tools-list, 1 tool declared" in result.stdout


def test_the_nearest_file_is_the_one(work: Path) -> None:
    (work.parent / "forensics.toml").write_text('policy = "inject"\n')
    (work / "forensics.toml").write_text('fail_on = "critical"\n')
    assert audit().stdout.startswith("REFUSED under strict")


def test_nothing_above_a_git_root_is_read(work: Path) -> None:
    (work.parent / "forensics.toml").write_text('policy = "inject"\n')
    (work / ".git").mkdir()
    assert audit().exit_code == 1


def test_outside_home_and_git_only_the_working_folder_is_read(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work.parent / "forensics.toml").write_text('policy = "inject"\n')
    monkeypatch.setenv("HOME", str(work / "elsewhere"))
    monkeypatch.setenv("USERPROFILE", str(work / "elsewhere"))
    assert audit().exit_code == 1


@pytest.mark.parametrize("place", [".", "below"])
def test_a_file_in_the_folder_of_the_evidence_is_never_read(
    work: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = work.parents[1] / "evidence"
    (folder / "below").mkdir()
    (folder / place / "forensics.toml").write_text('policy = "inject"\n')
    monkeypatch.chdir(folder / place)
    for evidence in (os.path.relpath(folder / "pager.json"), os.path.relpath(folder), str(folder / "*.json")):
        result = audit(evidence=evidence)
        assert result.exit_code in (1, 3)
        assert "REFUSED under strict" in result.stdout
        assert "note: forensics.toml is not read: it stands in the folder of the evidence" in result.stderr


@pytest.mark.parametrize("there", ["recording", "requests"])
def test_neither_folder_of_a_dry_run_is_read(work: Path, there: str) -> None:
    (work / "forensics.toml").write_text('format = "json"\n')
    record = '{"kind": "model", "request": "a", "response": "b"}\n'
    (work / "here.jsonl").write_text(record)
    (work.parent.parent / "evidence" / "far.jsonl").write_text(record)
    places = ["here.jsonl", "../../evidence/far.jsonl"]
    result = CliRunner().invoke(program, ["match", *(places if there == "recording" else places[::-1])])
    assert "forensics.toml is not read: it stands in the folder of the evidence" in result.stderr
    assert result.stdout.startswith("SERVED 1 request")


def test_a_link_to_the_folder_of_the_evidence_changes_nothing(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = work.parents[1] / "evidence"
    (folder / "forensics.toml").write_text('policy = "inject"\n')
    try:
        (work / "link").symlink_to(folder, target_is_directory=True)
    except OSError:
        pytest.skip("this machine makes no links")
    monkeypatch.chdir(folder)
    assert audit(evidence=str(work / "link" / "pager.json")).exit_code == 1


def test_a_broken_file_beside_the_evidence_stops_nothing(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = work.parents[1] / "evidence"
    (folder / "forensics.toml").write_text("= broken")
    monkeypatch.chdir(folder)
    assert audit(evidence="pager.json").exit_code == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("polycy = 1\nb = 2", "forensics.toml: polycy: unknown key; b: unknown key"),
        ('fail_on = "loud"', "forensics.toml: fail_on: Input should be 'info', 'low', 'medium', 'high' or 'critical'"),
        ('input_format = "nonsense"', "there is no format 'nonsense'; one of: "),
        ("rules = [1]", "forensics.toml: rules.0: Input should be a valid string"),
        ('as_of = "soon"', "forensics.toml: as_of: Input should be a valid date"),
        ("= 1", "forensics.toml can't be read"),
    ],
)
def test_a_wrong_file_is_one_clear_error(work: Path, line: str, said: str) -> None:
    (work / "forensics.toml").write_text(line)
    result = audit()
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_a_date_is_a_date(work: Path) -> None:
    (work / "forensics.toml").write_text("as_of = 2026-01-31\n")
    assert "as_of from forensics.toml" in audit().stderr
