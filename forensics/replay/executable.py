"""Which recorded calls may really be run in a rerun? Those that the policy names and whose every condition holds.

The effect must be none and rest on more than words; the result must be stable; no handle may stand in the arguments,
and no call with an effect may have been injected before it, since what it changed is not there (CONTRACT: policy).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.classes import VOUCHED, Effect, Stability

if TYPE_CHECKING:
    from forensics.analysis.run import TraceAnalysis
    from forensics.core.classes import Classification
    from forensics.core.policy import Policy


def executable(analysis: TraceAnalysis, policy: Policy) -> frozenset[int]:
    """The rows of the calls that may be run."""
    calls = analysis.trace.calls
    given = {use.step for handle in analysis.handles for use in handle.uses if use.role == "argument"}
    found: set[int] = set()
    for row in sorted(range(len(calls)), key=lambda one: calls[one].step):
        kind = analysis.calls[row]
        if kind.effect is not Effect.NONE:
            break
        if calls[row].tool in policy.execute and calls[row].step not in given and _is_safe(kind):
            found.add(row)
    return frozenset(found)


def _is_safe(kind: Classification) -> bool:
    return kind.result is Stability.STABLE and kind.rests_on in VOUCHED
