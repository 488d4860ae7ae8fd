"""Every test inside every shipped pack, and what holds for all rules."""

from __future__ import annotations

import re

import msgspec
import pytest
import re2

from forensics.core.classes import ToolFacts
from forensics.core.policy import BasePolicy, Policy, TrustEntry
from forensics.rules import load_rules
from forensics.rules.model import Condition, Pack, RuleTest, ShapeRule, ToolRule, WordRule
from forensics.rules.packs import Rule, rules_of

RULES = load_rules()
TRUSTING = Policy(
    name="all",
    base=BasePolicy.STRICT,
    digest="sha256:all",
    trust=tuple(TrustEntry(pack=pack.pack) for pack in RULES.packs),
)
ALL: list[tuple[Pack, Rule]] = [(pack, rule) for pack in RULES.packs for _, _, rule in rules_of(pack)]
CASES = [
    pytest.param(rule, test, id=f"{rule.id}-{number}") for _, rule in ALL for number, test in enumerate(rule.tests)
]


def facts_of(test: RuleTest) -> ToolFacts:
    known = {"name": test.name if test.name is not None else "x", "description": test.description, **test.facts}
    return msgspec.convert(known, ToolFacts)


def speaking(test: RuleTest) -> set[str | None]:
    """The rules that speak about a test's tool, call and result."""
    facts = facts_of(test)
    arguments = None if test.arguments is msgspec.UNSET else test.arguments
    found = [*RULES.tool_evidence(facts, TRUSTING), *RULES.call_evidence(facts, arguments, TRUSTING)]
    if test.result is not msgspec.UNSET:
        found += RULES.result_evidence(facts, arguments, test.result)
    return {piece.rule for piece in found}


GRAMMAR = {"joiner", "negation", "advice", "lead_in", "filler"}


@pytest.mark.parametrize(("rule", "test"), CASES)
def test_rule_speaks_as_its_own_test_says(rule: Rule, test: RuleTest) -> None:
    if isinstance(rule, ShapeRule):
        assert (test.value is not None and shape_speaks(rule, test)) is test.speaks
    elif isinstance(rule, WordRule) and rule.role in GRAMMAR:
        assert grammar_matters(rule, test) is test.speaks
    else:
        assert (rule.id in speaking(test)) is test.speaks


def shape_speaks(rule: ShapeRule, test: RuleTest) -> bool:
    """Whether this rule decides about the value: it names the kind, or says that the value is not opaque."""
    value = test.value or ""
    if rule.pattern is None:
        return RULES.handle_kind(value, test.key) == rule.kind
    alone = re.fullmatch(rule.pattern, value, re.ASCII) is not None
    return alone and RULES.handle_kind(value, test.key) == rule.kind


def grammar_matters(rule: WordRule, test: RuleTest) -> bool:
    """Whether taking the rule's words out of its pack changes what is found about the test's tool."""
    from forensics.rules.engine import RuleSet

    less = tuple(
        msgspec.structs.replace(pack, words=tuple(other for other in pack.words if other.id != rule.id))
        for pack in RULES.packs
    )
    return RuleSet(less, "sha256:less").tool_evidence(facts_of(test), TRUSTING) != RULES.tool_evidence(
        facts_of(test), TRUSTING
    )


def test_ids_are_unique_and_every_rule_says_why() -> None:
    ids = [rule.id for _, rule in ALL]
    assert len(ids) == len(set(ids))
    assert all(rule.because.strip() for _, rule in ALL)


def test_every_rule_has_a_test_of_each_outcome() -> None:
    assert [rule.id for _, rule in ALL if {test.speaks for test in rule.tests} != {True, False}] == []


def test_every_rule_that_is_no_grammar_says_something() -> None:
    silent = [
        rule.id
        for _, rule in ALL
        if isinstance(rule, (WordRule, ToolRule))
        and not (isinstance(rule, WordRule) and rule.role in GRAMMAR)
        and rule.effect is None
        and rule.result is None
        and rule.scope is None
    ]
    assert silent == []


def patterns(condition: Condition) -> list[str]:
    inner = [*condition.all, *condition.any, *([condition.not_] if condition.not_ is not None else [])]
    own = [condition.matches] if condition.matches is not None else []
    return own + [pattern for part in inner for pattern in patterns(part)]


def test_regexes_are_re2_and_anchored_by_use() -> None:
    """A pattern is matched against the whole value, so it carries no anchor of its own; RE2 keeps it linear."""
    found = [rule.pattern for _, rule in ALL if isinstance(rule, ShapeRule) and rule.pattern is not None]
    found += [pattern for _, rule in ALL if isinstance(rule, ToolRule) for pattern in patterns(rule.when)]
    assert found
    for pattern in found:
        re2.compile(pattern)
        assert not pattern.startswith("^")
        assert not re.search(r"(?<!\\)\$$", pattern)


def test_no_rule_names_one_vendor() -> None:
    """Rules are about words, schemas, protocols and behaviour: no exact tool is named in a shipped pack."""
    named = [rule.id for _, rule in ALL if isinstance(rule, ToolRule) and rule.when.tool is not None]
    assert named == []


def test_no_word_has_two_effects_in_one_role() -> None:
    seen: dict[tuple[str, str], str] = {}
    twice = []
    for _, rule in ALL:
        if isinstance(rule, WordRule):
            for word in rule.words:
                other = seen.setdefault((rule.role, word), rule.id)
                twice += [(word, other, rule.id)] if other != rule.id else []
    assert twice == []


def test_words_are_single_and_lower_case() -> None:
    phrases = {"lead_in", "write_phrase", "result_phrase", "names_result"}
    odd = [
        word
        for _, rule in ALL
        if isinstance(rule, WordRule) and rule.role not in phrases
        for word in rule.words
        if not re.fullmatch(r"[a-z0-9']+", word)
    ]
    assert odd == []
