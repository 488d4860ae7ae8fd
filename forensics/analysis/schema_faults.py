"""Which calls hold arguments that the tool's own input schema does not allow?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.schema_check import Breach, SchemaCheck
from forensics.core.classes import ToolFacts
from forensics.core.evidence import Basis
from forensics.core.findings import Finding, finding
from forensics.core.jsonvalue import value_of
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.analysis.survey import Survey, ToolKey
    from forensics.core.trace import Call, Payload, Trace

_NOT_WHOLE = frozenset({"truncated_payload", "redaction_damage", "duplicate_key", "nesting_limit"})


class _Broken(msgspec.Struct):
    """One kind of breach of one tool: the first one, and the steps of all."""

    facts: ToolFacts
    first: Breach
    steps: list[int]


def schema_faults(trace: Trace, studied: Survey) -> Iterator[Finding]:
    """One finding for each tool and each way in which calls break its schema."""
    checks: dict[ToolKey, SchemaCheck] = {}
    found: dict[tuple[ToolKey, str, str], _Broken] = {}
    for row, key in enumerate(trace.calls.tools()):
        facts = studied.facts[key]
        if not facts.input_schema:
            continue
        call = trace.calls[row]
        payload = _asked(call)
        if payload is None:
            continue
        check = checks.get(key) or checks.setdefault(key, SchemaCheck(facts.input_schema))
        arguments = value_of(payload)
        breach = check.breach(arguments) if isinstance(arguments, dict) else None
        if breach is not None:
            group = (key, breach.pointer, breach.keyword)
            found.setdefault(group, _Broken(facts, breach, [])).steps.append(call.step)
    for broken in found.values():
        yield _finding(trace, broken)


def _asked(call: Call) -> Payload | None:
    """The arguments that the model asked for, which are what a schema is declared for; else those that ran. None where
    the record of the call is not whole.
    """
    if any(block.code in _NOT_WHOLE for block in call.blocks):
        return None
    asked = call.requested
    return call.arguments if asked is None or asked.payload is None else asked.payload


def _finding(trace: Trace, broken: _Broken) -> Finding:
    breach, steps = broken.first, tuple(broken.steps)
    where = f" at {one_line(breach.pointer, 80)}" if breach.pointer else ""
    several = f" ({len(steps)} calls)" if len(steps) > 1 else ""
    message = (
        f"{one_line(broken.facts.name, 60)}: the arguments break the declared schema{where}: {breach.says}{several}"
    )
    declared = broken.facts.locator
    locators = (trace.locator(steps[0]), *(() if declared is None else (declared,)))
    return finding("arguments_violate_schema", message, steps=steps, locators=locators, basis=Basis.DERIVED)
