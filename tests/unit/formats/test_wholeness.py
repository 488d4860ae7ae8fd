"""Is damage seen in one of many payloads wherever it is seen in that one alone?"""

from __future__ import annotations

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from forensics.formats.shared.wholeness import (
    arguments_damage,
    damaged_arguments,
    damaged_results,
    result_damage,
)

parts = st.sampled_from(
    ["***", "[redacted]", "(x", "__redacted__", "<masked>", "on", '{"a":', "{}", " ", "_id", "x" * 90]
)
values = st.recursive(parts, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(parts, inner, max_size=2))
raws = values.map(lambda value: msgspec.Raw(json.dumps(value, indent=1).encode()))
payloads = st.lists(st.none() | raws, max_size=5)


@given(payloads)
def test_damage_in_some_of_many(told: list[msgspec.Raw | None]) -> None:
    assert damaged_arguments(told) == [row for row, one in enumerate(told) if one and arguments_damage(one)]
    assert damaged_results(told) == [row for row, one in enumerate(told) if one and result_damage(one)]
