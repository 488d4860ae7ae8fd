"""Do a million calls cost what their distinct tools and arguments cost? What was asked once is not asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.classes import ToolFacts
from forensics.core.policy import BasePolicy, Policy, TrustEntry
from forensics.rules.engine import RuleSet, rule_set_of
from forensics.rules.members import MemberRules
from forensics.rules.packs import shipped_files

if TYPE_CHECKING:
    from collections.abc import Callable

NOBODY = Policy(name="strict", base=BasePolicy.STRICT, digest="sha256:0")


@pytest.fixture
def rules() -> RuleSet:
    return rule_set_of(shipped_files())


def counted(monkeypatch: pytest.MonkeyPatch, kind: type, method: str) -> list[str]:
    """Every call of a method, as it goes on being called."""
    calls: list[str] = []
    original: Callable[..., Any] = getattr(kind, method)

    def counting(self: object, *arguments: object) -> object:
        calls.append(method)
        return original(self, *arguments)

    monkeypatch.setattr(kind, method, counting)
    return calls


def facts(number: int) -> ToolFacts:
    """A tool, made anew each time, as each trace makes its own."""
    return ToolFacts(f"get_page_{number}", description="Get a page.", input_schema={"type": "object", "properties": {}})


def test_a_tool_is_judged_once(rules: RuleSet, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = counted(monkeypatch, RuleSet, "_judge_tool")
    found = [rules.tool_evidence(facts(number % 7), NOBODY) for number in range(2_000)]
    assert len(judged) == 7
    assert found[0] == found[7]


def test_another_policy_or_other_facts_are_another_question(rules: RuleSet, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = counted(monkeypatch, RuleSet, "_judge_tool")
    trusting = Policy(name="p", base=BasePolicy.STRICT, digest="sha256:1", trust=(TrustEntry(server="s"),))
    rules.tool_evidence(facts(1), NOBODY)
    rules.tool_evidence(facts(1), trusting)
    rules.tool_evidence(ToolFacts("get_page_1", description="Deletes a page."), NOBODY)
    assert len(judged) == 3


def test_arguments_are_asked_about_once(rules: RuleSet, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = counted(monkeypatch, MemberRules, "_ask")
    calls = rules.calls_of(facts(1), NOBODY)
    heard = {calls.heard({"command": f"ls {number % 10}", "limit": number}) for number in range(2_000)}
    assert len(asked) == 10
    assert len(heard) == 1


def test_keys_that_no_rule_looks_at_ask_nothing(rules: RuleSet, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = counted(monkeypatch, MemberRules, "_ask")
    calls = rules.calls_of(facts(1), NOBODY)
    assert {calls.heard({"service": str(number)}).arguments for number in range(100)} == {()}
    assert asked == []
