"""The runs of payloads that are read as one block are those of each payload alone, whatever escapes stand in them."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from forensics.analysis import run_blocks
from forensics.analysis.run_blocks import RunBlocks
from forensics.analysis.runs import MEDIA_LEAST, SPELLED, all_runs, digit_runs, plain_bytes, runs_of_each
from forensics.analysis.written_times import written_times

if TYPE_CHECKING:
    from collections.abc import Callable

PARTS = [
    "a1",
    "-b_2",
    "u0041",
    "n3",
    " ",
    "\n",
    "\\",
    '"',
    "\t",
    "%41",
    "\\u00",
    "\\n4",
    '\\"',
    "é9",
    "\x00",
    "x",
    "\\u00e9",
    "\\d1",
    "\\",
]
odd = st.lists(st.sampled_from(PARTS), max_size=8).map("".join)
written = odd.map(lambda text: json.dumps(text).encode())
spelled = odd.map(lambda text: json.dumps({text: text}, ensure_ascii=False).encode())
no_json = odd.map(str.encode)
media = st.just(json.dumps({"a": "A1" * MEDIA_LEAST, "b": "c3"}).encode())
times = st.sampled_from(["2026-11-13T10:00:01.312Z", "2026-11-13 10:00", "2026-11-13", "13, a", "7", "x, 5"])
dated = st.lists(times, max_size=9).map(lambda some: json.dumps(", ".join(some)).encode())
payloads = st.lists(st.none() | written | spelled | no_json | media, max_size=6)


@given(payloads)
def test_the_runs_with_a_digit(told: list[bytes | None]) -> None:
    blocks = RunBlocks(told, with_digit=True)
    assert lines(blocks) == told_runs(told, digit_runs)


@given(payloads)
def test_all_runs(told: list[bytes | None]) -> None:
    blocks = RunBlocks(told, with_digit=False)
    assert lines(blocks) == told_runs(told, all_runs)


@given(payloads)
def test_the_rows_that_have_to_be_looked_at_more_closely(told: list[bytes | None]) -> None:
    blocks = RunBlocks(told, with_digit=True)
    assert blocks.spelled == [row for row, one in enumerate(told) if one is not None and SPELLED in one]
    assert blocks.percent == [row for row, one in enumerate(told) if one is not None and b"%" in one]


@given(told=payloads, with_digit=st.booleans())
def test_each_run_stands_once_where_it_is_told_apart(told: list[bytes | None], *, with_digit: bool) -> None:
    blocks = RunBlocks(told * 3, with_digit=with_digit)
    runs = Counter(run for block in blocks.blocks for run in block.runs)
    distinct, often = blocks.distinct()
    assert Counter(run for block in distinct for run in block.split()) == Counter(runs.keys())  # all in one text
    assert often == {run for run, times in runs.items() if times > 1}


@given(st.lists(odd | st.sampled_from(["2026-11-13T10:00", "a-1 b", ""]), max_size=5), st.booleans())
def test_the_runs_of_several_texts_are_those_of_each(texts: list[str], with_digit: bool) -> None:  # noqa: FBT001 - drawn
    told = [text.encode() for text in texts]
    assert runs_of_each(told, with_digit=with_digit) == list(map(digit_runs if with_digit else all_runs, told))


@given(
    told=st.lists(payloads.map(lambda some: b" ".join(filter(None, some))) | dated, max_size=4),
    with_digit=st.booleans(),
)
def test_a_long_text_in_stretches_holds_the_runs_and_times_of_the_whole(told: list[bytes], *, with_digit: bool) -> None:
    whole = RunBlocks(told, with_digit=with_digit)
    with mock.patch.object(run_blocks, "_LONG", 3):
        stretches = RunBlocks(told, with_digit=with_digit)
    assert held(stretches) == held(whole)
    assert (stretches.spelled, stretches.percent) == (whole.spelled, whole.percent)


def held(blocks: RunBlocks) -> dict[int, tuple[set[bytes], set[bytes]]]:
    """By row, its runs and its written times."""
    found: dict[int, tuple[set[bytes], set[bytes]]] = {}
    for row, runs in lines(blocks):
        all_of_row, times = found.setdefault(row, (set(), set()))
        all_of_row.update(runs)
        times.update(written_times(b" ".join(runs)))
    return found


def test_a_long_text_that_says_the_same_again_is_told_in_few_runs() -> None:
    with mock.patch.object(run_blocks, "_LONG", 1 << 16):
        told = lines(RunBlocks([b'"%s"' % (b"order a1 stands, " * 50_000)], with_digit=False))
    assert {row for row, _ in told} == {0}
    assert {run for _, runs in told for run in runs} == {b"order", b"a1", b"stands"}
    assert sum(len(runs) for _, runs in told) <= 3 * (1 + 50_000 * 16 // (1 << 16))


def test_many_blocks() -> None:
    told = [b'"%d %s"' % (number, b"x" * (number * 7)) for number in range(300)]
    blocks = RunBlocks(told, with_digit=True)
    assert len(blocks.blocks) > 1
    assert lines(blocks) == [(number, [b"%d" % number]) for number in range(300)]
    assert not blocks.distinct()[1]


def lines(blocks: RunBlocks) -> list[tuple[int, list[bytes]]]:
    """The rows that hold runs, with these: told by the ends of lines in the same way as by the row of each run."""
    found: list[tuple[int, list[bytes]]] = []
    for block in blocks.blocks:
        told = [line.split() for line in block.text.split(b"\n")]
        assert list(block.counts) == [len(runs) for runs in told]
        assert list(block.row_of_each) == [row for row, runs in zip(block.rows, told, strict=True) for _ in runs]
        found += zip(block.rows, told, strict=True)
    return found


def told_runs(told: list[bytes | None], runs_of: Callable[[bytes], list[bytes]]) -> list[tuple[int, list[bytes]]]:
    texts = [(row, plain_bytes(one)) for row, one in enumerate(told) if one is not None]
    return [(row, runs) for row, text in texts if (runs := runs_of(text))]
