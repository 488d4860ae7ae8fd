"""The runs of payloads that are read as one block are those of each payload alone, whatever escapes stand in them."""

from __future__ import annotations

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from forensics.analysis.run_blocks import RunBlocks
from forensics.analysis.runs import MEDIA_LEAST, SPELLED, all_runs, digit_runs, plain_bytes

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
payloads = st.lists(st.none() | written | spelled | no_json | media, max_size=6)


@given(payloads)
def test_the_runs_with_a_digit(told: list[bytes | None]) -> None:
    blocks = RunBlocks(told, with_digit=True)
    assert lines(blocks) == [digit_runs(plain_bytes(one)) for one in told if one is not None]
    assert list(blocks.rows) == [row for row, one in enumerate(told) if one is not None]


@given(payloads)
def test_all_runs(told: list[bytes | None]) -> None:
    blocks = RunBlocks(told, with_digit=False)
    assert lines(blocks) == [all_runs(plain_bytes(one)) for one in told if one is not None]


@given(payloads)
def test_the_rows_that_have_to_be_looked_at_more_closely(told: list[bytes | None]) -> None:
    blocks = RunBlocks(told, with_digit=True)
    assert blocks.spelled == [row for row, one in enumerate(told) if one is not None and SPELLED in one]
    assert blocks.percent == [row for row, one in enumerate(told) if one is not None and b"%" in one]


@given(told=payloads, with_digit=st.booleans())
def test_each_run_stands_once_where_it_is_told_apart(told: list[bytes | None], *, with_digit: bool) -> None:
    blocks = RunBlocks(told * 3, with_digit=with_digit)
    runs = Counter(run for block in blocks.blocks for run in block.split())
    distinct, often = blocks.distinct()
    assert Counter(run for block in distinct for run in block.split()) == Counter(runs.keys())  # all in one text
    assert often == {run for run, times in runs.items() if times > 1}


def test_many_blocks() -> None:
    told = [b'"%d %s"' % (number, b"x" * (number * 7)) for number in range(300)]
    blocks = RunBlocks(told, with_digit=True)
    assert len(blocks.blocks) > 1
    assert lines(blocks) == [[b"%d" % number] for number in range(300)]
    assert not blocks.distinct()[1]


def lines(blocks: RunBlocks) -> list[list[bytes]]:
    return [line.split() for block in blocks.blocks for line in block.split(b"\n")]
