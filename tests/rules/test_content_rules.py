"""Every rule about the content of a text says what its own tests say, and its trigger fires where it must."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from forensics.analysis.content.matcher import acting, spans
from forensics.analysis.content.patterns import compile_pattern, trigger_of, triggers
from forensics.rules.content_rules import content_rules, secret_names

if TYPE_CHECKING:
    from forensics.rules.content_rules import ContentRule, NameTest

RULES = [(file.group, rule) for file in content_rules() for rule in file.rules]
TRIALS = [
    pytest.param(group, rule, test.text, test.finds, id=f"{rule.id}-{number}")
    for group, rule in RULES
    for number, test in enumerate(rule.tests)
]
FOUND = [trial for trial in TRIALS if trial.values[3] is not None]
ANYWHERE = [
    pytest.param(rule, test.text, id=f"{rule.id}-{number}")
    for _, rule in RULES
    for number, test in enumerate(rule.tests)
    if test.finds is not None and not rule.pattern.startswith("^")
]


@pytest.mark.parametrize(("group", "rule", "text", "finds"), TRIALS)
def test_a_rule_finds_what_its_tests_say(group: str, rule: ContentRule, text: str, finds: str | None) -> None:
    if group == "texts":
        found = [what.decode() for code, what in acting(text.encode()) if code == rule.kind]
    else:
        found = [span.value for span in spans(text.encode(), None) if span.kind == rule.kind]
    assert found[:1] == ([] if finds is None else [finds])


@pytest.mark.parametrize(("group", "rule", "text", "finds"), FOUND)
@pytest.mark.parametrize("deep", [1, 2, 3])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_trigger_fires_however_deep_the_text_is_escaped(
    group: str, rule: ContentRule, text: str, finds: str, deep: int, *, ascii_only: bool
) -> None:
    written = text
    for _ in range(deep):
        written = json.dumps({"field": written}, ensure_ascii=ascii_only)
    assert compile_pattern(trigger_of([rule.trigger])).search(written.encode()), written


@pytest.mark.parametrize(("rule", "text"), ANYWHERE)
@pytest.mark.parametrize(
    "before", ["\n", "\t", "\x08", "\x0c", "\r", "\u00e9", "\u201c", "_", "%20", "b%3D", "\U0001f511"]
)
def test_a_trigger_fires_behind_whatever_parts_words(rule: ContentRule, text: str, before: str) -> None:
    trigger = compile_pattern(trigger_of([rule.trigger]))
    written = f"a{before}{text}"
    for ascii_only in (True, False):
        for _ in range(3):
            written = json.dumps({"field": written}, ensure_ascii=ascii_only)
            assert trigger.search(written.encode()), written


@pytest.mark.parametrize("test", secret_names().tests, ids=lambda test: f"{test.key}={test.value}")
def test_the_names_say_what_their_tests_say(test: NameTest) -> None:
    assert bool(spans(test.value.encode(), test.key)) is test.finds
    if test.finds:
        written = json.dumps({test.key: test.value}).encode()
        assert any(trigger.pattern.search(written) for trigger in triggers())


def test_ids_are_used_once_and_every_rule_has_reasons_references_and_a_negative_test() -> None:
    ids = [rule.id for _, rule in RULES]
    assert len(ids) == len(set(ids))
    for _, rule in RULES:
        assert rule.because.strip()
        assert rule.references
        assert {test.finds is None for test in rule.tests} == {True, False}, rule.id


def test_there_are_as_many_kinds_as_were_promised() -> None:
    assert len({rule.kind for group, rule in RULES if group == "credential"}) + len(secret_names().certain) >= 25
