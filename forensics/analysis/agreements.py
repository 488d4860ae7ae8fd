"""How often did equal calls of a tool agree, over how many runs?

Learnt over all the traces that were read. A call is compared with the first call of the same tool that has equal
arguments; what a rerun was served from the record is no second observation, nor is the same call found in a second
copy of its trace. That calls agreed is never enough to say anything: it is kept as a claim of the traces, which weighs
nothing. That they did not agree shows that the result is not stable.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from forensics.analysis.reruns import HELD
from forensics.core.classes import ClassEvidence, Source, Stability, Tier
from forensics.core.jsonvalue import canonical, decode, unfold
from forensics.core.rpc_errors import error_in
from forensics.core.trace import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forensics.analysis.run import TraceAnalysis
    from forensics.core.trace import Call, Payload

ToolKey = tuple[str, str | None]

_HELD = HELD | {"normalised"}

_DIGEST_BYTES = 16


class Agreements:
    """Counts, by tool, of the comparisons that were made."""

    def __init__(self) -> None:
        self._first: dict[tuple[ToolKey, bytes], bytes] = {}
        self._seen: set[tuple[ToolKey, str, int]] = set()
        self._traces: set[tuple[str, str]] = set()
        self._agreed: dict[ToolKey, int] = {}
        self._differed: dict[ToolKey, int] = {}
        self._runs: dict[ToolKey, int] = {}

    def learn(self, analysis: TraceAnalysis) -> None:
        """Compare the calls of one more trace; a copy of a trace that is known teaches nothing."""
        trace = (analysis.trace.evidence_sha256, analysis.trace.id)
        if trace in self._traces:
            return
        self._traces.add(trace)
        tools: set[ToolKey] = set()
        for call in analysis.trace.calls:
            key = (call.tool, call.server)
            if _gave_a_result(call) and self._is_new(call, key):
                self._compare(key, _digest(call.arguments), _digest(call.result))
                tools.add(key)
        for key in tools:
            self._runs[key] = self._runs.get(key, 0) + 1

    def _is_new(self, call: Call, key: ToolKey) -> bool:
        """Whether no other trace told of this very call: by its id and the moment at which it began."""
        if call.recorded_id is None or call.start < 0:
            return True
        identity = (key, call.recorded_id, call.start)
        known = identity in self._seen
        self._seen.add(identity)
        return not known

    def _compare(self, key: ToolKey, arguments: bytes, result: bytes) -> None:
        first = self._first.setdefault((key, arguments), result)
        if first is not result:
            counts = self._agreed if first == result else self._differed
            counts[key] = counts.get(key, 0) + 1

    def evidence(self, key: ToolKey) -> Iterator[ClassEvidence]:
        """What was learnt about a tool; nothing where no two of its calls were equal."""
        agreed, differed = self._agreed.get(key, 0), self._differed.get(key, 0)
        if not agreed and not differed:
            return
        runs = self._runs[key]
        over = f"{runs} runs" if runs > 1 else "1 run"
        says = f"{agreed} of {agreed + differed} repetitions of an equal call agreed with the first, over {over}"
        if differed:
            yield ClassEvidence(
                Source.BEHAVIOUR, Tier.PACK, says, result=Stability.VOLATILE, rule="behaviour.disagreed"
            )
        else:
            yield ClassEvidence(Source.BEHAVIOUR, Tier.CLAIMED, says, result=Stability.STABLE, rule="behaviour.agreed")


def _gave_a_result(call: Call) -> bool:
    """Whether a call was run and what is recorded of it is its result; an error is none."""
    ran = call.outcome is Outcome.RECORDED and not call.blocks and call.disposition not in _HELD
    return ran and call.result is not None and error_in(unfold(decode(call.result).value)) is None


def agreements(analyses: Iterable[TraceAnalysis]) -> Agreements:
    """What all these traces show."""
    learnt = Agreements()
    for analysis in analyses:
        learnt.learn(analysis)
    return learnt


def _digest(payload: Payload | None) -> bytes:
    """A digest that is equal for equal JSON values, a text that holds JSON read as that JSON."""
    value = None if payload is None else unfold(decode(payload).value)
    return blake2b(canonical(value), digest_size=_DIGEST_BYTES).digest()
