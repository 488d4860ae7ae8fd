"""What of a run counts when it is set beside another? Its events, lane by lane: what came in, turns, and calls.

Times, ids of spans and calls, and what only a format's own bookkeeping tells are no events. The result of a call
belongs to the call, and a call to the turn that asked for it; a call that no turn asked for is an event of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import canonical, value_of
from forensics.core.trace import NOWHERE, Call, Payload, StepKind, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.trace import Step

MODEL, CALL, OUTPUT = "model", "call", "output"
_SEPARATORS = re.compile(r"[^0-9a-z]+")
_PASSED_OVER = frozenset({StepKind.AGENT, StepKind.OTHER})
_FINAL_OUTPUT = "final output"  # the name of the step in which a format repeats a run's answer


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event: its kind (`model`, `call`, `output`, or the kind of the step), the agent, the step, what it says, and
    the calls that belong to it (rows of the trace's calls, in the order in which they were asked for).
    """

    kind: str
    agent: str
    step: int
    payload: Payload | None = None
    calls: tuple[int, ...] = ()


def tool_name(tool: str, *, loose: bool) -> str:
    """The name by which a tool is known in both runs: between formats without the server that one of them puts before
    it, and with one separator, since some allow no dots.
    """
    return _SEPARATORS.sub("_", tool.rpartition("__")[2].lower()) if loose else tool


def events_of(trace: Trace, *, turns: bool = True) -> tuple[Event, ...]:
    """The events of a run in its causal order; without `turns` each call stands alone and no turn is an event."""
    asked = _calls_by_turn(trace) if turns else {}
    said = frozenset(_said(trace))
    return tuple(event for step in trace.steps() for event in _events(trace, step, asked, said, turns=turns))


def _calls_by_turn(trace: Trace) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for row, call in enumerate(trace.calls):
        if call.turn >= 0:
            found.setdefault(call.turn, []).append(row)
    return found


def _said(trace: Trace) -> Iterator[bytes]:
    for row in trace.rows(StepKind.MODEL):
        payload = trace.payload[row]
        if payload is not None:
            yield canonical(value_of(payload))


def _events(
    trace: Trace, step: Step, asked: dict[int, list[int]], said: frozenset[bytes], *, turns: bool
) -> Iterator[Event]:
    if step.kind is StepKind.MODEL:
        if turns:
            calls = tuple(asked.get(NOWHERE if step.turn is None else step.turn, ()))
            yield Event(MODEL, step.agent, step.index, step.payload, calls)
    elif step.kind in {StepKind.TOOL_CALL, StepKind.TOOL_RESULT} and step.call is not None:
        if _stands_alone(trace.calls[step.call], step, turns=turns):
            yield Event(CALL, step.agent, step.index, None, (step.call,))
    elif step.kind is StepKind.OTHER and step.name == _FINAL_OUTPUT:
        if step.payload is not None and canonical(value_of(step.payload)) not in said:
            yield Event(OUTPUT, step.agent, step.index, step.payload)
    elif step.kind not in _PASSED_OVER:
        yield Event(step.kind.label, step.agent, step.index, step.payload)


def _stands_alone(call: Call, step: Step, *, turns: bool) -> bool:
    return call.step == step.index and not (turns and call.turn >= 0)


def lanes_of(left: tuple[Event, ...], right: tuple[Event, ...]) -> tuple[tuple[str, ...], ...]:
    """The lane of each event of both runs: its agent where both runs name that agent and another one, else one lane for
    all others, so that an agent that was renamed, or that only one format names, is still set beside its twin. What
    names no agent is a lane of its own where both runs have such, and else belongs to the next event that names one.
    """
    both = all(any(not event.agent for event in events) for events in (left, right))
    named = tuple(tuple(event.agent if both else name for event, name in _named(events)) for events in (left, right))
    shared = set(named[0]) & set(named[1])
    if len(shared - {""}) == 1:
        shared = set()
    return tuple(tuple(name if name in shared else "" for name in names) for names in named)


def _named(events: tuple[Event, ...]) -> Iterator[tuple[Event, str]]:
    """Each event with its agent or, where it names none, that of the next event that does."""
    names: list[str] = []
    following = next((event.agent for event in reversed(events) if event.agent), "")
    for event in reversed(events):
        following = event.agent or following
        names.append(following)
    return zip(events, reversed(names), strict=True)
