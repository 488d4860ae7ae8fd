"""Which recorded calls may really be run? Only those of which every condition holds."""

from __future__ import annotations

from typing import Any

import pytest

from forensics.api import Options
from forensics.api_replay import prepare
from forensics.replay.executable import executable

POLICY = """\
schema: forensics/policy/v1
name: mine
extends: inject
tools:
  - {{tool: lookup, effect: none, result: {result}, because: A read replica., by: on call}}
  - {{tool: read_mail, effect: none, result: stable, because: A read replica., by: on call}}
execute: [{execute}]
"""


def rows(*calls: tuple[str, dict[str, Any], Any]) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [{"type": "user", "text": "go"}]
    for number, (tool, arguments, result) in enumerate(calls):
        told.append({"type": "model", "text": f"turn {number}"})
        told.append({"type": "tool_call", "id": f"c{number}", "name": tool, "args": arguments})
        told.append({"type": "tool_result", "call_id": f"c{number}", "result": result})
    return [*told, {"type": "model", "text": "done"}]


LOOKUP = ("lookup", {"service": "checkout"}, {"owner": "web"})
SEND = ("send_mail", {"to": "a@b.c"}, {"id": "msg_4c19e2"})


@pytest.mark.parametrize(
    ("calls", "says", "expected"),
    [
        ((LOOKUP, LOOKUP), {"execute": "lookup"}, {0, 1}),
        ((LOOKUP,), {"execute": "other"}, set()),
        ((LOOKUP,), {"execute": "lookup", "result": "volatile"}, set()),
        ((LOOKUP, SEND, LOOKUP), {"execute": "lookup, send_mail"}, {0}),
        ((("unknown", {}, "x"), LOOKUP), {"execute": "unknown, lookup"}, set()),
    ],
)
def test_what_may_run(write: Any, calls: Any, says: dict[str, str], expected: set[int]) -> None:
    policy = write("policy.yaml", POLICY.format(**{"result": "stable", **says}))
    prepared = prepare(write("log.jsonl", rows(*calls)), Options(policy=policy))
    assert executable(prepared.analysis, prepared.policy) == expected
