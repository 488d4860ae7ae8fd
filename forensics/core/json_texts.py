"""What do many JSON texts say? What each says by itself (`jsonvalue.decode`, `value_of`), with what nearly all of them
need done for all at once: it is asked about the arguments and the result of every call.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.jsonvalue import SAFE_INTEGER, decode, decode_embedded, strict_value, value_of
from forensics.core.limits import limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forensics.core.jsonvalue import Decoded

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_DIGITS_AS_ZEROS = bytes.maketrans(b"0123456789", b"0" * 10)
_LONG_NUMBER = b"0" * len(str(SAFE_INTEGER))
_ESCAPED_DIGIT = b"\\u003"


def unfolded(texts: Sequence[bytes]) -> tuple[list[Any], dict[int, Decoded]]:
    """The value of each text, one that is a text and holds a JSON object or array unfolded; and, by its place, what is
    to be said of each that can be read in two ways, or that is no JSON at all.
    """
    values, told = decoded(texts)
    for at, value in enumerate(values):
        inner = decode_embedded(value) if type(value) is str else None
        if inner is not None:
            values[at] = inner.value
            told[at] = inner
    return values, {at: one for at, one in told.items() if one.faults or one.error is not None}


def decoded(texts: Sequence[bytes]) -> tuple[list[Any], dict[int, Decoded]]:
    """The value of each text as `decode` tells it; and, by its place, all that it tells of those that it had to be
    asked about: a text that is not written again as it is may hold a key twice, and a long one may be nested too deep.
    """
    try:
        values = list(map(_decode, texts))
        written = list(map(_encode, values))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        values, doubtful = [None] * len(texts), set(range(len(texts)))
    else:
        doubtful = {
            at for at, pair in enumerate(zip(texts, written, strict=True)) if pair[0] != pair[1] and _differ(*pair)
        }
        most = limits().nesting
        long = [(at, text) for at, text in enumerate(texts) if len(text) > most]
        doubtful.update(at for at, text in long if text.count(b"[") + text.count(b"{") > most)
    told = {at: decode(texts[at]) for at in sorted(doubtful)}
    for at, one in told.items():
        values[at] = one.value
    return values, told


def _differ(text: bytes, again: bytes) -> bool:
    """Whether a text has other quotes than its value when that is written again (`jsonvalue.says_a_key_twice`)."""
    return text != again and (b"\\u0022" in text or text.count(b'"') != again.count(b'"'))


def strict_values(texts: Iterable[bytes | None]) -> list[Any]:
    """The value of each text as the contract's strict JSON allows it (`strict_value`), one that holds JSON unfolded;
    None for None.
    """
    return [None if text is None else _strict(text) for text in texts]


def _strict(text: bytes) -> Any:
    """Only long numbers and escaped surrogates are not strict as they are read."""
    value = value_of(text)
    return strict_value(value) if b"\\u" in text or holds_a_long_number(text) else value


def holds_a_long_number(data: bytes) -> bool:
    """Whether a text holds as many digits in a row as an integer beyond 2^53 has, or may spell digits as escapes."""
    return _LONG_NUMBER in data.translate(_DIGITS_AS_ZEROS) or _ESCAPED_DIGIT in data


def with_long_numbers(texts: Sequence[bytes | None]) -> list[int]:
    """The places of the texts that `holds_a_long_number` is true of, found by one look at all of them."""
    joined = b"\n".join(text or b"" for text in texts)
    ends = list(accumulate(len(text or b"") + 1 for text in texts))
    found: set[int] = set()
    for needle, hay in ((_LONG_NUMBER, joined.translate(_DIGITS_AS_ZEROS)), (_ESCAPED_DIGIT, joined)):
        at = hay.find(needle)
        while at >= 0:
            place = bisect_right(ends, at)
            found.add(place)
            at = hay.find(needle, ends[place])
    return sorted(found)
