"""When was that? Every notation of FORMATS section 0.10 as nanoseconds since the epoch (UTC)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from forensics.core.jsonvalue import text_of
from forensics.core.trace import NOWHERE

if TYPE_CHECKING:
    import msgspec

LAST = 2**63 - 1
"""What a column of times can hold: the year 2262."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SCALES = ((10**17, 1), (10**14, 10**3), (10**11, 10**6), (0, 10**9))


def nanoseconds(raw: msgspec.Raw | None) -> int:
    """ISO 8601 (a naive time is UTC), or a number of seconds, milli-, micro- or nanoseconds told apart by its size;
    -1 where it is no time.
    """
    if raw is None:
        return NOWHERE
    data = bytes(raw)
    return from_text(text_of(raw)) if data[:1] == b'"' else from_number(data)


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
