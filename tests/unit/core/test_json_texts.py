"""Many JSON texts say together what each says by itself."""

from __future__ import annotations

import json
import re
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.core import json_texts, jsonvalue
from forensics.core.json_texts import decoded, strict_values, unfolded, with_long_numbers
from forensics.core.jsonvalue import Decoded, decode, decode_embedded, strict_value, value_of
from forensics.core.keyed import Keyed, keyed
from forensics.core.limits import Limits, under

ODD = (
    b'{"a":1,"a":2}', b'{"a\\u0022":1}', b'{"a\\u0022":1,"a\\u0022":2}', b'"\\ud800"', b"NaN", b"1e400", b"", b" ",
    b"1 2", b"[1", b"\xff", b"9007199254740993", b'"{\\"b\\":1,\\"b\\":2}"', b'"{broken"', b'"[1]"', b'" {}"', b"null",
    b"[" * 600 + b"]" * 600, b'{"n":' + b"9" * 5000 + b"}", b'"{\\"n\\":9007199254740993}"', b'"\\u0039\\u0030"',
    b'{ "a" : [1 , 2.0] }', b"true",
)  # fmt: skip
LONG_NUMBER = re.compile(rb"[0-9]{16}|\\u003")
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
plain = values.map(lambda value: json.dumps(value).encode())
embedded = values.map(lambda value: json.dumps(json.dumps(value, ensure_ascii=False)).encode())
texts = st.lists(plain | embedded | st.sampled_from(ODD) | st.binary(max_size=12), max_size=6)


def folded_out(text: bytes) -> Decoded:
    one = decode(text)
    return (decode_embedded(one.value) or one) if isinstance(one.value, str) else one


def grouped(told: Keyed) -> list[object]:
    return [(group.keys, list(group.places), list(group.objects)) for group in told.groups]


@given(texts)
def test_long_texts_say_what_they_say_when_they_are_short(told: list[bytes]) -> None:
    short, asked = decoded(told)
    with mock.patch.object(json_texts, "LONG", 3), mock.patch.object(jsonvalue, "LONG", 3):
        long, doubted = decoded(told)
    assert (long.values, grouped(long)) == (short.values, grouped(short))
    assert faulty(doubted) == faulty(asked)


def faulty(told: dict[int, Decoded]) -> dict[int, Decoded]:
    return {at: one for at, one in told.items() if one.faults or one.error is not None}


@given(texts)
def test_texts_say_together_what_each_says_by_itself(told: list[bytes]) -> None:
    each = [decode(one) for one in told]
    found, asked = decoded(told)
    assert found.values == [one.value for one in each]
    assert grouped(found) == grouped(keyed(found.values))
    assert list(map(type, found.values)) == [type(one.value) for one in each]
    assert all(asked[at] == one for at, one in enumerate(each) if one.faults or one.error is not None)


@given(texts)
def test_what_texts_hold_is_unfolded_together_as_each_by_itself(told: list[bytes]) -> None:
    each = [folded_out(one) for one in told]
    found, faulty = unfolded(told)
    assert found.values == [one.value for one in each]
    assert grouped(found) == grouped(keyed(found.values))
    assert faulty == {at: one for at, one in enumerate(each) if one.faults or one.error is not None}


@given(st.lists(st.none() | plain | embedded | st.sampled_from(ODD), max_size=6))
def test_values_are_as_strict_as_each_by_itself(told: list[bytes | None]) -> None:
    assert strict_values(told) == [None if one is None else strict_value(value_of(one)) for one in told]


digits = st.from_regex(rb"(?:[0-9]{0,20}|\\\\u003|[a-f ]{1,3}){0,4}", fullmatch=True)


@given(st.lists(st.none() | digits, max_size=6))
def test_long_numbers_are_found_in_the_texts_that_hold_them(told: list[bytes | None]) -> None:
    assert with_long_numbers(told) == [at for at, one in enumerate(told) if one and LONG_NUMBER.search(one)]


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_text_changes_nothing_for_its_neighbours(odd: bytes) -> None:
    found, faulty = unfolded([b'{"a":1}', odd, b'"b"'])
    assert (found.values[0], found.values[2]) == ({"a": 1}, "b")
    assert faulty.keys() <= {1}


def test_a_value_beyond_the_limit_of_nesting_is_kept_as_a_text() -> None:
    with under(Limits(nesting=3)):
        found, faulty = decoded([b"[[[1]]]", b"[[[[1]]]]", b"[[1],[2],[3],[4]]"])
    assert (found.values[0], found.values[2]) == ([[[1]]], [[1], [2], [3], [4]])
    assert [fault.code for fault in faulty[1].faults] == ["nesting_limit"]
