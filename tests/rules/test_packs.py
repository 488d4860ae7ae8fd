"""Every test inside every shipped pack, and what holds for all rules."""

from __future__ import annotations

import re

import pytest

from forensics.rules import load_rules
from forensics.rules.lints.run import lint
from forensics.rules.model import Pack, RuleTest, ToolRule, WordRule
from forensics.rules.packfile import Rule, rules_of
from forensics.rules.packs import shipped_files
from forensics.rules.trials import Trials

RULES = load_rules()
TRIALS = Trials(RULES)
ALL: list[tuple[Pack, Rule]] = [(pack, rule) for pack in RULES.packs for _, _, rule in rules_of(pack)]
CASES = [
    pytest.param(rule, test, id=f"{rule.id}-{number}") for _, rule in ALL for number, test in enumerate(rule.tests)
]


@pytest.mark.parametrize(("rule", "test"), CASES)
def test_rule_speaks_as_its_own_test_says(rule: Rule, test: RuleTest) -> None:
    assert TRIALS.speaks(rule, test) is test.speaks


def test_no_lint_has_a_complaint_about_a_shipped_pack() -> None:
    assert [str(said) for said in lint(shipped_files())] == []


def test_every_file_is_one_pack_of_a_name_of_its_own() -> None:
    names = [pack.pack for pack in RULES.packs]
    assert len(names) == len(set(names)) == len(shipped_files())


def test_no_rule_names_one_vendor() -> None:
    """Rules are about words, schemas, protocols and behaviour: no exact tool is named in a shipped pack."""
    named = [rule.id for _, rule in ALL if isinstance(rule, ToolRule) and (rule.when.tool or rule.source == "pack")]
    assert named == []


def test_words_are_single_and_lower_case() -> None:
    phrases = {"lead_in", "write_phrase", "harmless_phrase", "result_phrase", "names_result"}
    odd = [
        word
        for _, rule in ALL
        if isinstance(rule, WordRule) and rule.role not in phrases
        for word in rule.words
        if word.isascii() and not re.fullmatch(r"[a-z0-9']+", word)
    ]
    assert odd == []
