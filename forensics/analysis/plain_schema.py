"""Do these arguments surely fit this JSON Schema? The plain part of the vocabulary, without a validator.

Most tools declare an object of typed members and most calls fit it. A yes here is what a validator would say; anything
else means *not sure*, and the validator, which takes longer to load than a small trace to read, is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_DEEPEST = 32
_SAYS_NOTHING = frozenset(
    {"$comment", "$schema", "default", "deprecated", "description", "example", "examples", "format", "title"}
)
_TYPES: dict[str, Callable[[Any], bool]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def surely_fits(schema: object, value: Any, depth: int = 0) -> bool:
    """Whether the value is valid under the schema; False also where that would take a validator to say."""
    if schema is True:
        return True
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return False
    return all(
        keyword in _SAYS_NOTHING or (keyword in _PLAIN and _PLAIN[keyword](schema, value, depth)) for keyword in schema
    )


def _type(schema: dict[str, Any], value: Any, _depth: int) -> bool:
    named = schema["type"]
    names = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    return any(isinstance(name, str) and name in _TYPES and _TYPES[name](value) for name in names)


def _enum(schema: dict[str, Any], value: Any, _depth: int) -> bool:
    listed = schema["enum"]
    return isinstance(value, str) and isinstance(listed, list) and value in listed


def _required(schema: dict[str, Any], value: Any, _depth: int) -> bool:
    needed = schema["required"]
    if not isinstance(value, dict) or not isinstance(needed, list):
        return False
    return all(isinstance(name, str) and name in value for name in needed)


def _properties(schema: dict[str, Any], value: Any, depth: int) -> bool:
    told = schema["properties"]
    if not isinstance(value, dict) or not isinstance(told, dict):
        return False
    return all(surely_fits(told[name], item, depth + 1) for name, item in value.items() if name in told)


def _additional(schema: dict[str, Any], value: Any, depth: int) -> bool:
    told = schema.get("properties", {})
    if not isinstance(value, dict) or not isinstance(told, dict):
        return False
    others = [item for name, item in value.items() if name not in told]
    return all(surely_fits(schema["additionalProperties"], item, depth + 1) for item in others)


def _items(schema: dict[str, Any], value: Any, depth: int) -> bool:
    return isinstance(value, list) and all(surely_fits(schema["items"], item, depth + 1) for item in value)


_PLAIN: dict[str, Callable[[dict[str, Any], Any, int], bool]] = {
    "type": _type,
    "enum": _enum,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
}
