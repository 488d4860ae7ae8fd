r"""Which runs does each row of a trace hold? They are kept as text, since nearly all of them are never looked at again.

The payloads of many rows are read as one block: a call of `translate` or `find` costs more than what it does to the
text of one step. An escape and the letter behind it become as many spaces, so that each row keeps its place; only a row
in which letters themselves stand as escapes is decoded alone.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING

from forensics.analysis.runs import END, KINDS, MEDIA_LEAST, SPELLED, all_runs, plain_bytes
from forensics.core.late import late

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BLOCK = 1 << 16  # bytes of payloads that are read at once
_TOGETHER = 4  # blocks whose runs are counted together
_PERCENT = b"%"
_SPACE = ord(" ")
_COMMON = (b"\\n", b"\\t")  # nearly all escapes there are that end in a letter, and far cheaper to be replaced
_ESCAPED_WORD = re.compile(rb"\\[0-9A-Za-z_-]").search
_ESCAPED = late(rb"\\[0-9A-Za-tv-z_-]")
_BY_NUMBER = late(rb"\\u[0-9A-Fa-f]{4}")

Block = bytes
"""The runs of some rows, each run and each end of a line parted by a space; one row a line."""


class RunBlocks:
    """The runs of rows by their payloads. `spelled` are the rows in which letters stand as escapes, so that the value
    holds other runs than the text; `percent` those that may be percent-encoded.
    """

    def __init__(self, payloads: Iterable[bytes | None], *, with_digit: bool) -> None:
        self.rows = array("i")
        self.blocks: list[Block] = []
        self.spelled: list[int] = []
        self.percent: list[int] = []
        self._with_digit = with_digit
        self._read(payloads)

    def _read(self, payloads: Iterable[bytes | None]) -> None:
        rows, texts, size = self.rows, list[bytes](), 0
        for row, payload in enumerate(payloads):
            if payload is None:
                continue
            rows.append(row)
            texts.append(payload)
            size += len(payload)
            if size >= _BLOCK:
                self._close(texts)
                texts, size = [], 0
        if texts:
            self._close(texts)

    def _close(self, texts: list[bytes]) -> None:
        """Read these texts, which are those of the rows noted last."""
        told = b"\n".join((*texts, b""))
        rows = self.rows[len(self.rows) - len(texts) :]
        escaped = _ESCAPED_WORD(told) is not None
        if escaped and SPELLED in told:
            self.spelled += _holding(SPELLED, rows, texts)
        if _PERCENT in told:
            self.percent += _holding(_PERCENT, rows, texts)
        self.blocks.append(_with_digit(texts, told, escaped=escaped) if self._with_digit else _all(texts))

    def distinct(self) -> tuple[list[Block], set[bytes]]:
        """Texts in which each run of some blocks that follow each other stands once, and the runs that stand more than
        once among those of one text. A log says the same again and again, so little is left to be looked at.
        """
        told: list[Block] = []
        often: set[bytes] = set()
        for begin in range(0, len(self.blocks), _TOGETHER):
            counted = Counter(b" ".join(self.blocks[begin : begin + _TOGETHER]).split())
            often.update(run for run, times in counted.items() if times > 1)
            told.append(b" ".join(counted))
        return told, often

    def __iter__(self) -> Iterator[tuple[array[int], Block]]:
        """Each block with its rows."""
        begin = 0
        for block in self.blocks:
            end = begin + block.count(END) + 1
            yield self.rows[begin:end], block
            begin = end


def _holding(sign: bytes, rows: Iterable[int], texts: list[bytes]) -> list[int]:
    return [row for row, text in zip(rows, texts, strict=True) if sign in text]


def _all(texts: list[bytes]) -> Block:
    """Every run."""
    return b" \n ".join(b" ".join(all_runs(plain_bytes(text))) for text in texts)


def _with_digit(texts: list[bytes], told: bytes, *, escaped: bool) -> Block:
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
    row_ends = accumulate(len(text) + 1 for text in texts)
    row_end, end = next(row_ends), 0
    digit = find(b"0")
    while digit >= 0:
        while digit >= row_end:
            add(END)
            row_end = next(row_ends)
        start = digit if kinds[digit - 1] == _SPACE else find_back(b" ", end, digit) + 1
        end = find(b" ", digit)
        add(told[start:end])
        digit = find(b"0", end)
    runs += [END for _ in row_ends]
    return b" ".join(runs)


def _without_escapes(text: bytes) -> bytes:
    """The text with as many spaces instead of every escape that holds a letter or a digit."""
    for escape in _COMMON:
        text = text.replace(escape, b"  ")
    return _BY_NUMBER.sub(b"      ", _ESCAPED.sub(b"  ", text))
