"""Which ids did the recorded agent mint by itself? Opaque values in the arguments that its own code put there.

They are those that no earlier text of the run holds, in a call that no model turn asked for or in an argument that the
agent added. A rerun's port for new ids gives them first, in their order, so that an agent that takes its ids from there
makes the same calls again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.jsonvalue import value_of
from forensics.core.leaves import leaves_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.analysis.run import TraceAnalysis
    from forensics.core.trace import Call
    from forensics.rules.engine import RuleSet

_TIMES = frozenset({"timestamp"})
_SEARCHES = 1_000  # of one run: each reads all that stands before a value


def own_ids(analysis: TraceAnalysis, rules: RuleSet) -> tuple[str, ...]:
    """The ids that the recorded agent minted, in the order in which it used them."""
    found: dict[str, None] = {}
    before: list[bytes] = []
    at = 0
    searches = 0
    trace = analysis.trace
    for call in sorted(trace.calls, key=lambda one: one.step):
        mine = [value for value in _put_there(call, rules) if value not in found]
        if not mine:
            continue
        before.extend(bytes(payload) for payload in trace.payload[at : call.step] if payload is not None)
        at = max(at, call.step)
        for value in mine:
            searches += 1
            if searches > _SEARCHES:
                return tuple(found)
            wanted = value.encode("utf-8", "replace")
            if not any(wanted in payload for payload in before):
                found[value] = None
    return tuple(found)


def _put_there(call: Call, rules: RuleSet) -> Iterator[str]:
    """Opaque texts in the arguments that no model wrote."""
    if call.arguments is None or not (call.turn < 0 or call.added):
        return
    value = value_of(call.arguments)
    if call.turn >= 0:
        value = {key: value[key] for key in call.added if key in value} if isinstance(value, dict) else None
    for _, _, key, item in leaves_of(value):
        if isinstance(item, str) and (rules.handle_kind(item, key) or "timestamp") not in _TIMES:
            yield item
