"""Which calls did a run execute that an earlier run of the same session had begun? A run that stops for a person and is
resumed goes through the tool from its beginning again, under the same id and often in a trace of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.analysis.dry_runs import dry_run_claimed
from forensics.core.classes import Classification, Effect
from forensics.core.evidence import Basis
from forensics.core.findings import Finding, finding
from forensics.core.jsonvalue import canonical, value_of
from forensics.core.sanitise import one_line
from forensics.core.trace import Call, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forensics.core.trace import Trace

_ADDS = frozenset({Effect.REPEATING, Effect.IRREVERSIBLE})
_Key = tuple[str, str, str]  # session, id, tool


def resumptions(traces: Sequence[tuple[Trace, Iterable[Classification]]]) -> dict[str, list[Finding]]:
    """By trace, a finding for each call that adds an effect each time, and that an earlier trace of the session had
    executed under the same id with the same arguments. Reruns, which say so themselves, are left out.
    """
    found: dict[str, list[Finding]] = {}
    begun: dict[_Key, tuple[Trace, Call]] = {}
    sessions = [(trace, classes) for trace, classes in traces if trace.session and trace.rerun_of is None]
    for trace, classes in sorted(sessions, key=lambda one: one[0].started):
        for call, classified in zip(trace.calls, classes, strict=True):
            if call.executed is None or not call.recorded_id or call.outcome is Outcome.DENIED:
                continue
            other, earlier = begun.setdefault((trace.session, call.recorded_id, call.tool), (trace, call))
            if other is not trace and classified.effect in _ADDS and _same_arguments(earlier, call):
                found.setdefault(trace.id, []).append(_told(trace, call, other, earlier))
    return found


def _same_arguments(one: Call, other: Call) -> bool:
    if one.arguments is None or other.arguments is None:
        return True
    return canonical(value_of(one.arguments)) == canonical(value_of(other.arguments))


def _told(trace: Trace, call: Call, other: Trace, earlier: Call) -> Finding:
    twice = earlier.outcome is Outcome.RECORDED and call.outcome is Outcome.RECORDED
    claimed = dry_run_claimed((call, earlier))
    code = "duplicate_side_effect" if twice and not claimed else "possible_duplicate_side_effect"
    message = (
        f"{one_line(call.tool, 60)} was executed under the id {one_line(call.recorded_id or '', 60)} in this trace and "
        f"before, in the trace {one_line(other.id, 60)} of the same session, where its outcome was "
        f"{earlier.outcome}{claimed}"
    )
    places = (trace.locator(call.step), other.locator(earlier.step))
    return finding(code, message, steps=(call.step,), locators=places, basis=Basis.DERIVED)
