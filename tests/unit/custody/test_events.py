"""What became of a list of events? Every kind of change is told from the others, and where it begins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.custody.events import Change, Kind, change, digests, head, listing, read_listing

_TIMELINE = b"".join(b'{"event": %d}\n' % n for n in range(6))
_LINES = _TIMELINE.splitlines(keepends=True)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (_LINES, None),
        (_LINES[:4], Change(Kind.CUT_TAIL, 5, 2)),
        ([], Change(Kind.CUT_TAIL, 1, 6)),
        (_LINES[:2] + _LINES[3:], Change(Kind.DELETED, 3, 1)),
        (_LINES[1:2] + _LINES[3:], Change(Kind.DELETED, 1, 2)),
        ([*_LINES[:2], b"{}\n", *_LINES[2:]], Change(Kind.INSERTED, 3, 1)),
        ([*_LINES, b"{}\n"], Change(Kind.INSERTED, 7, 1)),
        ([*_LINES, _LINES[5]], Change(Kind.INSERTED, 7, 1)),
        ([_LINES[0], _LINES[2], _LINES[1], *_LINES[3:]], Change(Kind.REORDERED, 2, 2)),
        ([*_LINES[:3], b"{}\n", *_LINES[4:]], Change(Kind.EDITED, 4, 1)),
        ([*_LINES[:5], _LINES[5][:-1]], Change(Kind.EDITED, 6, 1)),
        ([b"{}\n", *_LINES[2:]], Change(Kind.EDITED, 1, 2)),
    ],
)
def test_a_change_is_told_by_kind_and_first_event(lines: list[bytes], expected: Change | None) -> None:
    assert change(digests(_TIMELINE), digests(b"".join(lines))) == expected


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), max_size=8))
def test_nothing_but_the_same_events_is_no_change(old: list[str], new: list[str]) -> None:
    assert (change(old, new) is None) == (old == new)


@given(st.lists(st.sampled_from("ab"), max_size=6), st.lists(st.sampled_from("ab"), max_size=6))
def test_the_head_stands_for_the_events_and_their_order(old: list[str], new: list[str]) -> None:
    one, other = (digests("".join(f"{line}\n" for line in lines).encode()) for lines in (old, new))
    assert (head(one) == head(other)) == (old == new)


def test_a_list_of_digests_is_read_back() -> None:
    of = digests(_TIMELINE)
    assert read_listing(listing(of)) == of
    assert read_listing(b"") == ()
    assert read_listing(listing(of).replace(b"a", b"g")) is None
