"""What does this JSON text say, exactly, and what does it say twice?

RFC 8259 leaves duplicate keys, huge numbers and lone surrogates to the reader; each is a way for two readers to see
two stories, so each is reported and never resolved in silence. The fast path is msgspec; a text that it refuses, or
in which a key stands twice, goes through the standard library's reader with hooks.
"""

from __future__ import annotations

import json
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.depth import flattened, is_deeper_than, nesting
from forensics.core.late import late
from forensics.core.limits import limits

if TYPE_CHECKING:
    from collections.abc import Sequence

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_decode_text = msgspec.json.Decoder(str).decode
_decode_texts = msgspec.json.Decoder(list[str]).decode

SAFE_INTEGER = 2**53
_NUMBER_LIMIT = 4_000  # digits; beyond it int() itself refuses (CVE-2020-10735)
_FAULTS = 100  # of one kind in one text; one is enough to refuse it
_SHOWN = 8
_QUOTE_ESCAPE = b"\\u0022"
LONG = 1 << 18  # bytes of a text of which no copies are made without need
_MEMBERS_OF = 3  # objects inside each other whose members are looked at one by one
_SURROGATE = late("[\ud800-\udfff]")


class Fault(msgspec.Struct, frozen=True):
    """Something that a reader might take in two ways: `code` of the contract, where (JSON Pointer), and what."""

    code: str
    pointer: str
    message: str
    values: tuple[str, ...] = ()


class Decoded(msgspec.Struct, frozen=True):
    """A decoded value with its faults; `error` says why the text is no JSON at all (the value is then None)."""

    value: Any
    faults: tuple[Fault, ...] = ()
    error: str | None = None


def decode(raw: bytes | memoryview | msgspec.Raw) -> Decoded:
    """Decode one JSON text; never raises. Duplicate keys keep their last value and are named with every value."""
    try:
        value = _decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return decode_slowly(bytes(raw))
    if isinstance(value, (dict, list)):
        text = bytes(raw)
        if is_deeper_than(limits().nesting, text, value) or says_a_key_twice(text, value):
            return decode_slowly(text)
    return Decoded(value)


def says_a_key_twice(raw: bytes, value: object) -> bool:
    r"""Whether a key may stand twice in one object: a dropped key leaves fewer quotes when the value is written again.

    An escaped quote is written back as `\"`, so the counts agree unless the text spells one as `\u0022`; such a
    text is always read slowly.
    """
    if len(raw) > LONG and _QUOTE_ESCAPE not in raw:
        return raw.count(b'"') != _quotes(value, _MEMBERS_OF)
    written = _encode(value)
    if written == raw:
        return False
    return _QUOTE_ESCAPE in raw or raw.count(b'"') != written.count(b'"')


def _quotes(value: object, levels: int) -> int:
    """How many quotes stand in a value when it is written, which is told without writing its long texts."""
    if type(value) is str:
        return 2 + value.count('"')
    if type(value) is dict and levels:
        return sum(_quotes(key, 0) + _quotes(member, levels - 1) for key, member in value.items())
    return _encode(value).count(b'"')


def decode_slowly(raw: bytes) -> Decoded:
    """Decode with the standard library, keeping every fault: duplicate keys, non-finite and oversized numbers,
    lone surrogates, nesting beyond the limit.
    """
    depth = nesting(raw)
    if depth > (most := limits().nesting):
        return _decode_deep(raw, depth, most)
    reader = _Reader()
    try:
        value = reader.read(raw)
    except (ValueError, RecursionError) as error:
        return Decoded(None, tuple(reader.faults), _plain(error))
    reader.faults.extend(_surrogates(value))
    return Decoded(value, tuple(reader.faults))


def _decode_deep(raw: bytes, depth: int, most: int) -> Decoded:
    """Decode with the values that are nested too deep as text; a text whose brackets do not pair is no JSON."""
    flat = flattened(raw, most)
    told = f"nested {depth} deep, more than {most}"
    fault = Fault("nesting_limit", "", f"{told}: kept as text")
    if flat is None or nesting(flat) > most:
        return Decoded(None, (fault,), told)
    decoded = decode_slowly(flat)
    return Decoded(decoded.value, (fault, *decoded.faults), decoded.error)


def _plain(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.removesuffix(' at')} at character {error.pos}"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    return str(error) or type(error).__name__


class _Reader:
    """The standard reader with hooks that note what it would swallow."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def read(self, raw: bytes) -> Any:
        return json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=self._pairs,
            parse_constant=self._constant,
            parse_int=self._integer,
            parse_float=self._float,
        )

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        seen = dict(pairs)
        if len(seen) != len(pairs):
            self._note_duplicates(pairs)
        return seen

    def _note_duplicates(self, pairs: list[tuple[str, Any]]) -> None:
        """Every key of the object that stands more than once, with its values; the first ones of very many."""
        values: dict[str, list[Any]] = {}
        for key, value in pairs:
            values.setdefault(key, []).append(value)
        for key, held in values.items():
            if len(held) > 1 and len(self.faults) < _FAULTS:
                shown = tuple(short_json(v) for v in held[:_SHOWN])
                more = ", …" if len(held) > _SHOWN else ""
                message = f"the key {short_json(key)} stands {len(held)} times: {', '.join(shown)}{more}"
                self.faults.append(Fault("duplicate_key", key, message, shown))

    def _constant(self, text: str) -> str:
        self.faults.append(Fault("non_finite_number", "", f"{text} is no JSON number: kept as text"))
        return text

    def _integer(self, text: str) -> int | str:
        if len(text) > _NUMBER_LIMIT:
            self.faults.append(Fault("large_integer", "", f"an integer of {len(text)} digits is kept as text"))
            return text
        return int(text)

    def _float(self, text: str) -> float | str:
        number = float(text)
        if number in (float("inf"), float("-inf")):
            self.faults.append(Fault("non_finite_number", "", f"{text[:40]} is beyond a double: kept as text"))
            return text
        return number


def _surrogates(value: object) -> list[Fault]:
    found = [t for t in texts_of(value) if _SURROGATE.search(t)]
    return [Fault("lone_surrogate", "", f"{len(found)} texts hold a lone surrogate")] if found else []


def texts_of(value: object) -> list[str]:
    """Every string in a value, keys included, in document order; iterative, so depth can't exhaust the stack."""
    out: list[str] = []
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            out.append(item)
        elif isinstance(item, dict):
            todo.extend(x for pair in reversed(item.items()) for x in (pair[1], pair[0]))
        elif isinstance(item, list):
            todo.extend(reversed(item))
    return out


def decode_embedded(text: str) -> Decoded | None:
    """The JSON value that a text holds, or None where the text is no JSON object or array (the common traps: a tool's
    arguments as text, a result as text, a prompt as text).
    """
    head = text.lstrip()[:1]
    if head not in ("{", "["):
        return None
    decoded = decode(text.encode("utf-8", "surrogatepass"))
    return None if decoded.error else decoded


def text_in(fields: dict[str, Any], *names: str) -> str:
    """The first of these members that is a text or a whole number, as a text; "" where none is."""
    return next((str(fields[n]) for n in names if isinstance(fields.get(n), (str, int))), "")


def unfold(value: object) -> object:
    """The value itself or, where it is a text that holds a JSON object or array, the value in it."""
    if isinstance(value, str):
        decoded = decode_embedded(value)
        if decoded is not None:
            return decoded.value
    return value


def canonical(value: object) -> bytes:
    """Bytes that are equal for equal JSON values: keys sorted, integers exact, 1.0 kept apart from 1.

    Only for comparing within one process, never hashed into a record (RELIABILITY: no canonicalisation in the trust
    path).
    """
    try:
        return _canonical_encoder.encode(value)
    except (UnicodeEncodeError, ValueError, RecursionError):
        return json.dumps(value, sort_keys=True, ensure_ascii=True, default=str).encode()


def same_value(one: Any, other: Any) -> bool:
    """As `equal_values`, at the price of Python's own comparison for values that differ: that takes true for 1."""
    return bool(one == other) and equal_values(one, other)


def equal_values(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: keys in any order, 9 equal to 9.0, true never equal to 1."""
    if canonical(one) == canonical(other):
        return True
    todo = [(one, other)]
    while todo:
        a, b = todo.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                return False
            todo.extend((a[k], b[k]) for k in a)
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            todo.extend(zip(a, b, strict=True))
        elif isinstance(a, bool) is not isinstance(b, bool) or a != b:
            return False
    return True


_canonical_encoder = msgspec.json.Encoder(order="sorted")


def short_json(value: object, limit: int = 60) -> str:
    """A value as JSON text, cut at `limit` characters."""
    text = json.dumps(_beginning(value, limit, _MEMBERS_OF), ensure_ascii=False, default=str)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _beginning(value: Any, limit: int, levels: int) -> Any:
    """The value without what stands in no text of it that is cut at `limit`."""
    if type(value) is str:
        return value[:limit]
    if type(value) is list and levels:
        return [_beginning(one, limit, levels - 1) for one in value[:limit]]
    if type(value) is dict and levels:
        return {key: _beginning(one, limit, levels - 1) for key, one in islice(value.items(), limit)}
    return value


def strict_value(value: Any) -> Any:
    r"""The value as the contract's strict JSON allows it: integers beyond 2^53 and non-finite numbers as text, lone
    surrogates spelled out (`\udcb2`). Iterative, so that nesting can't exhaust the stack.
    """
    root: list[Any] = [None]
    todo: list[tuple[Any, Any, Any]] = [(root, 0, value)]
    while todo:
        holder, key, item = todo.pop()
        if isinstance(item, dict):
            made: dict[str, Any] = {}
            for k, v in item.items():
                name = _own_key(made, spell_surrogates(str(k)))
                made[name] = None
                todo.append((made, name, v))
            holder[key] = made
        elif isinstance(item, (list, tuple)):
            holder[key] = filled = [None] * len(item)
            todo.extend((filled, i, v) for i, v in enumerate(item))
        else:
            holder[key] = _strict_scalar(item)
    return root[0]


def _own_key(made: dict[str, Any], name: str) -> str:
    """A key that no other key of the object has, where spelling made two the same."""
    number = 2
    found = name
    while found in made:
        found = f"{name}#{number}"
        number += 1
    return found


def _strict_scalar(value: Any) -> Any:
    if isinstance(value, str):
        return spell_surrogates(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) <= SAFE_INTEGER else str(value)
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    return value


def spell_surrogates(text: str) -> str:
    """The text with each lone surrogate spelled out, so that every sink can encode it and no two bytes become one."""
    if text.isprintable() or not _SURROGATE.search(text):  # no surrogate is printable
        return text
    return _SURROGATE.sub(lambda m: f"\\u{ord(m.group()):04x}", text)


def text_of(raw: msgspec.Raw | bytes) -> str:
    """The text of a payload: a JSON string's own text, anything else as its JSON."""
    try:
        return _decode_text(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        data = bytes(raw)
    if data.startswith(b'"'):
        value = decode_slowly(data).value
        if isinstance(value, str):
            return value
    return data.decode("utf-8", "backslashreplace")


def texts_of_all(payloads: Sequence[msgspec.Raw]) -> list[str]:
    """What `text_of` says of each."""
    try:
        return _decode_texts(b"[" + b",".join(payloads) + b"]")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return [text_of(payload) for payload in payloads]


def value_of(raw: msgspec.Raw | bytes) -> Any:
    """The value of a payload, a text that holds JSON unfolded; what it says in two ways is `decode`'s to tell."""
    try:
        value = _decode(raw)
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            return _decode(value)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return unfold(decode(raw).value)
    return value


def values_of(texts: Sequence[bytes]) -> list[Any]:
    """The value of each payload, as `value_of` tells it."""
    try:
        values = list(map(_decode, texts))
        return [
            _decode(value) if type(value) is str and value.lstrip()[:1] in ("{", "[") else value for value in values
        ]
    except (msgspec.DecodeError, RecursionError, ValueError):
        return list(map(value_of, texts))


def written(value: object) -> bytes:
    r"""A value as JSON bytes, a lone surrogate as its escape (`\udcb2`), so that it reads as it was."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value)).encode()


def raw(value: object) -> msgspec.Raw:
    """A payload of our own making, for what does not stand as one JSON text in the evidence; lone surrogates, which
    UTF-8 can't hold, are spelled out.
    """
    try:
        return msgspec.Raw(_encode(value))
    except UnicodeEncodeError:
        return msgspec.Raw(_encode(_spelled(value)))


def _spelled(value: Any) -> Any:
    if isinstance(value, dict):
        return {spell_surrogates(str(k)): _spelled(v) for k, v in value.items()}
    if isinstance(value, msgspec.Struct):
        return _spelled(msgspec.structs.asdict(value))
    if isinstance(value, (list, tuple)):
        return [_spelled(v) for v in value]
    return _strict_scalar(value)
