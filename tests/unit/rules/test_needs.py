"""Is what a condition needs of a tool told the same by its members alone, and by what stands in them?"""

from __future__ import annotations

import pytest

from forensics.rules import load_rules
from forensics.rules.model import Condition
from forensics.rules.needs import needed_roots, needs

SOURCES = ("declaration", "pack", "schema", "name", "description")
CONDITIONS = [rule.when for pack in load_rules().packs for rule in pack.tools if rule.source in SOURCES]


@pytest.mark.parametrize(
    ("condition", "roots"),
    [
        (Condition(at="/tool", words=("send",)), {"tool"}),
        (Condition(at=("/description", "/tool"), words=("send",)), {"description", "tool"}),
        (Condition(at="/input_schema/properties/path", present=True), {"input_schema"}),
        (Condition(all=(Condition(at="/hints/a", equals=True), Condition(at="/tool", words=("x",)))), {"hints"}),
        (
            Condition(any=(Condition(at="/hints/a", equals=True), Condition(at="/http", present=True))),
            {"hints", "http"},
        ),
        (Condition(at="/hints/a", present=False), None),
        (Condition(at="/hints", equals=None), None),
        (Condition(not_=Condition(at="/tool", words=("x",))), None),
        (Condition(any=(Condition(at="/tool", words=("x",)), Condition(server="*"))), None),
    ],
)
def test_the_members_of_which_one_must_be_there(condition: Condition, roots: set[str] | None) -> None:
    assert needed_roots(condition) == roots


def test_a_shipped_rule_that_needs_a_word_needs_the_member_that_holds_it() -> None:
    told = [(needs(condition), needed_roots(condition)) for condition in CONDITIONS]
    assert sum(roots is not None for _, roots in told) > len(told) * 3 // 4
    assert all(roots is not None for some, roots in told if some is not None)
