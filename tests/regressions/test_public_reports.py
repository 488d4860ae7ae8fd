"""Do the faults of public bug reports stay caught? One folder a report: synthetic input, and its facts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from forensics.api import Options, examine

CASES = sorted(p for p in (Path(__file__).parent / "cases").iterdir() if p.is_dir())
COUNTS = ("tool_calls", "tool_results", "paired", "spans", "roots", "records", "lines", "bad_lines")
LISTS = ("unanswered", "orphan_results", "missing_spans")
LEVELS = {"refuse": {"static", "inject"}, "static_only": {"static"}, "inject_only": {"inject"}}
LOUD = {"medium", "high", "critical"}


def facts(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    source = next(p for p in sorted(folder.iterdir()) if p.name != "expect.json")
    document = json.loads(msgspec.json.encode(examine(source, Options()).audit()))
    return json.loads((folder / "expect.json").read_text("utf-8")), document


@pytest.fixture(params=CASES, ids=lambda p: p.name)
def case(request: pytest.FixtureRequest) -> tuple[dict[str, Any], dict[str, Any]]:
    return facts(request.param)


def test_counts_are_those_of_the_case(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    expect, document = case
    counts = document["counts"]
    assert {k: counts[k] for k in COUNTS if k in expect} == {k: expect[k] for k in COUNTS if k in expect}
    assert {k: sorted(counts[k]) for k in LISTS if k in expect} == {k: sorted(expect[k]) for k in LISTS if k in expect}
    assert sum(len(t["calls"]) for t in document["traces"]) == counts["tool_calls"]


def test_level_is_that_of_the_case(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    expect, document = case
    assert document["traces"]
    for trace in document["traces"]:
        assert trace["verdict"]["level"] in LEVELS[expect["dynamic_replay"]]


def test_findings_are_those_of_the_case_and_no_others(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    expect, document = case
    found = {f["code"] for f in document["findings"]}
    loud = {f["code"] for f in document["findings"] if f["severity"] in LOUD}
    assert set(expect.get("findings", [])) <= found
    assert not found & set(expect.get("not_findings", []))
    assert loud <= set(expect.get("findings", [])) | set(expect.get("may_find", []))


def test_tools_carry_the_labels_of_the_case(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    expect, document = case
    tools = {t["name"]: t for trace in document["traces"] for t in trace["tools"]}
    for name, labels in expect.get("tools", {}).items():
        got = {x.replace("-", "_") for x in (*tools[name]["labels"], tools[name]["class"])}
        assert set(labels) <= got


def test_handles_ids_and_order_are_those_of_the_case(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    expect, document = case
    values = {h["value"] for t in document["traces"] for h in t["handles"]}
    assert set(expect.get("handle_values", [])) <= values
    if "trace_ids" in expect:
        assert [t["id"] for t in document["traces"]] == expect["trace_ids"]
    order = expect.get("order", [])
    assert [c["id"] for t in document["traces"] for c in t["calls"] if c["id"] in order] == order


def test_large_integers_survive_digit_for_digit(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    expect, document = case
    text = json.dumps(document)
    for integer in expect.get("exact_integers", []):
        assert integer in text
