"""Is a rerun kept as a case, and does a run of cases say what is no longer as it was?"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from forensics.cli.program import program

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
AGENT = """
from pathlib import Path

def run(ports, severity="sev1", said="Paged on-call: "):
    metrics = ports.tools.call("query_metrics", {"service": "checkout"})
    if metrics["error_rate"] <= metrics["threshold"]:
        return "All is well."
    page = ports.tools.call("pager.trigger", {"service": "checkout", "severity": severity})
    ports.tools.call("incident.annotate", {"page_id": page["id"], "note": "error_rate 0.31"})
    return f"{said}{page['id']}."

def sev2(ports):
    return run(ports, "sev2")

def other_words(ports):
    return run(ports, said="Done: ")

def forgets(ports):
    ports.tools.call("query_metrics", {"service": "checkout"})
    return "Paged on-call: pg_8812."

def raises(ports):
    raise KeyError("severity")

def fresh_page(service, severity):
    return {"status": "paged", "id": "pg_9147"}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "oncall.py").write_text(AGENT)
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(SAMPLES / "pager.db", tmp_path / "elsewhere" / "pager.db")
    return tmp_path


@pytest.fixture
def save(folder: Path) -> Callable[..., Result]:
    def invoked(*options: str, evidence: Path = folder / "elsewhere" / "pager.db") -> Result:
        words = ["case", "save", str(evidence), "--to", str(folder / "cases" / "cases.jsonl"), "--policy", "inject"]
        return CliRunner().invoke(program, [*words, "--path", str(folder / "code"), *options], env={"COLUMNS": "80"})

    return invoked


@pytest.fixture
def run(folder: Path) -> Callable[..., Result]:
    def invoked(*options: str, code: bool = True) -> Result:
        path = ("--path", str(folder / "code")) if code else ()
        words = ["case", "run", str(folder / "cases" / "cases.jsonl"), *path, *options]
        return CliRunner().invoke(program, words, env={"COLUMNS": "80"})

    return invoked


def kept(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "cases" / "cases.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def rows(result: Result) -> list[dict[str, Any]]:
    document = json.loads(result.stdout)
    Draft202012Validator(json.loads(CliRunner().invoke(program, ["schema", "case-run"]).stdout)).validate(document)
    found: list[dict[str, Any]] = document["cases"]
    return found


def differences(result: Result) -> list[tuple[str, str | None, str | None, str | None, str | None]]:
    (row,) = rows(result)
    names = ("what", "occurrence", "pointer", "expected", "got")
    return [(one["what"], *(one[name] for name in names[1:])) for one in row["differences"]]


def test_a_case_keeps_input_output_tuples_and_digests(save: Callable[..., Result], folder: Path) -> None:
    result = save("--name", "pages-once", "--format", "json")
    assert result.exit_code == 0, result.output
    (case,) = kept(folder)
    Draft202012Validator(json.loads(CliRunner().invoke(program, ["schema", "case"]).stdout)).validate(case)
    assert json.loads(result.stdout) == case
    assert (case["name"], case["input"]) == ("pages-once", "checkout is failing")
    assert case["expected_output"] == "Paged on-call: pg_8812."
    page = case["expected_tuples"][1]
    assert (page["occurrence"], page["tool"], page["said"]) == (
        "1.0",
        "pager.trigger",
        "Error rate 0.31 is over 0.05, paging.",
    )
    assert page["arguments"] == {"service": "checkout", "severity": "sev1"}
    assert page["result"] == {"status": "paged", "id": "pg_8812"}
    assert case["source"]["sha256"] == hashlib.sha256((SAMPLES / "pager.db").read_bytes()).hexdigest()
    assert case["source_trace_id"] == case["source"]["trace"] == "7ef89abcca00f6bce355fba87301f3ef"
    assert (case["policy"], case["agent"], case["modifications"]) == ("inject", "blueprint", {})


def test_a_kept_case_passes(save: Callable[..., Result], run: Callable[..., Result]) -> None:
    save("--with-evidence", "--name", "pages-once")
    result = run(code=False)
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "PASSED 1 of 1 case passed")
    again = run("--format", "json", code=False)
    assert again.stdout == run("--format", "json", code=False).stdout
    assert [(row["name"], row["result"], row["calls"]) for row in rows(again)] == [("pages-once", "passed", 3)]


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ("other_words", [("output", None, "", '"Paged on-call: pg_8812."', '"Done: pg_8812."')]),
        ("raises", [("agent_error", None, None, None, None)]),
    ],
)
def test_another_agent_is_held_to_the_case(
    agent: str, expected: list[Any], save: Callable[..., Result], run: Callable[..., Result]
) -> None:
    save("--with-evidence", "--agent", "oncall:run")
    assert run("--agent", "oncall:run").exit_code == 0
    result = run("--agent", f"oncall:{agent}", "--format", "json")
    assert result.exit_code == 1
    found = differences(result)
    assert found[: len(expected)] == expected


def test_a_changed_action_fails_though_the_answer_is_the_same(
    save: Callable[..., Result], run: Callable[..., Result]
) -> None:
    save("--with-evidence", "--agent", "oncall:run")
    missing = differences(run("--agent", "oncall:forgets", "--format", "json"))
    assert [one[:2] for one in missing] == [("missing", "-.1"), ("missing", "-.2")]
    result = run("--agent", "oncall:sev2")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "FAILED 0 of 1 case passed: 1 failed"
    assert "  call -.1, pager.trigger: arguments at /severity: the call has other arguments" in lines
    assert '    expected  "sev1"' in lines
    assert '    got       "sev2"' in lines
    assert differences(run("--agent", "oncall:sev2", "--format", "json"))[0][0] == "replay_miss"


def test_nothing_that_a_case_names_is_imported(
    save: Callable[..., Result], run: Callable[..., Result], folder: Path
) -> None:
    save("--with-evidence", "--agent", "oncall:run")
    path = folder / "cases" / "cases.jsonl"
    assert "oncall" not in path.read_text()
    (case,) = kept(folder)
    (folder / "code" / "evil.py").write_text(f"open({str(folder / 'touched')!r}, 'w')\n")
    case["agent"] = "evil:run"
    case["overrides"] = ["evil:run"]
    path.write_text(json.dumps(case) + "\n")
    result = run("--format", "json")
    assert result.exit_code == 3
    assert [one[0] for one in differences(result)] == ["code_missing"]
    assert not (folder / "touched").exists()


def test_a_value_that_stood_in_for_a_tool_is_kept_with_the_case(
    save: Callable[..., Result], run: Callable[..., Result], folder: Path
) -> None:
    stub = '{"status": "paged", "id": "pg_9147"}'
    assert save("--with-evidence", "--agent", "oncall:run", "--stub", f"pager.trigger={stub}").exit_code == 0
    (case,) = kept(folder)
    assert case["stubs"] == [{"tool": "pager.trigger", "values": [json.loads(stub)], "each": False}]
    assert case["modifications"] == {"stubs": ["pager.trigger"]}
    assert run("--agent", "oncall:run").exit_code == 0


def test_code_that_stood_in_for_a_tool_is_to_be_handed_in_again(
    save: Callable[..., Result], run: Callable[..., Result], folder: Path
) -> None:
    save("--with-evidence")
    (case,) = kept(folder)
    (folder / "cases" / "cases.jsonl").write_text(json.dumps({**case, "overrides": ["pager.trigger"]}) + "\n")
    result = run()
    assert result.exit_code == 3
    assert "hand it in again: --tool pager.trigger=MODULE:FUNCTION" in " ".join(result.stdout.split())


def test_the_evidence_of_a_case_is_known_by_its_bytes(
    save: Callable[..., Result], run: Callable[..., Result], folder: Path
) -> None:
    save()
    assert [one[0] for one in differences(run("--format", "json"))] == ["evidence_missing"]
    assert run("--evidence", str(folder / "elsewhere")).exit_code == 0
    assert run("--evidence", str(folder / "elsewhere" / "pager.db")).exit_code == 0
    (folder / "cases" / "pager.db").write_bytes(b"another")
    result = run("--format", "json")
    assert (result.exit_code, [one[0] for one in differences(result)]) == (3, ["evidence_changed"])


def test_a_path_in_a_case_leads_nowhere(save: Callable[..., Result], run: Callable[..., Result], folder: Path) -> None:
    save()
    (case,) = kept(folder)
    case["source"]["name"] = str(folder / "elsewhere" / "pager.db")
    (folder / "cases" / "cases.jsonl").write_text(json.dumps(case) + "\n")
    assert [one[0] for one in differences(run("--format", "json"))] == ["evidence_missing"]


def test_a_case_that_was_refused_is_not_kept(save: Callable[..., Result], folder: Path) -> None:
    result = save("--policy", "strict")
    assert result.exit_code == 1
    assert result.stdout.startswith("REFUSED")
    assert not (folder / "cases").exists()


def test_a_change_that_recorded_words_can_not_heed_is_said(save: Callable[..., Result]) -> None:
    result = save("--set-prompt", "Page at once.")
    assert result.exit_code == 0
    assert "note: modification_without_effect: " in result.stderr


def test_a_name_is_kept_once(save: Callable[..., Result], folder: Path) -> None:
    assert save("--name", "a").exit_code == 0
    assert save("--name", "b").exit_code == 0
    taken = save("--name", "a")
    assert (taken.exit_code, "there is a case 'a' already" in taken.stderr) == (2, True)
    assert save("--name", "a", "--agent", "oncall:run", "--force").exit_code == 0
    assert [(case["name"], case["agent"]) for case in kept(folder)] == [("a", "callable"), ("b", "blueprint")]


def test_cases_are_not_written_among_the_evidence(folder: Path) -> None:
    where = folder / "elsewhere"
    words = ["case", "save", str(where / "pager.db"), "--to", str(where / "cases.jsonl"), "--policy", "inject"]
    result = CliRunner().invoke(program, words)
    assert (result.exit_code, [path.name for path in where.iterdir()]) == (2, ["pager.db"])


def test_a_baseline_lets_known_failures_be(
    save: Callable[..., Result], run: Callable[..., Result], folder: Path
) -> None:
    save("--with-evidence", "--name", "a")
    save("--with-evidence", "--name", "b", "--agent", "oncall:run")
    before = folder / "before.json"
    before.write_text(run("--format", "json", "--agent", "oncall:other_words").stdout)
    again = run("--agent", "oncall:other_words", "--baseline", str(before))
    assert (again.exit_code, again.stdout.splitlines()[0]) == (
        0, "PASSED 0 of 2 cases passed: 2 failed, 2 of them known from the baseline",
    )  # fmt: skip
    mended = run("--agent", "oncall:run", "--baseline", str(before))
    assert "Mended since the baseline" in mended.stdout
    (folder / "cases" / "cases.jsonl").write_text(json.dumps(kept(folder)[0]) + "\n")
    assert "Gone since the baseline" in run("--agent", "oncall:run", "--baseline", str(before)).stdout
    (folder / "none.json").write_text("{}")
    assert run("--baseline", str(folder / "none.json")).exit_code == 2


def test_a_file_that_holds_something_else_is_named(run: Callable[..., Result], folder: Path) -> None:
    (folder / "cases").mkdir()
    (folder / "cases" / "cases.jsonl").write_text('{"input": "x", "expected_output": "y"}\n')
    result = run()
    assert (result.exit_code, "cases.jsonl:1: no case" in result.stderr) == (2, True)


def test_code_that_is_not_there_is_a_usage_error(save: Callable[..., Result], run: Callable[..., Result]) -> None:
    save()
    for options in (("--agent", "nowhere:run"), ("--agent", "oncall"), ("--tool", "pay"), ("--tool", "=oncall:run")):
        assert run(*options).exit_code == 2


def test_packed_evidence_is_known_by_the_bytes_of_its_file(
    save: Callable[..., Result], run: Callable[..., Result], folder: Path
) -> None:
    packed = folder / "elsewhere" / "pager.db.gz"
    packed.write_bytes(gzip.compress((SAMPLES / "pager.db").read_bytes(), mtime=0))
    assert save("--with-evidence", evidence=packed).exit_code == 0
    (case,) = kept(folder)
    assert case["source"]["sha256"] == hashlib.sha256(packed.read_bytes()).hexdigest()
    assert run().exit_code == 0


def test_a_changed_change_in_a_case_is_named(
    save: Callable[..., Result], run: Callable[..., Result], folder: Path
) -> None:
    save("--with-evidence")
    (case,) = kept(folder)
    (folder / "cases" / "cases.jsonl").write_text(json.dumps({**case, "changes": {"prompt": 7}}) + "\n")
    assert [one[0] for one in differences(run("--format", "json"))] == ["case_invalid"]
    (folder / "cases" / "cases.jsonl").write_text(json.dumps({**case, "policy": "payments-team"}) + "\n")
    assert [one[0] for one in differences(run("--format", "json"))] == ["policy_missing"]


def test_secrets_of_the_record_stand_in_no_case_and_no_failure(
    save: Callable[..., Result], run: Callable[..., Result], folder: Path
) -> None:
    key = "sk-proj-" + "Zx81kQ0pLm3Vt7Rw" * 3
    call = {"id": "c1", "type": "function", "function": {"name": "login", "arguments": json.dumps({"api_key": key})}}
    messages = [
        {"role": "user", "content": f"use {key}"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": f"logged in with {key}"},
        {"role": "assistant", "content": "done"},
    ]
    trace = folder / "elsewhere" / "keys.json"
    trace.write_text(json.dumps({"messages": messages}))
    assert save("--name", "keys", evidence=trace).exit_code == 0
    text = (folder / "cases" / "cases.jsonl").read_text()
    assert key not in text
    assert text.count("secret:") >= 3
    assert run("--evidence", str(folder / "elsewhere")).exit_code == 0
    (folder / "code" / "oncall.py").write_text(
        f"def run(ports):\n    ports.tools.call('login', {{'api_key': {key!r} + 'x'}})\n"
    )
    failed = run("--evidence", str(folder / "elsewhere"), "--agent", "oncall:run")
    assert failed.exit_code == 1
    assert key not in failed.stdout
    assert save("--name", "plain", "--no-redact", evidence=trace).exit_code == 0
    assert key in (folder / "cases" / "cases.jsonl").read_text()
    assert run("--evidence", str(folder / "elsewhere")).exit_code == 0


def test_the_policy_of_a_case_is_not_that_of_a_configuration_file(
    save: Callable[..., Result], run: Callable[..., Result], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save("--with-evidence")
    (folder / "home").mkdir()
    (folder / "home" / "forensics.toml").write_text('policy = "strict"\n')
    monkeypatch.chdir(folder / "home")
    assert run().exit_code == 0
    refused = run("--policy", "strict", "--format", "json")
    assert (refused.exit_code, {row["result"] for row in rows(refused)}) == (1, {"refused"})
