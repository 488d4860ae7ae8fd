"""Which records tell one tuple? What the model asked for, what a tool span says ran, and what a prompt showed of it."""

from __future__ import annotations

from itertools import islice

from forensics.core.agreement import Rung, agree, compare_arguments, is_bare, is_cut_of
from forensics.core.evidence import Basis
from forensics.core.findings import finding
from forensics.core.jsonvalue import decode, short_json, value_of
from forensics.core.lanes import Execution, Lane, Spot
from forensics.core.pairing import COMPARED, Batch, How, find_answered, same_tool
from forensics.core.recorder import Recorder
from forensics.core.sanitise import one_line
from forensics.core.trace import NOWHERE, Absence, Boundary, Call, Outcome, Payload, StepKind, Witness
from forensics.core.unsaid import object_named

_NAMED = 6


class TupleBuilder(Recorder):
    """Joins requests, executions and shown results into calls; what disagrees is said and blocks the call."""

    def lane(self, key: str = "", agent: str = "") -> Lane:
        """The lane of that key, made when first asked for; `agent` names it."""
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(self.trace.calls, agent)
            if agent and agent not in self.trace.agents:
                self.trace.agents.append(agent)
        return lane

    def turn(self, lane: Lane, spot: Spot, *, text: Payload | None = None, model: str = "") -> int:
        """A model turn begins; returns its number. The calls that it asks for follow with `request`."""
        trace = self.trace
        number = trace.turns
        trace.turns += 1
        row = self.step(StepKind.MODEL, spot, name=model, agent=lane.agent, payload=text, turn=number)
        self._turn_rows.append(row)
        lane.turns.append(number)
        lane.silent = NOWHERE
        self.model_calls += 1
        self._asked_in.append(0)
        return number

    def words(self, turn: int, text: Payload | None) -> None:
        """What that turn said, where its record comes in pieces."""
        self.trace.payload[self._turn_rows[turn]] = text

    def silent_turn(self, lane: Lane, spot: Spot, *, model: str = "") -> int:
        """A model turn whose output was not captured; a later prompt may still show what it said."""
        number = self.turn(lane, spot, model=model)
        lane.silent = number
        self.trace.silent_turns.append(number)
        return number

    def request(  # noqa: PLR0913, PLR0917 - a request is told by its fields, as it was recorded
        self,
        lane: Lane,
        turn: int,
        tool: str,
        recorded_id: str | None,
        arguments: Payload | None,
        spot: Spot,
        *,
        boundary: Boundary = Boundary.TOOL,
        server: str | None = None,
        tainted: str | None = None,
        freeform: bool = False,
    ) -> int:
        """The model asked for a call; returns its row in `trace.calls`."""
        row = self._new_call(lane, tool, turn, self._next_index(turn), recorded_id, boundary, server)
        call = self._call(row)
        if freeform:
            call.freeform = True
        call.step = call.requested = self.step(
            StepKind.TOOL_CALL, spot, name=tool, agent=lane.agent, payload=arguments, call=row, turn=turn
        )
        lane.ask(row)
        if tainted:
            self._tainted(call, tainted)
        return row

    def _next_index(self, turn: int) -> int:
        if turn < 0:
            self._unasked += 1
            return self._unasked - 1
        self._asked_in[turn] += 1
        return self._asked_in[turn] - 1

    def _new_call(  # noqa: PLR0917 - as above
        self,
        lane: Lane,
        tool: str,
        turn: int,
        index: int,
        recorded_id: str | None,
        boundary: Boundary,
        server: str | None,
    ) -> int:
        recorded_id = recorded_id or None
        add = self.trace.calls.add
        row = add(tool, turn, index, recorded_id, agent=lane.agent, server=server, boundary=boundary)
        self._asked_by.append(turn)
        self._by_turn.add(row)
        if recorded_id:
            lane.calls.add(row)
            self._by_id.add(row)
        return row

    # what ran --------------------------------------------------------------------------------------------------------

    def execute(self, lane: Lane, ran: Execution) -> int:
        """A tool span: joined with the call that asked for it, or a call that no turn asked for; returns its row."""
        row = self.begin(lane, ran)
        self.end(lane, row, ran)
        return row

    def begin(self, lane: Lane, ran: Execution) -> int:
        """The first half of `execute`, for a tool inside which other steps happen before it returns."""
        row = self._asked_for(lane, ran)
        if row < 0:
            return self._unasked_call(lane, ran)
        lane.unexecuted.remove(row)
        self._compare_names(self._call(row), ran.tool, "ran", ran.spot)
        self._compare_arguments(row, ran)
        return row

    def end(self, lane: Lane, row: int, ran: Execution) -> None:
        """The second half of `execute`: what the call of that row returned."""
        self._answer_from_span(lane, row, ran)

    def _asked_for(self, lane: Lane, ran: Execution) -> int:
        if ran.recorded_id:
            held = lane.unexecuted.with_id(ran.recorded_id)
            return self._best(held or lane.unexecuted.latest(ran.tool, without_id=True), ran)
        return self._best(lane.unexecuted.latest(ran.tool), ran)

    def _best(self, batch: Batch | None, ran: Execution) -> int:
        """The call whose asked arguments fit best what ran; the first where none is better. Of a large batch only the
        first ones are compared.
        """
        if batch is None:
            return NOWHERE
        if len(batch.calls) == 1:
            return batch.first()
        return max(islice(batch.calls, COMPARED), key=lambda row: (self._fit(row, ran), -row))

    def _fit(self, row: int, ran: Execution) -> int:
        asked = None if ran.arguments is None else self._call(row).requested
        if asked is None or asked.payload is None or ran.arguments is None:
            return 1
        change = compare_arguments(asked.payload, ran.arguments)
        return 0 if change.contradicts else 2 if change.added else 3

    def _unasked_call(self, lane: Lane, ran: Execution) -> int:
        row = self._new_call(
            lane, ran.tool, NOWHERE, self._next_index(NOWHERE), ran.recorded_id, ran.boundary, ran.server
        )
        call = self._call(row)
        call.step = call.executed = self.step(
            StepKind.TOOL_CALL, ran.spot, name=ran.tool, agent=lane.agent, payload=ran.arguments, call=row
        )
        lane.unshown.add(row)
        lane.unasked.append(row)
        return row

    def execute_again(self, lane: Lane, row: int, ran: Execution) -> int:
        """A call that has its result on one branch was executed once more on another: a call of its own, which no turn
        asked for. Which of the two results a rerun would give can't be told, so neither is injectable (CONTRACT:
        injectable). Returns its row.
        """
        first = self._call(row)
        again = self._unasked_call(lane, ran)
        call = self._call(again)
        call.again_of = row if first.again_of < 0 else first.again_of
        lane.unasked.remove(again)
        lane.unshown.remove(again)
        self._answer_from_span(lane, again, ran)
        message = f"{one_line(call.tool, 60)} was asked for once and ran on more than one branch"
        for one in (first, call):
            one.block("conflicting_results", message)
        return again

    def _compare_names(self, call: Call, tool: str, did: str, spot: Spot) -> None:
        """One id, two tools: the records tell of different calls. Prefixes of a harness or server are no difference."""
        asked = call.tool
        if tool and tool != asked and not same_tool(asked, tool):
            self._contradiction(
                call.row, f"the model asked for {one_line(asked, 60)}, and {one_line(tool, 60)} {did}", spot
            )

    def _compare_arguments(self, row: int, ran: Execution) -> None:
        if ran.arguments is None:
            return
        call = self._call(row)
        asked = call.requested
        if asked is None or asked.payload is None:
            return
        change = compare_arguments(asked.payload, ran.arguments)
        call.added = change.added
        if change.contradicts:
            what = ", ".join(
                f"{kind} {', '.join(map(_key, keys))}"
                for kind, keys in (("changed", change.changed), ("missing", change.missing))
                if keys
            )
            self._contradiction(
                row, f"the model asked {call.tool} with other arguments than those that ran ({what})", ran.spot
            )
        elif change.added:
            self._arguments_added(row, change.added, ran.spot)

    def _arguments_added(self, row: int, added: tuple[str, ...], spot: Spot) -> None:
        call = self._call(row)
        names = ", ".join(one_line(k, 40) for k in added)
        message = f"{one_line(call.tool, 60)} ran with arguments that the harness added to those asked for: {names}"
        self.note(
            finding("args_replaced", message, steps=(call.step,), locators=(self._locator(spot),), basis=Basis.DERIVED)
        )

    def _answer_from_span(self, lane: Lane, row: int, ran: Execution) -> None:
        call = self._call(row)
        call.executed = Witness(_named_arguments(call, ran), ran.spot.place, ran.spot.pointer, call.step)
        call.start, call.end, call.ended = ran.start, ran.end, ran.ended
        call.server = call.server or ran.server
        if ran.boundary is not Boundary.TOOL:
            call.boundary = ran.boundary
        call.disposition = ran.disposition
        call.error = ran.error
        if ran.result is not None or ran.error is not None:
            answer = ran.answer or ran.spot
            step = self._add_result_step(lane, call, ran.result if ran.result is not None else ran.error, answer)
            call.returned = Witness(None, answer.place, answer.pointer, step) if ran.result is None else step
        call.outcome, call.absence = _outcome(ran)
        if ran.tainted:
            self._tainted(call, ran.tainted)
        for dispute in ran.disputes:
            self._contradiction(row, dispute, ran.spot)

    def _add_result_step(self, lane: Lane, call: Call, payload: Payload | None, spot: Spot) -> int:
        end, kind = call.end, StepKind.TOOL_RESULT
        at = spot if end < 0 else Spot(spot.place, spot.pointer, end)
        step = call.result_step = self.step(
            kind, at, name=call.tool, agent=lane.agent, payload=payload, call=call.row, turn=call.turn
        )
        self.result_count += 1
        return step

    # what a prompt showed --------------------------------------------------------------------------------------------

    def show(  # noqa: PLR0913 - a result is told by its fields, as it was recorded
        self,
        lane: Lane,
        recorded_id: str | None,
        tool: str,
        payload: Payload | None,
        spot: Spot,
        *,
        failed: bool = False,
        denied: bool = False,
        unsettled: bool = False,
        tainted: str | None = None,
    ) -> int:
        """A prompt shows the model a result; returns the row of the call that it answers, or -1 for an orphan.

        `unsettled` is an answer that leaves open whether the call took effect: a timeout, an interruption.
        """
        match = find_answered(self.trace.calls, lane.unshown, recorded_id, tool, payload)
        if match is None:
            return self._shown_again(lane, recorded_id, tool, payload, spot)
        if match.rivals is not None:
            self._ambiguous(match.rivals)
        row = match.call
        lane.unshown.remove(row)
        call = self._call(row)
        self._compare_names(call, tool, "answered", spot)
        said = outcome_said(failed=failed, denied=denied, unsettled=unsettled)
        self._answer_from_prompt(lane, call, payload, spot, said)
        if match.how is not How.ID:
            call.pairing = Basis.DERIVED
        if tainted:
            self._tainted(call, tainted)
        return row

    def _answer_from_prompt(self, lane: Lane, call: Call, payload: Payload | None, spot: Spot, said: Outcome) -> None:
        shown = call.shown
        if shown is not None:
            self._compare_with_earlier(call.row, shown, payload, spot)
        elif call.executed is None:
            self._first_answer(lane, call, payload, spot, said)
        else:
            call.shown = Witness(payload, spot.place, spot.pointer)
            self._compare_results(call.row, payload, spot)

    def _first_answer(self, lane: Lane, call: Call, payload: Payload | None, spot: Spot, said: Outcome) -> None:
        call.shown = self._add_result_step(lane, call, payload, spot)
        call.outcome, call.absence = said, None
        if payload is None:
            call.outcome, call.absence = Outcome.ABSENT, Absence.NOT_CAPTURED

    def _compare_results(self, row: int, payload: Payload | None, spot: Spot) -> None:
        call = self._call(row)
        returned = call.returned.payload if call.returned is not None else None
        told = returned if returned is not None else call.error
        if payload is None:
            return
        if told is None:
            if call.outcome is Outcome.ABSENT:
                call.outcome, call.absence = Outcome.RECORDED, None
            return
        rung = agree(told, payload, error=returned is None or call.outcome is Outcome.FAILED)
        if rung is not None:
            call.agreement = rung.value
            call.returned_is_cut = rung is Rung.CUT and is_cut_of(decode(told).value, decode(payload).value)
            if call.returned_is_cut and self.spans_are_complete:
                message = f"the result of {one_line(call.tool, 60)} is cut, and not in the next prompt"
                self._contradiction(row, message, spot)
        elif returned is not None and object_named(returned) is not None:
            call.returned_is_cut = True  # all of it: what was returned is what the prompt shows
        else:
            message = (
                f"the tool span of {one_line(call.tool, 60)} says {brief(told)}, "
                f"the next prompt shows the model {brief(payload)}"
            )
            self._contradiction(row, message, spot)

    def _shown_again(self, lane: Lane, recorded_id: str | None, tool: str, payload: Payload | None, spot: Spot) -> int:
        """A result for a call that has one already: the same again, another story, or an orphan."""
        earlier = lane.calls.get(recorded_id or "", [])
        for row in reversed(earlier):
            shown = self._call(row).shown
            if shown is not None:
                self._compare_with_earlier(row, shown, payload, spot)
                return row
        self._orphan(lane, recorded_id, tool, payload, spot)
        return NOWHERE

    def _compare_with_earlier(self, row: int, shown: Witness, payload: Payload | None, spot: Spot) -> None:
        if shown.payload is None or payload is None or agree(shown.payload, payload) is not None:
            return
        call = self._call(row)
        message = f"{one_line(call.tool, 60)} has two results: {brief(shown.payload)}, and later {brief(payload)}"
        self.note(finding("conflicting_results", message, steps=(call.step,), locators=(self._locator(spot),)))
        call.block("conflicting_results", message)
        self.result_count += 1

    def _orphan(self, lane: Lane, recorded_id: str | None, tool: str, payload: Payload | None, spot: Spot) -> None:
        step = self.step(StepKind.TOOL_RESULT, spot, name=tool, agent=lane.agent, payload=payload)
        name = recorded_id or f"step {step}"
        self.orphan_results.append(name)
        self.result_count += 1
        message = f"a result ({one_line(name, 60)}) answers no call that the evidence holds: {brief(payload)}"
        self.note(finding("orphan_result", message, steps=(step,), locators=(self._locator(spot),)))
        self.gap("orphan_result", message, spot)

    def _ambiguous(self, batch: Batch) -> None:
        calls = [self._call(row) for row in batch.take_fresh()]
        if not calls:
            return
        names = ", ".join(f"{c.occurrence} {one_line(c.tool, 40)}" for c in calls[:_NAMED])
        more = f" and {len(calls) - _NAMED} more" if len(calls) > _NAMED else ""
        message = f"a result may answer any of {len(batch.calls)} calls ({names}{more}): no id tells which"
        for call in calls:
            call.block("ambiguous_pairing", message)
        self.note(finding("ambiguous_pairing", message, steps=tuple(c.step for c in calls), basis=Basis.DERIVED))


def _named_arguments(call: Call, ran: Execution) -> Payload | None:
    """The arguments that ran; none where only the value of the one argument that was asked for is recorded."""
    if ran.arguments is None:
        return None
    asked = call.requested
    bare = asked is not None and asked.payload is not None and is_bare(asked.payload, ran.arguments)
    return None if bare else ran.arguments


_OUTCOMES: dict[str, Outcome] = {
    "error": Outcome.FAILED,
    "denied": Outcome.DENIED,
    "pending": Outcome.INDETERMINATE,
    "unsettled": Outcome.INDETERMINATE,
}


def outcome_said(*, failed: bool, denied: bool, unsettled: bool) -> Outcome:
    """The outcome that a shown result tells; what was never allowed to run settles it first."""
    if denied:
        return Outcome.DENIED
    if unsettled:
        return Outcome.INDETERMINATE
    return Outcome.FAILED if failed else Outcome.RECORDED


def _outcome(ran: Execution) -> tuple[Outcome, Absence | None]:
    if ran.result is None and ran.error is None and ran.status not in _OUTCOMES:
        if ran.status == "redacted":
            return Outcome.ABSENT, Absence.REDACTED
        return Outcome.ABSENT, Absence.NOT_CAPTURED if ran.ended else Absence.UNANSWERED
    return _OUTCOMES.get(ran.status, Outcome.RECORDED), None


def _key(key: str) -> str:
    return one_line(key, 40) if key else "the whole value"


def brief(payload: Payload | None) -> str:
    """A payload in a message: its value on one line, short and safe."""
    return "nothing" if payload is None else one_line(short_json(value_of(payload), 80), 80)
