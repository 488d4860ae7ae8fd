"""Which names do two patterns have in common?"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.rules.conditions import glob
from forensics.rules.globs import covers, meet

PATTERNS = st.text("ab*?", max_size=4)
NAMES = ["".join(name) for size in range(9) for name in product("ab", repeat=size)]


@given(PATTERNS, PATTERNS)
def test_two_patterns_meet_where_a_name_matches_both(one: str, other: str) -> None:
    assert meet(one, other) is any(glob(one)(name) and glob(other)(name) for name in NAMES)


@given(PATTERNS, PATTERNS)
def test_a_pattern_that_covers_another_matches_all_that_it_does(wide: str, narrow: str) -> None:
    if covers(wide, narrow):
        assert all(glob(wide)(name) for name in NAMES if glob(narrow)(name))


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        ("*", "anything", True),
        ("get_*", "get_user_*", True),
        ("get_*", "*_user", False),
        ("get_?", "get_*", False),
        ("*_user", "get_*_user", True),
        ("a", "a", True),
        ("A*", "a", False),
    ],
)
def test_covering_is_told(wide: str, narrow: str, *, expected: bool) -> None:
    assert covers(wide, narrow) is expected
