"""What stands in this text? Credentials and personal data at any depth: in JSON, base64 or a URL inside it.

Everything here works on one decoded text (UTF-8 bytes) and the name of the field that holds it.
"""

from __future__ import annotations

import binascii
from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING
from urllib.parse import quote_from_bytes, unquote_to_bytes

import msgspec

from forensics.analysis.content.checks import CHECKS, varied
from forensics.analysis.content.names import secret_name
from forensics.analysis.content.patterns import (
    BASE64_LEAST,
    acting_patterns,
    base64_pattern,
    names_pattern,
    shape_trigger,
    text_pattern,
)
from forensics.analysis.content.values import fields_of
from forensics.core.jsonvalue import decode_embedded
from forensics.core.late import late
from forensics.core.secrets import CREDENTIAL, PERSONAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.analysis.content.patterns import Shape

DEEPEST = 6
"""How many times a text may be packed in another (JSON in JSON in base64 …) and still be looked into."""

_QUOTED = late(rb"%[0-9A-Fa-f]{2}")
_RUN = late(rb"[^\s\"'<>]+")
_JOINS = late(rb"[:=%]|--")  # what stands between a name and its value, or before an option
_WORD = late(rb"[A-Za-z0-9_-]*")
_ID_KEY = late(
    r"(?i)(?:.*[_-])?(?:id|ids|uuid|guid|number|no|seq|timestamp|time|at|ts|hash|sha|digest|offset|size|count)|.*(?:Id|ID|Uuid|Nano|At)"
)
_LONGEST_KEY = 256
_LONGEST_TRIED = 1024  # bytes of a shape that is refused, which may begin later and be right: an address ends at 254
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


class Span(msgspec.Struct, frozen=True, gc=False):
    """A value in a text: where it stands there in bytes, the value itself, its kind and group. `pointer` leads to it
    where it stands in JSON inside the text; `packed` is the base64 or the quoted text that holds it, if one does.
    """

    start: int
    end: int
    value: str
    kind: str
    group: str
    pointer: str = ""
    packed: str | None = None


def spans(text: bytes, key: str | None, depth: int = 0) -> list[Span]:
    """Every secret value of a text that stands under this key, in order of place."""
    found: list[Span] = []
    if depth < DEEPEST:
        inside = _in_json(text, depth)
        if inside is not None:
            return inside
        _add(found, _in_base64(text, depth))
    _add(found, _shapes(text, key))
    if depth < DEEPEST:
        _add(found, _in_url(text, depth))
    _add(found, _assigned(text))
    return sorted(_by_key(text, key, found), key=lambda span: span.start)


def acting(text: bytes) -> Iterator[tuple[str, bytes]]:
    """(code, what) for everything in a text that a terminal, a browser or a spreadsheet would act on, once a code."""
    for rule, pattern in acting_patterns():
        match = pattern.search(text)
        if match is not None:
            yield rule.kind, bytes(match.group(1))


def _add(found: list[Span], more: list[Span]) -> None:
    """Add the spans that overlap none of those found before, which say more of them."""
    if not more:
        return
    taken = sorted((one.start, one.end) for one in found)
    ends = list(accumulate((end for _, end in taken), max))
    found += [one for one in more if not _overlaps(one, taken, ends)]


def _overlaps(one: Span, taken: list[tuple[int, int]], ends: list[int]) -> bool:
    """Whether a span overlaps one that is taken; `ends` are the furthest ends of these up to each."""
    before = bisect_left(taken, (one.end, 0))
    return before > 0 and ends[before - 1] > one.start


# shapes --------------------------------------------------------------------------------------------------------------


def _shapes(text: bytes, key: str | None) -> list[Span]:
    if shape_trigger().search(text) is None:
        return []
    return _shapes_between(text, key, 0, len(text), frozenset())


def _shapes_between(text: bytes, key: str | None, position: int, stop: int, without: frozenset[str]) -> list[Span]:
    """The shapes of a stretch of a text, but for those of some kinds."""
    pattern, rules = text_pattern(without)
    found: list[Span] = []
    while position <= stop and (match := pattern.search(text, position, stop)) is not None:
        shape = rules[match.lastindex - 1]
        start, end = match.span(shape.number)
        if _holds(shape, text, start, end, key):
            said = Span(start, end, _text(text[start:end]), shape.rule.kind, shape.group)
            found += _more_exactly(said, text) if match.start() < start else [said]
            position = end
        elif end - start <= _LONGEST_TRIED:
            position = _behind_word(text, start)
        else:  # all that is left of it would be refused too, word by word
            inside = _shapes_between(text, key, start, end, without | {shape.rule.kind})
            position = max(_behind_word(text, start), _last_word(text, start, end), *(one.end for one in inside))
            found += inside
    return found


def _behind_word(text: bytes, start: int) -> int:
    """The end of the word that begins there: each word is judged once, so that the whole takes linear time."""
    word = _WORD.match(text, start)
    return max(start + 1, word.end() if word is not None else 0)


def _last_word(text: bytes, start: int, end: int) -> int:
    """Where the last word before the end begins: it may go on behind it."""
    return start + len(text[start:end].rstrip(_LETTERS))


def _more_exactly(said: Span, text: bytes) -> list[Span]:
    """A value that is known by what stands before it, by its own shape where it has one."""
    own = [one for one in _shapes(text[said.start : said.end], None) if one.group == CREDENTIAL]
    return [msgspec.structs.replace(one, start=one.start + said.start, end=one.end + said.start) for one in own] or [
        said
    ]


def _holds(shape: Shape, text: bytes, start: int, end: int, key: str | None) -> bool:
    """Whether a match is what its rule says, by its checks and by what stands around it."""
    rule = shape.rule
    if shape.group == PERSONAL and not _may_be_personal(shape.rule.kind, text, start, end, key):
        return False
    if any(text.endswith(before.encode(), 0, start) for before in rule.unless_after):
        return False
    return rule.check is None or CHECKS[rule.check](_text(text[start:end]))


def _may_be_personal(kind: str, text: bytes, start: int, end: int, key: str | None) -> bool:
    """Digits under the name of an id, or inside a longer id, are no account of a person."""
    if kind not in ("card", "phone"):
        return True
    if key is not None and _ID_KEY.fullmatch(key[:_LONGEST_KEY]):
        return False
    return text[max(start - 1, 0) : start] not in _JOINED and text[end : end + 1] not in _JOINED


_JOINED = frozenset(bytes([c]) for c in b"-_/.#@=")


# names of fields -----------------------------------------------------------------------------------------------------


def _by_key(text: bytes, key: str | None, found: list[Span]) -> list[Span]:
    """The whole text, where the name of its field says so and nothing says more of a part of it."""
    named = None if key is None else secret_name(key)
    if named is None or any(span.group == CREDENTIAL for span in found):
        return found
    kind, holds = named
    value = _text(text).strip()
    if not holds(value):
        return found
    written = value.encode("utf-8", "surrogateescape")
    start = text.find(written)
    return [Span(start, start + len(written), value, kind, CREDENTIAL)]


def _assigned(text: bytes) -> list[Span]:
    """`name = value` in running text: a quoted literal, or a value that is more than a word."""
    found: list[Span] = []
    for match in names_pattern().finditer(text) if _JOINS.search(text) else ():
        named = secret_name(_text(match.group(2)))
        if named is None or (not match.group(3).strip() and match.group(1) != b"--"):
            continue
        number = next(n for n in _VALUES if match.start(n) >= 0)
        kind, holds = named
        value = _text(match.group(number))
        if holds(value) and (number != _UNQUOTED or varied(value)):
            start, end = match.span(number)
            found += _more_exactly(Span(start, end, value, kind, CREDENTIAL), text)
    return found


_VALUES = (4, 5, 6)
_UNQUOTED = 6

# packed texts --------------------------------------------------------------------------------------------------------


def _in_json(text: bytes, depth: int) -> list[Span] | None:
    """What stands in the JSON that the text is; None where it is none, or says something in two ways."""
    if text.lstrip()[:1] not in (b"{", b"["):
        return None
    decoded = decode_embedded(_text(text))
    if decoded is None or decoded.faults:
        return None
    return [
        _placed(text, span, field.pointer + span.pointer)
        for field in fields_of(decoded.value)
        for span in spans(field.text.encode("utf-8", "surrogatepass"), field.key, depth + 1)
    ]


def _placed(text: bytes, span: Span, pointer: str) -> Span:
    """A span of a value in the JSON; where it is written otherwise there than it reads, the whole text is its place."""
    value = (span.packed or span.value).encode("utf-8", "surrogatepass")
    start = text.find(value)
    whole = start < 0
    return msgspec.structs.replace(
        span, start=0 if whole else start, end=len(text) if whole else start + len(value), pointer=pointer
    )


def _in_base64(text: bytes, depth: int) -> list[Span]:
    found = []
    for match in base64_pattern().finditer(text) if len(text) >= BASE64_LEAST else ():
        start, end = match.span()
        plain = unpacked(bytes(match.group()))
        if plain is not None:
            run = _text(match.group())
            found += [
                msgspec.structs.replace(one, start=start, end=end, packed=run) for one in spans(plain, None, depth + 1)
            ]
    return found


def unpacked(packed: bytes) -> bytes | None:
    """The text that base64 holds, or None."""
    body = packed.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
    body = body[: len(body) - (len(body) % 4 == 1)]
    try:
        return binascii.a2b_base64(body + b"=" * (-len(body) % 4))
    except (binascii.Error, ValueError):
        return None


def _in_url(text: bytes, depth: int) -> list[Span]:
    """What stands in the parts of a text that are quoted as URLs are, each by itself."""
    found: list[Span] = []
    if b"%" not in text:
        return found
    for run in _RUN.finditer(text):
        if _QUOTED.search(run.group()) is None:
            continue
        for span in spans(unquote_to_bytes(run.group()), None, depth + 1):
            written = quote_from_bytes(span.value.encode("utf-8", "surrogatepass"), safe="").encode()
            start = text.find(written, run.start(), run.end())
            at = run.span() if start < 0 else (start, start + len(written))
            found.append(msgspec.structs.replace(span, start=at[0], end=at[1], packed=_text(text[at[0] : at[1]])))
    return found


def _text(data: bytes) -> str:
    return bytes(data).decode("utf-8", "surrogateescape")
