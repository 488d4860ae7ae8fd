"""Are objects grouped by their keys, and their members told in columns?"""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from forensics.core.keyed import keyed

names = st.sampled_from("abc")
members: st.SearchStrategy[Any] = st.integers() | st.text(max_size=2) | st.lists(st.none(), max_size=1)
values = st.lists(st.none() | st.text(max_size=1) | st.dictionaries(names, members, max_size=3), max_size=8)


@given(values)
def test_each_object_stands_in_the_group_of_its_keys(told: list[Any]) -> None:
    groups = keyed(told).groups
    found = {at: (group.keys, one) for group in groups for at, one in zip(group.places, group.objects, strict=True)}
    assert found == {at: (tuple(one), one) for at, one in enumerate(told) if isinstance(one, dict)}
    assert len({group.keys for group in groups}) == len(groups)


@given(values)
def test_columns_are_the_members_of_the_objects(told: list[Any]) -> None:
    for group in keyed(told).groups:
        objects = [told[at] for at in group.places]
        assert {key: list(column) for key, column in group.columns.items()} == {
            key: [one[key] for one in objects] for key in group.keys
        }
        assert group.is_flat is not any(isinstance(item, list) for one in objects for item in one.values())


def test_what_is_put_in_the_place_of_an_object_is_none() -> None:
    told = keyed([{"a": 1}, {"a": 2}, "x"])
    without = told.without({0}, None)
    assert (without.values, [list(one.places) for one in without.groups]) == ([None, {"a": 2}, "x"], [[1]])
    assert told.without((), None) is told
