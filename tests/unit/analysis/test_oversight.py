"""Are approvals tied to calls by recorded ids only, and is said where what ran is not what was approved?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import examine

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.report.documents import FindingRow

Fields = dict[str, Any]
CODES = {"approval_reused", "ambiguous_approval", "approval_contradicted", "executed_differs_from_approved"}


def call(call_id: str = "a", **arguments: Any) -> Fields:
    return {"type": "tool_call", "id": call_id, "name": "delete_user", "args": arguments or {"user": 5}}


def asked(call_id: str = "a", name: str = "ap-1", **more: Any) -> Fields:
    return {"type": "approval_request", "approval_id": name, "call_id": call_id, **more}


def decided(decision: str, name: str = "ap-1", **more: Any) -> Fields:
    return {"type": "approval", "approval_id": name, "decision": decision, **more}


def result(call_id: str = "a", said: str = "done") -> Fields:
    return {"type": "tool_result", "call_id": call_id, "result": said}


def found(tmp_path: Path, *events: Fields) -> list[FindingRow]:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return [f for f in examine(path).audit().findings if f.code in CODES]


@pytest.mark.parametrize(
    ("events", "codes"),
    [
        ((call(), asked(), decided("reject"), result()), ["approval_contradicted"]),
        ((call(), asked(), decided("reject"), result(said="rejected by reviewer")), []),
        ((call(), asked(), decided("reject")), []),
        ((call(), asked(), decided("approve"), result()), []),
        ((call(), call("b"), asked(), asked("b"), decided("approve"), result(), result("b")), ["approval_reused"]),
        ((call(), call("b"), asked(), asked("b", "ap-2"), decided("approve"), decided("approve", "ap-2")), []),
        (
            (call(), call("b"), asked(), asked("b"), decided("approve"), decided("reject"), result()),
            ["ambiguous_approval", "approval_contradicted"],
        ),
    ],
)
def test_approvals_that_say_another_thing_than_what_ran(
    events: tuple[Fields, ...], codes: list[str], tmp_path: Path
) -> None:
    assert [f.code for f in found(tmp_path, *events)] == codes


@pytest.mark.parametrize(
    ("events", "keys"),
    [
        ((asked(args={"user": 6}), decided("approve")), "user"),
        ((asked(arguments='{"user": 6}'), decided("approve")), "user"),
        ((asked(args={"user": 5, "scope": "one"}), decided("approve")), "scope"),
        ((asked(args={"user": 5}), decided("approve", call_id="a", args={"user": 6})), "user"),
    ],
)
def test_other_arguments_than_the_approved_ones(events: tuple[Fields, ...], keys: str, tmp_path: Path) -> None:
    (one,) = found(tmp_path, call(), *events, result())
    assert (one.code, one.severity, one.basis) == ("executed_differs_from_approved", "high", "derived")
    assert one.message.endswith(f"than ran: {keys}")
    assert {0, 1, 2} <= set(one.steps) | {1}


@pytest.mark.parametrize(
    "events",
    [
        (asked(args={"user": 5}), decided("approve")),
        (asked(args='{"user": 5}'), decided("approve")),
        (asked(args={}), decided("approve", call_id="a", args={"user": 5})),
        (asked(reason="removes a user"), decided("approve")),
        (asked(args={"user": 6}),),
        (asked("another", args={"user": 6}), decided("approve")),
    ],
)
def test_what_was_approved_ran_or_nothing_was_shown(events: tuple[Fields, ...], tmp_path: Path) -> None:
    assert not found(tmp_path, call(), *events, result())


def test_a_call_that_did_not_run_differs_from_nothing(tmp_path: Path) -> None:
    assert not found(tmp_path, call(), asked(args={"user": 6}), decided("approve"))
