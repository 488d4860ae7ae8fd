"""What does a text hold that is encoded in it: percent-encoded (RFC 3986), or in base64 (RFC 4648)?

Base64 has no mark of its own, so a run counts only where all of it decodes to printable ASCII, as the ids do that
agents wrap; the chance that a random run of ten letters does is below one in a hundred, and what it then says must
still hold a value of the trace.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from itertools import compress
from operator import ne
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PERCENT = b"%"
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}").search
_SHORTEST = 8  # characters in base64: six letters
_LONGEST = 4096
_BASE64 = re.compile(rb"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[0-9A-Za-z]{%d,%d}" % (_SHORTEST, _LONGEST)).fullmatch
_PRINTABLE = re.compile(rb"[ -~]+").fullmatch

Decoded = tuple[str, bytes]
"""How something in a text was encoded (url, base64), and what it says."""


def decodings(text: bytes, runs: Iterable[bytes]) -> Iterator[Decoded]:
    """What the words of a text say once they are decoded; `runs` are those of its runs that may be base64."""
    if _PERCENT in text:
        for word in text.replace(b'"', b" ").split():
            if _ESCAPE(word):
                yield "url", unquote_to_bytes(word)
    for run in runs:
        said = in_base64(run)
        if said is not None:
            yield "base64", said


def base64_runs(text: bytes) -> set[bytes]:
    """Which runs, parted by spaces, are base64: asked of many at once, since few hold a letter of the upper case."""
    runs = text.split()
    return {run for run in compress(runs, map(ne, runs, text.lower().split())) if in_base64(run) is not None}


def in_base64(run: bytes) -> bytes | None:
    """What a run says in base64, where that is printable; the padding may stand behind the run, or nowhere."""
    if len(run) < _SHORTEST or run.islower() or len(run) % 4 == 1 or not _BASE64(run):
        return None
    said = a2b_base64(run + b"=" * (-len(run) % 4))
    return said if _PRINTABLE(said) else None
