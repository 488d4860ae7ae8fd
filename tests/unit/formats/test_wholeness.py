"""Is damage seen in one of many payloads wherever it is seen in that one alone?"""

from __future__ import annotations

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from forensics.formats.shared.wholeness import (
    any_arguments_damaged,
    any_result_damaged,
    arguments_damage,
    result_damage,
)

parts = st.sampled_from(
    ["***", "[redacted]", "(x", "__redacted__", "<masked>", "on", '{"a":', "{}", " ", "_id", "x" * 90]
)
values = st.recursive(parts, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(parts, inner, max_size=2))
payloads = st.lists(values.map(lambda value: msgspec.Raw(json.dumps(value, indent=1).encode())), max_size=5)


@given(payloads)
def test_damage_in_one_of_many(told: list[msgspec.Raw]) -> None:
    assert any_arguments_damaged(told) is any(arguments_damage(one) for one in told)
    assert any_result_damaged(told) is any(result_damage(one) for one in told)
