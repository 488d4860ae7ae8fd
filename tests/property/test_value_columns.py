"""Values told in columns say the same as one value after the other: the same scalars, places and order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from forensics.analysis.columns import Columns
from forensics.core.jsonvalue import raw, value_of, values_of
from forensics.core.leaves import Leaf, leaves_of, pointer_of
from forensics.rules.engine import load_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

RULES = load_rules()
keys = st.sampled_from(["id", "ref", "a/b", "~", ""])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)
words = st.sampled_from(["pg_8812", "42", "1763028000", "read_only", "a b", "", "é", "x" * 70 + "1", "x " * 40, "a1"])


def by_row(told: Sequence[Any]) -> tuple[list[list[Leaf]], set[int]]:
    """The leaves of each value as the columns tell them, and the values that are left."""
    columns, found = Columns(), [list[Leaf]() for _ in told]
    for column in columns.of(range(len(told)), told):
        assert len({type(item) for item in column.items}) == 1
        told_at = zip(column.rows, column.items, column.tokens, column.numbers, strict=True)
        for row, item, token, number in told_at:
            found[row].append((column.above, token, column.key, item))
            pointer = column.pointer if number < 0 else f"{column.pointer}/{number}"
            assert pointer == pointer_of(column.above, token)
    return found, columns.left


long_arrays = st.sampled_from([["a1"] * 99, [*range(40)], ["a"] * 20 + ["b"], {"ids": [f"pg_{n}" for n in range(30)]}])


@given(st.lists(values | long_arrays, max_size=6))
def test_columns_hold_the_leaves_of_each_value_in_their_order(told: list[Any]) -> None:
    found, left = by_row(told)
    assert not left
    for leaves, value in zip(found, told, strict=True):
        assert leaves == [leaf for leaf in leaves_of(value) if leaf[0] is not None]


def test_values_that_are_long_or_deep_are_left_and_the_others_are_told() -> None:
    deep: Any = "pg_8812"
    for _ in range(40):
        deep = {"in": deep}
    told = [{"ids": [*["a1"] * 99, 1]}, {"ids": ["a1"]}, deep, [1.5] * 17, {"ids": []}]
    found, left = by_row(told)
    assert left == {0, 2, 3}
    assert found[1] == [("/ids", 0, "ids", "a1")]
    assert found[4] == []


@given(st.lists(values | values.map(lambda value: bytes(raw(value)).decode()), max_size=5))
def test_values_that_are_decoded_together_are_those_decoded_one_by_one(told: list[Any]) -> None:
    texts = [bytes(raw(value)) for value in told]
    assert values_of(texts) == [value_of(text) for text in texts]
    damaged = [*texts, b'{"a":1', b"", b'"{\\"a\\":"']
    assert values_of(damaged) == [value_of(text) for text in damaged]


@given(st.lists(words | st.text(max_size=6)), st.sampled_from([None, "id", "count"]))
def test_values_under_one_key_have_the_kinds_that_each_has(told: list[str], key: str | None) -> None:
    assert RULES.handle_kinds(told, key) == [RULES.handle_kind(value, key) for value in told]
