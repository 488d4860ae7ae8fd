"""Which recordings come nearest to a request that was not served, and where is the first difference?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.differences import differences, nearness, shown
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from forensics.replay.gate import Gate, Reply
    from forensics.replay.recordings import Recording, Request

_MOST = 3


class Near(msgspec.Struct, frozen=True):
    """One recording near a request: its row, why it does not answer, and the first place (JSON Pointer) where they
    differ with both values, shortened (None: nothing stands there, or nothing differs).
    """

    row: int
    because: str
    pointer: str | None = None
    left: str | None = None
    right: str | None = None


def nearest(gate: Gate, request: Request, reply: Reply) -> tuple[Near, ...]:
    """The nearest recordings, those in question first. One walk over the record, made once, where the gate stops."""
    rows = list(reply.rivals)
    if len(rows) < _MOST and not request.doubt:
        rows += [row for row in _ranked(gate, request) if row not in reply.rivals]
    return tuple(_near(gate, row, request, reply) for row in rows[:_MOST])


def _ranked(gate: Gate, request: Request) -> list[int]:
    """The rows by likeness: kind, name, then what is asked; an unused one before a used one."""

    def likeness(row: int) -> tuple[bool, bool, float, bool]:
        form = gate.recordings[row].form(request.kind)
        alike = nearness(form.value, request.value)
        return (form.kind == request.kind, form.name == request.name, alike, gate.served_to[row] is None)

    scored = [(likeness(row), -row) for row in range(len(gate.recordings))]
    return [-row for _, row in sorted(scored, reverse=True)[:_MOST]]


def _near(gate: Gate, row: int, request: Request, reply: Reply) -> Near:
    recording = gate.recordings[row]
    form = recording.form(request.kind)
    first = next(differences(form.value, request.value), None)
    because = reply.because if row in reply.rivals else _because(gate, row, recording, request)
    if first is None or form.kind != request.kind:
        return Near(row, because)
    return Near(row, because, first.pointer, *shown(first))


def _because(gate: Gate, row: int, recording: Recording, request: Request) -> str:
    form, used = recording.form(request.kind), gate.served_to[row]
    if form.kind != request.kind:
        return f"recorded for another kind: {one_line(form.kind, 20)}"
    if used is not None:
        return f"has answered request {used} already"
    if request.lane is not None and form.lane != request.lane:
        return "stands in no lane" if form.lane is None else f"stands in another lane: {one_line(form.lane, 40)}"
    return recording.doubt or recording.missing or "asks for something else"
