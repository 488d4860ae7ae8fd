"""Do two records say the same? The ladder, rung by rung, and what stands below it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.core.agreement import Rung, agree, compare_arguments
from forensics.core.jsonvalue import raw

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=6),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=3), v, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("left", "right", "rung"),
    [
        ("paged", "paged", Rung.BYTES),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, Rung.VALUES),
        ('{"a": 1}', {"a": 1}, Rung.VALUES),
        ('{"a":1}', '{"a": 1}', Rung.VALUES),
        ({"a": 9.0}, {"a": 9}, Rung.VALUES),
        (0.31, "0.31", Rung.TEXT),
        (True, "True", Rung.TEXT),
        ({"a": "x"}, "{'a': 'x'}", Rung.TEXT),
        ([{"type": "text", "text": "sunny"}], "sunny", Rung.TEXT),
        ("hello\n", "hello", Rung.TEXT),
        ('"hello"', "hello", Rung.TEXT),
        ("null", "None", Rung.TEXT),
        ("true", "True", Rung.TEXT),
        ("42.0", "42", Rung.TEXT),
        ({"content": [{"type": "text", "text": "sunny"}]}, "sunny", Rung.TEXT),
        ({"city": "Rome", "high": 20}, "Weather(city='Rome', high=20)", Rung.TEXT),
        ({"city": "Rome", "high": 20}, "city='Rome' high=20", Rung.TEXT),
        ({"city": "Rome", "high": 20}, "Weather(city='Rome', high=21)", None),
        ("Weather(city='Rome')", "Climate(city='Rome')", None),
        ("hel...", "hello world", None),
        ("hello", "Error: hello", None),
        ("0123456789 and so on", "0123456789...[truncated]", Rung.CUT),
        ("0123456789 and so on", "01234567…", Rung.CUT),
        ({"id": "pg_8812"}, {"id": "pg_9147"}, None),
        ("paged", "paged twice", None),
        ("0123456789", "9999...[truncated]", None),
        ("abc", "...", None),
        (True, 1, None),
    ],
)
def test_the_ladder(left: object, right: object, rung: Rung | None) -> None:
    assert agree(raw(left), raw(right)) is rung
    assert agree(raw(right), raw(left)) is rung


def test_an_error_may_be_shown_behind_a_prefix_and_a_result_may_not() -> None:
    told, shown = raw("Tool 'x' failed: 503"), raw("Error: Tool 'x' failed: 503")
    assert agree(told, shown, error=True) is Rung.TEXT
    assert agree(told, shown) is None


@given(values)
def test_everything_agrees_with_itself_by_bytes(value: object) -> None:
    assert agree(raw(value), raw(value)) is Rung.BYTES


@given(values)
def test_a_value_agrees_with_its_text(value: object) -> None:
    assert agree(raw(value), raw(str(value))) is not None


@given(values, values)
def test_agreement_is_symmetric(left: object, right: object) -> None:
    assert (agree(raw(left), raw(right)) is None) == (agree(raw(right), raw(left)) is None)


def test_added_arguments_are_no_contradiction_and_changed_ones_are() -> None:
    added = compare_arguments(raw({"to": "a"}), raw({"to": "a", "request_id": "r1"}))
    assert (added.added, added.contradicts) == (("request_id",), False)
    changed = compare_arguments(raw('{"to": "a"}'), raw({"to": "b"}))
    assert (changed.changed, changed.contradicts) == (("to",), True)
    missing = compare_arguments(raw({"to": "a", "cc": "b"}), raw({"to": "a"}))
    assert (missing.missing, missing.contradicts) == (("cc",), True)
    assert compare_arguments(raw("ls"), raw("rm")).contradicts
    nested = compare_arguments(raw({"f": {"a": 1}}), raw({"f": {"a": 1, "limit": 9}}))
    assert (nested.added, nested.contradicts) == (("f/limit",), False)
    assert not compare_arguments(raw({"o": None}), raw({})).contradicts
    assert not compare_arguments(raw(""), raw({})).contradicts
