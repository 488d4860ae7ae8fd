"""What a payload says is found in the same place, whether it is searched for or looked up."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.analysis import runs, texts
from forensics.analysis.runs import all_runs, places_of
from forensics.analysis.texts import Text
from forensics.core.payloads import Payloads
from forensics.core.places import Places

words = st.sampled_from(["a1", "A1", "a1-b", "-a1", "b", "8812", "", " ", "a1 b a1"])
scalars = words | st.sampled_from([8812, 1, True, None, 1.5])
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4), max_leaves=10
)
wanted = st.lists(st.sampled_from(["a1", "8812", "1", "b", "True", "x"]), min_size=1, max_size=8)


def places(value: Any, asked: list[str]) -> list[tuple[str | None, bool]]:
    text = Text(0, 0, Payloads(Places(0)), value)
    return [text.place_of(one, is_number=one.isdigit()) for one in asked]


@given(values, wanted)
def test_a_value_is_found_in_the_same_place_however_many_are_asked_for(value: Any, asked: list[str]) -> None:
    one_by_one = [place for one in asked for place in places(value, [one])]
    with mock.patch.object(texts, "_SEARCHES", 0):
        assert places(value, asked) == one_by_one
    assert places(value, asked) == one_by_one


@given(st.lists(words | st.sampled_from([".", "\u00e9", "_"]), max_size=9).map(" ".join), st.sets(words, max_size=4))
@pytest.mark.parametrize("few", [0, 8])
def test_runs_stand_where_nothing_goes_on_with_them(few: int, said: str, asked: set[str]) -> None:
    text, wanted = said.encode(), {run for one in asked for run in all_runs(one.encode())}
    with mock.patch.object(runs, "_FEW", few):
        found = list(places_of(wanted, text))
    assert sorted(run for _, run in found) == sorted(run for run in all_runs(text) if run in wanted)
    assert len(set(found)) == len(found)
    assert all(text.startswith(run, at) for at, run in found)
