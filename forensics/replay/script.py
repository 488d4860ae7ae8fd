"""What happened in the recorded run, turn by turn? What each turn of a model was shown, what it said, and what the
agent did by itself before it: the record as a rerun walks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.jsonvalue import decode, value_of
from forensics.core.trace import Absence, Boundary, StepKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.trace import Call, Payload, Step, Trace

_SHOWN = frozenset(
    {StepKind.SYSTEM, StepKind.USER, StepKind.TOOL_RESULT, StepKind.APPROVAL, StepKind.MEMORY, StepKind.HANDOFF}
)
_BESIDE = frozenset({StepKind.GUARDRAIL, StepKind.APPROVAL_REQUEST, StepKind.ERROR, StepKind.OTHER})
_ROLES = {StepKind.SYSTEM: "system", StepKind.USER: "user", StepKind.TOOL_RESULT: "tool", StepKind.MODEL: "assistant"}


class Shown(msgspec.Struct, frozen=True):
    """One thing that a model was shown. `earlier` says that it comes from before the run, as its first prompt tells;
    `call_id` is that of the call whose result it is.
    """

    kind: StepKind
    value: Any
    step: int
    earlier: bool = False
    calls: tuple[tuple[str, Any, str | None], ...] = ()
    call_id: str | None = None

    def message(self) -> dict[str, Any]:
        """The same as a message of a prompt."""
        role = _ROLES.get(self.kind, self.kind.label)
        calls = [{"name": name, "arguments": arguments, "id": call_id} for name, arguments, call_id in self.calls]
        return {"role": role, "content": self.value, **({"tool_calls": calls} if calls else {})}


class RecordedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of a model: its lane (the agent), what it was shown since its last turn, what it said, and the calls
    that it asked for (name, arguments, id). `silent` says that its words were not captured. `calls_before` are boundary
    calls that the agent made by itself since then, and `beside` steps that no model is shown (guardrails, errors).
    """

    number: int
    lane: str
    step: int
    model: str
    shown: tuple[Shown, ...]
    text: Any
    calls: tuple[tuple[str, Any, str | None], ...]
    silent: bool = False
    calls_before: tuple[tuple[str, Any, str | None], ...] = ()
    beside: tuple[int, ...] = ()


class Script(msgspec.Struct, frozen=True):
    """A recorded run: its own turns in order, the steps after the last one, and the calls made by the agent there.
    `judged` are the steps of the models that guardrails asked, by lane: no turn of the agent is theirs; `shown_after`
    is what was said after the last turn.
    """

    turns: tuple[RecordedTurn, ...]
    after: tuple[int, ...]
    calls_after: tuple[tuple[str, Any, str | None], ...] = ()
    judged: dict[str, tuple[int, ...]] = {}
    shown_after: tuple[Shown, ...] = ()


def script_of(trace: Trace) -> Script:
    """The script of a trace, in one walk over its steps."""
    return _Walk(trace).run()


class _Walk:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.silent = frozenset(trace.silent_turns)
        self.asked = calls_by_turn(trace)
        self.turns: list[RecordedTurn] = []
        self.shown: dict[str, list[Shown]] = {}
        self.calls: list[tuple[str, Any, str | None]] = []
        self.beside: list[int] = []
        self.judged: dict[str, list[int]] = {}

    def run(self) -> Script:
        for step in self.trace.steps():
            self._take(step)
        judged = {name: tuple(steps) for name, steps in self.judged.items()}
        left = sorted((one for held in self.shown.values() for one in held), key=lambda one: one.step)
        said = tuple(one for one in left if one.kind not in {StepKind.TOOL_RESULT, StepKind.MODEL})
        return Script(tuple(self.turns), tuple(self.beside), tuple(self.calls), judged, said)

    def _take(self, step: Step) -> None:
        if step.agent in self.trace.judges:
            self.judged.setdefault(step.agent, []).append(step.index)
        elif step.kind is StepKind.MODEL and step.turn is not None:
            self._turn(step, step.turn)
        elif step.kind is StepKind.TOOL_RESULT and step.call is not None:
            self._result(step, self.trace.calls[step.call])
        elif step.kind in _SHOWN:
            self._show(step.agent, Shown(step.kind, _text(step.payload), step.index))
        elif step.kind is StepKind.TOOL_CALL and step.call is not None:
            call = self.trace.calls[step.call]
            if call.turn < 0 and call.step == step.index and call.boundary is not Boundary.TOOL and call.again_of < 0:
                self.calls.append((call.tool, _value(call.arguments), call.recorded_id))
        elif step.kind in _BESIDE:
            self.beside.append(step.index)

    def _turn(self, step: Step, number: int) -> None:
        calls = tuple(self._calls(number))
        if number in self.trace.earlier_turns:
            self._show(step.agent, Shown(step.kind, _text(step.payload), step.index, earlier=True, calls=calls))
            return
        turn = RecordedTurn(
            number=number,
            lane=step.agent,
            step=step.index,
            model=step.name,
            shown=tuple(self._taken(step.agent)),
            text=_text(step.payload),
            calls=calls,
            silent=number in self.silent,
            calls_before=tuple(self.calls),
            beside=tuple(self.beside),
        )
        self.turns.append(turn)
        self.calls, self.beside = [], []

    def _calls(self, number: int) -> Iterator[tuple[str, Any, str | None]]:
        for call in self.asked.get(number, ()):
            if call.boundary is not Boundary.PROVIDER_TOOL:
                asked = call.requested.payload if call.requested is not None else call.arguments
                yield call.tool, _value(asked), call.recorded_id

    def _result(self, step: Step, call: Call) -> None:
        """What the model was shown of a result, where that is told apart from what the tool returned."""
        if step.index != call.result_step or (call.turn < 0 and call.boundary is not Boundary.TOOL):
            return
        earlier = call.turn in self.trace.earlier_turns
        shown = Shown(step.kind, shown_of(call), step.index, earlier=earlier, call_id=call.recorded_id)
        self._show(step.agent, shown)

    def _show(self, agent: str, one: Shown) -> None:
        self.shown.setdefault(agent, []).append(one)

    def _taken(self, agent: str) -> Iterator[Shown]:
        """What waits for an agent's turn, and what names no agent; in the order of the run."""
        waiting = [*self.shown.pop(agent, ()), *(self.shown.pop("", ()) if agent else ())]
        return iter(sorted(waiting, key=lambda one: one.step))


def shown_of(call: Call) -> Any:
    """What the model was shown of a call's result, else what the call returned."""
    told = None if call.shown is None else call.shown.payload
    return _text(told if told is not None else call.result)


def calls_by_turn(trace: Trace) -> dict[int, list[Call]]:
    """The calls that each turn asked for, in order."""
    found: dict[int, list[Call]] = {}
    for call in trace.calls:
        if call.turn >= 0:
            found.setdefault(call.turn, []).append(call)
    return found


def ending_tools(trace: Trace) -> frozenset[str]:
    """The tools of which every call ended the run."""
    ends: dict[str, bool] = {}
    for call in trace.calls:
        ends[call.tool] = ends.get(call.tool, True) and call.absence is Absence.NOT_DUE
    return frozenset(tool for tool, always in ends.items() if always)


def _value(payload: Payload | None) -> Any:
    return None if payload is None else value_of(payload)


def _text(payload: Payload | None) -> Any:
    """As it stands: what a model is shown is a text, also where that text holds JSON."""
    return None if payload is None else decode(payload).value
