"""Does every rule speak about its own tests as they say?

A test is asked of the whole rule set, as a tool, call or value of a trace would be: a rule that would speak alone, and
that another one silences or outranks, does not speak.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from forensics.core.classes import ToolFacts
from forensics.core.policy import BasePolicy, Policy, TrustEntry
from forensics.rules.engine import RuleSet
from forensics.rules.lints.axes import GRAMMAR_ROLES
from forensics.rules.model import ShapeRule, WordRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.rules.model import Pack, RuleTest
    from forensics.rules.packfile import Rule

_UNSAID = "x"
"""The name of a tool whose test gives none."""


class Trial(NamedTuple):
    """One test of one rule (`number` from 0): whether the rule should have spoken, and whether it did."""

    rule: str
    number: int
    expected: bool
    spoke: bool

    @property
    def holds(self) -> bool:
        """Whether the rule spoke as its test says."""
        return self.expected is self.spoke


class Trials:
    """The tests of the rules in force. Every pack is trusted, so that rules about exact tools are asked as well."""

    def __init__(self, rules: RuleSet) -> None:
        self._rules = rules
        trust = tuple(TrustEntry(pack=name) for name in sorted({pack.pack for pack in rules.packs}))
        self._policy = Policy(name="tests", base=BasePolicy.STRICT, digest="sha256:tests", trust=trust)
        self._without: dict[str, RuleSet] = {}

    def of(self, rule: Rule) -> Iterator[Trial]:
        """Every test of a rule. Raises msgspec.ValidationError where the facts of a test are none of a tool."""
        for number, test in enumerate(rule.tests):
            yield Trial(rule.id, number, test.speaks, self.speaks(rule, test))

    def speaks(self, rule: Rule, test: RuleTest) -> bool:
        """Whether the rule speaks about what the test describes."""
        if isinstance(rule, ShapeRule):
            return test.value is not None and self._names_kind(rule, test.value, test.key)
        if isinstance(rule, WordRule) and rule.role in GRAMMAR_ROLES:
            return self._matters(rule, test)
        return rule.id in self._speaking(test)

    def _names_kind(self, rule: ShapeRule, value: str, key: str | None) -> bool:
        """Whether this rule decides about the value: it names the kind, or says that the value is not opaque."""
        alone = rule.pattern is None or re.fullmatch(rule.pattern, value, re.ASCII) is not None
        return alone and self._rules.handle_kind(value, key) == rule.kind

    def _matters(self, rule: WordRule, test: RuleTest) -> bool:
        """Words of grammar say nothing themselves: one matters where without it something else is found."""
        less = self._without.get(rule.id)
        if less is None:
            less = self._without[rule.id] = RuleSet(tuple(_less(pack, rule) for pack in self._rules.packs), "without")
        facts = _facts(test)
        return less.tool_evidence(facts, self._policy) != self._rules.tool_evidence(facts, self._policy)

    def _speaking(self, test: RuleTest) -> set[str | None]:
        facts = _facts(test)
        arguments = None if test.arguments is msgspec.UNSET else test.arguments
        found = [*self._rules.tool_evidence(facts, self._policy)]
        found += self._rules.call_evidence(facts, arguments, self._policy)
        if test.result is not msgspec.UNSET:
            found += self._rules.result_evidence(facts, arguments, test.result)
        return {piece.rule for piece in found}


def _facts(test: RuleTest) -> ToolFacts:
    said = {"name": _UNSAID if test.name is None else test.name, "description": test.description, **test.facts}
    return msgspec.convert(said, ToolFacts)


def _less(pack: Pack, rule: WordRule) -> Pack:
    return msgspec.structs.replace(pack, words=tuple(one for one in pack.words if one.id != rule.id))
