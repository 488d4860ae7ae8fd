"""Which runs of letters, digits, `-` and `_` does each text hold? The tokens by which values are followed.

Payloads are read as they stand, as JSON: a backslash escape separates, so `\\npg_8812` holds `pg_8812`. In small
traces every run is looked at; in large ones (over SMALL_TRACE steps) only runs that hold a digit, found by their first
digit over blocks of joined payloads, which is what keeps the pass linear and cheap.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from forensics.core.jsonvalue import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.trace import Payload, Trace

SMALL_TRACE = 1_000
_BLOCK = 1 << 20
_RUN = re.compile(rb"[0-9A-Za-z_-]+")
_FROM_DIGIT = re.compile(rb"[0-9][0-9A-Za-z_-]*")
_ESCAPES = re.compile(rb"\\+(?:u[0-9A-Fa-f]{4}|[^u])?")
_WORD = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-")
_BACKSLASH = 0x5C
_U = 0x75
_HEX = re.compile(rb"[0-9A-Fa-f]{4}")

Runs = list[bytes]


def runs_by_row(trace: Trace) -> Iterator[tuple[int, Runs]]:
    """The rows of the trace that hold a run to look at, in order, each with its runs in order."""
    if len(trace) <= SMALL_TRACE:
        for row, payload in enumerate(trace.payload):
            if payload is not None:
                yield row, all_runs(plain_bytes(payload))
        return
    rows: list[int] = []
    texts: list[bytes] = []
    size = 0
    for row, payload in enumerate(trace.payload):
        if payload is None:
            continue
        text = bytes(payload)
        if b"\\u00" in text:
            text = plain_bytes(payload)
        rows.append(row)
        texts.append(text)
        size += len(text)
        if size >= _BLOCK:
            yield from _runs_of_block(rows, texts)
            rows, texts, size = [], [], 0
    yield from _runs_of_block(rows, texts)


def _runs_of_block(rows: list[int], texts: list[bytes]) -> Iterator[tuple[int, Runs]]:
    """The digit runs of many payloads, found over their join."""
    block = b"\n".join(texts)
    ends = _ends(texts)
    at = 0
    end = ends[0] if ends else 0
    found: Runs = []
    floor = 0
    for match in _FROM_DIGIT.finditer(block):
        start, stop = match.span()
        while start >= end:
            if found:
                yield rows[at], found
                found = []
            at += 1
            end = ends[at]
        while start > floor and block[start - 1] in _WORD:
            start -= 1
        floor = stop
        run = block[start:stop]
        if start and block[start - 1] == _BACKSLASH:
            run = after_escape(run)
        if run:
            found.append(run)
    if found:
        yield rows[at], found


def _ends(texts: list[bytes]) -> list[int]:
    ends = []
    total = 0
    for text in texts:
        total += len(text) + 1
        ends.append(total)
    return ends


def after_escape(run: bytes) -> bytes:
    """What is left of a run that follows a backslash: the escape itself (`n`, `t`, `u00e9`) is no part of it."""
    rest = run[5:] if run[0] == _U and _HEX.match(run, 1) else run[1:]
    return rest if any(48 <= b <= 57 for b in rest) else b""


def all_runs(text: bytes) -> Runs:
    """Every run of a text."""
    return _RUN.findall(text)


def plain_bytes(payload: Payload) -> bytes:
    """The text of a payload with JSON's escapes turned into separators."""
    data = bytes(payload)
    if b"\\" not in data:
        return data
    if b"\\u00" in data:
        return _ESCAPES.sub(b" ", text_of(payload).encode("utf-8", "surrogatepass"))
    return _ESCAPES.sub(b" ", data)


def anchor_of(value: str) -> bytes | None:
    """The run by which a value is found: its longest, the first of equals; None where it has no ASCII run."""
    data = value.encode("utf-8", "surrogatepass")
    whole = _RUN.fullmatch(data)
    if whole is not None:
        return data.strip(b"-_") or data
    found = _RUN.findall(data)
    if not found:
        return None
    longest = max(found, key=len)
    return longest.strip(b"-_") or longest
