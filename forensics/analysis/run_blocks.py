r"""Which runs does each row of a trace hold? They are kept as text, since nearly all of them are never looked at again.

The payloads of many rows are read as one block: a call of `translate` or `find` costs more than what it does to the
text of one step. Where an escape stands before a letter the block can't be read as it is, and the rows that hold a
backslash are read one by one.
"""

from __future__ import annotations

import re
from array import array
from itertools import accumulate
from typing import TYPE_CHECKING

from forensics.analysis.runs import KINDS, MEDIA_LEAST, SPELLED, all_runs, plain_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BLOCK = 1 << 16  # bytes of payloads that are read at once
_PERCENT = b"%"
_END = b"\n"  # of a line
_COMMON = (b'\\"', b"\\n", b"\\t")  # nearly all escapes there are
_ESCAPED_WORD = re.compile(rb"\\[0-9A-Za-z_-]").search

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
        self.blocks.append(_with_digit(texts, told) if self._with_digit else _all(texts))
        for sign, first, holders in ((SPELLED, SPELLED[:1], self.spelled), (_PERCENT, _PERCENT, self.percent)):
            if first in told and sign in told:
                rows = self.rows[len(self.rows) - len(texts) :]
                holders += [row for row, text in zip(rows, texts, strict=True) if sign in text]

    def __iter__(self) -> Iterator[tuple[array[int], Block]]:
        """Each block with its rows."""
        begin = 0
        for block in self.blocks:
            end = begin + block.count(_END) + 1
            yield self.rows[begin:end], block
            begin = end


def _all(texts: list[bytes]) -> Block:
    """Every run."""
    return b" \n ".join(b" ".join(all_runs(plain_bytes(text))) for text in texts)


def _with_digit(texts: list[bytes], told: bytes) -> Block:
    """The runs that hold a digit, of these texts, which are told in one with a separator behind each."""
    texts, told = _without_escapes(texts, told)
    kinds = told.translate(KINDS)
    find, find_back = kinds.find, kinds.rfind
    runs: list[bytes] = []
    add = runs.append
    row_ends = accumulate(len(text) + 1 for text in texts)
    row_end, end = next(row_ends), 0
    digit = find(b"0")
    while digit >= 0:
        while digit >= row_end:
            add(_END)
            row_end = next(row_ends)
        start = find_back(b" ", end, digit) + 1
        end = find(b" ", digit)
        add(told[start:end])
        digit = find(b"0", end)
    runs += [_END for _ in row_ends]
    return b" ".join(runs)


def _without_escapes(texts: list[bytes], told: bytes) -> tuple[list[bytes], bytes]:
    """The texts, and in one, with spaces instead of all that would hide where a run begins."""
    if max(map(len, texts)) > MEDIA_LEAST:
        texts = [plain_bytes(text) if len(text) > MEDIA_LEAST else text for text in texts]
        told = b"\n".join((*texts, b""))
    if b"\\" in told:
        told = _without_common_escapes(told)
        if _ESCAPED_WORD(told):
            texts = [plain_bytes(text) if b"\\" in text else text for text in texts]
            told = b"\n".join((*texts, b""))
    return texts, told


def _without_common_escapes(text: bytes) -> bytes:
    """The text with as many spaces instead of its common escapes."""
    for escape in _COMMON:
        text = text.replace(escape, b"  ")
    return text
