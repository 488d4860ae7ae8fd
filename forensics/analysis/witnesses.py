"""Do two evidences that tell of one run tell the same? An export beside a database, an exporter's file beside the log:
the same trace id is one run with two witnesses.

What both recorded is compared call by call on the ladder of agreement; where they differ neither can be trusted alone,
so both calls are blocked and the finding names both places. A call that one witness lacks, though its format records
every call, is said on both sides.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

from forensics.core.agreement import agree, compare_arguments
from forensics.core.evidence import Basis, Gap
from forensics.core.findings import finding
from forensics.core.late import late
from forensics.core.pairing import same_tool
from forensics.core.sanitise import one_line
from forensics.core.trace import Call, Outcome, Trace
from forensics.core.tuples import brief

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.core.reading import Reading

_LEAST_ID = 16  # characters of an id that two evidences can't share by chance: W3C trace ids, UUIDs
_ALL_WITH_ALL = 16  # witnesses of one run
_NOT_IN_IDS = late(r"[^0-9a-z]")
_ENDED = frozenset({Outcome.RECORDED, Outcome.FAILED, Outcome.DENIED})


class Witness(msgspec.Struct, frozen=True):
    """A trace, and the name of the evidence that tells it."""

    evidence: str
    trace: Trace


def hear(readings: Sequence[Reading]) -> None:
    """Compare the witnesses of each run; what they say against each other is noted in their traces."""
    runs: dict[str, list[Witness]] = {}
    for reading in readings:
        for trace in reading.traces:
            if (key := run_of(trace.id)) is not None:
                runs.setdefault(key, []).append(Witness(reading.evidence.name, trace))
    for witnesses in runs.values():
        for one, other in _encounters(witnesses):
            _confront(one, other)


def _encounters(witnesses: Sequence[Witness]) -> Iterator[tuple[Witness, Witness]]:
    """Which witnesses of a run are compared: each with each and, where a run was saved over and over, every further one
    with the first ones and with the one before it, so that the work grows no faster than their number.
    """
    yield from combinations(witnesses[:_ALL_WITH_ALL], 2)
    for at in range(_ALL_WITH_ALL, len(witnesses)):
        for other in (*witnesses[: _ALL_WITH_ALL - 1], witnesses[at - 1]):
            yield other, witnesses[at]


def run_of(trace_id: str) -> str | None:
    """The id in one spelling, where it is one that two evidences can't share by chance."""
    key = _NOT_IN_IDS.sub("", trace_id.lower())
    return key if len(key) >= _LEAST_ID and any(c.isdigit() for c in key) else None


def _confront(one: Witness, other: Witness) -> None:
    for witness, second in ((one, other), (other, one)):
        witness.trace.also_in = (*witness.trace.also_in, second.evidence)
    pairs, left, right = _paired(one.trace.calls, other.trace.calls)
    for call, twin in pairs:
        difference = _difference(call, twin)
        if difference is not None:
            _contradict(one, call, other, twin, difference)
    for witness, second, alone in ((one, other, left), (other, one, right)):
        if tells_all(second.trace):
            for call in alone:
                _lacks(witness, call, second)


def _paired(calls: Sequence[Call], others: Sequence[Call]) -> tuple[list[tuple[Call, Call]], list[Call], list[Call]]:
    """The calls that both tell, by their ids or else by tool and order, and those that only one tells."""
    by_key: dict[tuple[str, int], Call] = dict(_keyed(others))
    pairs: list[tuple[Call, Call]] = []
    alone: list[Call] = []
    for key, call in _keyed(calls):
        twin = by_key.pop(key, None)
        if twin is None:
            alone.append(call)
        else:
            pairs.append((call, twin))
    rest = _by_tool(by_key.values())
    left: list[Call] = []
    for call in alone:  # one of the two kept no id
        waiting = rest.get(_bare(call.tool), [])
        twin = next((t for t in waiting if not (t.recorded_id and call.recorded_id)), None)
        if twin is None:
            left.append(call)
        else:
            waiting.remove(twin)
            pairs.append((call, twin))
    return pairs, left, [call for held in rest.values() for call in held]


def _keyed(calls: Sequence[Call]) -> Iterator[tuple[tuple[str, int], Call]]:
    """Each call with its id, or its tool, and how many of that came before it."""
    seen: dict[str, int] = {}
    for call in calls:
        name = f"id {call.recorded_id}" if call.recorded_id else f"tool {_bare(call.tool)}"
        seen[name] = seen.get(name, 0) + 1
        yield (name, seen[name]), call


def _by_tool(calls: Iterable[Call]) -> dict[str, list[Call]]:
    found: dict[str, list[Call]] = {}
    for call in calls:
        found.setdefault(_bare(call.tool), []).append(call)
    return found


def _bare(tool: str) -> str:
    """A tool's name without what a harness puts before it."""
    return re.split(r"__|[./:]", tool)[-1].lower()


def _difference(call: Call, twin: Call) -> tuple[str, str] | None:
    """What each of two records of one call says where they contradict each other, or None."""
    if not same_tool(call.tool, twin.tool):
        return f"the tool {one_line(call.tool, 60)}", f"the tool {one_line(twin.tool, 60)}"
    if call.arguments is not None and twin.arguments is not None:
        change = compare_arguments(call.arguments, twin.arguments)
        if change.contradicts or change.added:
            return f"the arguments {brief(call.arguments)}", f"the arguments {brief(twin.arguments)}"
    if {call.outcome, twin.outcome} <= _ENDED and call.outcome is not twin.outcome:
        return f"that it {_ended(call)}", f"that it {_ended(twin)}"
    if call.result is not None and twin.result is not None:
        failed = Outcome.FAILED in (call.outcome, twin.outcome)
        if agree(call.result, twin.result, error=failed) is None:
            return f"the result {brief(call.result)}", f"the result {brief(twin.result)}"
    return None


def _ended(call: Call) -> str:
    return {Outcome.RECORDED: "returned", Outcome.FAILED: "failed", Outcome.DENIED: "was denied"}[call.outcome]


def tells_all(trace: Trace) -> bool:
    """Whether a call that this witness lacks did not happen as far as it knows."""
    return trace.records_calls and not any(gap.hides for gap in trace.gaps)


def _contradict(one: Witness, call: Call, other: Witness, twin: Call, difference: tuple[str, str]) -> None:
    said, told = difference
    message = (
        f"two records of one call of {one_line(call.tool, 60)} differ: {one_line(one.evidence, 60)} has {said}, "
        f"{one_line(other.evidence, 60)} has {told}"
    )
    places = (one.trace.locator(call.step), other.trace.locator(twin.step))
    for witness, held in ((one, call), (other, twin)):
        held.block("inconsistent_tuple", message)
        witness.trace.findings.append(
            finding("inconsistent_tuple", message, steps=(held.step,), locators=places, basis=Basis.DERIVED)
        )


def _lacks(witness: Witness, call: Call, second: Witness) -> None:
    tool, holder, lacking = (one_line(text, 60) for text in (call.tool, witness.evidence, second.evidence))
    message = f"{holder} holds a call of {tool} that {lacking}, which tells of the same run, lacks"
    place = witness.trace.locator(call.step)
    call.block("inconsistent_tuple", message)
    witness.trace.findings.append(
        finding("inconsistent_tuple", message, steps=(call.step,), locators=(place,), basis=Basis.DERIVED)
    )
    gap = Gap("evidence_gap", message, place, second.trace.id, hides=True, basis=Basis.DERIVED)
    second.trace.gaps = (*second.trace.gaps, gap)
