"""Are handles found that nothing before them holds, and handles that were gone when they were used?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import examine

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.report.documents import FindingRow

Fields = dict[str, Any]
USER = "11f0c2a4-7c1d-4f55-9a51-0d2f6a1f7c11"


def call(name: str, arguments: Fields, call_id: str = "c1", text: str | None = None) -> Fields:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": text,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def result(said: Any, call_id: str = "c1") -> Fields:
    return {"role": "tool", "tool_call_id": call_id, "content": said if isinstance(said, str) else json.dumps(said)}


def found(tmp_path: Path, code: str, *messages: Fields, system: str | None = "You help customers.") -> list[FindingRow]:
    first = [] if system is None else [{"role": "system", "content": system}]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"messages": [*first, *messages, {"role": "assistant", "content": "Done."}]}))
    return [f for f in examine(path).audit().findings if f.code == code]


ASK = {"role": "user", "content": "Where is my order?"}
STRAY = call("get_order", {"order_id": "ord_77123"})


def test_a_read_by_an_id_that_nothing_holds(tmp_path: Path) -> None:
    (one,) = found(tmp_path, "handle_from_nowhere", ASK, STRAY, result("no order"))
    assert (one.severity, one.basis, one.confidence, one.steps) == ("medium", "inferred", "medium", [3])
    assert one.message == "ord_77123 in /order_id of get_order stands in no prompt, result or answer before it"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_order", {"filter": {"userId": USER}}),
        ("list_orders", {"customer_ids": ["12345678"]}),
        ("delete_order", {"order_id": "ord_77123"}),
        ("get_page", {"cursor": "Y3Vyc29yOnYyOpK5MjAyNi0xMS0xM1Q="}),
    ],
)
def test_made_up_ids_of_every_kind(name: str, arguments: Fields, tmp_path: Path) -> None:
    assert len(found(tmp_path, "handle_from_nowhere", ASK, call(name, arguments), result("no"))) == 1


@pytest.mark.parametrize(
    "messages",
    [
        ({"role": "user", "content": "Where is ord_77123?"}, STRAY, result("here")),
        ({"role": "user", "content": "Where is ORD-77123?"}, STRAY, result("here")),
        ({"role": "user", "content": "Order 77123 of list ord_77123_a"}, STRAY, result("here")),
        (ASK, call("list_orders", {}, "c0"), result([{"order_id": "ord_77123"}], "c0"), STRAY, result("here")),
        (ASK, call("create_order", {"order_id": "ord_77123"}), result("made")),
        (ASK, call("get_order", {"request_id": "ord_77123"}), result("here")),
        (ASK, call("get_order", {"idempotency_key_id": "ord_77123"}), result("here")),
        (ASK, call("get_order", {"order_id": "latest"}), result("here")),
        (ASK, call("get_order", {"order_id": 7}), result("here")),
        (ASK, call("get_order", {"name": "ord_77123"}), result("here")),
        (ASK, call("get_model", {"model_id": "gpt-4.1-mini"}), result("here")),
    ],
)
def test_ids_that_were_given_or_may_be_the_caller_s_own(messages: tuple[Fields, ...], tmp_path: Path) -> None:
    assert not found(tmp_path, "handle_from_nowhere", *messages)


def test_nothing_is_said_where_not_everything_is_there(tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/order.png"}}
    shown = {"role": "user", "content": [{"type": "text", "text": "Where is it?"}, picture]}
    assert not found(tmp_path, "handle_from_nowhere", ASK, STRAY, result("no"), system=None)
    assert not found(tmp_path, "handle_from_nowhere", shown, STRAY, result("no"))
    assert not found(
        tmp_path, "handle_from_nowhere", ASK, {"role": "assistant", "tool_calls": "…"}, STRAY, result("no")
    )


# handles that are gone -----------------------------------------------------------------------------------------------


def stale(tmp_path: Path, answer: str, *, failed: bool = True, used: Fields | None = None) -> list[FindingRow]:
    """A session that is opened, used, and used again with this answer."""
    calls = [("open_session", {}), ("type_text", {"session_id": "s-91"}), ("type_text", used or {"session_id": "s-91"})]
    answers = [('{"session_id": "s-91"}', False), ("typed", False), (answer, failed)]
    lines: list[Fields] = []
    for number, ((name, arguments), (said, is_error)) in enumerate(zip(calls, answers, strict=True), 1):
        params = {"name": name, "arguments": arguments}
        content = {"content": [{"type": "text", "text": said}], "isError": is_error}
        lines.append({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        lines.append({"jsonrpc": "2.0", "id": number, "result": content})
    path = tmp_path / "mcp.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return [f for f in examine(path).audit().findings if f.code == "stale_handle"]


@pytest.mark.parametrize(
    "answer", ["Session s-91 not found", "session has expired", "the session is no longer valid", "410 Gone: s-91"]
)
def test_a_handle_that_was_gone(answer: str, tmp_path: Path) -> None:
    (one,) = stale(tmp_path, answer)
    assert (one.severity, one.basis, one.steps) == ("medium", "inferred", [1, 4])
    assert one.message.startswith("s-91 was gone when type_text named it: ")


def test_a_failure_inside_the_result_counts(tmp_path: Path) -> None:
    assert len(stale(tmp_path, '{"error": "session expired"}', failed=False)) == 1


@pytest.mark.parametrize(
    ("answer", "failed"),
    [
        ("typed", False),
        ("the certificate expired, typed anyway", False),
        ("text is too long", True),
        ("page not found", True),
        ("element s-9 not found", True),
    ],
)
def test_an_answer_that_does_not_say_that_the_handle_is_gone(answer: str, failed: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a parameter of the table
    assert not stale(tmp_path, answer, failed=failed)


def test_a_failure_that_names_another_value(tmp_path: Path) -> None:
    assert not stale(tmp_path, "session has expired", used={"session_id": "s-7", "text": "for s-91"})


@pytest.mark.parametrize(("value", "minted"), [(30000, []), (31847, ["31847"])])
def test_a_round_number_that_comes_again_was_chosen_again(tmp_path: Path, value: int, minted: list[str]) -> None:
    events: list[dict[str, Any]] = [
        {"type": "user", "text": "go"},
        {"type": "tool_call", "call_id": "c0", "name": "create_job", "args": {"a": 1}},
        {"type": "tool_result", "call_id": "c0", "result": f"waited {value} ms"},
        {"type": "tool_call", "call_id": "c1", "name": "create_job", "args": {"wait": value}},
        {"type": "tool_result", "call_id": "c1", "result": "ok"},
    ]
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    (trace,) = examine(path).audit().traces
    assert [handle.value for handle in trace.handles] == minted


NOTES = "Deploy with k8s, python3 and sha256 on web1; see INC-42 and CVE-2026-12345."


def way(tmp_path: Path, name: str, said: Any, used: str) -> tuple[str, dict[str, str]]:
    """The result axis of a tool, and the kinds of the values that its result brought and the next call holds."""
    path = tmp_path / "chat.json"
    then = (call("write_file", {"text": used}, "c2"), result("ok", "c2"), {"role": "assistant", "content": "Done."})
    path.write_text(json.dumps({"messages": [ASK, call(name, {"path": "notes"}), result(said), *then]}))
    (trace,) = examine(path).audit().traces
    return trace.tools[0].result, {handle.value: handle.kind for handle in trace.handles}


@pytest.mark.parametrize("name", ["read_file", "Read", "fetch_notes", "search"])
@pytest.mark.parametrize("said", [NOTES, {"content": [{"type": "text", "text": NOTES}]}])
def test_names_of_things_in_a_text_that_was_read_are_not_minted(name: str, said: Any, tmp_path: Path) -> None:
    used = "k8s python3 sha256 web1 INC-42 CVE-2026-12345"
    axis, kinds = way(tmp_path, name, said, used)
    assert (axis, set(kinds.values())) == ("unknown", {"reference"})
    assert set(kinds) == set(used.split())  # each is followed all the same


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("deploy", "started web1 as INC-42"),  # nothing says that it reads
        ("get_slot", "INC-42"),  # the whole result
        ("get_slot", "INC-42\n"),
        ("get_slot", {"slot": "INC-42"}),
        ("get_slot", ["INC-42", "INC-43"]),
    ],
)
def test_a_value_of_its_own_or_of_a_call_that_may_act_is_minted(name: str, said: Any, tmp_path: Path) -> None:
    axis, kinds = way(tmp_path, name, said, "to INC-42")
    assert (axis, kinds["INC-42"]) == ("handle", "prefixed-id")
