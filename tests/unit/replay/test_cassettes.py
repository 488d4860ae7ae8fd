"""What does a cassette answer, to which form of a request, and what is set aside?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import Options
from forensics.api_match import match
from forensics.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from forensics.api_match import Matched

URI = "https://api.example/v1/chat"
BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def exchange(request: dict[str, Any], answer: Any = "done", status: int = 200) -> dict[str, Any]:
    body = answer if isinstance(answer, str) else json.dumps(answer)
    return {"request": request, "response": {"status": {"code": status}, "headers": {}, "body": {"string": body}}}


def cassette(*interactions: Any) -> str:
    return json.dumps({"interactions": list(interactions), "version": 1})


def post(body: Any, **more: Any) -> dict[str, Any]:
    text = body if isinstance(body, str) else json.dumps(body)
    return {"method": "POST", "uri": URI, "headers": {}, "body": text, **more}


def outcome(matched: Matched) -> list[tuple[str, int | None, str | None]]:
    return [(row.status, row.recorded, row.rung) for row in matched.document().requests]


def test_the_body_counts(dry: Callable[[Any, Any], Matched]) -> None:
    recording = cassette(exchange(post({"severity": "sev1"}), "pg_8812"))
    matched = dry(recording, json.dumps([post({"severity": "sev2"})]))
    assert outcome(matched) == [("miss", None, None)]
    (near,) = matched.document().requests[0].nearest
    assert (near.pointer, near.left, near.right) == ("/body/severity", '"sev1"', '"sev2"')


@pytest.mark.parametrize(
    ("change", "rung", "aside"),
    [
        ({}, "bytes", []),
        ({"body": '{"a":1}'}, "equal", []),
        ({"headers": {"User-Agent": ["x"], "Date": "now"}}, "normalised", ["/headers/date", "/headers/user-agent"]),
        ({"uri": "https://API.example:443/v1/chat"}, "normalised", ["/uri"]),
        ({"body": {"a": 1.0}}, "equal", []),
    ],
)
def test_the_rung_of_a_request(
    dry: Callable[[Any, Any], Matched], change: dict[str, Any], rung: str, aside: list[str]
) -> None:
    matched = dry(cassette(exchange(post({"a": 1}))), json.dumps([{**post({"a": 1}), **change}]))
    assert outcome(matched) == [("served", 0, rung)]
    assert matched.document().requests[0].set_aside == aside


@pytest.mark.parametrize(
    "change",
    [
        {"method": "PUT"},
        {"uri": URI + "?a=1"},
        {"headers": {"X-HTTP-Method-Override": "DELETE"}},
        {"body": json.dumps({"a": 1, "stream": True})},
        {"body": ""},
    ],
)
def test_what_chooses_is_never_set_aside(dry: Callable[[Any, Any], Matched], change: dict[str, Any]) -> None:
    matched = dry(cassette(exchange(post({"a": 1}))), json.dumps([{**post({"a": 1}), **change}]))
    assert outcome(matched) == [("miss", None, None)]


def test_a_request_to_a_model_may_be_asked_without_its_transport(dry: Callable[[Any, Any], Matched]) -> None:
    recording = cassette(exchange(post(BODY), "a"), exchange(post(BODY), "b"))
    asked = [{"kind": "model", "request": BODY}, post(BODY), {"kind": "model", "request": BODY}]
    assert [row[:2] for row in outcome(dry(recording, json.dumps(asked)))] == [
        ("served", 0),
        ("served", 1),
        ("miss", None),
    ]


def test_a_call_over_mcp_is_a_call_and_its_id_chooses_between_equals_only(dry: Callable[[Any, Any], Matched]) -> None:
    def call(number: int) -> dict[str, Any]:
        params = {"name": "page", "arguments": {"severity": "sev1"}}
        return post({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})

    recording = cassette(exchange(call(1), {"result": 1}), exchange(call(2), {"result": 2}))
    fresh = dry(recording, json.dumps([call(7), call(8)]))
    assert outcome(fresh) == [("served", 0, "normalised"), ("served", 1, "normalised")]
    assert fresh.document().requests[0].set_aside == ["/body/id"]
    assert [row[1] for row in outcome(dry(recording, json.dumps([call(2), call(1)])))] == [1, 0]
    bare = {"kind": "tool", "request": {"tool": "page", "arguments": {"severity": "sev1"}}}
    assert [row[1] for row in outcome(dry(recording, json.dumps([bare, bare])))] == [0, 1]


def test_failed_attempts_are_served_in_their_order_and_are_no_other_answer(dry: Callable[[Any, Any], Matched]) -> None:
    matched = dry(cassette(exchange(post(BODY), "busy", 503), exchange(post(BODY), "ok")), json.dumps([post(BODY)] * 2))
    assert [row.served["body"]["string"] for row in matched.document().requests] == ["busy", "ok"]
    assert matched.matching.findings == ()


def test_an_exchange_without_an_answer_is_not_passed_over(dry: Callable[[Any, Any], Matched]) -> None:
    recording = cassette({"request": post(BODY)}, exchange(post(BODY), "later"))
    matched = dry(recording, json.dumps([post(BODY)]))
    assert outcome(matched) == [("miss", None, None)]
    assert matched.document().requests[0].because == "the cassette holds no answer to it"


def test_what_stands_behind_something_unread_is_in_doubt(dry: Callable[[Any, Any], Matched]) -> None:
    recording = cassette(exchange(post({"a": 1})), {"response": {}}, exchange(post({"a": 2})))
    assert [row[0] for row in outcome(dry(recording, json.dumps([post({"a": 1}), post({"a": 2})])))] == [
        "served",
        "ambiguous",
    ]


def test_a_cassette_answers_its_own_requests(dry: Callable[[Any, Any], Matched], samples: Path) -> None:
    matched = dry(samples / "pager.vcr.yaml", samples / "pager.vcr.yaml")
    assert {row[2] for row in outcome(matched)} == {"bytes"}
    assert matched.matching.stop is None


def test_no_body_is_no_body_however_it_is_written(dry: Callable[[Any, Any], Matched]) -> None:
    bare = {"method": "GET", "uri": URI}
    asked = [bare, {**bare, "body": ""}, {**bare, "body": None}, {**bare, "method": "get"}]
    matched = dry(cassette(*[exchange({**bare, "body": ""})] * 4), json.dumps(asked))
    assert {row[2] for row in outcome(matched)} == {"bytes"}


def test_forms_and_addresses_are_compared_in_one_spelling(dry: Callable[[Any, Any], Matched]) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    recording = cassette(exchange(post("b=1&a=2", uri=f"{URI}?y=1&x=2", headers=headers)))
    matched = dry(recording, json.dumps([post("a=2&b=1", uri=f"{URI}?x=2&y=1", headers=headers)]))
    assert outcome(matched) == [("served", 0, "normalised")]
    assert matched.document().requests[0].set_aside == ["/uri", "/body"]
    assert dry(recording, json.dumps([post("a=2&b=2", uri=f"{URI}?x=2&y=1", headers=headers)])).matching.stop == 0


def test_a_body_in_which_a_key_stands_twice_is_not_served(dry: Callable[[Any, Any], Matched]) -> None:
    matched = dry(cassette(exchange(post('{"a": 1, "a": 2}'))), json.dumps([post('{"a": 1, "a": 2}')]))
    assert outcome(matched) == [("ambiguous", None, None)]


def test_a_har_file_is_a_cassette(dry: Callable[[Any, Any], Matched]) -> None:
    headers = [{"name": "X-Amz-Target", "value": "Get"}, {"name": "Date", "value": "then"}]
    asked = {"method": "POST", "url": URI, "headers": headers, "postData": {"text": '{"a": 1}'}}
    entry = {"request": asked, "response": {"status": 200, "headers": [], "content": {"text": "ok"}}}
    recording = json.dumps({"log": {"version": "1.2", "entries": [entry, entry]}})
    same = post({"a": 1}, headers={"x-amz-target": ["Get"], "date": "now"})
    matched = dry(recording, json.dumps([same, post({"a": 1}, headers={"x-amz-target": "Put"})]))
    assert outcome(matched) == [("served", 0, "normalised"), ("miss", None, None)]
    assert matched.document().requests[0].set_aside == ["/headers/date"]
    assert matched.document().requests[1].nearest[0].pointer == "/headers/x-amz-target"


def test_no_trace_is_chosen_of_a_cassette_or_a_log(write: Any) -> None:
    held = write("cassette", cassette(exchange(post(BODY))))
    with pytest.raises(ConfigurationError, match="of which no trace is chosen"):
        match(held, held, Options(trace="x"))
    for requests in (held, write("list", json.dumps([post(BODY)]))):
        with pytest.raises(ConfigurationError, match="of which no trace is chosen"):
            match(held, requests, requests_trace="x")


def test_requests_of_which_one_is_lost_are_not_called_served(dry: Callable[[Any, Any], Matched], write: Any) -> None:
    whole = cassette(exchange(post(BODY)))
    lost = write("lost", cassette(exchange(post(BODY)), {"response": {}}))
    text = "interactions:\n- request:\n    method: GET\n    uri: http://h/\n  response: {}\n- request: {a"
    cut = write("cut.yaml", text)
    for requests in (lost, cut):
        assert dry(whole, requests).document().requests[0].status == "ambiguous"
