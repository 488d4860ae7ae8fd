"""What does a session of Copilot CLI tell, event by event? The walk over its event log.

Events form one chain by `parentId`, in the order of the file; each execution has a start and an end, and the turn that
asked for it names it by id. An event whose predecessor is not in the file is a gap (FORMATS section 7).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Execution, Lane, Spot
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import Boundary, Payload, StepKind
from forensics.formats.shared.call_words import tells_of_a_tool
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    call_marks,
    fields_of,
    holds_a_call,
    is_text,
    items_of,
    opens_with,
    present,
    text,
    whole_number,
)
from forensics.formats.shared.repeats import Repeats
from forensics.formats.shared.rewritten import note_rewritten
from forensics.formats.shared.wholeness import arguments_damage, result_damage

if TYPE_CHECKING:
    from forensics.core.build import TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.json_lines import JsonLine

_FIRST = "trace-0"
_REFUSED = ("denied", "reject", "declin", "cancel")
_TOLD_ELSEWHERE = ("hook.", "permission.", "tool.execution_p", "assistant.", "session.", "command", "pending_", "mcp.")
"""How events begin that repeat what others say, or speak of the program: they are not looked through for calls."""


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event: its type, its data, and whose it is."""

    kind: str
    data: Fields
    spot: Spot
    lane: Lane
    tainted: str | None


class _Running(msgspec.Struct):
    """A call that was started: its row, its lane, what is known of it, and whether it has ended."""

    row: int
    lane: Lane
    ran: Execution
    over: bool = False


class Session:
    """The walk over one session."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.builder: TraceBuilder | None = None
        self.seen = Repeats(build, "event")
        self.running: dict[str, _Running] = {}
        self.asked_for: dict[str, str] = {}
        self.denied: dict[str, Spot] = {}
        self.sub_agents: set[str] = set()
        self.named: dict[str, str] = {}
        self.lanes: dict[str, Lane] = {}
        self.model = ""
        self.aborted = False
        self.ended: bool | None = None

    # events ------------------------------------------------------------------------------------------------------

    def line(self, one: JsonLine) -> None:
        """One line of the log."""
        fields = one.fields
        spot = Spot(one.spot.place, "", nanoseconds(present(fields, "timestamp")))
        raw = present(fields, "data")
        data = fields_of(raw) if raw is not None and not is_text(raw) else {}
        kind = text(fields, "type")
        if self.builder is None:
            self.builder = self.build.trace(text(data, "sessionId") or _FIRST)
        if self.seen.is_again(text(fields, "id"), fields, spot, self._builder()):
            return
        self._check_chain(fields, spot)
        event = Event(kind, data, spot, self._lane(fields, data), one.tainted)
        _EVENTS.get(kind, Session.other)(self, event)

    def _builder(self) -> TraceBuilder:
        assert self.builder is not None  # noqa: S101 - the first line made it
        return self.builder

    def _check_chain(self, fields: Fields, spot: Spot) -> None:
        parent = text(fields, "parentId")
        if parent and parent not in self.seen:
            message = "the event that this one follows is not in the file: what stood between is lost"
            self._builder().gap("evidence_gap", message, spot)

    def _lane(self, fields: Fields, data: Fields) -> Lane:
        """The conversation of an event: the main agent's, or that of a sub-agent."""
        key = text(fields, "agentId") or text(data, "parentToolCallId", "parentAgentTaskId")
        return self._builder().lane(key, self.named.get(key, f"agent-{key}") if key else "")

    def _step(self, kind: StepKind, event: Event, name: str, *members: str, whole: bool = False) -> int:
        """A step with the first of these members of the event's data, with all of it, or without a text."""
        member = next((m for m in members if present(event.data, m) is not None), "")
        payload = as_object(event.data) if whole else present(event.data, member) if member else None
        spot = event.spot.down(f"/data/{member}" if member else "/data" if whole else "")
        return self._builder().step(kind, spot, name=name, agent=event.lane.agent, payload=payload)

    # the conversation --------------------------------------------------------------------------------------------

    def user(self, event: Event) -> None:
        """What a person said."""
        self._step(StepKind.USER, event, "", "content", "transformedContent")

    def system(self, event: Event) -> None:
        """What the harness told the model."""
        self._step(StepKind.SYSTEM, event, "", "content")

    def assistant(self, event: Event) -> None:
        """A model turn with the calls that it asks for."""
        builder, data = self._builder(), event.data
        said = present(data, "content")
        said = None if said is not None and bytes(said) == b'""' else said
        model = text(data, "model") or self.model
        turn = builder.turn(event.lane, event.spot.down("/data/content"), text=said, model=model)
        asked = present(data, "toolRequests")
        for index, item in enumerate(items_of(asked) if asked is not None else ()):
            self._ask(event, turn, fields_of(item), f"/data/toolRequests/{index}")
        hosted = present(data, "serverTools")
        if hosted is not None and any(name in fields_of(hosted) for name in ("items", "rawContentBlocks")):
            message = "the turn holds tools that the provider ran, in a form that is not read"
            builder.gap("evidence_gap", message, event.spot.down("/data/serverTools"))
        self._check(event)

    def _check(self, event: Event) -> None:
        """Calls that stand in another member of a turn, or in another shape than a list."""
        for name, held in event.data.items():
            listed = opens_with(held, b"[")
            if name == "toolRequests" or not (listed or opens_with(held, b"{")):
                unread = name == "toolRequests" and not listed and bytes(held) != b"null"
            else:
                first = items_of(held)[:1] if listed else [held]
                unread = any(call_marks(fields_of(one)) for one in first)
            if unread:
                message = f"a member of a turn ({one_line(name, 40)}) looks like calls and is not read"
                self._builder().gap("evidence_gap", message, event.spot.down("/data"))

    def _ask(self, event: Event, turn: int, fields: Fields, pointer: str) -> None:
        self.lanes[text(fields, "toolCallId")] = event.lane
        arguments = present(fields, "arguments")
        damage = None if arguments is None else arguments_damage(arguments, freeform=text(fields, "type") == "custom")
        self._builder().request(
            event.lane,
            turn,
            text(fields, "name", "toolName"),
            text(fields, "toolCallId") or None,
            arguments,
            event.spot.down(pointer),
            server=text(fields, "mcpServerName") or None,
            tainted=event.tainted or damage,
        )

    # executions --------------------------------------------------------------------------------------------------

    def start(self, event: Event) -> None:
        """A tool begins to run."""
        data = event.data
        ran = Execution(
            text(data, "toolName", "name"),
            event.spot.down("/data/arguments"),
            text(data, "toolCallId") or None,
            present(data, "arguments"),
            ended=False,
            start=event.spot.at,
            server=text(data, "mcpServerName") or None,
            tainted=event.tainted,
        )
        row = self._builder().begin(event.lane, ran)
        self.running[text(data, "toolCallId") or f"row {row}"] = _Running(row, event.lane, ran)

    def complete(self, event: Event) -> None:
        """A tool has run, or was refused."""
        call_id = text(event.data, "toolCallId")
        known = self.running.get(call_id)
        if known is None or known.over:
            lane = self.lanes.get(call_id, event.lane)
            ran = Execution(self._tool(event, call_id), event.spot, call_id or None)
            known = _Running(self._builder().begin(lane, ran), lane, ran)
            self.running[call_id or f"row {known.row}"] = known
        known.over = True
        self._builder().end(known.lane, known.row, self._ended(event, known.ran, call_id))

    def _tool(self, event: Event, call_id: str) -> str:
        """The tool of an execution whose start is not recorded: its own word, or that of the turn that asked."""
        held = self.lanes.get(call_id, event.lane).calls.get(call_id, [])
        return text(event.data, "toolName") or (self._builder().trace.calls[held[-1]].tool if held else "tool")

    def _ended(self, event: Event, ran: Execution, call_id: str) -> Execution:
        data = event.data
        outcome, error = present(data, "result"), present(data, "error")
        inner = fields_of(outcome) if outcome is not None and opens_with(outcome, b"{") else {}
        result = present(inner, "content") if "content" in inner else outcome
        failed = bytes(data.get("success", b"true")) == b"false" or error is not None
        boundary = Boundary.SUB_AGENT if call_id in self.sub_agents else Boundary.TOOL
        pointer = "/data/result/content" if "content" in inner else "/data/result"
        return msgspec.structs.replace(
            ran,
            result=result,
            error=error,
            status=self._status(call_id, error, failed=failed),
            ended=True,
            end=event.spot.at,
            boundary=boundary,
            tainted=ran.tainted or event.tainted or (None if result is None else result_damage(result)),
            answer=event.spot.down(pointer if result is not None else "/data/error"),
        )

    def _status(self, call_id: str, error: Payload | None, *, failed: bool) -> str:
        """Whether a call was refused, failed or succeeded."""
        if not failed:
            return "ok"
        fields = fields_of(error) if error is not None and not is_text(error) else {}
        if call_id in self.denied or _refuses(text(fields, "code")):
            return "denied"
        return "error"

    def mcp_app(self, event: Event) -> None:
        """A call that an application of an MCP server made, not the model."""
        data = event.data
        ran = Execution(
            text(data, "toolName", "tool", "name") or "tool",
            event.spot.down("/data"),
            text(data, "toolCallId") or None,
            present(data, "arguments"),
            server=text(data, "serverName", "mcpServerName") or None,
        )
        row = self._builder().begin(event.lane, ran)
        self._builder().end(event.lane, row, self._ended(event, ran, text(data, "toolCallId")))

    def external(self, event: Event) -> None:
        """A tool that the program around the CLI runs: started as any other, and told here again."""
        call_id = text(event.data, "toolCallId")
        if call_id and call_id not in self.running:
            self.start(event)
        self._step(StepKind.OTHER, event, event.kind)

    # approvals and sub-agents ------------------------------------------------------------------------------------

    def permission(self, event: Event) -> None:
        """Somebody is asked to allow something."""
        raw = present(event.data, "permissionRequest")
        wanted = fields_of(raw) if raw is not None and not is_text(raw) else {}
        self.asked_for[text(event.data, "requestId")] = text(wanted, "toolCallId")
        self._step(StepKind.APPROVAL_REQUEST, event, text(wanted, "kind"), whole=True)

    def decided(self, event: Event) -> None:
        """What was asked for is allowed or refused."""
        raw = present(event.data, "result")
        kind = text(fields_of(raw), "kind") if raw is not None and not is_text(raw) else text(event.data, "result")
        call_id = text(event.data, "toolCallId") or self.asked_for.get(text(event.data, "requestId"), "")
        if call_id and _refuses(kind):
            self.denied[call_id] = event.spot
        self._step(StepKind.APPROVAL, event, kind, whole=True)

    def sub_agent(self, event: Event) -> None:
        """A sub-agent begins; what it does carries its id or that of the call that started it."""
        call_id = text(event.data, "toolCallId")
        name = text(event.data, "agentName", "agentDisplayName")
        self.sub_agents.add(call_id)
        if call_id and name:
            self.named.setdefault(call_id, name)
        self._step(StepKind.AGENT, event, name or event.kind)

    def handoff(self, event: Event) -> None:
        """The session goes on elsewhere, or came from there."""
        self._step(StepKind.HANDOFF, event, "handoff", whole=True)

    # the rest ----------------------------------------------------------------------------------------------------

    def session(self, event: Event) -> None:
        """The session begins or goes on."""
        self.build.dialect = text(event.data, "copilotVersion") or self.build.dialect
        self.model = text(event.data, "selectedModel", "newModel", "currentModel") or self.model
        self._step(StepKind.OTHER, event, event.kind)

    def rewritten(self, event: Event) -> None:
        """The history was summarised, cut or rewound: the events before it stand in the file all the same."""
        step = self._step(StepKind.OTHER, event, event.kind, "summaryContent")
        message = f"the history was rewritten ({event.kind}): from here on the model saw something else than all of it"
        note_rewritten(self._builder(), step, event.spot, message)

    def error(self, event: Event) -> None:
        """What went wrong."""
        self._step(StepKind.ERROR, event, text(event.data, "errorType") or "error", "message", "error")

    def abort(self, event: Event) -> None:
        """A person interrupted the agent."""
        self.aborted, self.ended = True, False
        self._step(StepKind.OTHER, event, "abort", "reason")

    def shutdown(self, event: Event) -> None:
        """The program ended."""
        self.ended = text(event.data, "shutdownType") != "error" and self.ended is not False
        self._step(StepKind.OTHER, event, event.kind)

    def usage(self, event: Event) -> None:
        """Tokens of one request."""
        self.build.counts.input_tokens += whole_number(event.data, "inputTokens")
        self.build.counts.output_tokens += whole_number(event.data, "outputTokens")
        self._step(StepKind.OTHER, event, event.kind)

    def other(self, event: Event) -> None:
        """An event that repeats others or speaks of the program; one that is not known may be more."""
        self._step(StepKind.OTHER, event, event.kind or "event")
        if event.kind.startswith(_TOLD_ELSEWHERE):
            return
        speaks = tells_of_a_tool(event.kind, event.data)
        if speaks or call_marks(event.data) or holds_a_call(as_object(event.data)):
            message = f"an event of a type that is not known ({one_line(event.kind, 40)}) looks like a call"
            self._builder().gap("evidence_gap", message, event.spot)

    # the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Tell what can be told only at the end: calls that were refused, or that were running when it ended."""
        if self.builder is None:
            return
        for call_id, spot in self.denied.items():
            if call_id not in self.running:
                self._never_ran(call_id, spot)
        for call_id, one in self.running.items():
            if not one.over:
                status = "denied" if call_id in self.denied else "unsettled" if self.aborted else ""
                self.builder.end(one.lane, one.row, msgspec.structs.replace(one.ran, status=status))
        self.builder.trace.ended_normally = self.ended

    def _never_ran(self, call_id: str, spot: Spot) -> None:
        lane = self.lanes.get(call_id)
        if lane is not None:
            call = self._builder().trace.calls[lane.calls[call_id][-1]]
            self._builder().execute(lane, Execution(call.tool, spot, call_id, status="denied"))


def _refuses(word: str) -> bool:
    return any(part in word.lower() for part in _REFUSED)


_Tell = Callable[[Session, Event], None]
_EVENTS: dict[str, _Tell] = {
    "user.message": Session.user,
    **dict.fromkeys(("system.message", "system.notification"), Session.system),
    "assistant.message": Session.assistant,
    "assistant.usage": Session.usage,
    "tool.execution_start": Session.start,
    "tool.execution_complete": Session.complete,
    "mcp_app.tool_call_complete": Session.mcp_app,
    "external_tool.requested": Session.external,
    "permission.requested": Session.permission,
    "permission.completed": Session.decided,
    "subagent.started": Session.sub_agent,
    "session.handoff": Session.handoff,
    **dict.fromkeys(("session.start", "session.resume", "session.model_change"), Session.session),
    **dict.fromkeys(
        ("session.compaction_complete", "session.truncation", "session.snapshot_rewind", "session.context_cleared"),
        Session.rewritten,
    ),
    **dict.fromkeys(("session.error", "subagent.failed", "model.call_failure"), Session.error),
    "abort": Session.abort,
    "session.shutdown": Session.shutdown,
}
