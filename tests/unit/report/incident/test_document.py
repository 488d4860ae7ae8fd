"""Does a report say of each statement how it is known, lead to its evidence, and invent nothing?"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

import forensics
from forensics.report.incident.compose import ReportOptions
from forensics.report.incident.content import Level
from forensics.report.incident.markdown.ticket import markdown
from forensics.report.jsonout import json_bytes
from forensics.report.schemas import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[4]
SAMPLES = sorted(p for p in (ROOT / "samples").iterdir() if p.suffix in (".json", ".jsonl", ".db", ".eval", ".yaml"))
PARTS = (
    *("header", "verdict", "happened", "effects", "timeline", "causes", "findings", "tools", "oversight", "quality"),
    *("replay", "custody", "privacy", "obligations", "blanks", "regression"),
)


@lru_cache(maxsize=64)
def report(name: str, level: Level = Level.PREVIEW) -> dict[str, Any]:
    examination = forensics.examine(ROOT / "samples" / name)
    found: dict[str, Any] = json.loads(json_bytes(examination.report(ReportOptions(content=level))))
    return found


def statements(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "text" in value and "basis" in value:
            yield value
        for held in value.values():
            yield from statements(held)
    elif isinstance(value, list):
        for held in value:
            yield from statements(held)


each_sample = pytest.mark.parametrize("sample", [path.name for path in SAMPLES])


@each_sample
def test_it_is_as_its_schema_says_and_has_all_sixteen_parts(sample: str) -> None:
    document = report(sample)
    Draft202012Validator(schema("report")).validate(document)
    assert document["schema"] == "forensics/report/v1"
    assert [part for part in PARTS if part in document] == list(PARTS)


@each_sample
def test_every_statement_says_how_it_is_known(sample: str) -> None:
    found = list(statements(report(sample)))
    assert len(found) >= 6
    for one in found:
        assert one["basis"] in ("recorded", "derived", "inferred")
        assert one["text"].strip()
        if one["basis"] != "recorded":
            assert one["rule"], one
        if one["basis"] == "inferred":
            assert one["alternatives"], one
    for finding in report(sample)["findings"]["rows"]:
        assert finding["basis"] != "inferred" or finding["alternatives"], finding


@each_sample
def test_it_leads_to_steps_that_are_there(sample: str) -> None:
    document = report(sample)
    steps = {event["index"] for event in document["timeline"]["events"]}
    assert steps == set(range(sum(trace["steps"] for trace in document["traces"])))
    for one in statements(document):
        assert set(one.get("steps", [])) <= steps
    lanes = {lane["index"] for lane in document["timeline"]["lanes"]}
    assert {event["lane"] for event in document["timeline"]["events"]} == lanes
    assert document["timeline"]["edges"]
    for edge in document["timeline"]["edges"]:
        assert {edge["source"], edge["target"]} <= steps
    for thread in document["timeline"]["threads"]:
        assert {thread["minted"], *(use["step"] for use in thread["uses"])} <= steps
    for event in document["timeline"]["events"]:
        rows = document["findings"]["rows"]
        assert all(event["index"] in rows[finding]["steps"] for finding in event.get("findings", []))
    assert 1 <= len(document["happened"]) <= 10


@each_sample
def test_every_number_is_of_how_many(sample: str) -> None:
    def shares(value: object) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict):
            if set(value) == {"what", "count", "of"}:
                yield value
            for held in value.values():
                yield from shares(held)
        elif isinstance(value, list):
            for held in value:
                yield from shares(held)

    found = list(shares(report(sample)))
    assert len(found) >= 15
    assert all(0 <= one["count"] <= one["of"] for one in found)


@each_sample
def test_it_agrees_with_the_audit(sample: str) -> None:
    audit = json.loads(json_bytes(forensics.examine(ROOT / "samples" / sample).audit()))
    document = report(sample)
    assert sorted(f["code"] for f in audit["findings"]) == sorted(f["code"] for f in document["findings"]["rows"])
    assert [t["verdict"]["level"] for t in audit["traces"]] == [t["level"] for t in document["verdict"]["traces"]]
    assert document["custody"]["inputs"] == audit["evidence"]
    codes = {f["code"] for f in document["findings"]["rows"]}
    assert codes == {rule["code"] for rule in document["findings"]["rules"]}
    prints = [f["fingerprint"] for f in document["findings"]["rows"]]
    assert len(set(prints)) == len(prints)


def test_what_came_to_nothing_is_no_effect(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    answers: list[dict[str, Any]] = [
        {"result": "no", "status": "denied"},
        {"result": "Error: card declined"},
        {"result": "Request timed out"},
        {"result": {"id": "ch_55029f"}},
    ]
    lines: list[dict[str, Any]] = [{"type": "user", "text": "go"}]
    for number, answer in enumerate(answers):
        lines.append({"type": "tool_call", "id": f"c{number}", "name": "charge_card", "args": {"order": 7}})
        lines.append({"type": "tool_result", "call_id": f"c{number}", **answer})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = forensics.examine(path).report(ReportOptions(content=Level.PREVIEW))
    document = json.loads(json_bytes(told))
    rows = document["effects"]["rows"]
    assert [(row["outcome"], row["outcome_basis"], row["times"]) for row in rows] == [
        ("denied", "recorded", 1),
        ("failed", "derived", 1),
        ("unknown", "derived", 1),
        ("confirmed", "derived", 1),
    ]
    assert document["effects"]["statement"]["text"] == (
        "2 of 4 calls changed something or may have; 2 more were denied or failed."
    )
    ticket = markdown(told).decode("utf-8")
    assert ticket.index("`Request timed out`") < ticket.index("### Denied or failed")
    assert ticket.index("### Denied or failed") < ticket.index("`Error: card declined`") < ticket.index("## Timeline")


def test_the_pager_incident_is_told() -> None:
    document = report("pager.json")
    assert document["verdict"]["traces"][0]["decided_by"]["step"] == 6
    assert [(row["step"], row["tool"], row["outcome"]) for row in document["effects"]["rows"]] == [
        (6, "pager.trigger", "confirmed"),
        (9, "incident.annotate", "answered"),
    ]
    (thread,) = document["timeline"]["threads"]
    assert (thread["value"], thread["minted"], thread["tool"]) == ("pg_8812", 7, "pager.trigger")
    told = " ".join(one["text"] for one in document["happened"])
    assert "pager.trigger was called once on checkout" in told
    assert "“Paged on-call: pg_8812.”" in told
    assert document["causes"][0]["step"] == 6
    assert [lane["name"] for lane in document["timeline"]["lanes"] if lane["kind"] == "tool"] == [
        *("query_metrics", "pager.trigger", "incident.annotate"),
    ]


def test_what_no_trace_shows_is_a_blank() -> None:
    document = report("pager.json")
    assert document["header"]["case_id"] is None
    assert document["header"]["author"] is None
    names = [blank["name"] for blank in document["blanks"]]
    assert {"aware_since", "harm", "persons_affected", "notified", "corrective_action", "sign_off"} <= set(names)
    assert all(blank["value"] is None for blank in document["blanks"])


@each_sample
def test_without_content_no_text_of_the_trace_is_left(sample: str) -> None:
    shown, hidden = report(sample, Level.FULL), report(sample, Level.NONE)
    text = json.dumps(hidden, ensure_ascii=False)
    for thread in shown["timeline"]["threads"]:
        if len(thread["value"]) > 5:
            assert thread["value"] not in text
    names = {event.get("name") for event in hidden["timeline"]["events"]}
    for event in shown["timeline"]["events"]:
        said = event.get("said", "")
        if len(said) > 20 and said not in names:
            assert json.dumps(said, ensure_ascii=False)[1:-1] not in text


def test_content_in_full_is_whole() -> None:
    events = report("pager.json", Level.FULL)["timeline"]["events"]
    assert json.loads(events[7]["said"])["id"] == "pg_8812"
    assert not [event for event in events if event.get("said", "").endswith("…")]


def test_an_evidence_that_can_not_be_read_is_reported() -> None:
    document = json.loads(json_bytes(forensics.examine(ROOT / "README.md").report()))
    assert document["verdict"]["exit_code"] == 3
    assert document["traces"] == []
    assert document["custody"]["inputs"][0]["status"] == "refused"
    assert document["verdict"]["statement"]["text"].startswith("Nothing could be told")


SECRET = "sk-" + "proj-Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 2


def with_secret(folder: Path, secret: str = SECRET, more: int = 0) -> Path:
    rows: list[dict[str, Any]] = [
        {"type": "user", "text": f"use {secret}"},
        {"type": "tool_call", "id": "c1", "name": "charge_card", "args": {"api_key": secret, "order": 7}},
        {"type": "tool_result", "call_id": "c1", "result": "done"},
        {"type": "tool_call", "id": "c2", "name": "charge_card", "args": {"api_key": secret, "order": 7}},
        {"type": "tool_result", "call_id": "c2", "result": "done"},
        *({"type": "user", "text": f"and then {number}"} for number in range(more)),
    ]
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps({**row, "seq": n}) + "\n" for n, row in enumerate(rows)), "utf-8")
    return path


def told_of(path: Path, *, redact: bool = True) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json_bytes(forensics.examine(path, forensics.Options(redact=redact)).report()))
    return found


def test_secrets_are_told_by_kind_and_fingerprint_and_shown_only_when_asked_for(tmp_path: Path) -> None:
    path = with_secret(tmp_path)
    hidden, shown = told_of(path), told_of(path, redact=False)
    assert SECRET not in json.dumps(hidden)
    assert SECRET in json.dumps(shown)
    assert (hidden["contents"]["redacted"], shown["contents"]["redacted"]) == (True, False)
    (row,) = hidden["privacy"]["secrets"]
    assert (row["group"], len(row["fingerprint"])) == ("credential", 12)
    assert row["locators"]
    assert hidden["privacy"]["searched"] == {
        "what": "inputs of which every byte was looked through",
        "count": 1,
        "of": 1,
    }


def test_a_fingerprint_of_a_finding_holds_no_secret_and_knows_a_longer_log(tmp_path: Path) -> None:
    def prints(path: Path, *, redact: bool = True) -> dict[str, str]:
        return {row["code"]: row["fingerprint"] for row in told_of(path, redact=redact)["findings"]["rows"]}

    first = prints(with_secret(tmp_path))
    assert {"secret", "duplicate_side_effect"} <= first.keys() or {
        "secret",
        "possible_duplicate_side_effect",
    } <= first.keys()
    assert prints(with_secret(tmp_path), redact=False) == first
    other = SECRET.replace("Ab3dEf6h", "Zb9dEf1h")
    again = prints(with_secret(tmp_path, secret=other, more=3))
    assert {code: again[code] for code in first if code != "incomplete_run"} == {
        code: print_ for code, print_ in first.items() if code != "incomplete_run"
    }


def test_the_markdown_of_many_runs_fits_into_a_ticket(tmp_path: Path) -> None:
    for number in range(60):
        source = SAMPLES[number % len(SAMPLES)]
        (tmp_path / f"{number}-{source.name}").write_bytes(source.read_bytes())
    document = forensics.examine(tmp_path).report()
    said = markdown(document).decode("utf-8")
    assert len(said) <= 65_536
    assert f"more of {len(document.traces)} traces" in said
    assert all(f"`{rule.code}`" in said for rule in document.findings.rules)
    assert [line for line in said.splitlines() if line.startswith("## ")] == [
        line
        for line in markdown(forensics.examine(SAMPLES[0]).report()).decode().splitlines()
        if line.startswith("## ")
    ]
