"""What does a tool answer in a rerun? What is recorded for an equal call, or what the user put in its place.

A handle is renamed only by what two results of one call hold at one place; what the agent is shown is the recorded
value. The first call that nothing answers ends the rerun.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.differences import differences, shown
from forensics.core.evidence import Locator
from forensics.core.jsonvalue import equal_values, same_value, unfold
from forensics.core.sanitise import one_line
from forensics.replay import frames
from forensics.replay.fresh import Fresh
from forensics.replay.gate import Gate, Reply, Status
from forensics.replay.log import Called, Disposition
from forensics.replay.nearest import nearest
from forensics.replay.plan import Mode, OnMiss
from forensics.replay.recordings import TOOL, Request
from forensics.replay.script import shown_of
from forensics.replay.stand_ins import Order, StandIns, Stood, UsedUp
from forensics.replay.stops import Stopped, fault, is_pause, paused
from forensics.replay.traced import trace_record
from forensics.replay.waiting import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from forensics.core.handles import Handle
    from forensics.core.trace import Call
    from forensics.replay.recordings import Recording
    from forensics.replay.setting import Course, Setting

    Heed = Callable[[Call, Any], None]

_SHOWN = 200
_HERE = Locator(evidence=1)  # a request of the rerun stands in no evidence


class _Asked(msgspec.Struct, frozen=True):
    """A call of the agent's, where its model asked for it, as the gate was asked for it, and what the gate says."""

    said: frames.CallTool
    place: Place
    request: Request
    reply: Reply


class _Found(msgspec.Struct, frozen=True):
    """The recorded call that a call was matched with: its row in the trace, and its recording."""

    row: int
    call: Any
    recording: Any

    @property
    def value(self) -> Any:
        """What it returned."""
        return self.recording.answer


class ToolAnswers:
    """The tools of one rerun. `heed` is told of a result that is not the recorded one."""

    def __init__(self, setting: Setting, course: Course, heed: Heed) -> None:
        self._renaming = course.renaming
        self._setting = setting
        self._course = course
        self._heed = heed
        trace = setting.analysis.trace
        recordings = [one for one in trace_record(trace).recordings if one.request.kind == TOOL]
        self.rows = [trace.call[one.request.step or 0] for one in recordings]
        self._gate = Gate(recordings)
        self._stand_ins = StandIns(setting.plan)
        self._fresh = Fresh(setting.rules, _minted(setting.analysis.handles), trace.payload)
        self._ordered: _Asked | None = None

    def call(self, said: frames.CallTool) -> frames.FromParent:
        """The answer to a call, or the order to run what stands in for its tool."""
        arguments = self._renaming.leftward(said.arguments)
        value = {"tool": said.name, "arguments": arguments}
        request = Request(kind=TOOL, value=value, locator=_HERE, recorded_id=said.call_id)
        place = self._course.waiting.take(said)
        asked = _Asked(said, place, request, self._look_up(request, place))
        stands = self._stand_ins.of(said.name) if self._is_past_the_fork(asked) else None
        if stands is None:
            return self._recorded(asked)
        if isinstance(stands, Order):
            self._ordered = asked
            return frames.Run(stands.target, said.arguments)
        if isinstance(stands, UsedUp):
            return self._missed(asked, f"its list of {stands.given} values has been used up")
        return self._stands_in(asked, stands)

    def _look_up(self, request: Request, place: Place) -> Reply:
        """What the gate says; where agents asked for equal calls and were answered otherwise, the agent tells whose it
        is whose turn asked for it.
        """
        reply = self._gate.look_up(request)
        if reply.status is Status.AMBIGUOUS and place.lane and place.sure:
            return self._gate.look_up(msgspec.structs.replace(request, lane=place.lane))
        return reply

    def _is_past_the_fork(self, asked: _Asked) -> bool:
        """Whether stand-ins count for a call: from the step of the fork on."""
        fork = self._setting.plan.fork
        if fork is None:
            return True
        found = self._found(asked)
        return self._course.waiting.turns > self._setting.fork_turn if found is None else found.call.step >= fork

    def has_run(self, ran: frames.Ran) -> frames.FromParent:
        """What stands in for a tool has run in the cell."""
        asked, self._ordered = self._ordered, None
        if asked is None:
            return self._course.stop(fault("the agent says that it ran what nobody asked it to run"))
        if is_pause(ran.raised):
            return self._course.stop(paused(asked.said.name, ran.value))
        found = self._found(asked)
        if found is not None and found.row in self._setting.may_execute:
            return self._executed(asked, found, ran)
        return self._stands_in(asked, Stood(ran.value, ran.failed))

    # from the record -------------------------------------------------------------------------------------------------

    def _found(self, asked: _Asked) -> _Found | None:
        number = asked.reply.row
        if number is None:
            return None
        row = self.rows[number]
        return _Found(row, self._setting.analysis.trace.calls[row], self._gate.recordings[number])

    def _recorded(self, asked: _Asked) -> frames.FromParent:
        found = self._found(asked)
        if found is None:
            return self._unrecorded(asked)
        value, told = found.value, shown_of(found.call)
        if self._setting.present is not None:
            value = told = self._setting.present(found.call, self._renaming.rightward(value))
            self._learn(found, value)
        failed = found.recording.failed
        self._note(asked, Disposition.INJECTED, found.row, value=value, shown=told, failed=failed)
        return _given(value, told, failed=failed)

    def _unrecorded(self, asked: _Asked) -> frames.FromParent:
        plan, name = self._setting.plan, asked.said.name
        if plan.mode is not Mode.LIVE or plan.on_miss is not OnMiss.LIVE:
            return self._missed(asked, asked.reply.because)
        told = f"Not run: no recording answers this call of {name}, and a rerun runs no tool by itself."
        self._note(asked, Disposition.REFUSED, None, value=told, shown=told, failed=True)
        return frames.Given(told, failed=True)

    def _missed(self, asked: _Asked, because: str) -> frames.Stop:
        """The end of the rerun, with the nearest recordings and the first field that differs."""
        name = one_line(asked.said.name, 60)
        near = nearest(self._gate, asked.request, asked.reply)
        message = f"the call of {name} is not answered: {because}"
        if near and near[0].pointer is not None:
            left, right = (one_line(text or "nothing", _SHOWN) for text in (near[0].left, near[0].right))
            message += f"; the nearest recording differs at {near[0].pointer}: recorded {left}, asked {right}"
        same = next((one.row for one in near if self._recording(one.row).request.name == asked.said.name), None)
        own = same is not None and self._differs_in_own_values(self._recording(same), asked.said)
        self._note(asked, Disposition.MISSED, None)
        steps = tuple(msgspec.structs.replace(one, row=self._recording(one.row).request.step or 0) for one in near)
        return self._course.stop(
            Stopped(
                code="generated_id_differs" if own else "replay_miss",
                message=message,
                near=steps,
                asked=asked.request.value,
                step=steps[0].row if steps else None,
            )
        )

    def _recording(self, number: int) -> Recording:
        return self._gate.recordings[number]

    def _differs_in_own_values(self, recorded: Recording, said: frames.CallTool) -> bool:
        """Whether a call differs from a recorded one only in values of the run's own making."""
        found = list(differences(recorded.request.value["arguments"], said.arguments))
        given = self._course.given()
        return bool(found) and all(self._fresh.is_own(one.pointer, one.left, one.right, given) for one in found)

    # what the user put in its place ----------------------------------------------------------------------------------

    def _executed(self, asked: _Asked, found: _Found, ran: frames.Ran) -> frames.FromParent:
        """A tool that the policy lets run: what it returned must be what is recorded, and that is what is shown."""
        returned, failed = unfold(ran.value), found.recording.failed
        if ran.failed is not failed or not equal_values(returned, found.value):
            return self._mismatch(asked, found, ran)
        told = shown_of(found.call)
        self._note(asked, Disposition.EXECUTED, found.row, value=found.value, shown=told, failed=failed)
        return _given(found.value, told, failed=failed)

    def _mismatch(self, asked: _Asked, found: _Found, ran: frames.Ran) -> frames.Stop:
        first = next(differences(found.value, unfold(ran.value)), None)
        left, right = (None, None) if first is None else shown(first)
        message = (
            f"{one_line(asked.said.name, 60)} was really run and returned something else than is recorded: "
            f"recorded {left or 'nothing'}, returned {right or 'nothing'}"
        )
        self._note(asked, Disposition.EXECUTED, found.row, returned=ran.value, failed=ran.failed)
        return self._course.stop(Stopped(code="result_mismatch", message=message, step=found.call.step))

    def _stands_in(self, asked: _Asked, stood: Stood) -> frames.Given:
        """What a stand-in gave, a fresh handle in it mapped back to the recorded one. Where that makes it equal to the
        record, the record is shown: the call was `normalised`.
        """
        found, value = self._found(asked), stood.value
        if found is None:
            self._note(
                asked, Disposition.OVERRIDDEN, None, value=value, shown=value, failed=stood.failed, returned=value
            )
            return frames.Given(value, failed=stood.failed)
        mapped = self._learn(found, value)
        value = self._renaming.leftward(value)
        same = stood.failed is found.recording.failed and equal_values(unfold(value), found.value)
        value, told = (found.value, shown_of(found.call)) if same else (value, value)
        if not same:
            self._heed(found.call, told)
        self._note(
            asked,
            Disposition.NORMALISED if mapped and same else Disposition.OVERRIDDEN,
            found.row,
            value=value,
            shown=told,
            failed=stood.failed,
            returned=stood.value,
            mapped=mapped,
        )
        return _given(value, told, failed=stood.failed)

    def _learn(self, found: _Found, presented: Any) -> tuple[str, ...]:
        """Learn from two results of one call which fresh handle is which recorded one; the recorded ones, in order."""
        pairs = self._fresh.learnable(found.row, unfold(found.value), unfold(presented))
        return tuple(left for left, right in pairs if self._renaming.join(left, right))

    # the log ---------------------------------------------------------------------------------------------------------

    def _note(self, asked: _Asked, disposition: Disposition, row: int | None, **what: Any) -> None:
        said, place = asked.said, asked.place
        self._course.log.append(
            Called(
                tool=said.name,
                arguments=said.arguments,
                disposition=disposition,
                turn=place.turn,
                index=place.index,
                agent=self._agent(place, row),
                call_id=said.call_id,
                row=row,
                agreement=asked.reply.agreement,
                **what,
            )
        )

    def _agent(self, place: Place, row: int | None) -> str:
        """Who made a call: whose turn asked for it or, where none did, who made the recorded one."""
        if place.lane is not None:
            return place.lane
        recorded = "" if row is None else self._setting.analysis.trace.calls[row].agent
        return recorded or self._setting.lane


def _minted(handles: Sequence[Handle]) -> Mapping[int, list[Handle]]:
    found: dict[int, list[Handle]] = {}
    for handle in handles:
        if handle.minted:
            found.setdefault(handle.call, []).append(handle)
    return found


def _given(value: Any, told: Any, *, failed: bool) -> frames.Given:
    if told is value or same_value(told, value):
        return frames.Given(value, failed=failed)
    return frames.Given(value, failed=failed, shown=told)
