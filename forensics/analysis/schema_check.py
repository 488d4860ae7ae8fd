"""Where do these arguments break this JSON Schema? The schema comes out of a trace, so it is hostile.

Nothing that a schema names is fetched: an empty registry knows only what stands in the schema itself. Patterns run
under RE2, and only where RE2 takes them. A call may take so many steps and no more, because references can make a small
schema long to judge. What can't be judged within these limits, or is no valid schema, breaks nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.analysis.plain_schema import surely_fits
from forensics.core.jsonvalue import raw, short_json
from forensics.core.leaves import pointer_of
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

LARGEST_SCHEMA = 64 * 1024
MOST_STEPS = 10_000
_MOST_UNIQUE = 256  # items that are compared in pairs
_LONGEST_TEXT = 1 << 20
_SHOWN = 60
_UNJUDGED = frozenset({"patternProperties"})  # the validator runs its keys as Python patterns, in several places

Keyword = Callable[[Any, Any, Any, Any], Iterator[Any] | None]


class Breach(msgspec.Struct, frozen=True):
    """The first place where arguments break a schema: its JSON Pointer, the keyword, and what is wrong."""

    pointer: str
    keyword: str
    says: str


class SchemaCheck:
    """One declared input schema; the validator is made when a call does not plainly fit."""

    def __init__(self, schema: dict[str, object]) -> None:
        self._schema = schema
        self._validator: Validator | None = None
        self._made = False
        self._left = 0

    def breach(self, arguments: Any) -> Breach | None:
        """Where the arguments break the schema; None where they do not or where that can't be said."""
        if surely_fits(self._schema, arguments):
            return None
        validator = self._judge()
        if validator is None:
            return None
        from referencing.exceptions import Unresolvable

        self._left = MOST_STEPS
        try:
            error = next(iter(validator.iter_errors(arguments)), None)
            return None if error is None else _breach(error)
        except (Unresolvable, *_CANNOT_SAY):
            return None

    def _judge(self) -> Validator | None:
        if not self._made:
            self._made = True
            if _is_small(self._schema) and not _holds_key(self._schema, _UNJUDGED):
                self._validator = self._validator_of(self._schema)
        return self._validator

    def _validator_of(self, told: dict[str, object]) -> Validator | None:
        from jsonschema import Draft202012Validator, FormatChecker, SchemaError
        from jsonschema.validators import extend, validator_for
        from referencing import Registry

        base: Any = validator_for({"$schema": str(told.get("$schema"))}, default=Draft202012Validator)
        try:
            schema = _without_dialects(told)
            base.check_schema(schema, format_checker=FormatChecker(formats=()))
        except (SchemaError, *_CANNOT_SAY):
            return None
        keywords = {name: self._counted(keyword) for name, keyword in _with_our_own(base.VALIDATORS).items()}
        made: Validator = extend(base, keywords)(schema, registry=Registry())  # type: ignore[no-untyped-call] # untyped there
        return made

    def _counted(self, keyword: Keyword) -> Keyword:
        def judge(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
            self._left -= 1
            if self._left < 0:
                raise _TooLongError
            yield from keyword(validator, value, instance, schema) or ()

        return judge


class _TooLongError(ValueError):
    """The schema takes more steps than a call is given."""


# RecursionError: references that lead in a circle. ArithmeticError: numbers beyond a double. The others: members of a
# type that no keyword expects, which the schema of schemas lets pass.
_CANNOT_SAY = (RecursionError, ArithmeticError, ValueError, LookupError, AttributeError, TypeError)


def _is_small(schema: object) -> bool:
    try:
        return len(bytes(raw(schema))) <= LARGEST_SCHEMA
    except RecursionError:
        return False


def _holds_key(schema: object, keys: frozenset[str]) -> bool:
    todo = [schema]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            if not keys.isdisjoint(item):
                return True
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
    return False


def _without_dialects(schema: Any) -> Any:
    """The schema without the `$schema` of its parts, by which the validator would leave our keywords for its own."""
    if isinstance(schema, dict):
        return {k: _without_dialects(v) for k, v in schema.items() if k != "$schema" or not isinstance(v, str)}
    return [_without_dialects(item) for item in schema] if isinstance(schema, list) else schema


# keywords of our own -------------------------------------------------------------------------------------------------


def _with_our_own(keywords: Mapping[str, Keyword]) -> dict[str, Keyword]:
    guarded = {name: _guarded(keywords[name], passes) for name, passes in _PASSES.items() if name in keywords}
    return {**keywords, **guarded, "pattern": _pattern}


def _pattern(_validator: Any, pattern: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(instance, str) and isinstance(pattern, str) and len(instance) <= _LONGEST_TEXT:
        holds = _re2(pattern)
        if holds is not None and not holds(instance.encode("utf-8", "replace")):
            yield ValidationError(pattern)


def _re2(pattern: str) -> Callable[[bytes], object] | None:
    """A search for the pattern; None for one that RE2 does not take."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        found: Callable[[bytes], object] = re2.compile(pattern.encode("utf-8", "replace"), options).search
    except re2.error:
        return None
    return found


def _guarded(keyword: Keyword, passes: Callable[[Any, Any], bool]) -> Keyword:
    def judge(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if not passes(instance, schema):
            yield from keyword(validator, value, instance, schema) or ()

    return judge


_PASSES: dict[str, Callable[[Any, Any], bool]] = {
    "type": lambda instance, schema: instance is None and schema.get("nullable") is True,  # OpenAPI 3.0
    "enum": lambda instance, schema: instance is None and schema.get("nullable") is True,
    "uniqueItems": lambda instance, _schema: isinstance(instance, list) and len(instance) > _MOST_UNIQUE,
}


# what is wrong -------------------------------------------------------------------------------------------------------


def _breach(error: Any) -> Breach:
    pointer = ""
    for token in list(error.absolute_path):
        pointer = pointer_of(pointer, token)
    keyword = str(error.validator)
    said = _SAYS.get(keyword, _breaks)(error)
    return Breach(pointer, keyword, one_line(said, 200))


def _missing(error: Any) -> str:
    named = error.validator_value if isinstance(error.validator_value, list) else []
    missing = [str(name) for name in named if name not in error.instance]
    return f"{', '.join(missing) or 'a member'} is required and missing"


def _unknown_members(error: Any) -> str:
    known = error.schema.get("properties", {})
    return f"{', '.join(str(name) for name in error.instance if name not in known)} is no declared member"


def _wrong_type(error: Any) -> str:
    wanted = error.validator_value
    names = " or ".join(map(str, wanted)) if isinstance(wanted, list) else str(wanted)
    return f"{short_json(error.instance, _SHOWN)} is no {names}"


def _breaks(error: Any) -> str:
    value = short_json(error.instance, _SHOWN)
    return f"{value} does not hold {error.validator} {short_json(error.validator_value, _SHOWN)}"


_SAYS: dict[str, Callable[[Any], str]] = {
    "required": _missing,
    "additionalProperties": _unknown_members,
    "type": _wrong_type,
}
