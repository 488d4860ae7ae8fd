"""Is each tool of each server a tool of its own, and each payload read exactly?"""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forensics.api import Options, examine
from forensics.core import calls as core_calls
from forensics.report.jsonout import json_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.report.documents import AuditDocument

DAY = datetime.date(2026, 1, 1)
ENTRY = """schema: forensics/policy/v1
name: one-server
extends: strict
tools:
  - tool: read_file
    server: good
    effect: none
    result: stable
    because: "a test"
    by: "a test"
"""


def audit(tmp_path: Path, *lines: object, policy: str | None = None) -> AuditDocument:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    file = tmp_path / "policy.yaml"
    if policy is not None:
        file.write_text(policy, "utf-8")
    return examine(log, Options(policy=None if policy is None else file, as_of=DAY)).audit()


def call(number: int, server: str | None = None) -> tuple[dict[str, object], dict[str, object]]:
    asked: dict[str, object] = {"type": "tool_call", "id": f"c{number}", "name": "read_file", "args": {"path": "a"}}
    if server is not None:
        asked["server"] = server
    return asked, {"type": "tool_result", "call_id": f"c{number}", "result": "x"}


@pytest.mark.parametrize(
    ("servers", "cleared"), [(("good", "good"), True), (("good", "evil"), False), (("evil", "good"), False)]
)
def test_what_vouches_for_one_server_vouches_for_no_other(
    tmp_path: Path,
    servers: tuple[str, str],
    cleared: bool,  # noqa: FBT001
) -> None:
    lines = (*call(0, servers[0]), *call(1, servers[1]), {"type": "model", "text": "done"})
    (trace,) = audit(tmp_path, *lines, policy=ENTRY).traces
    assert trace.verdict.cleared is cleared
    assert [(t.name, t.server) for t in trace.tools] == [("read_file", s) for s in dict.fromkeys(servers)]


def test_the_same_call_with_another_result_is_volatile(tmp_path: Path) -> None:
    asked, _ = call(0)
    again, answer = call(1)
    lines = (asked, {"type": "tool_result", "call_id": "c0", "result": "x"}, again, {**answer, "result": "y"})
    (trace,) = audit(tmp_path, *lines).traces
    (tool,) = trace.tools
    assert "another result" in " ".join(b.says for b in tool.basis)


def test_integers_beyond_a_double_are_said_once_and_kept(tmp_path: Path) -> None:
    big = {"type": "tool_call", "id": "c0", "name": "close", "args": {"id": 7312292042121000001}}
    document = audit(tmp_path, big, {"type": "tool_result", "call_id": "c0", "result": {"n": 2**70}})
    assert [f.code for f in document.findings].count("large_integer") == 1
    assert document.traces[0].calls[0].arguments == {"id": "7312292042121000001"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"id": 2**53}, 0),
        ({"id": -(2**53) - 1}, 1),
        ({"n": [{"deep": 2**53 + 1}]}, 1),
        ({"text": "9007199254740993"}, 0),
        (json.dumps({"id": 2**53 + 1}), 1),
        (json.dumps({"id": 2**53 + 1}).replace("9", "\\u0039"), 1),
    ],
)
def test_an_integer_beyond_a_double_is_found_however_it_is_spelled(
    tmp_path: Path, arguments: object, told: int
) -> None:
    asked = {"type": "tool_call", "id": "c0", "name": "close", "args": arguments}
    line = json.dumps(asked).replace("\\\\u0039", "\\u0039")
    (tmp_path / "t.jsonl").write_text(line + "\n", encoding="utf-8")
    document = examine(tmp_path / "t.jsonl", Options()).audit()
    assert [f.code for f in document.findings].count("large_integer") == told


ARGUMENTS: list[object] = [
    {"query": "select 1"}, {"query": "delete from t"}, {"query": "a word", "dry_run": True}, {"n": 1}, {"n": 1.0},
    {"n": True}, {"command": "ls"}, {"command": "rm -rf /"}, "free text", '{"n": 1}', None, [1, 2], {}, {"force": True},
    {"amount": 9, "idempotency_key": "k"}, {"n": 9007199254740993},
]  # fmt: skip
RESULTS: list[object] = [
    "ok", None, {"id": "pay_1001"}, {"id": "pay_1002"}, {"error": "boom"}, '{"error": "boom"}', {"status": "queued"},
    {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}}, {"status": "ok", "n": 9007199254740993},
    {"content": [{"type": "text", "text": '{"created": true}'}]}, [], {"created": True}, {"status": ["queued"]},
]  # fmt: skip
made = st.tuples(
    st.sampled_from(["run", "pay", "get_status", "sql_query"]), st.sampled_from(ARGUMENTS), st.sampled_from(RESULTS)
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=st.lists(made, min_size=1, max_size=12), doubled=st.integers(0, 12))
def test_calls_that_are_studied_together_are_judged_as_one_by_one(
    tmp_path: Path, calls: list[tuple[str, object, object]], doubled: int
) -> None:
    lines: list[str] = []
    for number, (tool, args, result) in enumerate(calls):
        given_ = '{"n":1,"n":2}' if number == doubled else json.dumps(args)
        lines.append(f'{{"type": "tool_call", "id": "c{number}", "name": "{tool}", "args": {given_}}}')
        lines.append(f'{{"type": "tool_result", "call_id": "c{number}", "result": {json.dumps(result)}}}')
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(lines), "utf-8")
    together = json_bytes(examine(log, Options(as_of=DAY)).audit())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core_calls, "_AT_ONCE", 1)
        assert json_bytes(examine(log, Options(as_of=DAY)).audit()) == together
