"""What do many JSON texts say? What each says by itself (`jsonvalue.decode`, `value_of`), with what nearly all of them
need done for all at once: it is asked about the arguments and the result of every call.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.jsonvalue import LONG, SAFE_INTEGER, canonical, decode, says_a_key_twice, strict_value, value_of
from forensics.core.keyed import Keyed, keyed
from forensics.core.limits import limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forensics.core.jsonvalue import Decoded

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_write_lines = msgspec.json.Encoder().encode_lines
_write_sorted = msgspec.json.Encoder(order="sorted").encode_lines
_REFUSED = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_DIGITS_AS_ZEROS = bytes.maketrans(b"0123456789", b"0" * 10)
_LONG_NUMBER = b"0" * len(str(SAFE_INTEGER))
_ESCAPED_DIGIT = b"\\u003"
_QUOTE_ESCAPE = b"\\u0022"
_OPENS = ("{", "[")


def unfolded(texts: Sequence[bytes]) -> tuple[Keyed, dict[int, Decoded]]:
    """The value of each text, one that is a text and holds a JSON object or array unfolded; and, by its place, what is
    to be said of each that can be read in two ways, or that is no JSON at all.
    """
    found, told = decoded(texts)
    holding = [at for at, value in enumerate(found.values) if type(value) is str and value.lstrip()[:1] in _OPENS]
    if holding:
        found = _unfolded(found.values, holding, told)
    return found, {at: one for at, one in told.items() if one.faults or one.error is not None}


def _unfolded(values: list[Any], holding: list[int], told: dict[int, Decoded]) -> Keyed:
    """The values with what these texts among them hold (`jsonvalue.decode_embedded`), which is told of them then."""
    inner, doubted = decoded([values[at].encode("utf-8", "surrogatepass") for at in holding])
    for number, (at, value) in enumerate(zip(holding, inner.values, strict=True)):
        doubt = doubted.get(number)
        if doubt is None or doubt.error is None:
            values[at] = value
            told.pop(at, None)
            if doubt is not None:
                told[at] = doubt
    return inner if len(holding) == len(values) and inner.values == values else keyed(values)


def decoded(texts: Sequence[bytes]) -> tuple[Keyed, dict[int, Decoded]]:
    """The value of each text as `decode` tells it; and, by its place, all that it tells of those that it had to be
    asked about: a text that is not written again as it is may hold a key twice, and a long one may be nested too deep.
    """
    values, doubtful = _decoded_at_once(texts)
    found = keyed(values)
    doubtful |= _may_say_a_key_twice(texts, values)
    doubtful |= _may_be_deep(texts, found)
    if not doubtful:
        return found, {}
    told = {at: decode(texts[at]) for at in sorted(doubtful)}
    for at, one in told.items():
        values[at] = one.value
    return keyed(values), told


def _decoded_at_once(texts: Sequence[bytes]) -> tuple[list[Any], set[int]]:
    """The value of each text, and the places of those that the fast decoder refuses, whose value is None."""
    try:
        return list(map(_decode, texts)), set()
    except _REFUSED:
        values = list(map(_decoded_or_none, texts))
    return values, {at for at, value in enumerate(values) if value is None}


def _decoded_or_none(text: bytes) -> Any:
    try:
        return _decode(text)
    except _REFUSED:
        return None


def _may_say_a_key_twice(texts: Sequence[bytes], values: list[Any]) -> set[int]:
    """The places of the texts that have other quotes than their values when those are written again, of which none has
    more than its text unless that spells one as an escape (`jsonvalue.says_a_key_twice`).
    """
    if max(map(len, texts), default=0) <= LONG:
        joined, written = b"\n".join((*texts, b"")), _write_lines(values)
        if written == joined or (_QUOTE_ESCAPE not in joined and written.count(b'"') == joined.count(b'"')):
            return set()
    return {at for at, (text, value) in enumerate(zip(texts, values, strict=True)) if says_a_key_twice(text, value)}


def _may_be_deep(texts: Sequence[bytes], found: Keyed) -> set[int]:
    """The places of the texts that have more brackets than a value may be nested, but those of objects that hold no
    others.
    """
    most = limits().nesting
    flat = {at for group in found.groups if group.is_flat for at in group.places}
    if len(flat) == len(texts):
        return set()
    long = [(at, text) for at, text in enumerate(texts) if len(text) > most and at not in flat]
    return {at for at, text in long if text.count(b"[") + text.count(b"{") > most}


def canonicals(values: Sequence[Any]) -> list[bytes]:
    """What `canonical` says of each value."""
    try:
        return _write_sorted(values).split(b"\n")[:-1]
    except (UnicodeEncodeError, ValueError, RecursionError):
        return list(map(canonical, values))


def strict_values(texts: Iterable[bytes | None]) -> list[Any]:
    """The value of each text as the contract's strict JSON allows it (`strict_value`), one that holds JSON unfolded;
    None for None.
    """
    told = [b"null" if text is None else text for text in texts]
    values, _ = _decoded_at_once(told)
    for at, value in enumerate(values):
        if value is None or (type(value) is str and value.lstrip()[:1] in _OPENS):  # None: refused, perhaps
            values[at] = value_of(told[at])
    escaped = [at for at, text in enumerate(told) if b"\\u" in text]
    for at in sorted({*escaped, *with_long_numbers(told)}):  # only such may be not strict as they are read
        values[at] = strict_value(values[at])
    return values


def with_long_numbers(texts: Sequence[bytes | None]) -> list[int]:
    """The places of the texts that hold as many digits in a row as an integer beyond 2^53 has, or may spell digits as
    escapes, found by one look at all of them.
    """
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
