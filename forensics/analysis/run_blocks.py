r"""Which runs does each row of a trace hold? They are kept as text, since nearly all of them are never looked at again.

The payloads of many rows are read as one block: a call of `translate` or `find` costs more than what it does to the
text of one step. An escape and the letter behind it become as many spaces, so that each row keeps its place; only a row
in which letters themselves stand as escapes is decoded alone. A long text, which may hold more runs than there is
memory for as objects, is read in stretches: each is a block, and says each of its runs once.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from itertools import accumulate, chain, pairwise, repeat
from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.runs import END, KINDS, MEDIA_LEAST, SPELLED, all_runs, digit_runs, plain_bytes
from forensics.analysis.written_times import begun, written_times
from forensics.core.late import late

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.analysis.runs import Runs

_BLOCK = 1 << 16  # bytes of payloads that are read at once
_LONG = 1 << 18  # bytes of a text that is read in stretches of so many, or more
_TOGETHER = 1 << 13  # runs that are counted together, or more: all of a block
_PERCENT = b"%"
_SPACE = ord(" ")
_BETWEEN_ROWS = b" %b " % END
_COMMON = (b"\\n", b"\\t")  # nearly all escapes there are that end in a letter, and far cheaper to be replaced
_ESCAPED_WORD = re.compile(rb"\\[bfnrtu]").search
_ESCAPED = late(rb"\\[bfrt]")
_BY_NUMBER = late(rb"\\u[0-9A-Fa-f]{4}")
_CUT = late(rb"[ ,]")


class Block(msgspec.Struct, frozen=True):
    """The runs of some rows that follow each other: the rows that hold any, how many each of them holds, and all these
    runs as text, parted by spaces and, between two rows, by the end of a line too. Blocks that follow each other may be
    of one row.
    """

    rows: array[int]
    counts: array[int]
    text: bytes

    @property
    def runs(self) -> Runs:
        """Every run, row after row."""
        return self.text.split()

    @property
    def row_of_each(self) -> Iterator[int]:
        """The row of each run."""
        return chain.from_iterable(map(repeat, self.rows, self.counts))


class RunBlocks:
    """The runs of rows by their payloads, in blocks. `spelled` are the rows in which letters stand as escapes, so that
    the value holds other runs than the text; `percent` those that may be percent-encoded.
    """

    def __init__(self, payloads: Iterable[bytes | None], *, with_digit: bool) -> None:
        self.blocks: list[Block] = []
        self.spelled: list[int] = []
        self.percent: list[int] = []
        self._told_often: set[bytes] = set()  # runs that a stretch holds more than once
        self._with_digit = with_digit
        self._read(payloads)

    def _read(self, payloads: Iterable[bytes | None]) -> None:
        rows, texts, size = list[int](), list[bytes](), 0
        for row, payload in enumerate(payloads):
            if payload is None:
                continue
            if len(payload) > _LONG:
                self._close(rows, texts)
                rows, texts, size = [], [], 0
                self._in_stretches(row, payload)
                continue
            rows.append(row)
            texts.append(payload)
            size += len(payload)
            if size >= _BLOCK:
                self._close(rows, texts)
                rows, texts, size = [], [], 0
        self._close(rows, texts)

    def _in_stretches(self, row: int, text: bytes) -> None:
        """Read the long text of a row."""
        if SPELLED in text:
            self.spelled.append(row)
        if _PERCENT in text:
            self.percent.append(row)
        runs_of = digit_runs if self._with_digit else all_runs
        open_time: Runs = []
        for stretch in _stretches(plain_bytes(text)):
            runs = [*open_time, *runs_of(stretch)]
            done = begun(runs)
            open_time = runs[done:]
            self._add_stretch(row, runs[:done])
        self._add_stretch(row, open_time)

    def _add_stretch(self, row: int, runs: Runs) -> None:
        if not runs:
            return
        counted = Counter(runs)
        if len(counted) < len(runs):
            self._told_often.update([run for run, times in counted.items() if times > 1])
            runs = _told_once(runs)
        self.blocks.append(Block(array("i", [row]), array("i", [len(runs)]), b" ".join(runs)))

    def _close(self, rows: list[int], texts: list[bytes]) -> None:
        """Read the texts of these rows."""
        if not texts:
            return
        told = b"\n".join((*texts, b""))
        escaped = _ESCAPED_WORD(told) is not None
        if escaped and SPELLED in told:
            self.spelled += _holding(SPELLED, rows, texts)
        if _PERCENT in told:
            self.percent += _holding(_PERCENT, rows, texts)
        block = _with_digit(rows, texts, told, escaped=escaped) if self._with_digit else _all(rows, texts)
        if block.rows:
            self.blocks.append(block)

    def distinct(self) -> tuple[list[bytes], set[bytes]]:
        """Texts in which each run of some blocks that follow each other stands once, and the runs that stand more than
        once among those of one text. A log says the same again and again, so little is left to be looked at.
        """
        told: list[bytes] = []
        often = set(self._told_often)
        counted = Counter[bytes]()
        for at, block in enumerate(self.blocks, 1):
            counted.update(block.runs)
            if len(counted) >= _TOGETHER or at == len(self.blocks):
                often.update([run for run, times in counted.items() if times > 1])
                told.append(b" ".join(counted))
                counted.clear()
        return told, often


def _stretches(text: bytes) -> Iterator[bytes]:
    """A long text in pieces, cut where no run stands."""
    begin = 0
    while begin < len(text):
        cut = _CUT.search(text, begin + _LONG)
        end = len(text) if cut is None else cut.start()
        yield text[begin:end]
        begin = end


def _told_once(runs: Runs) -> Runs:
    """Each of these runs once, but those of written times: these stand behind all others, time after time."""
    once = dict.fromkeys(runs)
    times = [time.split() for time in written_times(b" ".join(runs))]
    for run in chain.from_iterable(times):
        once.pop(run, None)
    return [*once, *chain.from_iterable(times)]


def _holding(sign: bytes, rows: Iterable[int], texts: list[bytes]) -> list[int]:
    return [row for row, text in zip(rows, texts, strict=True) if sign in text]


def _all(rows: Sequence[int], texts: list[bytes]) -> Block:
    """Every run."""
    held = [(row, runs) for row, text in zip(rows, texts, strict=True) if (runs := all_runs(plain_bytes(text)))]
    lines = [b" ".join(runs) for _, runs in held]
    return Block(
        array("i", [row for row, _ in held]), array("i", [len(runs) for _, runs in held]), _BETWEEN_ROWS.join(lines)
    )


def _with_digit(rows: Sequence[int], texts: list[bytes], told: bytes, *, escaped: bool) -> Block:
    """The runs that hold a digit, of these texts, which are told in one with a separator behind each; `escaped` where
    an escape in them holds a letter or a digit.
    """
    if max(map(len, texts)) > MEDIA_LEAST or (escaped and SPELLED in told):
        texts = [plain_bytes(text) if len(text) > MEDIA_LEAST or SPELLED in text else text for text in texts]
        told = b"\n".join((*texts, b""))
    if escaped:
        told = _without_escapes(told)
    kinds = told.translate(KINDS)
    find, find_back = kinds.find, kinds.rfind
    runs: list[bytes] = []
    add = runs.append
    held, begins = array("i"), list[int]()
    row_ends = zip(rows, accumulate(len(text) + 1 for text in texts), strict=True)
    row = row_end = end = 0
    digit = find(b"0")
    while digit >= 0:
        if digit >= row_end:
            while digit >= row_end:
                row, row_end = next(row_ends)
            if runs:
                add(END)
            held.append(row)
            begins.append(len(runs))
        start = digit if kinds[digit - 1] == _SPACE else find_back(b" ", end, digit) + 1
        end = find(b" ", digit)
        add(told[start:end])
        digit = find(b"0", end)
    begins.append(len(runs) + 1)
    counts = array("i", [after - begin - 1 for begin, after in pairwise(begins)])
    return Block(held, counts, b" ".join(runs))


def _without_escapes(text: bytes) -> bytes:
    """The text with as many spaces instead of every escape that holds a letter or a digit."""
    for escape in _COMMON:
        text = text.replace(escape, b"  ")
    return _BY_NUMBER.sub(b"      ", _ESCAPED.sub(b"  ", text))
