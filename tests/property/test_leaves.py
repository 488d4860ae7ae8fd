"""The leaves of a value are what a plain recursion finds, in document order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from forensics.core.leaves import leaves_of, pointer_of

if TYPE_CHECKING:
    from collections.abc import Iterator

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
keys = st.sampled_from(["id", "a/b", "c~d", "", "note"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=12
)


def plainly(value: Any, pointer: str = "", key: str | None = None) -> Iterator[tuple[str, str | None, str | int]]:
    if isinstance(value, str) or type(value) is int:
        yield pointer, key, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from plainly(item, pointer + "/" + name.replace("~", "~0").replace("/", "~1"), name)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from plainly(item, f"{pointer}/{index}", key)


@given(values)
def test_leaves_are_what_a_recursion_finds(value: Any) -> None:
    found = [(pointer_of(above, token), key, item) for above, token, key, item in leaves_of(value)]
    assert found == list(plainly(value))
