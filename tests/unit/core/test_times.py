"""Are times read alike one by one and many at once, in every notation?"""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.core.times import all_from_texts, all_nanoseconds, from_text, nanoseconds

written: st.SearchStrategy[object] = st.sampled_from(
    [
        "2026-09-21T14:13:22.604Z", "2026-09-21T14:13:23.605Z", "2026-09-21T14:13:22Z", "2026-09-21T14:13:22.1234567Z",
        "2026-09-21T14:13:22.604", "2026-09-21 14:13:22.604Z", "2026-09-21t14:13:22.604z", "2026-02-30T00:00:00.000Z",
        "2026-09-21T14:13:60.000Z", "2026-09-21T24:00:00.000Z", "0000-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z",
        "2400-01-01T00:00:00.000Z", "2026-09-21T14:13:22+02:00", "2026-09-21T14:13:22-23:59",
        "2026-09-21T14:13:22+24:00", "2026-09-21T14:13:22,6Z", "2026-09-21", "", "noon",
        1_790_000_000, 1_790_000_000_123, 1.79e9, 0, -5, None, True, [],
    ]
)  # fmt: skip


@given(st.lists(written, min_size=1, max_size=6) | written.map(lambda one: [one] * 3))
def test_many_at_once_are_read_as_one_by_one(told: list[object]) -> None:
    raws = [msgspec.Raw(json.dumps(one).encode()) for one in told]
    assert all_nanoseconds(raws) == [nanoseconds(raw) for raw in raws]


@given(
    st.lists(written.map(str) | st.sampled_from(['x","y', "\ud800", ","]), max_size=6)
    | written.map(lambda one: [str(one)] * 3)
)
def test_many_texts_at_once_are_read_as_one_by_one(told: list[str]) -> None:
    assert all_from_texts(told) == list(map(from_text, told))


@pytest.mark.parametrize("zone", ["Z", "+00:00"])
def test_a_microsecond_is_kept(zone: str) -> None:
    raw = msgspec.Raw(f'"1970-01-01T00:00:01.000002{zone}"'.encode())
    assert all_nanoseconds([raw, raw]) == [1_000_002_000] * 2


def test_none_of_none() -> None:
    assert all_nanoseconds([]) == []
