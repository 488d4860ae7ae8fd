"""What does the plain event log say? One JSON object a line, the simplest thing to write by hand or from an own agent.

The vocabulary is that of CONTRACT.md ("The plain event log") with the synonyms seen in the field, as tables. A record
that is not known and may be a call, a result or a turn is a gap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Execution, Spot
from forensics.core.evidence import Basis, Severity
from forensics.core.jsonvalue import canonical, decode
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import NOWHERE, Boundary, StepKind
from forensics.formats.shared.fields import (
    as_object,
    fields_of,
    holds_a_call,
    is_like_calls,
    opens_with,
    present,
    says_each_key_once,
    text,
)
from forensics.formats.shared.line_fields import blocks_of_lines
from forensics.formats.shared.lines import bad_line, line_at
from forensics.formats.shared.plain_records import (
    DENIED,
    FAILED,
    ONLY_TRACE,
    STEP_KINDS,
    TRACE_NAMES,
    Plans,
    Record,
    damage_of,
    ending,
    kind_of,
)
from forensics.formats.shared.plain_shapes import Shapes
from forensics.formats.shared.plain_stretches import read_at_once, records_of
from forensics.formats.shared.wholeness import (
    UNSETTLED,
    arguments_damage,
    cut_short,
    ends_in_calls,
    finish_words,
    is_unfinished,
    result_damage,
)

if TYPE_CHECKING:
    from forensics.core.build import TraceBuilder
    from forensics.core.jsonvalue import Fault
    from forensics.core.messages import Doubt
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.fields import Fields
    from forensics.formats.shared.line_fields import Block
    from forensics.formats.shared.lines import Line, Span
    from forensics.formats.shared.messages.answers import Answer
    from forensics.formats.shared.plain_stretches import Records
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "event-log"
ABOUT = "plain event log: one JSON object a line with type user, model, tool_call, tool_result, approval, error"
CARRIES = "calls, arguments, results, approvals, order; ids and times where the writer gave them"
LACKS = "tool schemas, executions apart from results, model settings"
RERUN = "the schemas, the model's settings, and what its prompts held beyond the log"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_WHOLE_RECORD = frozenset({"approval_request", "approval", "handoff", "guardrail"})
_TELLING = frozenset({"call", "result", "approval", "approval_request"})
_FOREIGN = frozenset({"jsonrpc", "parentUuid", "payload", "request", "object", "data", "sessionId", "message"})
_HOLDERS = (b"{", b"[")
_FEW = 4  # records that are told one by one
_TRIES = 4  # to tell a stretch at once; where the last one was given up, one
_TWO_WAYS = "a record can be read in two ways: a key stands twice in it"


def sniff(look: Look) -> int:
    """How surely most of the first lines are events of a plain log."""
    known = [kind_of(fields) for fields in look.lines if not _FOREIGN & fields.keys()]
    told = [kind for kind in known if kind]
    if not told or len(told) * 2 < len(look.lines):
        return 0
    return 70 if _TELLING & set(told) else 40


def read(source: Source, build: EvidenceBuilder) -> None:
    """Walk the log line by line. Never raises: what can't be read is a bad line."""
    log = _Log(build)
    for block in blocks_of_lines(source):
        log.block(source, block)
    log.close()


class _Log:
    """The walk over one log; a `trace` field parts it into several runs."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.plans = Plans()
        self.shapes = Shapes(self.plans)
        self.tries = _TRIES
        self.to_call: list[tuple[TraceBuilder, int, Spot]] = []

    def block(self, source: Source, block: Block) -> None:
        """Tell a block of lines: what is usual in it at once, and the rest line by line."""
        self.build.counts.lines += len(block.numbers)
        places = self.build.places.add_lines(block.numbers, block.starts, block.lengths)
        for span, fields, place in zip(block.spans(), block.mixed, places, strict=False):
            self.line(source, span, fields, place)
        if block.fields:
            self.records(records_of(block, places, self.shapes))

    def records(self, records: Records) -> None:
        """Tell records that follow each other: what is usual among them at once."""
        for trace, part in records.parted():
            if trace is None or len(part.fields) < _FEW:
                self.one_by_one(part)
            else:
                self.stretch(trace, part)

    def stretch(self, trace: str, records: Records) -> None:
        """Tell records of one trace at once. One that is more than that is told by itself, and the rest at once again;
        where there are many such, as in a log without ids, the rest of the stretch is told one by one.
        """
        for _ in range(self.tries):
            odd = self.at_once(trace, records)
            if odd is None:
                self.tries = _TRIES
                return
            before, rest = records.part(0, odd), records.part(odd + 1, len(records.fields))
            if before.fields and self.at_once(trace, before) is not None:
                self.one_by_one(before)
            self.one_by_one(records.part(odd, odd + 1))
            records = rest
            if len(records.fields) < _FEW:
                break
        else:
            self.tries = 1
        self.one_by_one(records)

    def at_once(self, trace: str, records: Records) -> int | None:
        """Tell records at once; returns which of them is more than that, if one is, and then tells none."""
        stretch = read_at_once(records)
        builder = self.build.trace(trace)
        told = builder.tell_at_once(builder.lane("", records.agent()), stretch)
        if told < len(stretch.kinds):
            return records.row_of(told)
        self.build.counts.records += len(records.fields)
        return None

    def one_by_one(self, records: Records) -> None:
        for place, fields in zip(records.places, records.fields, strict=True):
            self.record(place, fields)

    def line(self, source: Source, span: Span, fields: Fields | None, place: int) -> None:
        """Tell one line."""
        if fields:
            self.record(place, fields)
        else:
            self._alone(line_at(source, span), place)

    def _alone(self, line: Line, place: int) -> None:
        """A line that was not told as fields that it says once: what is unusual in it is said."""
        fields = fields_of(line.data)
        if fields and says_each_key_once(fields, line.data):
            self.record(place, fields)
            return
        decoded = decode(line.data)
        if decoded.error is not None:
            bad_line(self.build, line, place, f"line {line.number} is no JSON: {decoded.error}")
        elif isinstance(decoded.value, dict):
            self.record(place, fields, self._faults(decoded.faults, Spot(place)))
        else:
            self._faults(decoded.faults, Spot(place))
            said = f"line {line.number} is JSON and no record: it may hold a call"
            self.build.bad_line(line.number, "dialect", said, Spot(place), Severity.MEDIUM)

    def record(self, place: int, fields: Fields, tainted: str | None = None) -> None:
        """Tell one record of the log."""
        self.build.counts.records += 1
        plan = self.plans.of(fields)
        trace, agent, at = plan["trace"], plan["agent"], plan["at"]
        builder = self.build.trace((text(fields, *trace) if trace else "") or ONLY_TRACE)
        lane = builder.lane("", text(fields, *agent) if agent else "")
        spot = Spot(place, "", nanoseconds(present(fields, *at)) if at else NOWHERE)
        record = Record(fields, plan, kind_of(fields), spot, builder, lane, tainted)
        if plan["flags"]:
            record.damage = damage_of(fields, plan["flags"])
        _RECORDS.get(record.kind, _Log.other)(self, record)

    def _faults(self, faults: tuple[Fault, ...], spot: Spot) -> str | None:
        tainted = self.build.faults(faults, spot)
        if tainted and any(fault.pointer in TRACE_NAMES for fault in faults):
            self.build.gap(tainted, "a record can be read as part of two runs", spot)
        return tainted

    def close(self) -> None:
        """Say which turns ended to call tools and were followed by no call."""
        builders = {id(builder): builder for builder, _, _ in self.to_call}
        asked = {(key, turn) for key, builder in builders.items() for turn in builder.trace.calls.column("turn")}
        for builder, turn, spot in self.to_call:
            if (id(builder), turn) not in asked:
                builder.gap("evidence_gap", cut_short(("tool_calls",), calls=False), spot)

    # the model ---------------------------------------------------------------------------------------------------

    def model(self, record: Record) -> None:
        if record.tainted:
            self._taint(record)
        answer = _told_in_parts(record) if record.plan["model_body"] or record.plan["model_calls"] else None
        turn = self._turn(record) if answer is None else self._answered(record, answer)
        if record.payload("model_tool") is not None:
            self._ask(record, turn)
        elif answer is None and record.names_arguments:
            _gap(record, "a model record that holds arguments and names no tool")
        for name in record.plan["unread"]:
            if bytes(record.fields[name])[:1] in _HOLDERS and is_like_calls(record.fields[name]):
                _gap(record, f"a model record whose member {one_line(name, 40)}, which is not read, looks like a call")
        if record.plan["finish"] or record.plan["status"]:
            self._ended(record, turn)

    def _turn(self, record: Record) -> int:
        said = record.payload("model_text")
        damage = record.damage or (None if said is None else result_damage(said))
        if damage:
            _gap(record, "what the model said is not whole", damage)
        model = record.text("model") if record.plan["model"] else ""
        return record.builder.turn(record.lane, record.spot, text=said, model=model)

    def _answered(self, record: Record, answer: Answer) -> int:
        """Tell an answer in parts; returns the number of its (last) turn."""
        from forensics.formats.shared.messages.telling import doubts_of, tell

        self._check(record)
        builder, lane, turn = record.builder, record.lane, NOWHERE
        before = len(builder.trace.calls)
        for message in answer.messages:
            if message.says_model:
                turn = builder.respond(lane, message, record.spot, model=record.text("model"))
            else:
                tell(builder, lane, (message,), record.spot)
            told = doubts_of(message) if message.pointer else message.doubts
            _doubt(record, *(msgspec.structs.replace(d, pointer=message.pointer + d.pointer) for d in told))
        _doubt(record, *answer.doubts)
        for call in builder.trace.calls[before:] if record.tainted else ():
            call.block(record.tainted or "", "the record of this call can be read in two ways")
        return turn if turn >= 0 else self._turn(record)

    def _ended(self, record: Record, turn: int) -> None:
        """A turn that ended to call tools may be followed by its calls; one that was cut is a gap."""
        words = finish_words(record.payload("finish"))
        status = record.text("status")
        why = cut_short((*words, "incomplete") if is_unfinished(status) else words, calls=True)
        if why:
            _gap(record, why)
        elif ends_in_calls(words):
            self.to_call.append((record.builder, turn, record.spot))

    # calls and results -------------------------------------------------------------------------------------------

    def call(self, record: Record) -> None:
        turns = record.lane.turns
        if record.plan["model_calls"]:
            _gap(record, "a record of one call that lists calls")
        self._ask(record, turns[-1] if turns else NOWHERE)

    def _ask(self, record: Record, turn: int) -> None:
        tool, arguments = record.text("call_tool"), record.payload("arguments")
        function = record.payload("function") if record.plan["function"] else None
        if function is not None and opens_with(function, b"{"):
            inner = fields_of(function)
            tool, arguments = text(inner, "name"), inner.get("arguments", arguments)
        damage = record.tainted or record.damage or (None if arguments is None else arguments_damage(arguments))
        row = record.builder.request(
            record.lane,
            turn,
            tool,
            record.text("call_id") or None,
            arguments,
            record.spot,
            server=(record.text("server") or None) if record.plan["server"] else None,
            tainted=damage,
        )
        _disposed(record, row)

    def result(self, record: Record) -> None:
        status = record.text("status").lower()
        error = record.payload("error")
        payload = record.payload("result")
        payload = error if payload is None else payload
        damage = record.tainted or record.damage or (None if payload is None else result_damage(payload))
        row = record.builder.show(
            record.lane,
            record.text("result_id") or record.text("own_id") or None,
            record.text("result_tool"),
            payload,
            record.spot,
            **ending(record.plan, record.fields, status, error),
            tainted=damage,
        )
        _disposed(record, row)

    def memory(self, record: Record) -> None:
        """A memory that is read or written is a boundary call; what it returned is there or was not captured."""
        self._taint(record)
        self._check(record)
        operation = record.text("operation")
        error = record.payload("error")
        status = _MEMORY_STATUS.get(record.text("status").lower(), "")
        ran = Execution(
            record.text("name") or (f"memory.{operation}" if operation else "memory"),
            record.spot,
            record.text("result_id") or None,
            record.payload("arguments") or record.rest(),
            record.payload("answer"),
            error,
            status or ("" if error is None else "error"),
            boundary=Boundary.MEMORY,
            server=record.text("server") or None,
            tainted=record.tainted or record.damage,
        )
        record.builder.execute(record.lane, ran)

    # the rest ----------------------------------------------------------------------------------------------------

    def spoken(self, record: Record) -> None:
        """What a person, the system or an error said, perhaps in blocks."""
        self._taint(record)
        content = record.payload("content")
        if content is not None and opens_with(content, b"[") and record.kind != "error":
            self._in_blocks(record, content)
            return
        if record.kind != "error" and (record.is_said_with_a_call or (content is not None and _is_call(content))):
            _gap(record, f"a record of the {record.kind} looks like a call")
        said = record.payload("said")
        self._step(record, record.whole() if said is None else said)

    def _in_blocks(self, record: Record, content: Payload) -> None:
        from forensics.formats.shared.messages.telling import tell
        from forensics.formats.shared.messages.vocabulary import parse_message

        self._check(record)
        body = {"role": msgspec.Raw(canonical(record.kind)), "content": content}
        message = parse_message(as_object(body), "")
        tell(record.builder, record.lane, (message,), record.spot)
        _doubt(record, *message.doubts)

    def whole(self, record: Record) -> None:
        """A record that is told with all that it says: an approval, a hand-off, a guardrail."""
        self._taint(record)
        self._check(record)
        self._step(record, record.says())

    def rerun(self, record: Record) -> None:
        """The head of a rerun that was written as a log: which trace it is a rerun of."""
        trace, source = record.builder.trace, record.text("rerun_of")
        if source:
            trace.rerun_of, trace.rerun_basis = source, Basis.RECORDED
        self.other(record)

    def output(self, record: Record) -> None:
        """What the run as a whole answered."""
        self._taint(record)
        self._check(record)
        if record.looks_like_a_call:
            _gap(record, "what the run answered looks like a call")
        said = record.payload("said")
        agent = record.lane.agent
        record.builder.step(StepKind.OTHER, record.spot, name="final output", agent=agent, payload=said)

    def other(self, record: Record) -> None:
        """An event that is not known: a step, and a gap where it may be more."""
        self._taint(record)
        self._check(record)
        name = record.text("type")
        if not record.has_a_type:
            _gap(record, "a record without a type")
        elif record.looks_like_a_call:
            _gap(record, f"a record of a type that is not known ({one_line(name, 40)}) looks like a call")
        record.builder.step(StepKind.OTHER, record.spot, name=name, agent=record.lane.agent, payload=record.whole())

    def _step(self, record: Record, payload: Payload) -> None:
        kind = STEP_KINDS[record.kind]
        record.builder.step(kind, record.spot, name=record.text("name"), agent=record.lane.agent, payload=payload)

    # keys that stand twice ---------------------------------------------------------------------------------------

    def _taint(self, record: Record) -> None:
        """Another reader may take a tainted record for a call, a result or a turn."""
        if record.tainted:
            _gap(record, _TWO_WAYS, record.tainted)

    def _check(self, record: Record) -> None:
        """Look for keys that stand twice inside the record, where it is read further than its own keys."""
        if record.tainted is None:
            record.tainted = self._faults(decode(record.whole()).faults, record.spot)
            self._taint(record)


def _disposed(record: Record, row: int) -> None:
    """What a rerun did with the call of that row, where the record says so."""
    if row >= 0 and record.plan["disposition"]:
        record.builder.trace.calls[row].disposition = record.text("disposition").lower() or None


def _told_in_parts(record: Record) -> Answer | None:
    """What the model said where it is more than a text: calls beside it, content blocks, a message or a response."""
    plan, fields = record.plan, record.fields
    if plan["model_calls"] or ("content" in fields and opens_with(fields["content"], b"[")):
        from forensics.formats.shared.messages.answers import Answer
        from forensics.formats.shared.messages.vocabulary import parse_message

        return Answer((parse_message(_as_assistant(record), ""),))
    for name in plan["model_body"]:
        value = fields[name]
        if opens_with(value, b"[") or (opens_with(value, b"{") and _is_call(value)):
            from forensics.formats.shared.messages.answers import read_answer

            return read_answer(value, f"/{name}")
    return None


def _as_assistant(record: Record) -> Payload:
    """The record as a message of the model."""
    fields = {k: v for k, v in record.fields.items() if k not in ("type", "kind", "status")}
    if "toolCalls" in fields and "tool_calls" not in fields:
        fields["tool_calls"] = fields.pop("toolCalls")
    if not {"content", "text"} & fields.keys() and (said := record.payload("model_text")) is not None:
        fields["content"] = said
    return as_object({**fields, "role": msgspec.Raw(b'"assistant"')})


def _is_call(value: Payload) -> bool:
    return not opens_with(value, b'"') and holds_a_call(value)


def _gap(record: Record, says: str, code: str = "evidence_gap") -> None:
    record.builder.gap(code, says, record.spot)


def _doubt(record: Record, *doubts: Doubt) -> None:
    for doubt in doubts:
        record.builder.gap(doubt.code, doubt.says, record.spot.down(doubt.pointer))


_MEMORY_STATUS = {
    **dict.fromkeys(FAILED, "error"),
    **dict.fromkeys(DENIED, "denied"),
    **dict.fromkeys(UNSETTLED, "unsettled"),
}
_Tell = Callable[[_Log, Record], None]
_RECORDS: dict[str, _Tell] = {
    "model": _Log.model,
    "call": _Log.call,
    "result": _Log.result,
    "memory": _Log.memory,
    "rerun": _Log.rerun,
    "output": _Log.output,
    **dict.fromkeys(("user", "system", "error"), _Log.spoken),
    **dict.fromkeys(_WHOLE_RECORD, _Log.whole),
}
