"""What is a report made of? The audit document, the analyses behind it, and the few facts that several parts need."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING

from forensics.report.code_pages import code_pages
from forensics.report.compose import Numbering, audit_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.analysis.run import TraceAnalysis
    from forensics.core.policy import Policy
    from forensics.report.compose import Examined
    from forensics.report.documents import CallRow, TraceRow
    from forensics.report.incident.content import Content


class Material:
    """Evidence that was examined, its audit, and how much of its texts may be shown. Only read once it is made."""

    def __init__(self, examined: Sequence[Examined], policy: Policy, rules_digest: str, content: Content) -> None:
        self.examined = examined
        self.content = content
        self.audit = audit_document(examined, policy, rules_digest)
        self.numbering = Numbering(examined)
        self.analyses: list[TraceAnalysis] = [a for one in examined for a in one.analyses]
        self._firsts = [trace.first_step for trace in self.audit.traces]
        self._index = {trace.id: n for n, trace in reversed(list(enumerate(self.audit.traces)))}
        self._often = Counter(trace.id for trace in self.audit.traces)
        self._handles = [{h.value: (n, h.kind) for n, h in enumerate(trace.handles)} for trace in self.audit.traces]

    @property
    def traces(self) -> list[TraceRow]:
        """The traces of the audit, in the order of the analyses."""
        return self.audit.traces

    def trace_at(self, step: int) -> int:
        """The index of the trace that has the step of this number."""
        return bisect_right(self._firsts, step) - 1

    def value(self, index: int, value: str) -> str:
        """A handle's value as the report shows it; where no content is shown, its kind and its number in the trace."""
        return self.content.value(value, *self._handles[index].get(value, (0, "value")))

    def is_only(self, trace_id: str) -> bool:
        """Whether no two traces have this id."""
        return self._often[trace_id] == 1

    def trace_index(self, trace_id: str | None, steps: Sequence[int]) -> int | None:
        """The index of a finding's trace: that of its first step, else the first trace of that id."""
        if steps:
            return self.trace_at(steps[0])
        return None if trace_id is None else self._index.get(trace_id)


def means(code: str) -> str:
    """What a code means, in the words of its page; the code itself where it has none."""
    page = code_pages().get(code)
    return code.replace("_", " ") if page is None else page.means


def alternatives(code: str) -> list[str]:
    """The other explanations of a finding of this code: what it does not prove."""
    page = code_pages().get(code)
    if page is None:
        return []
    unproven = page.does_not_prove
    return [f"it does not prove {unproven[:1].lower()}{unproven[1:]}".rstrip(".")]


def effect_calls(trace: TraceRow) -> list[CallRow]:
    """The calls of a trace that changed something, or may have."""
    return [call for call in trace.executions if call.effect != "none"]
