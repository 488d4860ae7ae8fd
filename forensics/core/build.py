"""How do a reader's events become one trace? Calls that the model asked for, that ran and that a prompt showed are
joined into one tuple each, and a history that prompts repeat is told once.

A reader walks its records in causal order and says what it sees: `turn`, `request`, `execute`, `show`, `feed`. It
never decides what belongs together; that is done here, by one set of rules for every format.
"""

from __future__ import annotations

from array import array
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from forensics.core.agreement import Rung, agree, compare_arguments, is_cut_of, says_it_was_cut
from forensics.core.evidence import Basis, Gap
from forensics.core.findings import Finding, finding
from forensics.core.jsonvalue import decode, short_json, text_of, value_of
from forensics.core.pairing import COMPARED, Batch, How, OpenCalls, find_answered, same_tool
from forensics.core.sanitise import one_line
from forensics.core.trace import (
    NOWHERE,
    Absence,
    Block,
    Boundary,
    Call,
    Outcome,
    Payload,
    Places,
    StepKind,
    Trace,
    Witness,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from forensics.core.evidence import Locator
    from forensics.core.messages import Message, Part

_NAMED = 6


class Spot(msgspec.Struct, frozen=True, gc=False):
    """Where an event stands: a place of the evidence, a JSON Pointer inside it, and when (ns since the epoch, or -1)."""

    place: int
    pointer: str = ""
    at: int = NOWHERE

    def down(self, pointer: str) -> Spot:
        return Spot(self.place, self.pointer + pointer, self.at)


class Execution(msgspec.Struct, frozen=True):
    """What a tool span says: a tool ran, with these arguments, and ended so. Payloads are None where not captured.

    `status` is ok, error, denied, pending (paused), unsettled (it may have taken effect), redacted (what it returned)
    or "" (not said). `answer` is where the result stands, where that is not `spot`; `disputes` are sentences about what
    the records of this one execution say against each other.
    """

    tool: str
    spot: Spot
    recorded_id: str | None = None
    arguments: Payload | None = None
    result: Payload | None = None
    error: Payload | None = None
    status: str = ""
    ended: bool = True
    start: int = NOWHERE
    end: int = NOWHERE
    boundary: Boundary = Boundary.TOOL
    server: str | None = None
    disposition: str | None = None
    tainted: str | None = None
    answer: Spot | None = None
    disputes: tuple[str, ...] = ()


class Known(msgspec.Struct, frozen=True, gc=False):
    """A message that a lane's model has been shown or has said: its content key, the turn that said it, and the ids of
    the calls that it answers."""

    key: bytes
    turn: int = NOWHERE
    answers: frozenset[str] = frozenset()


class Lane:
    """One conversation inside a trace: the calls of one agent and the messages that its model was shown. `whole` says
    that every prompt repeats all of it and that every turn and execution has a record of its own.
    """

    def __init__(self, calls: list[Call], agent: str) -> None:
        self.agent = agent
        self.history: list[Known] = []
        self.raw_keys: list[bytes] = []
        self.fed = False
        self.compacted = False
        self.whole = False
        self.turns: list[int] = []
        self.silent: int = NOWHERE
        self.calls: dict[str, list[int]] = {}
        self.unshown = OpenCalls(calls)
        self.unasked: list[int] = []
        self._all_calls = calls
        self._asked: list[int] = []
        self._unexecuted: OpenCalls | None = None

    def ask(self, call: int) -> None:
        """Note a call that the model asked for: it waits for its execution and for its result in a prompt."""
        self.unshown.add(call)
        if self._unexecuted is None:
            self._asked.append(call)
        else:
            self._unexecuted.add(call)

    @property
    def unexecuted(self) -> OpenCalls:
        """The calls that wait for their execution; most formats record none, so they are only sorted when asked for."""
        if self._unexecuted is None:
            self._unexecuted = OpenCalls(self._all_calls)
            for call in self._asked:
                self._unexecuted.add(call)
        return self._unexecuted


class TraceBuilder:
    """Builds one trace. `spans_are_complete` says that the format records a span for every turn and every execution,
    so that a turn or an execution that only a prompt shows is a gap."""

    def __init__(self, trace_id: str, places: Places, format_name: str, *, spans_are_complete: bool = False) -> None:
        self.trace = Trace(trace_id, places, format_name)
        self.spans_are_complete = spans_are_complete
        self.gaps: list[Gap] = []
        self.orphan_results: list[str] = []
        self.result_count = 0
        self.model_calls = 0
        self._lanes: dict[str, Lane] = {}
        self._turn_rows = array("q")
        self._inherited: set[int] = set()
        self._unasked = 0
        self._asked_in = array("q")

    def lane(self, key: str = "", agent: str = "") -> Lane:
        """The lane of that key, made when first asked for; `agent` names it."""
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(self.trace.calls, agent)
            if agent and agent not in self.trace.agents:
                self.trace.agents.append(agent)
        return lane

    # steps -------------------------------------------------------------------------------------------------------

    def step(
        self,
        kind: StepKind,
        spot: Spot,
        *,
        name: str = "",
        agent: str = "",
        payload: Payload | None = None,
        call: int = NOWHERE,
        turn: int = NOWHERE,
        parent: int = NOWHERE,
    ) -> int:
        """Add a step and return its row."""
        trace = self.trace
        add = trace.strings.add
        numbers = (kind, add(name), add(agent), spot.at, spot.place, add(spot.pointer), call, turn, parent)
        return trace.add_step(numbers, payload)

    def note(self, found: Finding) -> None:
        self.trace.findings.append(found)

    def gap(self, code: str, message: str, spot: Spot, *, hides: bool = True, basis: Basis = Basis.DERIVED) -> None:
        locator = self.trace.places.locator(spot.place, spot.pointer)
        self.gaps.append(Gap(code, message, locator, self.trace.id, hides, basis))

    # what the model said -----------------------------------------------------------------------------------------

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

    def request(
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
    ) -> int:
        """The model asked for a call; returns its row in `trace.calls`."""
        row = self._new_call(lane, tool, turn, self._next_index(turn), recorded_id, boundary, server)
        call = self.trace.calls[row]
        step = call.step = self.step(
            StepKind.TOOL_CALL, spot, name=tool, agent=lane.agent, payload=arguments, call=row, turn=turn
        )
        call.requested = Witness(arguments, spot.place, spot.pointer, step)
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

    def _new_call(
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
        self.trace.calls.append(Call(tool, turn, index, recorded_id, lane.agent, server, boundary))
        row = len(self.trace.calls) - 1
        if recorded_id:
            lane.calls.setdefault(recorded_id, []).append(row)
        return row

    # what ran ----------------------------------------------------------------------------------------------------

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
        self._compare_names(row, ran.tool, "ran", ran.spot)
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
        first ones are compared."""
        if batch is None:
            return NOWHERE
        return max(islice(batch.calls, COMPARED), key=lambda row: (self._fit(row, ran), -row))

    def _fit(self, row: int, ran: Execution) -> int:
        asked = self.trace.calls[row].requested
        if asked is None or asked.payload is None or ran.arguments is None:
            return 1
        change = compare_arguments(asked.payload, ran.arguments)
        return 0 if change.contradicts else 2 if change.added else 3

    def _unasked_call(self, lane: Lane, ran: Execution) -> int:
        row = self._new_call(
            lane, ran.tool, NOWHERE, self._next_index(NOWHERE), ran.recorded_id, ran.boundary, ran.server
        )
        call = self.trace.calls[row]
        call.step = self.step(
            StepKind.TOOL_CALL, ran.spot, name=ran.tool, agent=lane.agent, payload=ran.arguments, call=row
        )
        call.executed = Witness(ran.arguments, ran.spot.place, ran.spot.pointer, call.step)
        lane.unshown.add(row)
        lane.unasked.append(row)
        return row

    def _compare_names(self, row: int, tool: str, did: str, spot: Spot) -> None:
        """One id, two tools: the records tell of different calls. Prefixes of a harness or server are no difference."""
        asked = self.trace.calls[row].tool
        if tool and tool != asked and not same_tool(asked, tool):
            self._contradiction(row, f"the model asked for {one_line(asked, 60)}, and {one_line(tool, 60)} {did}", spot)

    def _compare_arguments(self, row: int, ran: Execution) -> None:
        call = self.trace.calls[row]
        asked = call.requested
        if asked is None or asked.payload is None or ran.arguments is None:
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
        call = self.trace.calls[row]
        names = ", ".join(one_line(k, 40) for k in added)
        message = f"{one_line(call.tool, 60)} ran with arguments that the model did not ask for, added by the harness: {names}"
        self.note(
            finding("args_replaced", message, steps=(call.step,), locators=(self._locator(spot),), basis=Basis.DERIVED)
        )

    def _answer_from_span(self, lane: Lane, row: int, ran: Execution) -> None:
        call = self.trace.calls[row]
        call.executed = Witness(ran.arguments, ran.spot.place, ran.spot.pointer, call.step)
        call.start, call.end, call.ended = ran.start, ran.end, ran.ended
        call.server = call.server or ran.server
        if ran.boundary is not Boundary.TOOL:
            call.boundary = ran.boundary
        call.disposition = ran.disposition
        call.error = ran.error
        if ran.result is not None or ran.error is not None:
            answer = ran.answer or ran.spot
            self._add_result_step(lane, row, ran.result if ran.result is not None else ran.error, answer)
            call.returned = Witness(ran.result, answer.place, answer.pointer, call.result_step)
        call.outcome, call.absence = _outcome(ran)
        if ran.tainted:
            self._tainted(call, ran.tainted)
        for dispute in ran.disputes:
            self._contradiction(row, dispute, ran.spot)

    def _add_result_step(self, lane: Lane, row: int, payload: Payload | None, spot: Spot) -> None:
        call = self.trace.calls[row]
        at = spot if call.end < 0 else Spot(spot.place, spot.pointer, call.end)
        call.result_step = self.step(
            StepKind.TOOL_RESULT, at, name=call.tool, agent=lane.agent, payload=payload, call=row, turn=call.turn
        )
        self.result_count += 1

    # what a prompt showed ----------------------------------------------------------------------------------------

    def show(
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
        self._compare_names(row, tool, "answered", spot)
        said = _said(failed=failed, denied=denied, unsettled=unsettled)
        self._answer_from_prompt(lane, row, payload, spot, said)
        call = self.trace.calls[row]
        call.pairing = Basis.RECORDED if match.how is How.ID else Basis.DERIVED
        if tainted:
            self._tainted(call, tainted)
        return row

    def _answer_from_prompt(self, lane: Lane, row: int, payload: Payload | None, spot: Spot, said: Outcome) -> None:
        call = self.trace.calls[row]
        call.shown = Witness(payload, spot.place, spot.pointer)
        if call.executed is None:
            self._first_answer(lane, row, payload, spot, said)
        else:
            self._compare_results(row, payload, spot)

    def _first_answer(self, lane: Lane, row: int, payload: Payload | None, spot: Spot, said: Outcome) -> None:
        call = self.trace.calls[row]
        self._add_result_step(lane, row, payload, spot)
        assert call.shown is not None
        call.shown.step = call.result_step
        call.outcome, call.absence = said, None
        if payload is None:
            call.outcome, call.absence = Outcome.ABSENT, Absence.NOT_CAPTURED

    def _compare_results(self, row: int, payload: Payload | None, spot: Spot) -> None:
        call = self.trace.calls[row]
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
        else:
            message = (
                f"the tool span of {one_line(call.tool, 60)} says {_brief(told)}, "
                f"the next prompt shows the model {_brief(payload)}"
            )
            self._contradiction(row, message, spot)

    def _shown_again(self, lane: Lane, recorded_id: str | None, tool: str, payload: Payload | None, spot: Spot) -> int:
        """A result for a call that has one already: the same again, another story, or an orphan."""
        earlier = lane.calls.get(recorded_id or "", [])
        for row in reversed(earlier):
            shown = self.trace.calls[row].shown
            if shown is not None:
                self._compare_with_earlier(row, shown, payload, spot)
                return row
        self._orphan(lane, recorded_id, tool, payload, spot)
        return NOWHERE

    def _compare_with_earlier(self, row: int, shown: Witness, payload: Payload | None, spot: Spot) -> None:
        if shown.payload is None or payload is None or agree(shown.payload, payload) is not None:
            return
        call = self.trace.calls[row]
        message = f"{one_line(call.tool, 60)} has two results: {_brief(shown.payload)}, and later {_brief(payload)}"
        self.note(finding("conflicting_results", message, steps=(call.step,), locators=(self._locator(spot),)))
        self.block(call, "conflicting_results", message)
        self.result_count += 1

    def _orphan(self, lane: Lane, recorded_id: str | None, tool: str, payload: Payload | None, spot: Spot) -> None:
        step = self.step(StepKind.TOOL_RESULT, spot, name=tool, agent=lane.agent, payload=payload)
        name = recorded_id or f"step {step}"
        self.orphan_results.append(name)
        self.result_count += 1
        message = f"a result ({one_line(name, 60)}) answers no call that the evidence holds: {_brief(payload)}"
        self.note(finding("orphan_result", message, steps=(step,), locators=(self._locator(spot),)))
        self.gap("orphan_result", message, spot)

    def _ambiguous(self, batch: Batch) -> None:
        calls = [self.trace.calls[row] for row in batch.take_fresh()]
        if not calls:
            return
        names = ", ".join(f"{c.occurrence} {one_line(c.tool, 40)}" for c in calls[:_NAMED])
        more = f" and {len(calls) - _NAMED} more" if len(calls) > _NAMED else ""
        message = f"a result may answer any of {len(batch.calls)} calls ({names}{more}): no id tells which"
        for call in calls:
            self.block(call, "ambiguous_pairing", message)
        self.note(finding("ambiguous_pairing", message, steps=tuple(c.step for c in calls), basis=Basis.DERIVED))

    # histories ---------------------------------------------------------------------------------------------------

    def feed(self, lane: Lane, messages: Sequence[Message], spot: Spot, *, original: bool = False) -> None:
        """A prompt, or a list of messages that is itself the record (`original`). What the lane has been shown before
        is skipped by content; the rest becomes steps, in order."""
        first = original or not lane.fed
        known = _Seen(lane.history)
        entries = [self._feed_one(lane, known, message, spot, first, original) for message in messages]
        if known.left and not original:
            self._compacted(lane, spot, len(known.left))
        lane.history = entries
        lane.fed = True
        if lane.whole:
            self._check_shown(lane, spot)

    def _check_shown(self, lane: Lane, spot: Spot) -> None:
        """A prompt that repeats the whole conversation shows the result of every call that was asked for before it."""
        for row in lane.unshown:
            call = self.trace.calls[row]
            if call.turn >= 0:
                message = f"the model was asked on and not shown what {one_line(call.tool, 60)} returned"
                self._contradiction(row, message, spot)

    def _feed_one(
        self,
        lane: Lane,
        known: _Seen,
        message: Message,
        spot: Spot,
        first: bool,
        original: bool,  # noqa: FBT001
    ) -> Known:
        seen = known.take(message.key)
        if seen is not None:
            return seen
        place = _spot_of(message, spot)
        if message.says_model and original:
            return Known(message.key, self._say(lane, message, place))
        if message.says_model:
            turn = self._history_turn(lane, message, place, first=first)
            known.forget_turn(turn)
            return Known(message.key, turn)
        self._tell(lane, message, place)
        answers = frozenset(part.recorded_id for part in message.results if part.recorded_id)
        known.forget_answers(answers)
        return Known(message.key, NOWHERE, answers)

    def respond(self, lane: Lane, message: Message, spot: Spot, *, model: str = "") -> int:
        """What the model answered to the prompt that was fed; returns the turn's number."""
        turn = self._say(lane, message, _spot_of(message, spot), model)
        lane.history.append(Known(message.key, turn))
        return turn

    def _say(self, lane: Lane, message: Message, spot: Spot, model: str = "") -> int:
        turn = self.turn(lane, spot, text=message.text, model=model)
        for part in message.calls:
            self._ask(lane, turn, part, spot)
        for part in message.results:
            self._show_part(lane, part, spot)
        return turn

    def _ask(self, lane: Lane, turn: int, part: Part, spot: Spot) -> None:
        self.request(
            lane,
            turn,
            part.tool,
            part.recorded_id,
            part.payload,
            spot.down(part.pointer),
            boundary=part.boundary,
            server=part.server,
            tainted=part.tainted,
        )

    def _show_part(self, lane: Lane, part: Part, spot: Spot) -> None:
        self.show(
            lane,
            part.recorded_id,
            part.tool,
            part.payload,
            spot.down(part.pointer),
            failed=part.failed,
            denied=part.denied,
            unsettled=part.unsettled,
            tainted=part.tainted,
        )

    def _tell(self, lane: Lane, message: Message, spot: Spot) -> None:
        """A message that is not the model's: results first to their calls, the rest as a step of its role."""
        for part in message.results:
            self._show_part(lane, part, spot)
        if message.text is not None or not message.results:
            self.step(message.step_kind, spot, name=message.name, agent=lane.agent, payload=message.text)

    def _history_turn(self, lane: Lane, message: Message, spot: Spot, *, first: bool) -> int:
        """A model message that a prompt shows and that no turn of this lane said in these words."""
        rows = [self._known_call(lane, part) for part in message.calls]
        asked = [row for row in rows if row >= 0]
        if asked and all(self.trace.calls[row].turn >= 0 for row in asked):
            self._compare_copy(message, rows, spot)
            if lane.whole:
                self._compare_turn(message, asked, spot)
            return self.trace.calls[asked[0]].turn
        if lane.silent >= 0:
            return self._fill_silent_turn(lane, message, spot)
        if not first and self.spans_are_complete and not self._same_text(lane, message):
            self.gap("evidence_gap", "a prompt shows a model turn that has no record of its own", spot)
        ran = any(row >= 0 and self.trace.calls[row].executed is not None for row in rows)
        if first and ran and not self.spans_are_complete:
            self.gap("evidence_gap", "a call ran in this trace, and the turn that asked for it has no record", spot)
        turn = self._adopt(lane, message, rows, spot)
        if first:
            self._inherited.add(turn)
        return turn

    def _known_call(self, lane: Lane, part: Part) -> int:
        """The call of the lane that a history copy speaks of: by id, else an unasked one by tool and arguments."""
        held = lane.calls.get(part.recorded_id or "", [])
        for row in reversed(held):
            return row
        for row in lane.unasked:
            ran = self.trace.calls[row]
            if ran.tool == part.tool and ran.requested is None and _args_fit(part.payload, ran.arguments):
                return row
        return NOWHERE

    def _compare_copy(self, message: Message, rows: list[int], spot: Spot) -> None:
        for part, row in zip(message.calls, rows, strict=True):
            if row < 0:
                self.gap(
                    "evidence_gap",
                    f"a prompt shows a call of {one_line(part.tool, 60)} that the turn's own record lacks",
                    spot,
                )
                continue
            call = self.trace.calls[row]
            asked = call.requested
            if asked is None or asked.payload is None or part.payload is None:
                continue
            if call.tool != part.tool or compare_arguments(asked.payload, part.payload).contradicts:
                message_text = f"the model's own record of {one_line(call.tool, 60)} says {_brief(asked.payload)}, a later prompt says {_brief(part.payload)}"
                self._contradiction(row, message_text, spot.down(part.pointer))

    def _compare_turn(self, message: Message, asked: list[int], spot: Spot) -> None:
        """A copy of a turn says what the turn said, and asks for all that it asked for."""
        turn = self.trace.calls[asked[0]].turn
        for row, call in enumerate(self.trace.calls):
            if call.turn == turn and row not in asked:
                told = f"a later prompt leaves out that the model asked for {one_line(call.tool, 60)}"
                self._contradiction(row, told, spot)
        said, copy = self.trace.payload[self._turn_rows[turn]], message.text
        if said is not copy and (said is None or copy is None or agree(said, copy) is None):
            told = f"the turn's own record says {_brief(said)}, a later prompt says {_brief(copy)}"
            self._contradiction(asked[0], told, spot)

    def _fill_silent_turn(self, lane: Lane, message: Message, spot: Spot) -> int:
        """The output of a turn was not captured; the next prompt shows what it said."""
        if lane.whole and (message.calls or message.text is not None):
            self.gap("evidence_gap", "a later prompt shows what a turn said whose own record says nothing", spot)
        turn, lane.silent = lane.silent, NOWHERE
        self.trace.silent_turns.remove(turn)
        self._asked_in[turn] = 0
        rows = [self._known_call(lane, part) for part in message.calls]
        for part, row in zip(message.calls, rows, strict=True):
            if row < 0:
                self._ask(lane, turn, part, spot)
            else:
                self._adopt_call(lane, row, turn, part, spot)
        return turn

    def _adopt(self, lane: Lane, message: Message, rows: list[int], spot: Spot) -> int:
        turn = self.turn(lane, spot, text=message.text)
        for part, row in zip(message.calls, rows, strict=True):
            if row < 0:
                self._ask(lane, turn, part, spot)
            else:
                self._adopt_call(lane, row, turn, part, spot)
        for part in message.results:
            self._show_part(lane, part, spot)
        return turn

    def _adopt_call(self, lane: Lane, row: int, turn: int, part: Part, spot: Spot) -> None:
        """A call that ran before anything said who asked for it, and that a prompt now shows as this turn's."""
        call = self.trace.calls[row]
        lane.unshown.remove(row)
        call.requested = Witness(part.payload, spot.place, spot.pointer + part.pointer, call.step)
        if row in lane.unasked:
            lane.unasked.remove(row)
        call.turn, call.index = turn, self._next_index(turn)
        if part.recorded_id and not call.recorded_id:
            call.recorded_id = part.recorded_id
            lane.calls.setdefault(part.recorded_id, []).append(row)
        lane.unshown.add(row)

    def _same_text(self, lane: Lane, message: Message) -> bool:
        """Whether the lane's last turn said these words (a record may keep the text and leave the calls out)."""
        if message.text is None or not lane.turns or message.calls or (lane.whole and self._asked_in[lane.turns[-1]]):
            return False
        wanted = text_of(message.text).strip()
        said = self.trace.payload[self._turn_rows[lane.turns[-1]]]
        return said is not None and text_of(said).strip() == wanted

    def _compacted(self, lane: Lane, spot: Spot, dropped: int) -> None:
        if lane.compacted:
            return
        lane.compacted = True
        message = f"a later prompt leaves out {dropped} messages that an earlier one showed: the history was compacted or rewritten"
        self.note(finding("compacted_history", message, locators=(self._locator(spot),), basis=Basis.DERIVED))
        if lane.whole:
            self.gap("compacted_history", message, spot)

    # the end -----------------------------------------------------------------------------------------------------

    def finish(self) -> Trace:
        """Say what can only be said at the end: ids used twice, calls never answered, executions never recorded."""
        self._duplicate_ids()
        for lane in self._lanes.values():
            if lane.whole:
                self._unasked_executions(lane)
        for call in self.trace.calls:
            self._missing_execution(call)
            self._unanswered(call)
            self._cut_result(call)
        self.trace.close()
        return self.trace

    def _duplicate_ids(self) -> None:
        steps: dict[str, list[int]] = {}
        for call in self.trace.calls:
            if call.recorded_id:
                steps.setdefault(call.recorded_id, []).append(call.step)
        for recorded_id, held in steps.items():
            if len(held) > 1:
                message = f"the call id {one_line(recorded_id, 60)} names {len(held)} different calls"
                self.note(finding("duplicate_call_id", message, steps=tuple(held)))

    def _unasked_executions(self, lane: Lane) -> None:
        """Where every turn is recorded, a tool of the agent's that ran was asked for."""
        for row in lane.unasked:
            call = self.trace.calls[row]
            if call.boundary is Boundary.TOOL and call.requested is None:
                message = f"{one_line(call.tool, 60)} ran, and none of the turns, which are all recorded, asked for it"
                self._contradiction(row, message, Spot(self.trace.place_of(call.step)))

    def _missing_execution(self, call: Call) -> None:
        """A format that records every execution, a call with a result, and no execution: the span is missing. What the
        first prompt already shows ran before this trace began."""
        inherited = call.turn in self._inherited
        if self.spans_are_complete and call.executed is None and call.shown is not None and not inherited:
            message = (
                f"the model asked for {one_line(call.tool, 60)} and the next prompt shows a result, "
                "but no tool span records the execution, which this format always writes"
            )
            self.note(finding("inconsistent_tuple", message, steps=(call.step,), basis=Basis.DERIVED))
            self.block(call, "inconsistent_tuple", message)

    def _unanswered(self, call: Call) -> None:
        if call.outcome is Outcome.ABSENT and call.absence is Absence.UNANSWERED:
            message = f"{one_line(call.tool, 60)} was asked for and no result is recorded"
            self.note(finding("unanswered_call", message, steps=(call.step,)))
            self.block(call, "unanswered_call", message)

    def _cut_result(self, call: Call) -> None:
        """A result that only a span recorded, and that an exporter cut: what the agent was given is not known. (What a
        prompt shows is what the model was given, cut or not.)"""
        told = call.returned.payload if call.returned is not None else None
        if told is None or (call.shown is not None and call.shown.payload is not None) or not says_it_was_cut(told):
            return
        message = f"the only record of the result of {one_line(call.tool, 60)} says that it was cut"
        self.note(finding("truncated_payload", message, steps=(call.step,)))
        self.block(call, "truncated_payload", message)

    # small things ------------------------------------------------------------------------------------------------

    def _contradiction(self, row: int, message: str, spot: Spot) -> None:
        call = self.trace.calls[row]
        fresh = not any(b.code == "inconsistent_tuple" for b in call.blocks)
        self.block(call, "inconsistent_tuple", message)
        if fresh:
            places = tuple(self._locator(s) for s in (Spot(self.trace.place_of(call.step)), spot))
            self.note(finding("inconsistent_tuple", message, steps=(call.step,), locators=places))

    def _tainted(self, call: Call, code: str) -> None:
        """A call whose own record says that it is not whole or contradicts itself: blocked, and said once. (Of keys
        that stand twice the reader has told already.)"""
        told = _TAINTS.get(code)
        if told is not None and not any(b.code == code for b in call.blocks):
            message = f"{one_line(call.tool, 60)}: {told}"
            self.note(finding(code, message, steps=(call.step,)))
        self.block(call, code, told or _TWO_WAYS)

    def block(self, call: Call, code: str, message: str) -> None:
        """Mark a call as not injectable, with the reason; each code once."""
        if not any(b.code == code for b in call.blocks):
            call.blocks = (*call.blocks, Block(code, message))

    def _locator(self, spot: Spot) -> Locator:
        return self.trace.places.locator(spot.place, spot.pointer)


class _Seen:
    """The messages that a lane has been shown, taken one by one as a later prompt repeats them."""

    def __init__(self, history: list[Known]) -> None:
        self._by_key: dict[bytes, list[Known]] = {}
        for entry in reversed(history):
            self._by_key.setdefault(entry.key, []).append(entry)

    def take(self, key: bytes) -> Known | None:
        held = self._by_key.get(key)
        if not held:
            return None
        entry = held.pop()
        if not held:
            del self._by_key[key]
        return entry

    def forget_turn(self, turn: int) -> None:
        """A later prompt tells this turn in other words: it was not left out."""
        self._forget(lambda entry: entry.turn == turn >= 0)

    def forget_answers(self, ids: frozenset[str]) -> None:
        """A later prompt answers these calls in other words: their answers were not left out."""
        if ids:
            self._forget(lambda entry: bool(entry.answers & ids))

    def _forget(self, told_again: Callable[[Known], bool]) -> None:
        for key, held in list(self._by_key.items()):
            kept = [entry for entry in held if not told_again(entry)]
            if kept:
                self._by_key[key] = kept
            else:
                del self._by_key[key]

    @property
    def left(self) -> list[Known]:
        return [entry for held in self._by_key.values() for entry in held]


_TWO_WAYS = "the record of this call can be read in two ways"
_TAINTS = {
    "truncated_payload": "the record of this call is cut",
    "redaction_damage": "a value of this call was replaced by a redaction mark",
    "inconsistent_tuple": "one message asks for this call twice, in two ways",
}
_OUTCOMES: dict[str, Outcome] = {
    "error": Outcome.FAILED,
    "denied": Outcome.DENIED,
    "pending": Outcome.INDETERMINATE,
    "unsettled": Outcome.INDETERMINATE,
}


def _said(*, failed: bool, denied: bool, unsettled: bool) -> Outcome:
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


def _spot_of(message: Message, record: Spot) -> Spot:
    """Where a message stands: its own place where the reader knows it, else that of its record."""
    place = message.place if message.place >= 0 else record.place
    return Spot(place, record.pointer + message.pointer, record.at)


def _args_fit(asked: Payload | None, ran: Payload | None) -> bool:
    if asked is None or ran is None:
        return True
    return not compare_arguments(asked, ran).contradicts


def _key(key: str) -> str:
    return one_line(key, 40) if key else "the whole value"


def _brief(payload: Payload | None) -> str:
    return "nothing" if payload is None else one_line(short_json(value_of(payload), 80), 80)
