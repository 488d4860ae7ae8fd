r"""Which runs of letters, digits, `-` and `_` does a text hold? The tokens by which values are followed.

Payloads are read as they stand, as JSON: an escape separates, so `\npg_8812` holds `pg_8812`. In small traces every
run is looked at; in large ones (over SMALL_TRACE steps) only runs that hold a digit. Those are found with nothing but
`translate` and `find`, which run at the speed of memory; a pattern that has to look at every letter takes ten times as
long (measured in PERFORMANCE section 4: the tokeniser decides the cost of following values).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.jsonvalue import text_of
from forensics.core.late import late

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from forensics.core.trace import Payload

SMALL_TRACE = 1_000
_RUN = late(rb"[0-9A-Za-z_-]+")
_ESCAPES = late(rb"\\+(?:u[0-9A-Fa-f]{4}|[bfnrt])?")  # of JSON (RFC 8259 section 7), also of one text in another
MEDIA_LEAST = 4096  # characters of one unbroken text that is a file and no value: an image in base64 (RFC 4648)
_MEDIA = late(rb'(?<=[",])[0-9A-Za-z+/=_-]{%d,}(?=")' % MEDIA_LEAST)
SPELLED = b"\\u00"
"""How a letter that JSON need not escape begins where it is escaped all the same."""
_DIGITS = b"0123456789"
_WORD = _DIGITS + b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"
KINDS = bytes(ord("0") if b in _DIGITS else ord("a") if b in _WORD else ord(" ") for b in range(256))
END = b"\n"
"""The end of a line, where the runs of rows are told as lines of text."""
_APART = bytes(b if b in _WORD or b in END else ord(" ") for b in range(256))
_KINDS_APART = bytes(b if b in END else kind for b, kind in enumerate(KINDS))
_DIGIT = late(b"[0-9]")
_FEW = 8  # runs that are searched for in a text one by one

Runs = list[bytes]


def all_runs(text: bytes) -> Runs:
    """Every run of a text."""
    return _RUN.findall(text)


def digit_runs(text: bytes) -> Runs:
    """Every run of a text that holds a digit."""
    kinds = text.translate(KINDS)
    find, find_back = kinds.find, kinds.rfind
    runs: Runs = []
    end = 0
    digit = find(b"0")
    while digit >= 0:
        start = find_back(b" ", end, digit) + 1
        end = find(b" ", digit)
        if end < 0:
            runs.append(text[start:])
            break
        runs.append(text[start:end])
        digit = find(b"0", end)
    return runs


def runs_of_each(texts: Sequence[bytes], *, with_digit: bool) -> list[Runs]:
    """The runs of each of some texts, all or those that hold a digit; they are parted together."""
    lines = END.join(texts).translate(_APART).split(END)
    if len(lines) != len(texts):
        lines = [text.translate(_APART) for text in texts]
    each = map(bytes.split, lines)
    return [list(filter(_DIGIT.search, runs)) for runs in each] if with_digit else list(each)


def kinds_of_each(texts: Sequence[bytes]) -> list[bytes]:
    """The characters of each of some texts: `0` for a digit, `a` for the others of a run, and a space for those of
    none. They are told together.
    """
    lines = END.join(texts).translate(_KINDS_APART).split(END)
    return lines if len(lines) == len(texts) else [text.translate(KINDS) for text in texts]


def places_of(wanted: Collection[bytes], text: bytes) -> Iterator[tuple[int, bytes]]:
    """Where some runs stand in a text: few are searched for, of many each run of the text is asked about."""
    if len(wanted) > _FEW:
        yield from ((match.start(), run) for match in _RUN.finditer(text) if (run := match[0]) in wanted)
        return
    for run in wanted:
        at = text.find(run)
        while at >= 0:
            end = at + len(run)
            if (at == 0 or text[at - 1] not in _WORD) and (end == len(text) or text[end] not in _WORD):
                yield at, run
            at = text.find(run, end)


def plain_bytes(payload: Payload | bytes) -> bytes:
    """The text of a payload with JSON's escapes turned into separators, without the files in it."""
    data = bytes(payload)
    if len(data) > MEDIA_LEAST:
        data = _MEDIA.sub(b"", data)
    if b"\\" not in data:
        return data
    if SPELLED in data:
        return _ESCAPES.sub(b" ", text_of(payload).encode("utf-8", "surrogatepass"))
    data = data.replace(b'\\"', b"  ").replace(b"\\n", b"  ")  # nearly all there are, and far cheaper
    return _ESCAPES.sub(b" ", data) if b"\\" in data else data


def anchor_of(value: str) -> bytes | None:
    """The run by which a value is found: its longest, the first of equals; None where it has no ASCII run."""
    data = value.encode("utf-8", "surrogatepass")
    return data if _RUN.fullmatch(data) else max(all_runs(data), key=len, default=None)
