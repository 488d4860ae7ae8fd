"""What does an attribute of OTLP hold? Its AnyValue as plain JSON, wherever a list of attributes stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import decode, raw

if TYPE_CHECKING:
    from forensics.core.trace import Payload

ABSENT = msgspec.Raw(b"")
_INT64_DIGITS = len(str(-(2**63)))


class AnyValue(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """A value, of which one member is there."""

    string_value: msgspec.Raw = ABSENT
    int_value: msgspec.Raw = ABSENT
    double_value: msgspec.Raw = ABSENT
    bool_value: msgspec.Raw = ABSENT
    array_value: msgspec.Raw = ABSENT
    kvlist_value: msgspec.Raw = ABSENT
    bytes_value: msgspec.Raw = ABSENT


class KeyValue(msgspec.Struct, gc=False):
    """An attribute."""

    key: str
    value: AnyValue = AnyValue()


def plain(value: AnyValue) -> Payload | None:
    """An AnyValue as plain JSON: texts and flags in place, 64-bit integers out of their quotes, lists written again."""
    if value.string_value is not ABSENT:
        return value.string_value
    if value.int_value is not ABSENT:
        return msgspec.Raw(bytes(value.int_value).strip(b'"'))
    for payload in (value.bool_value, value.double_value, value.bytes_value):
        if payload is not ABSENT:
            return payload
    if value.array_value is not ABSENT:
        return raw(_unwrapped({"arrayValue": decode(value.array_value).value}))
    if value.kvlist_value is not ABSENT:
        return raw(_unwrapped({"kvlistValue": decode(value.kvlist_value).value}))
    return None


def _unwrapped(value: object) -> object:
    """A decoded AnyValue as the plain value (depth is bounded by the reader's nesting limit)."""
    if not isinstance(value, dict):
        return value
    if "arrayValue" in value:
        return [_unwrapped(v) for v in _values(value["arrayValue"])]
    if "kvlistValue" in value:
        pairs = [p for p in _values(value["kvlistValue"]) if isinstance(p, dict)]
        return {str(p.get("key")): _unwrapped(p.get("value")) for p in pairs}
    if "intValue" in value:
        number = str(value["intValue"])
        return int(number) if number.lstrip("-").isdigit() and len(number) <= _INT64_DIGITS else number
    return next(iter(value.values()), None)


def _values(holder: object) -> list[object]:
    values = holder.get("values") if isinstance(holder, dict) else None
    return values if isinstance(values, list) else []
