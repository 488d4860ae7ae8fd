"""What does a Claude Code session tell, record by record? The walk over its records, whatever container held them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.findings import finding
from forensics.core.jsonvalue import text_of
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import NOWHERE, Payload, StepKind
from forensics.formats.shared.claude.hidden import hidden_in, suspect, unread_message
from forensics.formats.shared.claude.history import Again, Chain
from forensics.formats.shared.claude.hooks import Hooks
from forensics.formats.shared.claude.kinds import (
    AGENT_NEWS,
    API_ERROR,
    COMPACTIONS,
    CONTENT,
    CUT,
    LOCAL_COMMAND,
    STRUCTURED,
    SUB_AGENT_TOOLS,
    SYNTHETIC,
    WORDS,
    boundary,
    is_call,
    is_result,
)
from forensics.formats.shared.claude.lanes import MAIN, Lanes, Open, trace_id
from forensics.formats.shared.claude.lines import Record, read_line, read_record
from forensics.formats.shared.claude.outcomes import INTERRUPTION, outcome
from forensics.formats.shared.claude.tokens import Tokens
from forensics.formats.shared.fields import Fields, fields_of, is_text, is_true, present, text
from forensics.formats.shared.json_lines import faults_of
from forensics.formats.shared.messages.vocabulary import joined
from forensics.formats.shared.rewritten import note_rewritten
from forensics.formats.shared.server_names import mcp_server

if TYPE_CHECKING:
    from forensics.core.build import TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.lines import Line

_LARGE = 1 << 20  # bytes of a record that are named as large
_SURROUNDINGS = ("cwd", "gitBranch", "sessionId", "session_id")  # where the run began, as its first record says


class Session:
    """The walk over one session."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.builder: TraceBuilder | None = None
        self.early: list[tuple[Record, Spot]] = []
        self.lanes = Lanes()
        self.again = Again(build.places.text)
        self.chain = Chain()
        self.tokens, self.hooks = Tokens(build.counts), Hooks()
        self.ended: bool | None = None
        self.suspects: list[tuple[Payload, Spot]] = []

    # records -----------------------------------------------------------------------------------------------------

    def line(self, line: Line) -> None:
        """One line of the file: its records, and what of it can't be read."""
        build, data = self.build, line.data
        build.counts.lines += 1
        found = read_line(data)
        if found.error:
            place = build.places.add(line=line.number, offset=line.offset, length=len(data))
            code = "nul_padding" if found.nul else "malformed_line"
            what = "storage damage" if found.nul else "no JSON object"
            message = f"line {line.number} is {what} ({len(data)} bytes at offset {line.offset}): {found.error}"
            build.bad_line(line.number, code, message, Spot(place))
        for record in found.records:
            place = build.places.add(line=line.number, offset=line.offset + record.offset, length=record.length)
            self._note_size(record, Spot(place))
            self._record(record, Spot(place))
        if found.glued or (found.error and found.records):
            self._recovered(line, len(found.records))

    def item(self, raw: Payload, spot: Spot) -> None:
        """One message of a recording that is one document."""
        fields = fields_of(raw)
        wrapped = "direction" in fields and "message" in fields
        one = read_record(fields["message"] if wrapped else raw)
        if isinstance(one, str):
            self.build.gap("malformed_line", f"a message of the recording is no record: {one}", spot)
            return
        self._record(one, spot.down("/message") if wrapped else spot)

    def _recovered(self, line: Line, count: int) -> None:
        build = self.build
        build.counts.recovered_records += count
        place = build.places.add(line=line.number, offset=line.offset, length=len(line.data))
        message = f"line {line.number} is no JSON object; {count} records were read out of it"
        build.found(finding("recovered_record", message, locators=(build.places.locator(place),)))

    def _note_size(self, record: Record, spot: Spot) -> None:
        if record.length > _LARGE:
            size = f"{record.length / 1e6:.1f} MB"
            message = f"records of more than a megabyte, the first of {size}: images and long outputs stand in the file"
            self.build.once("large_payload", message, spot)

    def _record(self, record: Record, spot: Spot) -> None:
        """Tell a record; what stands before the first that names the session waits for its name."""
        self.build.counts.records += 1
        if self.builder is None:
            name = trace_id(record.fields)
            if not name:
                self.early.append((record, spot))
                return
            self._begin(name)
        self._tell(record, spot)

    def _begin(self, name: str) -> None:
        self.builder = self.build.trace(name)
        for record, spot in self.early:
            self._tell(record, spot)
        self.early.clear()

    def _tell(self, record: Record, spot: Spot) -> None:
        tainted = faults_of(record.faults, spot, self.build)
        fields, trace = record.fields, self.trace_builder().trace
        if not trace.surroundings and not trace.calls:
            trace.surroundings = [fields[name] for name in _SURROUNDINGS if name in fields]
        spot = Spot(spot.place, spot.pointer, nanoseconds(present(fields, "timestamp")))
        if self.again.is_again(record, self.lanes.wait_for):
            self.again.note(self.build.places.locator(spot.place, spot.pointer))
            self._suspect_again(record, spot)
            return
        if self.chain.note(record):
            self.tell_lost(spot)
        self._suspect(record, spot)
        _KINDS.get(record.kind, Session.bookkeeping)(self, record, spot, tainted)

    def tell_lost(self, spot: Spot) -> None:
        """The record that this one follows should stand in the file and does not."""
        message = "the record that this one follows is not in the file: what stood between is lost"
        self.trace_builder().gap("evidence_gap", message, spot)

    def _suspect_again(self, record: Record, spot: Spot) -> None:
        """The same of a record that stood before, unless that is known by its content too."""
        if record.content is None:
            self._suspect(record, spot, again=True)

    def _suspect(self, record: Record, spot: Spot, *, again: bool = False) -> None:
        """Note what may hold calls in a place that is not read, until all calls are told."""
        part = suspect(record, again=again)
        if part is not None:
            self.suspects.append((part, spot))
        unread = unread_message(record)
        if unread:
            self.trace_builder().gap("evidence_gap", unread, spot)

    def _tell_hidden(self) -> None:
        calls = self.trace_builder().trace.calls
        told, tools = {call.recorded_id or "" for call in calls}, {call.tool for call in calls}
        for part, spot in self.suspects:
            if hidden_in(part, told, tools):
                message = "a call or a result stands in a part of a record that is not read"
                self.trace_builder().gap("evidence_gap", message, spot)

    def _tell_disputed(self) -> None:
        builder = self.trace_builder()
        for call, spot in self.hooks.disputes(builder.trace.calls):
            message = f"a hook was told another result of {one_line(call.tool, 60)} than its result is"
            place = self.build.places.locator(spot.place, spot.pointer)
            builder.note(finding("inconsistent_tuple", message, steps=(call.step,), locators=(place,)))
            call.block("inconsistent_tuple", message)

    def close(self) -> None:
        """Tell what can be told only at the end."""
        if self.builder is None:
            if self.early:
                self._begin("session")
            else:
                return
        for one in self.lanes:
            self.end_turn(one)
        self.again.tell(self.build)
        self._tell_hidden()
        self._tell_disputed()
        self.build.counts.branches = self.chain.branches
        trace = self.trace_builder().trace
        trace.ended_normally = self.ended
        if self.chain.begins_elsewhere and not trace.calls:
            self.build.records_calls = False  # the calls of this run may stand in the file that holds its beginning

    def trace_builder(self) -> TraceBuilder:
        """The builder of the trace, which has begun."""
        assert self.builder is not None  # noqa: S101 - a record is told only after the trace has begun
        return self.builder

    # records that are told at once -------------------------------------------------------------------------------

    @property
    def begun(self) -> bool:
        """Whether it is known which session it is and where it began: until then each record may be the one that says
        so.
        """
        trace = None if self.builder is None else self.builder.trace
        return trace is not None and bool(trace.surroundings or trace.calls)

    # what the model said -----------------------------------------------------------------------------------------

    def assistant(self, record: Record, spot: Spot, tainted: str | None) -> None:
        """A piece of a model turn: texts and calls. What the harness said in the model's place is no turn."""
        calls = any(map(is_call, record.kinds))
        model = text(record.message, "model")
        if model == SYNTHETIC and not calls:
            self._synthetic(record, spot)
            return
        one = self.lanes.of(record, spot, self.trace_builder())
        key = text(record.message, "id") or text(record.fields, "requestId")
        if not key or key != one.message:
            self.end_turn(one)
            turn = self.trace_builder().turn(one.lane, spot, model=model)
            one.turn, one.message, one.texts, one.spot, one.asked = turn, key, [], spot, 0
            if key:
                self.trace_builder().trace.named_turns.add(turn)
        one.stop = text(record.message, "stop_reason") or one.stop
        self._say(one, record, spot, tainted)
        self.tokens.of_message(key, record.message)

    def _say(self, one: Open, record: Record, spot: Spot, tainted: str | None) -> None:
        content = record.content
        if content is not None and is_text(content):
            one.texts.append(content)
        for index, (kind, (raw, fields)) in enumerate(zip(record.kinds, record.blocks, strict=True)):
            at = spot.down(f"/message/content/{index}")
            if is_call(kind):
                self._ask(one, fields, at, tainted)
            elif is_result(kind):
                self._answer(one, fields, at, record.fields, tainted)
            else:
                one.texts.extend(_words(raw, fields))

    def _ask(self, one: Open, fields: Fields, spot: Spot, tainted: str | None) -> None:
        tool, call_id = text(fields, "name"), text(fields, "id") or None
        arguments = present(fields, "input")
        if call_id and self._asked_already(one, tool, call_id, arguments):
            return
        one.asked += 1
        row = self.trace_builder().request(
            one.lane,
            one.turn,
            tool,
            call_id,
            arguments,
            spot,
            boundary=boundary(tool, text(fields, "type")),
            server=mcp_server(tool),
            tainted=tainted,
        )
        if tool in SUB_AGENT_TOOLS and arguments is not None:
            step = self.trace_builder().trace.calls[row].step
            self.lanes.started(call_id or "", text(fields_of(arguments), "prompt"), step)

    def _asked_already(self, one: Open, tool: str, call_id: str, arguments: Payload | None) -> bool:
        """Whether an earlier piece of this turn asked for this very call."""
        calls = self.trace_builder().trace.calls
        held = (calls[row] for row in one.lane.calls.get(call_id, ()))
        return any(c.turn == one.turn and c.tool == tool and c.arguments == arguments for c in held)

    def end_turn(self, one: Open) -> None:
        """The turn of a lane has ended: what it said, and what it should have said."""
        if one.turn < 0:
            return
        builder = self.trace_builder()
        builder.words(one.turn, joined(one.texts))
        if one.stop == "tool_use" and not one.asked:
            builder.gap("evidence_gap", "the turn ended to call tools and shows none", one.spot)
        elif one.stop in CUT:
            builder.gap("evidence_gap", f"the model's output was cut ({one.stop})", one.spot)
        one.turn, one.stop, one.texts = NOWHERE, "", []

    def _synthetic(self, record: Record, spot: Spot) -> None:
        failed = is_true(record.fields, "isApiErrorMessage")
        kind = StepKind.ERROR if failed else StepKind.OTHER
        one = self.lanes.of(record, spot, self.trace_builder())
        self.trace_builder().step(kind, spot, name="synthetic", agent=one.lane.agent, payload=_said(record))

    # what the model was shown ------------------------------------------------------------------------------------

    def user(self, record: Record, spot: Spot, tainted: str | None) -> None:
        """What the model is shown: results to their calls, then what the person or the harness said."""
        one = self.lanes.of(record, spot, self.trace_builder())
        results = [index for index, kind in enumerate(record.kinds) if is_result(kind)]
        for index in results:
            at = spot.down(f"/message/content/{index}")
            self._answer(one, record.blocks[index][1], at, record.fields, tainted)
        said = _said(record)
        if said is None and results:
            return
        meta = is_true(record.fields, "isMeta")
        summary = is_true(record.fields, "isCompactSummary")
        name = "compact summary" if summary else "interruption" if _is_interruption(said) else "meta" if meta else ""
        kind = StepKind.SYSTEM if meta and not summary else StepKind.USER
        step = self.trace_builder().step(kind, spot, name=name, agent=one.lane.agent, payload=said)
        if summary:
            self._compacted(step, spot)

    def _answer(self, one: Open, fields: Fields, spot: Spot, marks: Fields, tainted: str | None) -> None:
        copy = present(marks, *STRUCTURED)
        told = outcome(fields, copy, marks)
        self.hooks.answered(text(fields, "tool_use_id"), copy)
        self.trace_builder().show(
            one.lane,
            text(fields, "tool_use_id") or None,
            "",
            present(fields, *CONTENT),
            spot,
            failed=told.failed,
            denied=told.denied,
            unsettled=told.unsettled,
            tainted=tainted,
        )

    def _compacted(self, step: int, spot: Spot) -> None:
        """The model goes on from a summary; the records before it stand in the file all the same."""
        builder = self.trace_builder()
        if not any(f.code == "compacted_history" for f in builder.trace.findings):
            note_rewritten(builder, step, spot)

    # everything else ---------------------------------------------------------------------------------------------

    def bookkeeping(self, record: Record, spot: Spot, tainted: str | None) -> None:
        """A record of the harness that the model is not shown: a step without text, so that nothing is lost."""
        del tainted
        name = record.kind or "record"
        self.trace_builder().step(StepKind.OTHER, spot, name=name, agent=MAIN)

    def system(self, record: Record, spot: Spot, tainted: str | None) -> None:
        """What the harness noted: errors of the API, compaction, hooks, commands."""
        del tainted
        subtype = text(record.fields, "subtype")
        failed = subtype == API_ERROR
        said = present(record.fields, "error", "content") if failed or subtype == LOCAL_COMMAND else None
        kind = StepKind.ERROR if failed else StepKind.OTHER
        step = self.trace_builder().step(kind, spot, name=subtype or "system", agent=MAIN, payload=said)
        if subtype in COMPACTIONS:
            self._compacted(step, spot)

    def attachment(self, record: Record, spot: Spot, tainted: str | None) -> None:
        """What the harness put before the model beside the conversation: files, reminders, queued prompts."""
        del tainted
        one = self.lanes.of(record, spot, self.trace_builder())
        shown = present(record.fields, "attachment")
        name = "attachment" if shown is None or is_text(shown) else text(fields_of(shown), "type") or "attachment"
        self.trace_builder().step(StepKind.SYSTEM, spot, name=name, agent=one.lane.agent, payload=shown)

    def progress(self, record: Record, spot: Spot, tainted: str | None) -> None:
        """News of a running tool; those of a sub-agent carry its own records."""
        raw = present(record.fields, "data")
        data = {} if raw is None or is_text(raw) else fields_of(raw)
        inner = present(data, "message")
        if text(data, "type") != AGENT_NEWS or inner is None or is_text(inner):
            name = text(data, "type") or "progress"
            self.trace_builder().step(StepKind.OTHER, spot, name=name, agent=MAIN)
            return
        one = read_record(inner)
        if isinstance(one, str) or one.kind not in ("user", "assistant"):
            self.build.gap("evidence_gap", "a sub-agent's record inside a progress line can't be read", spot)
            return
        self._sub_agent(record, data, one, spot.down("/data/message"), tainted)

    def _sub_agent(self, record: Record, data: Fields, inner: Record, spot: Spot, tainted: str | None) -> None:
        if self.again.is_again(inner, self.lanes.wait_for):
            self._suspect_again(inner, spot)
            self.trace_builder().step(StepKind.OTHER, spot, name=AGENT_NEWS, agent=MAIN)
            return
        marks = {name: record.fields[name] for name in ("parentToolUseID",) if name in record.fields}
        agent = {"agentId": data["agentId"]} if "agentId" in data else {}
        own = msgspec.structs.replace(inner, fields={**inner.fields, **marks, **agent}, aside=True)
        self._suspect(own, spot)
        _KINDS[own.kind](self, own, spot, tainted)

    def control(self, record: Record, spot: Spot, tainted: str | None) -> None:
        """A request between the harness and its client: a hook, a question for leave."""
        self.bookkeeping(record, spot, tainted)
        self.hooks.asked(record.fields, spot)

    def result(self, record: Record, spot: Spot, tainted: str | None) -> None:
        """The SDK's last word: whether the run ended well. Its text repeats the last turn."""
        self.bookkeeping(record, spot, tainted)
        failed = is_true(record.fields, "is_error")
        self.ended = not failed and text(record.fields, "subtype") == "success"
        self.tokens.of_run(record.fields)


_Tell = Callable[[Session, Record, Spot, "str | None"], None]
_KINDS: dict[str, _Tell] = {
    "assistant": Session.assistant,
    "user": Session.user,
    "system": Session.system,
    "progress": Session.progress,
    "attachment": Session.attachment,
    "control_request": Session.control,
    "result": Session.result,
}


# small things --------------------------------------------------------------------------------------------------------


def _words(raw: Payload, fields: Fields) -> list[Payload]:
    """The text of a block; media and encrypted reasoning have none."""
    if is_text(raw):
        return [raw]
    said = present(fields, *WORDS)
    return [said] if said is not None and bytes(said) != b'""' else []


def _said(record: Record) -> Payload | None:
    """The text of a message without its calls and results."""
    content = record.content
    if content is not None and is_text(content):
        return content
    return joined([said for raw, fields in record.blocks for said in _words(raw, fields)])


def _is_interruption(said: Payload | None) -> bool:
    return said is not None and text_of(said).startswith(INTERRUPTION)
