"""How are a time and the beginning of a payload written down?"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from forensics.core.jsonvalue import spell_surrogates, text_of

if TYPE_CHECKING:
    import msgspec

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC throughout; without a zone it is written four times as fast
_PREVIEW = 200
_BYTES = 8  # of a character as it may be written for what is no UTF-8, twice
_OPENS = (b"{", b"[")


def preview(payload: msgspec.Raw | bytes, limit: int = _PREVIEW) -> str:
    """The head of a payload as text: a JSON string's own text, else its JSON."""
    data = bytes(payload)
    # of what is no string, a beginning is enough
    head = data[: _BYTES * limit].decode("utf-8", "backslashreplace") if data[:1] in _OPENS else text_of(data)
    return spell_surrogates(head if len(head) <= limit else head[: limit - 1] + "…")


def moment(nanoseconds: int) -> str | None:
    """A time as RFC 3339 in UTC with microseconds, or None."""
    if nanoseconds < 0:
        return None
    try:
        at = _EPOCH + timedelta(microseconds=nanoseconds // 1_000)
    except OverflowError:
        return None
    return at.isoformat(timespec="microseconds") + "Z"
