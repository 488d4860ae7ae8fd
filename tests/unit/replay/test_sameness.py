"""When do two requests ask for the same, on which rung, and what was set aside for it?"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.core.evidence import Locator
from forensics.core.jsonvalue import equal_values
from forensics.replay.recordings import Request
from forensics.replay.sameness import agreement, exact_key, loose_key, value_key


def request(value: Any, kind: str = "tool", spelled: bytes = b"", beside: dict[str, str] | None = None) -> Request:
    return Request(kind=kind, value=value, locator=Locator(), spelled=spelled, beside=beside or {})


def same(one: Any, other: Any) -> tuple[bool, bool]:
    """Whether two values are the same exactly, and once normalised."""
    left, right = request(one), request(other)
    return exact_key(left) == exact_key(right), loose_key(left) == loose_key(right)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, (True, True)),
        ({"a": 9}, {"a": 9.0}, (True, True)),
        ({"a": 2**53 + 1}, {"a": 2**53 + 2}, (False, False)),
        ({"a": 2**53 + 1}, {"a": str(2**53 + 1)}, (False, False)),
        ({"a": True}, {"a": 1}, (False, False)),
        ({"a": None}, {}, (False, False)),
        ([1, 2], [2, 1], (False, False)),
        ({"a": '{"b": 1}'}, {"a": {"b": 1}}, (False, True)),
        ({"a": '{"b": "[1, 2]"}'}, {"a": {"b": [1, 2.0]}}, (False, True)),
        ({"a": '{"b": 1, "b": 2}'}, {"a": {"b": 2}}, (False, False)),
        ('{"b": 1, "b": 2}', '{"b": 2}', (False, False)),
        ({"a": '{"b": NaN}'}, {"a": {"b": "NaN"}}, (False, False)),
        ({"a": "sev1"}, {"a": "SEV1"}, (False, False)),
        ({"a": "x"}, {"a": "x "}, (False, False)),
        ({"a": "\u00e9"}, {"a": "e\u0301"}, (False, False)),
    ],
)
def test_what_is_the_same(one: Any, other: Any, alike: tuple[bool, bool]) -> None:
    assert same(one, other) == alike


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(values, values)
def test_keys_are_equal_where_values_are(one: Any, other: Any) -> None:
    assert (value_key(one) == value_key(other)) == equal_values(one, other)


def test_a_value_that_is_nested_deeply_has_a_key() -> None:
    deep: Any = 1
    for _ in range(400):
        deep = [deep]
    assert value_key(deep) == value_key([deep][0])


def test_the_rung_says_how_well_it_fits() -> None:
    one = request({"a": 1}, spelled=b'{"a":1}')
    assert agreement(one, request({"a": 1}, spelled=b'{"a":1}')).rung == "bytes"
    assert agreement(one, request({"a": 1}, spelled=b'{"a": 1}')).rung == "equal"
    assert agreement(request({"a": 1}), request({"a": 1})).rung == "equal"


def test_what_was_set_aside_is_named() -> None:
    one = request({"uri": "http://a", "q": "[1]"}, beside={"/headers/date": "1", "/headers/accept": "x"})
    other = request(
        {"uri": "http://a", "q": [1]}, beside={"/headers/date": "2", "/headers/accept": "x", "/headers/via": "p"}
    )
    agreed = agreement(one, other)
    assert agreed.rung == "normalised"
    assert agreed.set_aside == ("/headers/date", "/headers/via", "/q")
