"""Is hostile YAML read as plain data, within limits, with what stands before a syntax error kept?"""

from __future__ import annotations

import contextlib

import pytest

from forensics.core.limits import Limits, under
from forensics.errors import LimitExceededError
from forensics.formats.shared.yaml_tree import Place, load_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", {"a": 1}),
        ("a: 1.5", {"a": 1.5}),
        ("a: ~", {"a": None}),
        ("a:", {"a": None}),
        ("a: true", {"a": True}),
        ("a: 'true'", {"a": "true"}),
        ("a: yes", {"a": "yes"}),
        ("a: 12:30", {"a": "12:30"}),
        ("a: 2024-05-31", {"a": "2024-05-31"}),
        ("a: 1e5", {"a": "1e5"}),
        ("a: 007", {"a": "007"}),
        ("a: !!str 7", {"a": "7"}),
        ("a: !!binary aGk=", {"a": b"hi"}),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("a: |\n  one\n  two\n", {"a": "one\ntwo\n"}),
        ("- a\n- {b: c}", ["a", {"b": "c"}]),
        ("", None),
        ("a: 1\n---\nb: 2", {"a": 1}),
    ],
)
def test_plain_data_is_read_as_a_recorder_wrote_it(text: str, value: object) -> None:
    found = load_yaml(text.encode())
    assert (found.value, found.faults, found.error) == (value, (), None)


@pytest.mark.parametrize(
    "text",
    [
        "a: !!python/object/apply:os.system [id]",
        "a: !!python/name:os.system x",
        "a: !!python/tuple [1]",
        "a: !own {b: 1}",
    ],
)
def test_no_constructor_runs(text: str) -> None:
    found = load_yaml(text.encode())
    assert isinstance(found.value["a"], (list, dict, str))
    assert [f.code for f in found.faults] == ["dialect"]


def bomb(deep: int) -> bytes:
    lines = ["a0: &a0 [xxxxxxxxxx]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, deep)]
    return "\n".join(lines).encode()


def test_aliases_expand_within_a_limit() -> None:
    assert load_yaml(bomb(4)).error is None
    with pytest.raises(LimitExceededError) as caught:
        load_yaml(bomb(20))
    assert caught.value.code == "decompression_limit"


@pytest.mark.parametrize(
    ("chosen", "text", "name"),
    [
        (Limits(nodes=10), b"[" + b"1," * 20 + b"1]", "nodes"),
        (Limits(nesting=10), b"[" * 20 + b"]" * 20, "nesting"),
        (Limits(aliases=3), b"a: &a 1\nb: [*a, *a, *a, *a]", "aliases"),
    ],
)
def test_limits_are_named(chosen: Limits, text: bytes, name: str) -> None:
    with under(chosen), pytest.raises(LimitExceededError) as caught:
        load_yaml(text)
    assert f"--limit {name}" in caught.value.hint


def test_deep_nesting_exhausts_no_stack() -> None:
    for text in (b"[" * 60_000, b"{a: " * 60_000, b"- " * 60_000 + b"a"):
        with contextlib.suppress(LimitExceededError):
            assert load_yaml(text).error


@pytest.mark.parametrize("text", ["a: &x [*x]", "a: *nowhere"])
def test_an_alias_of_what_is_not_there_is_a_fault(text: str) -> None:
    assert [f.code for f in load_yaml(text.encode()).faults] == ["malformed_line"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"a: 1\na: 2", "duplicate_key"),
        (b"a: !!binary '%%'", "truncated_payload"),
        (b"? [k]\n: 1", "malformed_line"),
        (b"a: caf\xe9", "encoding"),
        (b"a: 9" + b"9" * 390 + b".0", "non_finite_number"),
    ],
)
def test_what_can_be_read_in_two_ways_is_a_fault(text: bytes, code: str) -> None:
    assert [f.code for f in load_yaml(text).faults] == [code]


def test_what_stands_before_a_syntax_error_is_kept() -> None:
    found = load_yaml(b"list:\n- a: 1\n- b: 2\n- c: {\n")
    assert found.value == {"list": [{"a": 1}, {"b": 2}, {"c": {}}]}
    assert found.error is not None


def test_items_have_their_places_past_line_breaks_of_every_kind() -> None:
    data = 'list:\n- "a\u2028b"\r\n- c\n- d\n'.encode()
    items = load_yaml(data).items
    assert [(i, p.line, data[p.offset : p.offset + 3]) for (_, i), p in items.items()] == [
        (0, 2, b'- "'), (1, 3, b"- c"), (2, 4, b"- d"),
    ]  # fmt: skip
    assert items["list", 0] == Place(2, 6)
