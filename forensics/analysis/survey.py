"""What do the calls of a trace show, one by one? One pass that decodes every call's arguments and result once.

It collects the evidence for classes, what can be read in two ways, and the values in results that may be handles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.classes import (
    ClassEvidence,
    Classification,
    Source,
    Stability,
    Tier,
    ToolFacts,
    resolve,
)
from forensics.core.findings import Finding, finding
from forensics.core.jsonvalue import SAFE_INTEGER, Decoded, canonical, decode, decode_embedded
from forensics.core.sanitise import one_line
from forensics.core.trace import Block, Call, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.evidence import Locator
    from forensics.core.policy import Policy
    from forensics.core.trace import Payload, Trace
    from forensics.rules.engine import RuleSet

Evidence = tuple[ClassEvidence, ...]


class Leaf(msgspec.Struct, frozen=True, gc=False):
    """A scalar in a JSON value: its JSON Pointer, the nearest object key above it, and the value."""

    pointer: str
    key: str | None
    value: str | int


class CallStudy(msgspec.Struct, frozen=True, gc=False):
    """One call as it was studied: its classification before values were followed, the canonical key of its arguments,
    and the scalars of a structured result (None: the result is running text or absent)."""

    classified: Classification
    arguments_key: bytes
    leaves: tuple[Leaf, ...] | None


class Survey(msgspec.Struct, frozen=True):
    """Every call of one trace, and the evidence by tool."""

    calls: tuple[CallStudy, ...]
    tools: dict[str, Evidence]
    facts: dict[str, ToolFacts]
    findings: tuple[Finding, ...]


def survey(trace: Trace, rules: RuleSet, policy: Policy) -> Survey:
    """Study every call of the trace, in order."""
    return _Surveyor(trace, rules, policy).run()


class _Surveyor:
    def __init__(self, trace: Trace, rules: RuleSet, policy: Policy) -> None:
        self.trace = trace
        self.rules = rules
        self.policy = policy
        self.facts: dict[str, ToolFacts] = {}
        self.base: dict[str, Evidence] = {}
        self.extra: dict[str, dict[tuple[str, str | None], ClassEvidence]] = {}
        self.results: dict[tuple[str, bytes], bytes] = {}
        self.resolved: dict[tuple[str, Evidence], Classification] = {}
        self.findings: list[Finding] = []
        self.large: tuple[int, int] | None = None

    def run(self) -> Survey:
        for name in self.trace.facts:
            self._tool(name, None)
        studies = tuple(self._study(call) for call in self.trace.calls)
        if self.large is not None:
            self._note_large_integer(*self.large)
        tools = {name: (*base, *self.extra.get(name, {}).values()) for name, base in self.base.items()}
        return Survey(studies, tools, self.facts, tuple(self.findings))

    def _tool(self, name: str, call: Call | None) -> ToolFacts:
        facts = self.facts.get(name)
        if facts is None:
            facts = self.trace.facts.get(name) or ToolFacts(name=name, server=call.server if call else None)
            self.facts[name] = facts
            self.base[name] = self.rules.tool_evidence(facts, self.policy)
        return facts

    def _study(self, call: Call) -> CallStudy:
        facts = self._tool(call.tool, call)
        arguments = self._read(call, call.arguments)
        result = self._read(call, call.result)
        own = self._own_evidence(call, facts, arguments, result)
        for piece in own:
            self.extra.setdefault(call.tool, {}).setdefault((piece.says, piece.rule), piece)
        leaves = tuple(leaves_of(result)) if isinstance(result, (dict, list)) else None
        self._look_for_large_integers(call, arguments, leaves)
        return CallStudy(self._resolve(call.tool, own), canonical(arguments), leaves)

    def _own_evidence(self, call: Call, facts: ToolFacts, arguments: Any, result: Any) -> Evidence:
        pieces = self.rules.call_evidence(facts, arguments, self.policy)
        if call.outcome is Outcome.RECORDED and result is not None:
            pieces = (*pieces, *self.rules.result_evidence(facts, arguments, result))
        repeated = self._repetition(call, arguments, result)
        return pieces if repeated is None else (*pieces, repeated)

    def _repetition(self, call: Call, arguments: Any, result: Any) -> ClassEvidence | None:
        """The same call with another result: the result is not stable."""
        if call.outcome is not Outcome.RECORDED or result is None:
            return None
        key = (call.tool, canonical(arguments))
        got = canonical(result)
        earlier = self.results.setdefault(key, got)
        if earlier == got:
            return None
        says = "the same call with the same arguments gave another result in this trace"
        return ClassEvidence(Source.BEHAVIOUR, Tier.PACK, says, result=Stability.VOLATILE, locator=self._place(call))

    def _resolve(self, tool: str, own: Evidence) -> Classification:
        found = self.resolved.get((tool, own))
        if found is None:
            found = self.resolved[tool, own] = resolve((*self.base[tool], *own))
        return found

    # what a payload says in two ways -----------------------------------------------------------------------------

    def _read(self, call: Call, payload: Payload | None) -> Any:
        if payload is None:
            return None
        decoded = decode(payload)
        if isinstance(decoded.value, str):
            decoded = decode_embedded(decoded.value) or decoded
        if decoded.faults:
            self._note_faults(call, decoded)
        return decoded.value

    def _note_faults(self, call: Call, decoded: Decoded) -> None:
        for fault in decoded.faults:
            message = f"{one_line(call.tool, 60)}: {fault.message}"
            self.findings.append(finding(fault.code, message, steps=(call.step,), locators=(self._place(call),)))
            if fault.code == "duplicate_key" and all(b.code != fault.code for b in call.blocks):
                call.blocks = (*call.blocks, Block(fault.code, message))

    def _look_for_large_integers(self, call: Call, arguments: Any, leaves: tuple[Leaf, ...] | None) -> None:
        if self.large is not None:
            return
        for leaf in (*leaves_of(arguments), *(leaves or ())):
            if isinstance(leaf.value, int) and abs(leaf.value) > SAFE_INTEGER:
                self.large = (call.step, leaf.value)
                return

    def _note_large_integer(self, step: int, value: int) -> None:
        message = f"integers beyond 2^53 ({value}) are rounded by readers that use doubles; here they are exact, as text"
        self.findings.append(finding("large_integer", message, steps=(step,)))

    def _place(self, call: Call) -> Locator:
        return self.trace.locator(call.step)


def leaves_of(value: Any) -> Iterator[Leaf]:
    """The strings and integers of a JSON value, in document order, each with its pointer; iterative."""
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        yield Leaf("", None, value)
        return
    todo: list[tuple[str, str | None, Any]] = [("", None, value)]
    while todo:
        pointer, key, item = todo.pop()
        if isinstance(item, dict):
            todo.extend((f"{pointer}/{escape(k)}", k, v) for k, v in reversed(item.items()))
        elif isinstance(item, list):
            todo.extend((f"{pointer}/{i}", key, v) for i, v in zip(range(len(item) - 1, -1, -1), reversed(item), strict=True))
        elif isinstance(item, (str, int)) and not isinstance(item, bool):
            yield Leaf(pointer, key, item)


def escape(token: str) -> str:
    """A reference token of a JSON Pointer (RFC 6901)."""
    return token.replace("~", "~0").replace("/", "~1") if "~" in token or "/" in token else token

