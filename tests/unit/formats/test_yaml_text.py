"""Does a YAML text become the JSON that it says, is nothing in it obeyed, and is what stands before damage kept?"""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from forensics.core.jsonvalue import decode
from forensics.core.limits import Limits, under
from forensics.errors import LimitExceededError
from forensics.formats.shared.yaml_text import read_yaml

WORDS = st.text(st.characters(codec="utf-8"), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


def value(text: str | bytes) -> Any:
    return json.loads(bytes(read_yaml(text if isinstance(text, bytes) else text.encode()).body))


@given(st.lists(VALUES, max_size=3))
def test_what_was_written_as_yaml_is_read_as_the_library_reads_it(items: list[Any]) -> None:
    text = yaml.safe_dump({"messages": items}, allow_unicode=True)
    assert value(text) == yaml.safe_load(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 2027-03-01", "2027-03-01"),
        ("a: yes", "yes"),
        ("a: 0x1f", "0x1f"),
        ("a: 12e4", "12e4"),
        ("a: 007", "007"),
        ("a: ~", None),
        ("a:", None),
        ("a: 'null'", "null"),
        ("a: -1.5e+3", -1500.0),
        ("a: |\n  b\n  c\n", "b\nc\n"),
        ("a: !!binary aGVsbG8=", "hello"),
        ("a: !!binary //8=", "//8="),
    ],
)
def test_a_scalar_means_what_json_says_it_means(text: str, expected: object) -> None:
    assert value(text) == {"a": expected}


def test_a_tag_is_not_obeyed() -> None:
    assert value("a: !!python/object/apply:os.system [exit]") == {"a": ["exit"]}


def test_a_key_that_stands_twice_is_still_told_twice() -> None:
    told = read_yaml(b"a: 1\na: 2\n")
    assert [fault.code for fault in decode(told.body).faults] == ["duplicate_key"]


def test_an_alias_is_written_out() -> None:
    assert value("a: &x [1, {b: 2}]\nc: *x\n") == {"a": [1, {"b": 2}], "c": [1, {"b": 2}]}


@pytest.mark.parametrize("text", ["a: &x [1, *x]", "a: *x", "a: &x [1]\nb: &x [2, *x]"])
def test_an_alias_of_what_is_not_whole_is_damage(text: str) -> None:
    assert "names nothing" in read_yaml(text.encode()).error


def _bomb(rows: int) -> bytes:
    lines = [f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]" for n in range(rows)]
    return "\n".join(["a0: &a0 [x]", *lines]).encode()


@pytest.mark.parametrize(
    ("data", "limit", "chosen"),
    [
        (_bomb(20), "aliases written out", Limits(unpacked=100_000)),
        (_bomb(120), "aliases", Limits()),
        (b"[" + b"1," * 100 + b"1]", "values", Limits(nodes=50)),
        (b"".join(b" " * n + b"a:\n" for n in range(60)), "nests", Limits(nesting=50)),
    ],
)
def test_what_grows_without_bound_is_refused(data: bytes, limit: str, chosen: Limits) -> None:
    with under(chosen), pytest.raises(LimitExceededError, match=limit):
        read_yaml(data)


@pytest.mark.parametrize(
    "end", [b"- {c: 3", b"- 'c", b"- c: \xff\n", b"- |\n  c\x00\n", b"- ? [c]\n  : 1\n", b"- @\n", b"- *x\n"]
)
def test_the_records_before_damage_are_kept_and_the_rest_is_named(end: bytes) -> None:
    data = b"# \xc3\xbc\nmessages:\n- a: 1\n- b: [2]\n" + end
    told = read_yaml(data)
    assert json.loads(bytes(told.body)) == {"messages": [{"a": 1}, {"b": [2]}]}
    assert told.error
    assert told.unread is not None
    assert told.unread.line >= 5
    assert told.unread.offset >= data.index(end)
    assert told.unread.offset + told.unread.length == len(data)


def test_a_second_document_is_not_passed_over() -> None:
    told = read_yaml(b"a: 1\n---\nb: 2\n")
    assert (json.loads(bytes(told.body)), told.error) == ({"a": 1}, "a second document")


def test_a_record_is_found_where_its_bytes_stand() -> None:
    data = "\ufeffmessages:\n- a: 'ü\u2028x'\n  b: |\n    text\n\n- {c: 1}\nm/n~: end\n".encode()
    told = read_yaml(data)
    stands = {pointer: data[e.offset : e.offset + e.length].decode() for pointer, e in told.records.items()}
    assert stands["/messages/0"] == "a: 'ü\u2028x'\n  b: |\n    text"
    assert stands["/messages/1"] == "{c: 1}"
    assert stands["/m~1n~0"] == "end"
    assert [told.records[f"/messages/{n}"].line for n in range(2)] == [2, 6]


@pytest.mark.parametrize(
    ("text", "doubted"),
    [("a:\n- b: 1\n- c: 2", True), ("a:\n- b: 1\n- c: 2\n", False), ('{"a": [1, 2]}', False), ("[1]", False)],
)
def test_a_last_line_without_an_end_may_be_cut(text: str, doubted: bool) -> None:  # noqa: FBT001
    """A cut block of YAML is YAML too; what stands there is kept, and not vouched for."""
    told = read_yaml(text.encode())
    assert bool(told.error) is doubted
    assert (told.unread is None) is not doubted
    assert read_yaml(text.encode()).body == read_yaml(text.encode() + b"\n").body
