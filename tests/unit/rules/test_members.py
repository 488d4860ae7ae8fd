"""Does asking only the rules that an object's keys name give what asking all of them gives?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.core.keyed import keyed
from forensics.rules.conditions import compile_condition
from forensics.rules.members import Holding, MemberRules, seen_keys
from forensics.rules.model import Condition
from forensics.rules.packs import read_packs, shipped_files

PACKS, _DIGEST = read_packs(shipped_files())
CONDITIONS = [
    *(rule.when for pack in PACKS for rule in pack.tools if rule.source == "arguments"),
    Condition(at="/arguments", keys=("force",), present=False),
    Condition(not_=Condition(at="/arguments/mode", equals="read")),
    Condition(at="/arguments/n", equals=1),
    Condition(all=(Condition(tool="db*"), Condition(at="/arguments", keys=("n",), present=True))),
    Condition(at="/arguments/*/url", present=True),
]
PREDICATES = [compile_condition(condition) for condition in CONDITIONS]
INDEX = MemberRules("arguments", CONDITIONS)

keys = st.sampled_from(
    ["query", "outputPath", "output_path", "method", "idempotencyKey", "n", "mode", "force", "a", "command"]
)
texts = st.sampled_from(["SELECT a FROM b", "POST", "read", "", "x y", "mutation { a }", "k-1"])
scalars = texts | st.integers(0, 2) | st.booleans() | st.none() | st.sampled_from([1.0, 0.0])
objects = st.fixed_dictionaries({"url": texts}) | st.lists(texts, max_size=2)
members = st.dictionaries(keys, scalars | objects, max_size=4)
arguments = members | scalars


@given(arguments, st.sampled_from(["db_read", "x"]))
def test_same_as_asking_every_rule(value: object, tool: str) -> None:
    subject = {"tool": tool, "arguments": value}
    expected = tuple(i for i, holds in enumerate(PREDICATES) if holds(subject))
    assert INDEX.holding(subject) == expected
    assert INDEX.holding(subject) == expected, "the remembered answer is the same"


@given(st.lists(arguments, max_size=40), st.sampled_from(["db_read", "x"]))
def test_several_are_answered_as_each_by_itself(values: list[object], tool: str) -> None:
    subjects = [{"tool": tool, "arguments": value} for value in values]
    expected = [tuple(i for i, holds in enumerate(PREDICATES) if holds(subject)) for subject in subjects]
    for index in (INDEX, MemberRules("arguments", CONDITIONS)):

        def ask(at: int, index: MemberRules = index) -> Holding:
            return index.holding(subjects[at])

        assert index.several(keyed(values), ask) == expected
        assert index.several(keyed(values), ask) == expected, "the remembered answers are the same"


def test_true_is_not_remembered_as_one() -> None:
    place = CONDITIONS.index(Condition(at="/arguments/n", equals=1))
    told = [place in INDEX.holding({"tool": "x", "arguments": {"n": n}}) for n in (1, True, 1.0, 1)]
    assert told == [True, False, True, True]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Condition(at="/arguments", keys=("outputPath",), present=True), {"output path"}),
        (Condition(at="/arguments/headers/location", present=True), {"headers"}),
        (Condition(at="/arguments", keys=("a",), present=False), {"a"}),
        (Condition(not_=Condition(at="/arguments/a", equals=1)), {"a"}),
        (Condition(at="/result", keys=("a",), present=True), None),
        (Condition(at="/arguments", present=True), None),
        (Condition(at="/arguments/*", present=True), None),
        (Condition(tool="x", at="/arguments/a", present=True), None),
        (Condition(all=(Condition(at="/arguments/a", equals=1), Condition(at="/arguments/b", equals=1))), {"a", "b"}),
        (Condition(any=(Condition(at="/arguments/a", equals=1), Condition(server="b"))), None),
    ],
)
def test_keys_that_a_condition_looks_at(condition: Condition, expected: set[str] | None) -> None:
    assert seen_keys(condition, "arguments") == expected


def test_every_shipped_rule_about_arguments_or_results_is_remembered() -> None:
    rules = [rule for pack in PACKS for rule in pack.tools if rule.source in ("arguments", "result")]
    assert [rule.id for rule in rules if seen_keys(rule.when, rule.source) is None] == []
