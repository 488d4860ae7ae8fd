"""A written time is new where no earlier row holds its runs in a row, whatever was told of its parts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.analysis.run_blocks import RunBlocks
from forensics.analysis.runs import digit_runs
from forensics.analysis.written_times import WrittenTimes, holds_time

ROWS = [
    b'"at 2026-11-13T10:00:01.312Z and 2026-11-13T10:00:02.408Z"',
    None,
    b'{"id":"2026-11-13T10:00:02.312Z"}',
    b'"again 2026-11-13T10:00:02.312Z, 2026-11-14 08:30 12 times"',
    b'"2026-11-14 08:30"',
]


def is_new(time: str, row: int, rows: list[bytes | None] = ROWS) -> bool:
    return WrittenTimes(RunBlocks(rows, with_digit=True)).is_new(digit_runs(time.encode()), row)


@pytest.mark.parametrize(
    ("time", "row", "new"),
    [
        ("2026-11-13T10:00:02.312Z", 2, True),  # each of its parts stands before
        ("2026-11-13T10:00:02.312Z", 3, False),
        ("2026-11-14 08:30", 3, True),
        ("2026-11-14 08:30", 4, False),  # another number stood behind it
        ("2026-11-14", 4, False),  # a day is a run
        ("10:00", 4, False),
        ("pg_8812", 4, False),
    ],
)
def test_a_time_is_told_by_its_runs_in_a_row(time: str, row: int, *, new: bool) -> None:
    assert is_new(time, row) is new


@pytest.mark.parametrize(
    ("time", "more", "once"),
    [
        ("2026-11-13T10:00:01.312Z", b'"none"', True),
        ("2026-11-13T10:00:01.312Z", b'"2026-11-13T10:00:01.312Z"', False),
        ("2026-11-13T10:00:01.312Z", b'"2026-11-13T10:00:01.312Zone"', False),  # the value stands there too
        ("2026-11-13T10:00:01.312Z", b'"2026-11-13T10:00:01.313Z"', True),
        ("2026-11-13T10:00:02.312Z", b'"none"', False),
        ("2026-11-13T10:00:01", b'"none"', False),  # more may follow
        ("2026-11-13 312Z", b'"none"', False),  # a day alone is not told
        ("pg_8812", b'"none"', False),
    ],
)
def test_a_time_that_stands_once(time: str, more: bytes, *, once: bool) -> None:
    times = WrittenTimes(RunBlocks([*ROWS, more], with_digit=True))
    assert times.stands_once(digit_runs(time.encode())) is once


def test_few_times_hardly_share_a_place_whatever_the_seed_of_the_hashes_is() -> None:
    rows: list[bytes | None] = [f'"2026-11-13T10:00:{n:02}.312Z"'.encode() for n in range(60)]
    times = WrittenTimes(RunBlocks(rows, with_digit=True))
    told = [times.stands_once(digit_runs(f"2026-11-13T10:00:{n:02}.312Z".encode())) for n in range(60)]
    assert told.count(True) > 54  # with few places in all, a fifth shared one


def test_blocks_and_their_rows_are_told_apart() -> None:
    filling = b'"' + b"x " * 50_000 + b'"'
    rows = [b'"2026-01-01T00:00:0%d.5Z"' % (n % 10) for n in range(40)]
    told: list[bytes | None] = [one for row in rows for one in (row, filling)]
    assert all(is_new(f"2026-01-01T00:00:0{n}.5Z", 2 * n, told) for n in range(10))
    assert not any(is_new(f"2026-01-01T00:00:0{n}.5Z", 2 * n + 1, told) for n in range(10))


def test_a_line_that_holds_a_time() -> None:
    assert holds_time(b"a1 2026-11-13T10 00 01 312Z")
    assert not holds_time(b"a1 2026-11-13T10")


WORDS = ["2026-11-13T10", "2026-11-14", "2026-31-14", "00", "312Z", "x", "12345", "\n"]


@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_a_time_is_found_wherever_one_stands(words: list[str]) -> None:
    line = " ".join(words)
    time = re.search(r"(?<![^ ])2026-11-1[34](?:T10)? (?:00|12345|312Z)(?![^ ])", line)
    assert holds_time(line.encode()) is (time is not None)
