"""Which guardrails run again, and what do they decide?"""

from __future__ import annotations

from typing import Any

import pytest

from forensics.core.jsonvalue import raw
from forensics.replay.guards import Guard, guards_of, passes, says_passed


def guard(kind: str, **config: Any) -> Guard:
    return Guard(name="g", kind=kind, position="output", config=config)


@pytest.mark.parametrize(
    ("one", "said", "expected"),
    [
        (guard("regex", pattern=r"\d{16}"), "no card", True),
        (guard("regex", pattern=r"\d{16}"), "card 4111111111111111", False),
        (guard("regex", pattern="^OK", should_match=True), "OK then", True),
        (guard("regex", pattern="^OK", should_match=True), "ok then", False),
        (guard("regex", pattern="^OK", should_match=True, case_insensitive=True), "ok then", True),
        (guard("regex", pattern="a"), {"a": 1}, False),
        (guard("schema", schema={"type": "object", "required": ["a"]}), '{"a": 1}', True),
        (guard("schema", schema={"type": "object", "required": ["a"]}), '{"b": 1}', False),
        (guard("schema", json_schema={"type": "object"}), {"b": 1}, True),
        (guard("schema", schema={"type": "string"}), "no JSON at all", False),
        (guard("regex"), "no pattern", None),
        (guard("regex", pattern="(?=lookahead)"), "not for RE2", None),
        (guard("regex", pattern="a" * 20_000), "too long", None),
        (guard("schema", schema=True), "no schema", None),
        (guard("code"), "its own code", None),
        (guard("llm_judge", prompt="polite?"), "a model's", None),
    ],
)
def test_what_passes(one: Guard, said: Any, expected: bool | None) -> None:  # noqa: FBT001 - a table's column
    assert passes(one, said) is expected


def test_a_pattern_out_of_a_trace_takes_no_exponential_time() -> None:
    assert passes(guard("regex", pattern="(a+)+$"), "a" * 50_000 + "b") is True


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([{"name": "g", "result": "pass"}], True),
        ([{"name": "g", "result": "pass"}, {"name": "h", "result": "block"}], False),
        ([{"name": "g", "result": "error"}], False),
        ({"name": "g", "passed": True}, True),
        (False, False),
        ([], None),
        ("no idea", None),
        (None, None),
    ],
)
def test_what_a_recorded_guardrail_says(told: Any, expected: bool | None) -> None:  # noqa: FBT001 - likewise
    assert says_passed(raw(told)) is expected


def test_what_a_record_lists() -> None:
    listed = [{"name": "a", "guardrail_type": "regex", "position": "input", "config": {"pattern": "x"}}, "no guard", {}]
    found = guards_of(raw(listed))
    assert [(one.name, one.kind, one.position, one.is_data) for one in found] == [
        ("a", "regex", "input", True),
        ("", "code", "output", False),
    ]
    assert guards_of(None) == guards_of(raw({"no": "list"})) == ()
