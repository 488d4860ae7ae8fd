"""Where do two values first differ, how is that shown, and which value is nearer?"""

from __future__ import annotations

from typing import Any

import pytest

from forensics.core.differences import differences, nearness, shown


def first(left: Any, right: Any) -> tuple[str, str | None, str | None]:
    found = next(differences(left, right))
    return (found.pointer, *shown(found))


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        ({"a": {"b/c": 1}}, {"a": {"b/c": 2}}, ("/a/b~1c", "1", "2")),
        ({"a": 1, "b": 2}, {"b": 3}, ("/a", "1", None)),
        ({"b": 2}, {"b": 2, "a": [1]}, ("/a", None, "[1]")),
        ([1, [2, 3]], [1, [2, 4]], ("/1/1", "3", "4")),
        ([1], [1, 2], ("/1", None, "2")),
        ({"a": {}}, {"a": []}, ("/a", "{}", "[]")),
        ({"a": True}, {"a": 1}, ("/a", "true", "1")),
        ({"a": None}, {}, ("/a", "null", None)),
        ("x", {"x": 1}, ("", '"x"', '{"x": 1}')),
    ],
)
def test_the_first_difference(left: Any, right: Any, found: tuple[str, str | None, str | None]) -> None:
    assert first(left, right) == found


def test_equal_values_have_none() -> None:
    assert list(differences({"a": [1, {"b": 2.0}]}, {"a": [1.0, {"b": 2}]})) == []


def test_long_texts_are_shown_where_they_part() -> None:
    common = "word " * 1_000
    _, left, right = first({"p": common + "ticket 1"}, {"p": common + "ticket 2" + " more" * 100})
    assert left is not None
    assert right is not None
    assert left.endswith('ticket 1"')
    assert "ticket 2" in right
    assert max(len(left), len(right)) < 120


def test_nothing_that_is_shown_holds_a_lone_surrogate() -> None:
    _, left, _ = first({"p": "a\ud800"}, {"p": "b"})
    assert left is not None
    left.encode()


def test_the_nearer_text_shares_more_words() -> None:
    asked = "Classify ticket 2 (v2)"
    assert nearness(asked, "classify ticket 2") > nearness(asked, "classify ticket 1") > nearness(asked, "hello")
    assert nearness({"a": 1}, {"a": 1.0}) == 1


@pytest.mark.parametrize(
    ("left", "right", "told"),
    [
        ("caf\u00e9", "cafe\u0301", ('"caf\\u00e9"', '"cafe\\u0301"')),
        ("p\u0430ypal", "paypal", ('"p\\u0430ypal"', '"paypal"')),
        ("\ufb01x", "fix", ('"\\ufb01x"', '"fix"')),
        ("M\u00fcller", "Mueller", ('"M\u00fcller"', '"Mueller"')),
        ("\u4f60\u597d", "\u518d\u89c1", ('"\u4f60\u597d"', '"\u518d\u89c1"')),
        ("\u4f60\u597d", "hi", ('"\u4f60\u597d"', '"hi"')),
    ],
)
def test_of_texts_that_look_alike_the_characters_are_told(left: str, right: str, told: tuple[str, str]) -> None:
    assert first(left, right)[1:] == told
