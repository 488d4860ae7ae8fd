"""What does each entry of a policy change for these traces, and what do all of them together?

Each is left out in turn, and the classes and levels that then differ are its doing. Every policy so made has a digest
of its own, because the rules remember what they said of a tool under a digest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.run import TraceAnalysis, analyse
from forensics.core.meant import meant
from forensics.core.sanitise import one_line
from forensics.rules.conditions import glob

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.analysis.run import Tool
    from forensics.core.policy import Policy, ToolEntry, TrustEntry
    from forensics.core.reading import Reading
    from forensics.core.verdict import Reason
    from forensics.rules.engine import RuleSet

_NAME = 60
_REASONS = 5


class Changes(msgspec.Struct, frozen=True):
    """What one entry does: whether it speaks of anything in the evidence, and what it changes, in sentences."""

    used: bool
    changes: tuple[str, ...] = ()


class PolicyEffects:
    """The traces under the whole policy, under the policy without one entry, and under the shipped one."""

    def __init__(self, readings: Sequence[Reading], rules: RuleSet, policy: Policy) -> None:
        self._readings = readings
        self._rules = rules
        self._policy = policy
        self._whole = self._under(policy)

    def of_tool(self, index: int) -> Changes:
        """What the tool entry of that index changes."""
        entry = self._policy.tools[index]
        if not any(_names(entry, tool) for analysis in self._whole for tool in analysis.tools):
            return Changes(used=False)
        kept = tuple(e for i, e in enumerate(self._policy.tools) if i != index)
        less = msgspec.structs.replace(self._policy, tools=kept, digest=f"{self._policy.digest} -tool {index}")
        return self._without(less)

    def of_trust(self, index: int) -> Changes:
        """What the trust entry of that index changes."""
        entry = self._policy.trust[index]
        kept = tuple(e for i, e in enumerate(self._policy.trust) if i != index)
        less = msgspec.structs.replace(self._policy, trust=kept, digest=f"{self._policy.digest} -trust {index}")
        changed = self._without(less)
        return Changes(used=bool(changed.changes) or self._has_server(entry), changes=changed.changes)

    def of_all(self) -> Changes:
        """What all entries together change beside the shipped policy: also what two of them say, either of which could
        be left out.
        """
        digest = f"{self._policy.digest} -all"
        return self._without(msgspec.structs.replace(self._policy, trust=(), tools=(), digest=digest))

    def still_refused(self) -> tuple[str, ...]:
        """Each trace that the whole policy does not clear, and by what."""
        return tuple(_refused(analysis) for analysis in self._whole if not analysis.verdict.cleared)

    def meant(self, name: str) -> str:
        """Of an entry that no trace uses, the tool of a trace that was most likely meant: "" where none is like it."""
        return meant(name, dict.fromkeys(tool.name for analysis in self._whole for tool in analysis.tools), listed=0)

    def calls_tool(self, name: str) -> bool:
        """Whether a trace names this tool."""
        return any(tool.name == name for analysis in self._whole for tool in analysis.tools)

    def _has_server(self, entry: TrustEntry) -> bool:
        servers = {tool.facts.server for analysis in self._whole for tool in analysis.tools}
        return entry.server is not None and entry.server in servers

    def _under(self, policy: Policy) -> list[TraceAnalysis]:
        return [analysis for reading in self._readings for analysis in analyse(reading, self._rules, policy)]

    def _without(self, less: Policy) -> Changes:
        found: dict[str, None] = {}
        for before, after in zip(self._under(less), self._whole, strict=True):
            found.update(dict.fromkeys(_differences(before, after)))
        return Changes(used=True, changes=tuple(found))


def _names(entry: ToolEntry, tool: Tool) -> bool:
    server = tool.facts.server
    if not glob(entry.tool)(tool.name):
        return False
    return entry.server is None or (server is not None and glob(entry.server)(server))


def _refused(analysis: TraceAnalysis) -> str:
    """`trace ID by a (unvouched, step 6), b (not_idempotent, step 8) and 2 more reasons`."""
    reasons = analysis.verdict.reasons
    more = f" and {len(reasons) - _REASONS} more reasons" if len(reasons) > _REASONS else ""
    return f"trace {one_line(analysis.trace.id, _NAME)} by {', '.join(map(_brief, reasons[:_REASONS]))}{more}"


def _brief(reason: Reason) -> str:
    at = "" if reason.step is None else f"step {reason.step}"
    if reason.tool is None:
        return reason.code + (f" ({at})" if at else "")
    return f"{one_line(reason.tool, _NAME)} ({', '.join(part for part in (reason.code, at) if part)})"


def _differences(before: TraceAnalysis, after: TraceAnalysis) -> Iterator[str]:
    for one, other in zip(before.tools, after.tools, strict=True):
        if _said(one) != _said(other):
            yield f"{one_line(one.name, _NAME)}: {_said(one)} -> {_said(other)}"
    levels = before.verdict.level.value, after.verdict.level.value
    if levels[0] != levels[1]:
        yield f"level of trace {one_line(after.trace.id, _NAME)}: {levels[0]} -> {levels[1]}"


def _said(tool: Tool) -> str:
    found = tool.classified
    effect, result = found.effect.name.lower(), found.result.name.lower()
    return f"{found.tool_class.value} (effect {effect}, result {result}, rests on {found.rests_on.value})"
