"""How do a reader's events become one trace? Calls that the model asked for, that ran and that a prompt showed are
joined into one tuple each, and a history that prompts repeat is told once.

A reader walks its records in causal order and says what it sees: `turn`, `request`, `execute`, `show`, `feed`. It
never decides what belongs together; that is done here and in `tuples`, by one set of rules for every format.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from forensics.core.again import several_times
from forensics.core.agreement import agree, compare_arguments, may_say_cut, says_it_was_cut
from forensics.core.evidence import Basis
from forensics.core.executions import ExecutionBuilder
from forensics.core.findings import finding
from forensics.core.jsonvalue import text_of
from forensics.core.lanes import Execution, Known, Lane, Seen, Spot
from forensics.core.sanitise import one_line
from forensics.core.trace import NOWHERE, Absence, Boundary, Call, Outcome, Payload, Trace, Witness
from forensics.core.tuples import brief
from forensics.core.unsaid import may_name_an_object, object_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.messages import Message, Part

__all__ = ["Execution", "Lane", "Spot", "TraceBuilder"]


_TRIES = (
    100  # to find a turn under other ids, each of the length of a history, before a trace is taken not to have such
)

_TOGETHER = 64  # calls whose results are looked through together


class TraceBuilder(ExecutionBuilder):
    """Builds one trace. `spans_are_complete` says that the format records a span for every turn and every execution,
    so that a turn or an execution that only a prompt shows is a gap.
    """

    def feed(self, lane: Lane, messages: Sequence[Message], spot: Spot, *, original: bool = False) -> None:
        """A prompt, or a list of messages that is itself the record (`original`). What the lane has been shown before
        is skipped by content; the rest becomes steps, in order.
        """
        first = original or not lane.fed
        known = Seen(lane.history)
        entries = [self._feed_one(lane, known, message, spot, first=first, original=original) for message in messages]
        if known.left and not original:
            self._compacted(lane, spot, len(known.left))
        lane.history = entries
        lane.fed = True
        if lane.whole:
            self._check_shown(lane, spot)

    def _check_shown(self, lane: Lane, spot: Spot) -> None:
        """A prompt that repeats the whole conversation shows the result of every call that was asked for before it."""
        for row in lane.unshown.added():  # what was told of the others holds, however many prompts follow
            call = self._call(row)
            if call.turn >= 0:
                message = f"the model was asked on and not shown what {one_line(call.tool, 60)} returned"
                self._contradiction(row, message, spot)

    def _feed_one(self, lane: Lane, known: Seen, message: Message, spot: Spot, *, first: bool, original: bool) -> Known:
        seen = known.take(message.key)
        if seen is not None:
            return seen
        place = _spot_of(message, spot)
        if message.says_model and original:
            return Known(message.key, self._say(lane, message, place))
        if message.says_model:
            turn = self._history_turn(lane, known, message, place, first=first)
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
        self._note_media(message)
        turn = self.turn(lane, spot, text=message.text, model=model)
        for part in message.calls:
            self._ask(lane, turn, part, spot)
        for part in message.results:
            self._show_part(lane, part, spot)
        return turn

    def _note_media(self, message: Message) -> None:
        """What the message of the next step holds beside its text."""
        if message.media:
            media, step = self.trace.media, len(self.trace)
            media[step] = (*media.get(step, ()), *message.media)

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
            freeform=part.freeform,
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
        self._note_media(message)
        if message.text is not None or not message.results:
            self.step(message.step_kind, spot, name=message.name, agent=lane.agent, payload=message.text)

    def _history_turn(self, lane: Lane, known: Seen, message: Message, spot: Spot, *, first: bool) -> int:
        """A model message that a prompt shows and that no turn of this lane said in these words."""
        rows = [self._known_call(lane, part) for part in message.calls]
        if rows and max(rows) < 0 and not self.spans_are_complete:
            rows = self._under_other_ids(lane, known, message) or self._asked_elsewhere(lane, message, first=first)
        asked = [row for row in rows if row >= 0]
        if asked and all(self._call(row).turn >= 0 for row in asked):
            self._compare_copy(message, rows, spot)
            if lane.whole:
                self._compare_turn(message, asked, spot)
            return self.trace.calls[asked[0]].turn
        if lane.silent >= 0:
            return self._fill_silent_turn(lane, message, spot)
        if not first and self.spans_are_complete and not self._same_text(lane, message):
            self.gap("evidence_gap", "a prompt shows a model turn that has no record of its own", spot)
        ran = any(row >= 0 and self._call(row).executed is not None for row in rows)
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
            ran = self._call(row)
            if ran.tool == part.tool and ran.requested is None and _args_fit(part.payload, ran.arguments):
                return row
        return NOWHERE

    def _under_other_ids(self, lane: Lane, known: Seen, message: Message) -> list[int]:
        """The calls of the earliest turn that the prompt has not repeated yet, where only their ids differ: a library
        may show a call by another id than the one under which it was asked for.
        """
        if self._other_ids_failed >= _TRIES:
            return []
        turn = min((entry.turn for entry in known.left if entry.turn >= 0), default=NOWHERE)
        rows = list(self._by_turn.get(turn))
        if len(rows) != len(message.calls) or not all(map(self._asks_the_same, message.calls, rows)):
            self._other_ids_failed += 1
            return []
        for part, row in zip(message.calls, rows, strict=True):
            if part.recorded_id:
                lane.calls.put(part.recorded_id, row)
        return rows

    def _asks_the_same(self, part: Part, row: int) -> bool:
        call = self._call(row)
        return part.tool == call.tool and call.requested is not None and _say_alike(part, call.requested)

    def _asked_elsewhere(self, lane: Lane, message: Message, *, first: bool) -> list[int]:
        """The calls of a message that a lane begins with and that another lane asked for, by their ids: an agent that
        takes over is shown the conversation so far.
        """
        rows = [self._only_call(part.recorded_id) if first else NOWHERE for part in message.calls]
        for part, row in zip(message.calls, rows, strict=True):
            if row < 0 or self._call(row).tool != part.tool or row in lane.calls.get(part.recorded_id or "", ()):
                return [NOWHERE] * len(rows)
        for part, row in zip(message.calls, rows, strict=True):
            lane.calls.put(part.recorded_id or "", row)
            lane.unshown.add(row)
        return rows

    def _only_call(self, recorded_id: str | None) -> int:
        """The call of that id, where one alone has it."""
        rows = self._by_id.get(recorded_id) if recorded_id else ()
        return rows[0] if len(rows) == 1 else NOWHERE

    def _compare_copy(self, message: Message, rows: list[int], spot: Spot) -> None:
        for part, row in zip(message.calls, rows, strict=True):
            if row < 0:
                self.gap(
                    "evidence_gap",
                    f"a prompt shows a call of {one_line(part.tool, 60)} that the turn's own record lacks",
                    spot,
                )
                continue
            call = self._call(row)
            asked = call.requested
            if asked is None or asked.payload is None or part.payload is None:
                continue
            if call.tool != part.tool or compare_arguments(asked.payload, part.payload).contradicts:
                said, told = brief(asked.payload), brief(part.payload)
                story = f"the model's own record of {one_line(call.tool, 60)} says {said}, a later prompt says {told}"
                self._contradiction(row, story, spot.down(part.pointer))

    def _compare_turn(self, message: Message, asked: list[int], spot: Spot) -> None:
        """A copy of a turn says what the turn said, and asks for all that it asked for."""
        turn = self.trace.calls[asked[0]].turn
        for call in self.calls_of(turn):
            if call.row not in asked:
                told = f"a later prompt leaves out that the model asked for {one_line(call.tool, 60)}"
                self._contradiction(call.row, told, spot)
        said, copy = self.trace.payload[self._turn_rows[turn]], message.text
        if said is not copy and (said is None or copy is None or agree(said, copy) is None):
            told = f"the turn's own record says {brief(said)}, a later prompt says {brief(copy)}"
            self._contradiction(asked[0], told, spot)

    def calls_of(self, turn: int) -> list[Call]:
        """The calls of a turn, in the order in which they were noted."""
        rows = sorted({*self._by_turn.get(turn), *self._adopted.get(turn, ())})
        return [call for call in map(self._call, rows) if call.turn == turn]

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
        self.shown_turns.add(turn)
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
        call = self._call(row)
        lane.unshown.remove(row)
        call.requested = Witness(part.payload, spot.place, spot.pointer + part.pointer, call.step)
        if row in lane.unasked:
            lane.unasked.remove(row)
        call.turn, call.index = turn, self._next_index(turn)
        self._adopted.setdefault(turn, []).append(row)
        if part.recorded_id and not call.recorded_id:
            call.recorded_id = part.recorded_id
            lane.calls.put(part.recorded_id, row)
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
        message = f"a later prompt leaves out {dropped} messages that an earlier one showed: compacted or rewritten"
        self.note(finding("compacted_history", message, locators=(self._locator(spot),), basis=Basis.DERIVED))
        if lane.whole:
            self.gap("compacted_history", message, spot)

    # the end ---------------------------------------------------------------------------------------------------------

    def end_by(self, lane: Lane, row: int) -> None:
        """This call ended the run, as a record of the end says: no result of it is due, and one that comes all the same
        is an orphan. A call that something answered keeps its answer.
        """
        call = self._call(row)
        if not call.answered:
            lane.unshown.remove(row)
            call.absence = Absence.NOT_DUE

    def finish(self) -> Trace:
        """Say what can only be said at the end: ids used twice, calls never answered, executions never recorded."""
        self._duplicate_ids()
        self._missing_ids()
        self._nameless()
        for lane in self._lanes.values():
            if lane.whole:
                self._unasked_executions(lane)
        for call in map(self._call, self._to_look_at()):
            self._missing_execution(call)
            self._unanswered(call)
            self._cut_result(call)
            self._unsaid_result(call)
        self.trace.earlier_turns = frozenset(self._inherited)
        self.trace.close()
        return self.trace

    def _to_look_at(self) -> list[int]:
        """The calls that were not answered, whose result may say that it was cut or only name an object, or that were
        answered without an execution where every execution is recorded: of the others nothing more is to be said.
        """
        calls = self.trace.calls
        lacks = NOWHERE if self.spans_are_complete else None
        rows = [row for row, ran in enumerate(calls.column("executed")) if ran == lacks]
        unanswered = (call.row for call in calls.that_ended(Outcome.ABSENT))
        return sorted({*rows, *unanswered, *self._perhaps_untold()})

    def _perhaps_untold(self) -> Iterator[int]:
        """The calls beside which others are whose result, as a span tells it, may not be (all of) what was returned."""
        calls = self.trace.calls
        for start in range(0, len(calls), _TOGETHER):
            rows = range(start, min(start + _TOGETHER, len(calls)))
            told = [*filter(None, calls.records("returned", rows))]
            if may_say_cut(told) or may_name_an_object(told):
                yield from rows

    def _duplicate_ids(self) -> None:
        calls = self.trace.calls
        again = calls.rare("again_of")
        held = several_times(len(calls), self._recorded_ids)
        steps: dict[str, list[int]] = {}
        for row, recorded_id in enumerate(self._recorded_ids() if held else ()):
            if recorded_id in held and row not in again:
                steps.setdefault(recorded_id, []).append(self._call(row).step)
        for recorded_id, found in steps.items():
            if len(found) == 1:
                continue
            message = f"the call id {one_line(recorded_id, 60)} names {len(found)} different calls"
            self.note(finding("duplicate_call_id", message, steps=tuple(found)))

    def _recorded_ids(self) -> Iterator[str]:
        """The ids of the calls; "" for none."""
        calls = self.trace.calls
        for start in range(0, len(calls), _TOGETHER):
            rows = range(start, min(start + _TOGETHER, len(calls)))
            yield from (recorded_id or "" for recorded_id in calls.recorded_ids(rows))

    def _missing_ids(self) -> None:
        """Calls of a turn without an id, where others of the trace have one, or where one turn asked twice for a tool:
        only their order says which result is whose. Of those that it does not say it of, something else was said.
        """
        calls = self.trace.calls
        turns, tools = calls.column("turn"), calls.column("tool")
        told = enumerate(zip(turns, calls.column("id"), strict=True))
        without = [row for row, (turn, number) in told if number < 0 <= turn]
        if without and len(without) == sum(turn >= 0 for turn in turns):
            together = Counter((turns[row], tools[row]) for row in without)
            without = [row for row in without if together[turns[row], tools[row]] > 1]
        blocked = calls.rare("blocks")
        without = [row for row in without if row not in blocked]
        if without:
            message = f"{len(without)} of {len(calls)} calls have no id: they are paired by name and order"
            self.note(finding("missing_call_id", message, steps=tuple(self._call(row).step for row in without)))

    def _nameless(self) -> None:
        """Calls of no tool: what was done is not known, whatever came back, and another member may name it."""
        strings, tools = self.trace.strings, self.trace.calls.column("tool")
        blank = {number for number in set(tools) if not strings[number].strip()}
        rows = [row for row, number in enumerate(tools) if number in blank] if blank else []
        if rows:
            step = self._call(rows[0]).step
            message = f"{len(rows)} of {len(tools)} calls name no tool: what they did is not known"
            self.gap("evidence_gap", message, Spot(self.trace.place_of(step), self.trace.pointer_of(step)))

    def _unasked_executions(self, lane: Lane) -> None:
        """Where every turn is recorded, a tool of the agent's that ran was asked for."""
        for row in lane.unasked:
            call = self._call(row)
            if call.boundary is Boundary.TOOL and call.requested is None:
                message = f"{one_line(call.tool, 60)} ran, and none of the turns, which are all recorded, asked for it"
                self._contradiction(row, message, Spot(self.trace.place_of(call.step)))

    def _missing_execution(self, call: Call) -> None:
        """A format that records every execution, a call with a result, and no execution: the span is missing. What the
        first prompt already shows ran before this trace began.
        """
        inherited = call.turn in self._inherited
        if self.spans_are_complete and call.executed is None and call.shown is not None and not inherited:
            message = (
                f"the model asked for {one_line(call.tool, 60)} and the next prompt shows a result, "
                "but no tool span records the execution, which this format always writes"
            )
            self.note(finding("inconsistent_tuple", message, steps=(call.step,), basis=Basis.DERIVED))
            call.block("inconsistent_tuple", message)

    def _unanswered(self, call: Call) -> None:
        if call.outcome is Outcome.ABSENT and call.absence is Absence.UNANSWERED:
            message = f"{one_line(call.tool, 60)} was asked for and no result is recorded"
            self.note(finding("unanswered_call", message, steps=(call.step,)))
            call.block("unanswered_call", message)

    def _cut_result(self, call: Call) -> None:
        """A result that only a span recorded, and that an exporter cut: what the agent was given is not known. (What a
        prompt shows is what the model was given, cut or not.)
        """
        told = _only_recorded(call)
        if told is None or not says_it_was_cut(told):
            return
        message = f"the only record of the result of {one_line(call.tool, 60)} says that it was cut"
        self.note(finding("truncated_payload", message, steps=(call.step,)))
        call.block("truncated_payload", message)

    def _unsaid_result(self, call: Call) -> None:
        """A result that only a span recorded, as the name of an object: what was in it is not in the evidence."""
        told = _only_recorded(call)
        absence = None if told is None or call.outcome is not Outcome.RECORDED else object_named(told)
        if absence is not None:
            call.outcome, call.absence = Outcome.ABSENT, absence


def _only_recorded(call: Call) -> Payload | None:
    """What a call returned, where a span says it and no prompt shows it."""
    shown = call.shown.payload if call.shown is not None else None
    return call.returned.payload if call.returned is not None and shown is None else None


def _spot_of(message: Message, record: Spot) -> Spot:
    """Where a message stands: its own place where the reader knows it, else that of its record."""
    place = message.place if message.place >= 0 else record.place
    return Spot(place, record.pointer + message.pointer, record.at)


def _say_alike(part: Part, asked: Witness) -> bool:
    """Whether two records of a call give the same arguments."""
    if part.payload is None or asked.payload is None:
        return part.payload is asked.payload
    change = compare_arguments(asked.payload, part.payload)
    return not change.contradicts and not change.added


def _args_fit(asked: Payload | None, ran: Payload | None) -> bool:
    if asked is None or ran is None:
        return True
    return not compare_arguments(asked, ran).contradicts
