"""Which guardrails of a trace can run again, and what do they decide? Those that data describes in full: a pattern or a
JSON Schema. Of any other, such as the agent's own code, the recorded decision is all that there is.

Patterns are matched by RE2, which takes time linear in the text: the pattern comes out of a trace.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from forensics.analysis.schema_check import SchemaCheck
from forensics.core.jsonvalue import decode, value_of
from forensics.rules.conditions import compile_pattern

PATTERN, SCHEMA = "regex", "schema"
_AGAIN = frozenset({PATTERN, SCHEMA})
_LONGEST = 10_000  # of a pattern


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """One guardrail of an agent as its trace describes it."""

    name: str
    kind: str
    position: str
    config: dict[str, Any] = {}
    action: str = "block"

    @property
    def is_data(self) -> bool:
        """Whether the trace describes it in full, so that it can run again."""
        return self.kind in _AGAIN


def guards_of(payload: msgspec.Raw | None) -> tuple[Guard, ...]:
    """The guardrails that an agent's record lists."""
    listed = None if payload is None else value_of(payload)
    return tuple(_guard(item) for item in listed if isinstance(item, dict)) if isinstance(listed, list) else ()


def _guard(item: dict[str, Any]) -> Guard:
    config = item.get("config")
    return Guard(
        name=str(item.get("name", "")),
        kind=str(item.get("guardrail_type", "code")),
        position=str(item.get("position", "output")),
        config=config if isinstance(config, dict) else {},
        action=str(item.get("action") or "block"),
    )


def passes(guard: Guard, said: Any) -> bool | None:
    """Whether something passes a guardrail that is data; None where that can't be told: it is code, or its pattern is
    none that RE2 takes.
    """
    decide = {PATTERN: _fits_pattern, SCHEMA: _fits_schema}.get(guard.kind)
    return None if decide is None else decide(guard, said)


def _fits_pattern(guard: Guard, said: Any) -> bool | None:
    pattern = guard.config.get("pattern")
    if not isinstance(pattern, str) or not pattern or len(pattern) > _LONGEST:
        return None
    try:
        compiled = compile_pattern(("(?i)" if guard.config.get("case_insensitive", False) else "") + pattern)
    except ValueError:
        return None
    text = said if isinstance(said, str) else json.dumps(said)
    found = compiled.search(text.encode("utf-8", "replace")) is not None
    return found is bool(guard.config.get("should_match", False))


def _fits_schema(guard: Guard, said: Any) -> bool | None:
    """A text must be JSON to fit any schema."""
    schema = guard.config.get("schema", guard.config.get("json_schema"))
    if not isinstance(schema, dict) or not schema:
        return None
    if not isinstance(said, str):
        return SchemaCheck(schema).breach(said) is None
    decoded = decode(said.encode("utf-8", "surrogatepass"))
    return decoded.error is None and SchemaCheck(schema).breach(decoded.value) is None


def says_passed(payload: msgspec.Raw | None) -> bool | None:
    """Whether a recorded guardrail says that it let something pass; None where it does not say it."""
    value = None if payload is None else value_of(payload)
    if isinstance(value, bool):
        return value
    if isinstance(value, dict):
        value = [value]
    results = [one.get("result", one.get("passed")) for one in value or () if isinstance(one, dict)]
    told = [one in {True, "pass", "passed"} for one in results if isinstance(one, (str, bool))]
    return all(told) if told else None
