"""Is a log of changes folded as it was written, and kept what it takes away?"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from forensics.formats.shared.mutation_log import DELETE, INITIAL, PUSH, SET, MutationLog

Fields = dict[str, Any]


def folded(*entries: Fields) -> MutationLog:
    log = MutationLog()
    assert [log.apply(copy.deepcopy(one)) for one in entries] == [True] * len(entries)
    return log


BEGIN = {"kind": INITIAL, "v": {"title": "a", "list": [{"n": 1}, {"n": 2}]}}


def test_entries_set_and_push() -> None:
    log = folded(
        BEGIN,
        {"kind": SET, "k": ["title"], "v": "b"},
        {"kind": SET, "k": ["list", 0, "m"], "v": [1]},
        {"kind": PUSH, "k": ["list"], "v": [{"n": 3}]},
        {"kind": PUSH, "k": ["more"], "v": [9]},
    )
    assert log.value == {"title": "b", "list": [{"n": 1, "m": [1]}, {"n": 2}, {"n": 3}], "more": [9]}
    assert log.taken == []


def test_what_is_taken_away_is_kept() -> None:
    log = folded(
        BEGIN,
        {"kind": PUSH, "k": ["list"], "i": 1, "v": [{"n": 4}]},
        {"kind": SET, "k": ["list", 0], "v": {"n": 5}},
        {"kind": DELETE, "k": ["list"]},
        {"kind": INITIAL, "v": {}},
    )
    assert log.value == {}
    assert log.taken == [
        (["list", 1], {"n": 2}),
        (["list", 0], {"n": 1}),
        (["list"], [{"n": 5}, {"n": 4}]),
        ([], {"title": "a"}),
    ]


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": 9, "k": ["title"], "v": 1},
        {"kind": SET, "k": [], "v": 1},
        {"kind": SET, "k": "title", "v": 1},
        {"kind": SET, "k": ["list", 7], "v": 1},
        {"kind": SET, "k": ["none", "deeper"], "v": 1},
        {"kind": SET, "k": ["list", True, "n", "x"], "v": 1},
        {"kind": PUSH, "k": ["title"], "v": [1]},
        {"kind": PUSH, "k": ["list"], "v": "x"},
        {"kind": PUSH, "k": ["none", "deeper"], "v": [1]},
        {"kind": DELETE, "k": ["none"]},
        {"k": ["title"], "v": 1},
        {},
    ],
)
def test_what_does_not_fit_changes_nothing(entry: Fields) -> None:
    log = folded(BEGIN)
    assert not log.apply(entry)
    assert (log.value, log.taken) == (BEGIN["v"], [])
