"""When was that? Every notation of FORMATS section 0.10 as nanoseconds since the epoch (UTC)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import repeat
from operator import floordiv, mul, sub
from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import text_of
from forensics.core.late import late
from forensics.core.trace import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Sequence

LAST = 2**63 - 1
"""What a column of times can hold: the year 2262."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SPELLING = bytes(ord("0") if value in b"0123456789" else value for value in range(256))
_ISO = late(rb'"0000-00-00T00:00:00(?:\.0{1,6})?(?:Z|[+-]00:00)"')
_moments = msgspec.json.Decoder(list[datetime]).decode
_SCALES = ((10**17, 1), (10**14, 10**3), (10**11, 10**6), (0, 10**9))


def nanoseconds(raw: msgspec.Raw | None) -> int:
    """ISO 8601 (a naive time is UTC), or a number of seconds, milli-, micro- or nanoseconds told apart by its size;
    -1 where it is no time.
    """
    if raw is None:
        return NOWHERE
    data = bytes(raw)
    return from_text(text_of(raw)) if data[:1] == b'"' else from_number(data)


def all_nanoseconds(raws: Sequence[msgspec.Raw]) -> list[int]:
    """The same of each of many, at once where they are spelled alike in ISO 8601, as those of one log mostly are."""
    return _alike(b",".join(raws), len(raws)) or list(map(nanoseconds, raws))


def all_from_texts(texts: Sequence[str]) -> list[int]:
    """The same of times that are written as texts."""
    told = '","'.join(texts).encode("utf-8", "replace")
    return _alike(b'"%b"' % told, len(texts)) or list(map(from_text, texts))


def _alike(told: bytes, count: int) -> list[int]:
    """So many times in one text, with commas between them, where they are spelled alike; else none."""
    spelling = told.translate(_SPELLING)
    first = spelling[: spelling.find(b",")] if count > 1 else spelling
    if _ISO.fullmatch(first) is None or spelling != b",".join([first] * count):
        return []
    try:
        moments = _moments(b"[" + told + b"]")
    except msgspec.DecodeError:  # a day or an hour that is none
        return []
    gone = map(floordiv, map(sub, moments, repeat(_EPOCH)), repeat(_MICROSECOND))
    found = list(map(mul, gone, repeat(1_000)))
    return found if min(found) >= 0 and max(found) <= LAST else []


def from_text(text: str) -> int:
    """A time written as text; -1 where it is no time, or none that a column can hold."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return from_number(text.encode("utf-8", "replace"))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    gone = moment - _EPOCH
    at = (gone.days * 86_400 + gone.seconds) * 10**9 + gone.microseconds * 1_000
    return at if 0 <= at <= LAST else NOWHERE


def from_number(data: bytes) -> int:
    """A time written as a number; integers stay exact."""
    try:
        value: int | float = int(data) if data.isdigit() else float(data)
    except ValueError:
        return NOWHERE
    if not 0 < value < 10**20:
        return NOWHERE
    factor = next(f for least, f in _SCALES if value >= least)
    scaled = value * factor if isinstance(value, int) else round(value * factor)
    return scaled if scaled <= LAST else NOWHERE
