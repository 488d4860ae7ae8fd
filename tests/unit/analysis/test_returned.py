"""Values in the result of one listed call that the call made."""

from __future__ import annotations

import pytest

from forensics.analysis.inventory import classify_calls
from forensics.analysis.inventory_files import CallFacts
from forensics.analysis.returned import minted_by_call
from forensics.core.classes import Effect, Stability, ToolFacts
from forensics.core.policy import BasePolicy, Policy
from forensics.rules import load_rules

RULES = load_rules()
NOBODY = Policy(name="strict", base=BasePolicy.STRICT, digest="sha256:0")
UUID = "0b9f3a54-6d5e-4a8e-9a51-0d2f6a1f7c11"


@pytest.mark.parametrize(
    ("arguments", "result", "effect", "at"),
    [
        ({"title": "a"}, {"page": {"id": "pg_8812"}}, Effect.REPEATING, "/page/id"),
        ({"title": "a"}, {"id": 7}, Effect.REPEATING, "/id"),
        ({"id": 7}, {"id": 7}, Effect.REPEATING, None),
        ({"id": "7"}, {"id": 7}, Effect.REPEATING, None),
        ({"url": "https://example.org/pg_8812"}, {"id": "pg_8812"}, Effect.REPEATING, None),
        ({"title": "a"}, {"count": 7, "title": "a"}, Effect.REPEATING, None),
        ({"title": "a"}, {"id": "pg_8812"}, Effect.NONE, None),
        ({"title": "a"}, {"cursor": UUID}, Effect.NONE, "/cursor"),
        ({"title": "a"}, {"updated_at": "2026-11-13T10:00:00Z"}, Effect.OVERWRITING, None),
        (None, "plain text", Effect.UNKNOWN, None),
    ],
)
def test_what_a_call_made(arguments: object, result: object, effect: Effect, at: str | None) -> None:
    found = minted_by_call(arguments, result, effect, RULES)
    assert [f"at {at}," in piece.says for piece in found] == ([] if at is None else [True])


def test_a_listed_call_that_made_a_value_returns_a_handle() -> None:
    call = CallFacts(ToolFacts("submit_form"), {"name": "a"}, {"reference": "RF-2041"})
    (one,) = classify_calls([call], RULES, NOBODY)
    assert one.classification.result is Stability.HANDLE
    assert one.classification.effect is Effect.REPEATING
