"""Does a screen let every text pass that one of its rules could hold for?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.rules.model import Condition
from forensics.rules.screens import NOTHING, Needed, Screen, needed_matches

A, B = Condition(at="/arguments", keys=("a",), matches="x+"), Condition(at="/arguments/b", matches="y|z")


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (A, {("a", "x+")}),
        (Condition(at=("/arguments/fooBar", "/arguments/b"), matches="x"), {("foo bar", "x"), ("b", "x")}),
        (Condition(any=(A, B)), {("a", "x+"), ("b", "y|z")}),
        (Condition(all=(A, Condition(tool="t"))), {("a", "x+")}),
        (Condition(all=(A, Condition(any=(A, B)))), {("a", "x+")}),
        (Condition(any=(A, Condition(tool="t"))), None),
        (Condition(not_=A), None),
        (Condition(at="/arguments/a", present=True), None),
        (Condition(at="/arguments/*", matches="x"), None),
        (Condition(at="/arguments/a/b", matches="x"), None),
        (Condition(at="/arguments/a", keys=("b",), matches="x"), None),
        (Condition(at="/arguments", matches="x"), None),
        (Condition(at="/result/a", matches="x"), None),
        (Condition(at="/arguments/a", matches="\\Qx"), None),
        (Condition(at="/arguments/a", matches="x", unseen=True), {("a", NOTHING)}),
    ],
)
def test_what_a_condition_needs(condition: Condition, expected: set[tuple[str, str]] | None) -> None:
    assert needed_matches(condition, "arguments") == expected


def test_a_text_passes_by_the_patterns_of_its_own_member() -> None:
    screen = Screen(("a", "b", "c"), Needed({("a", "x+"), ("b", "y|z"), ("b", "(?i)w")}))
    told = [("xx", "", ""), ("", "W", ""), ("y", "X", "xx"), (["xx"], None, 1), ("", "z", "")]
    assert screen.passing(dict(zip("abc", zip(*told, strict=True), strict=True))) == [0, 1, 4]


@pytest.mark.parametrize("others", [0, 40])
def test_a_text_that_is_not_seen_whole_always_passes(others: int) -> None:
    screen = Screen(("a",), Needed({("a", NOTHING), ("a", "x+")}))
    texts = ["y" * 70_000, "\u00e9" * 40_000, "y" * 65_536, "xx", "", *["y"] * others]
    assert screen.passing({"a": texts}) == [0, 1, 3]


PATTERNS = (
    "x+", "(?i)w", "(?s)a.*b", "^a$", "a\\nb", "[^c]*", "\\ba\\b", "\\Ba", "\\Aa\\z", "(?-s:a.)", "\\s*", "(?m)^b$",
)  # fmt: skip
written = st.text(st.sampled_from("abwx \n\u00e9\ud800"), max_size=6)


@given(st.sets(st.sampled_from(PATTERNS), min_size=1, max_size=3), st.lists(written | st.none(), max_size=40))
def test_texts_pass_among_others_as_they_do_alone(patterns: set[str], texts: list[str | None]) -> None:
    screen = Screen(("a", "b"), Needed(("a", pattern) for pattern in patterns))
    alone = [at for at, text in enumerate(texts) if screen.passing({"a": [text], "b": [None]})]
    assert screen.passing({"a": texts, "b": [None] * len(texts)}) == alone


def test_what_two_texts_hold_together_lets_none_of_them_pass() -> None:
    screen = Screen(("a",), Needed({("a", "(?is).*\\bupdate\\b.*\\bset\\b.*")}))
    for many in (1, 16):
        around = [f"{text}{number}" for number in range(many) for text in ("an update", "set it", "x\ny")]
        assert not screen.passing({"a": around})
        assert screen.passing({"a": [*around, "x\ny update\nt set", *around]}) == [3 * many]


def test_a_text_beyond_what_patterns_see_passes_among_others_as_it_does_alone() -> None:
    screen = Screen(("a",), Needed({("a", "x+")}))
    long = "x" * 65536 + "y"
    assert screen.passing({"a": [long]}) == [0]
    assert screen.passing({"a": [*(f"y{number}" for number in range(30)), long]}) == [30]


def test_patterns_that_are_too_large_together_let_all_pass() -> None:
    large = Needed(("a", f"(?:{letter}{{1000}}){{1}}[a-z]{{900}}") for letter in "abcdefghijklmnopqrstuvwxyz")
    many = Needed(("a", f"(?i)(?:[a-{letter}]?\\pL{{300}})") for letter in "bcdefghijklmnopqrstuvwxyz")
    screen = Screen(("a",), large | many)
    assert screen.passing({"a": [f"no match {number}" for number in range(20)]}) == list(range(20))
