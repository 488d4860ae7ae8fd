"""What a trace tells, for comparing two ways of reading one evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forensics.core.calls import Call, Witness
    from forensics.core.trace import Payload, Step, Trace


def payload(one: Payload | None) -> bytes | None:
    return None if one is None else bytes(one)


def witness(one: Witness | None) -> tuple[object, ...] | None:
    return None if one is None else (payload(one.payload), one.place, one.pointer, one.step)


def of_step(step: Step) -> tuple[object, ...]:
    said = payload(step.payload)
    return (step.index, step.kind, step.name, step.agent, step.at, step.locator, said, step.call, step.turn)


def of_call(call: Call) -> tuple[object, ...]:
    halves = map(witness, (call.requested, call.executed, call.returned, call.shown))
    return (
        call.row, call.tool, call.agent, call.recorded_id, call.turn, call.index, call.step, call.result_step, *halves,
        call.server, call.boundary, call.outcome, call.absence, call.pairing, call.disposition, call.blocks,
        payload(call.arguments), payload(call.result),
    )  # fmt: skip


def of_trace(trace: Trace) -> tuple[object, ...]:
    told_once = (trace.id, trace.turns, trace.agents, trace.findings, trace.gaps)
    return (*told_once, list(map(of_step, trace.steps())), list(map(of_call, trace.calls)))
