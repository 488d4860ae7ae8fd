"""What does a session of Kimi tell, record by record? The walk over its files, in the three forms that they have.

Kimi Code writes down an agent's steps as they happen and, at the end of a turn, its messages once more: those are
copies, which are looked through for a call that no step has. Kimi CLI wrapped each event in an envelope, those of
sub-agents too. A context holds messages, and between them notes of the harness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.jsonvalue import raw
from forensics.core.late import late
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import StepKind
from forensics.formats.shared.call_words import sounds_like_a_call, tells_of_a_tool
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    call_marks,
    fields_of,
    is_like_calls,
    is_true,
    items_of,
    names_a_tool,
    object_in,
    present,
    text,
    whole_number,
)
from forensics.formats.shared.kimi_steps import Asked, Steps, output_of
from forensics.formats.shared.messages.telling import Doubts, Offers, taint, tell
from forensics.formats.shared.messages.vocabulary import parse_message
from forensics.formats.shared.rewritten import note_rewritten

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.build import TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.json_lines import JsonLine

_MAIN = "main"
_BACK = "the conversation was cleared or taken back: what stands before was said all the same"
_ENDED_WELL = frozenset({"completed"})
_A_CALL_BELOW = late(rb'"(?:tool\.call|tool\.result|toolCallId|tool_call_id|ToolCall|ToolResult)"')
"""What this program writes for a call or a result, wherever it stands."""
_READ = frozenset({"event", "message", "tools", "result", "systemPrompt"})
_READ_OF_EVENT = frozenset({"args", "display", "part", "result"})
_READ_OF_MESSAGE = frozenset({"content", "toolCalls", "tool_calls"})
_READ_OF_PAYLOAD = frozenset({"event", "function", "return_value"})


class Session:
    """The walk over one file."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.builder: TraceBuilder = build.trace("session")
        self.agents: dict[str, Steps] = {}
        self.doubts, self.offers = Doubts(), Offers()
        self.asked_for: dict[str, str] = {}
        self.copied: list[tuple[str, Spot]] = []
        self.system = b""

    def line(self, one: JsonLine) -> None:
        """One record."""
        fields = one.fields
        before = len(self.builder.trace.calls)
        spot = Spot(one.spot.place, "", nanoseconds(present(fields, "time", "timestamp")))
        role, kind = text(fields, "role"), text(fields, "type")
        if not kind and role:
            self._message(role, fields, spot)
        elif not kind and "message" in fields:
            self._event(object_in(fields, "message"), spot.down("/message"), self.steps(""))
        else:
            _RECORDS.get(kind, Session.kept)(self, fields, spot)
            if kind in _RECORDS:
                self._look_through(fields, _READ, spot)
        taint(self.builder, one.tainted, spot, before)

    def close(self) -> None:
        """Say what can be said only at the end: which calls a copy has that no step asked for."""
        for steps in self.agents.values():
            steps.end(Spot(0), None)
        known = {name for steps in self.agents.values() for name in steps.known}
        for name, spot in self.copied:
            if name not in known:
                self._gap("a call that no step asks for is told elsewhere: in a copy, or as a request", spot)

    def steps(self, agent: str) -> Steps:
        """The steps of an agent; those of the main one have no name."""
        name = "" if agent == _MAIN else agent
        if name not in self.agents:
            self.agents[name] = Steps(self.builder, self.builder.lane(name, name))
        return self.agents[name]

    def _own(self, fields: Fields) -> Steps:
        return self.steps(text(fields, "agentId"))

    def _gap(self, message: str, spot: Spot) -> None:
        self.builder.gap("evidence_gap", message, spot)

    def _look_through(self, fields: Fields, read: frozenset[str], spot: Spot) -> None:
        """A gap where a member that is not read holds what looks like a call."""
        for name, held in fields.items():
            if name not in read and is_like_calls(held):
                self._gap(f"what looks like a call in a member that is not read ({one_line(name, 40)})", spot)

    def _step(self, kind: StepKind, name: str, payload: Payload | None, spot: Spot) -> int:
        return self.builder.step(kind, spot, name=name, payload=payload)

    # what every form has -----------------------------------------------------------------------------------------

    def kept(self, fields: Fields, spot: Spot) -> None:
        """What the harness keeps for itself."""
        kind = text(fields, "type")
        self._step(StepKind.OTHER, kind or "record", None, spot)
        held = as_object(fields)
        told = is_like_calls(held) or tells_of_a_tool(kind, fields) or _A_CALL_BELOW.search(bytes(held))
        if kind not in _HARMLESS and told:
            what = one_line(kind or "(none)", 40)
            self._gap(f"a record of a kind that is not read ({what}) holds what looks like a call", spot)
        elif not kind:
            self._gap("a record of no kind", spot)

    def _said(self, role: str, message: Payload, spot: Spot, steps: Steps) -> None:
        """A message that stands in the file as one."""
        told = parse_message(message, "")
        self._look_through(fields_of(message), _READ_OF_MESSAGE, spot)
        steps.end(spot, None)
        if told.says_model:
            self.builder.respond(steps.lane, told, spot, model=steps.model)
        else:
            tell(self.builder, steps.lane, (told,), spot)
        self.doubts.note(self.builder, (told,), spot)
        steps.known.update(part.recorded_id or "" for part in told.calls)
        if role not in _ROLES:
            self._gap(f"a message of a role that is not known ({one_line(role, 40)})", spot)

    def _count(self, usage: Fields) -> None:
        counts = self.build.counts
        counts.input_tokens += sum(
            whole_number(usage, *names)
            for names in (
                ("inputOther", "input_other"),
                ("inputCacheRead", "input_cache_read"),
                ("inputCacheCreation", "input_cache_creation"),
            )
        )
        counts.output_tokens += whole_number(usage, "output")

    # a context ---------------------------------------------------------------------------------------------------

    def _message(self, role: str, fields: Fields, spot: Spot) -> None:
        """A line of a context: a message, or what the harness notes between them."""
        if role == "_system_prompt":
            self._step(StepKind.SYSTEM, "", present(fields, "content"), spot.down("/content"))
        elif role in CONTEXT:
            self._step(StepKind.OTHER, role, None, spot)
            if is_like_calls(as_object(fields)):
                self._gap(f"a line of a context that is no message ({role}) holds what looks like a call", spot)
        else:
            self._said(role, as_object(fields), spot, self.steps(""))

    # Kimi Code ---------------------------------------------------------------------------------------------------

    def head(self, fields: Fields, _spot: Spot) -> None:
        """Which form the file has."""
        self.build.dialect = text(fields, "protocol_version") or None

    def profile(self, fields: Fields, spot: Spot) -> None:
        """How the agent is set up; the prompt of the system is told when it changes."""
        system = present(fields, "systemPrompt")
        if system is not None and bytes(system) != self.system:
            self.system = bytes(system)
            self._step(StepKind.SYSTEM, "", system, spot.down("/systemPrompt"))
        folder = present(object_in(fields, "environmentDisclosure"), "cwd")
        if folder is not None and not self.builder.trace.surroundings:
            self.builder.trace.surroundings = [folder]

    def offered(self, fields: Fields, spot: Spot) -> None:
        """The tools that the model is offered."""
        self.offers.note(self.builder, present(fields, "tools"), spot.down("/tools"))

    def asked(self, fields: Fields, _spot: Spot) -> None:
        """The model is asked."""
        self._own(fields).model = text(fields, "model")

    def appended(self, fields: Fields, spot: Spot) -> None:
        """A message of the conversation: a person's, or one that the harness put in."""
        message = object_in(fields, "message")
        role, origin = text(message, "role"), text(object_in(message, "origin"), "kind")
        steps = self._own(fields)
        if role == "user" and origin not in ("", "user"):
            steps.end(spot, None)
            said = output_of(present(message, "content"))
            self._look_through(message, frozenset(), spot.down("/message"))
            self._step(StepKind.SYSTEM, origin, said, spot.down("/message/content"))
        else:
            self._said(role, _as_chat(message), spot.down("/message"), steps)

    def loop(self, fields: Fields, spot: Spot) -> None:
        """What happens in a step."""
        told, steps, below = object_in(fields, "event"), self._own(fields), spot.down("/event")
        kind = text(told, "type")
        if kind == "step.begin":
            steps.begin(below)
        elif kind == "content.part":
            self._says(steps, told.get("part", raw("")), below.down("/part"))
        elif kind == "tool.call":
            by_agent = text(object_in(told, "display"), "kind") == "agent_call"
            call = Asked(text(told, "name"), text(told, "toolCallId"), present(told, "args"), by_agent)
            steps.asks(call, below.down("/args"))
        elif kind == "tool.result":
            result = object_in(told, "result")
            payload = output_of(present(result, "output"))
            at = below.down("/result/output")
            self._look_through(result, frozenset({"output"}), below.down("/result"))
            steps.gives(text(told, "toolCallId"), payload, at, failed=is_true(result, "isError"))
        elif kind == "step.end":
            steps.end(below, present(told, "finishReason"))
            self._count(object_in(told, "usage"))
        else:
            self._gap(f"an event of a step that is not known ({one_line(kind or '(none)', 40)})", spot)
        self._look_through(told, _READ_OF_EVENT, below)

    def _says(self, steps: Steps, part: Payload, spot: Spot) -> None:
        """A piece of what the model says; one of another kind may be a call."""
        steps.says(part, spot)
        fields = fields_of(part)
        if is_like_calls(part) or sounds_like_a_call(text(fields, "type"), named=names_a_tool(fields)):
            self._gap("a piece of what the model said looks like a call", spot)

    def again(self, fields: Fields, spot: Spot) -> None:
        """A message once more, at the end of a turn."""
        envelope = object_in(fields, "message")
        message = object_in(envelope, "message")
        self._look_through(envelope, frozenset({"message"}), spot.down("/message"))
        self._look_through(message, _READ_OF_MESSAGE, spot.down("/message/message"))
        told = parse_message(_as_chat(message), "/message/message")
        self.copied.extend((part.recorded_id or "", spot.down(part.pointer)) for part in told.calls)

    def compacted(self, fields: Fields, spot: Spot) -> None:
        """A summary that the model is shown instead of what was said before."""
        said = present(fields, "contextSummary", "summary")
        step = self._step(StepKind.SYSTEM, "summary", said, spot)
        note_rewritten(self.builder, step, spot)

    def back(self, fields: Fields, spot: Spot) -> None:
        """The conversation is cleared, or taken back."""
        step = self._step(StepKind.OTHER, text(fields, "type"), None, spot)
        note_rewritten(self.builder, step, spot, _BACK)

    def approved(self, fields: Fields, spot: Spot) -> None:
        """Somebody, or a rule, decided whether a call may run."""
        call, result = text(fields, "toolCallId"), object_in(fields, "result")
        self._decided(self._own(fields), call, text(result, "decision"), spot)

    def _decided(self, steps: Steps, call: str, decision: str, spot: Spot) -> None:
        if decision in ("rejected", "reject", "cancelled"):
            steps.denied.add(call)
        payload = raw({"call_id": call, "decision": _DECISIONS.get(decision, decision)})
        self._step(StepKind.APPROVAL, "", payload, spot)

    def spawned(self, fields: Fields, spot: Spot) -> None:
        """A call started another agent, whose steps stand in a file of its own."""
        self._step(StepKind.AGENT, text(fields, "subagentName"), None, spot)
        self.steps(text(fields, "callerAgentId", "parentAgentId")).is_sub_agents(text(fields, "parentToolCallId"))

    def ended(self, fields: Fields, spot: Spot) -> None:
        """A turn of the person's ended."""
        reason = text(fields, "reason")
        self.builder.trace.ended_normally = None if reason in _ENDED_WELL else False
        error = present(object_in(fields, "error"), "message")
        kind = StepKind.OTHER if error is None else StepKind.ERROR
        self._step(kind, "turn.ended", error, spot.down("" if error is None else "/error/message"))

    # Kimi CLI ----------------------------------------------------------------------------------------------------

    def _event(self, message: Fields, spot: Spot, steps: Steps) -> None:
        """An event in its envelope."""
        kind, payload = text(message, "type"), object_in(message, "payload")
        tell_event = _EVENTS.get(kind)
        below = spot.down("/payload")
        self._look_through(payload, _READ_OF_PAYLOAD, below)
        if tell_event is not None:
            tell_event(self, payload, below, steps)
            return
        self._step(StepKind.OTHER, kind or "event", None, spot)
        if call_marks(payload):
            self.copied.append((text(payload, "tool_call_id", "id"), below))
        if kind not in WIRE:
            self._gap(f"an event of a kind that is not known ({one_line(kind or '(none)', 40)})", spot)

    def prompted(self, payload: Fields, spot: Spot, steps: Steps) -> None:
        """What a person asked, at the beginning or in between."""
        steps.end(spot, None)
        self._step(StepKind.USER, "", output_of(present(payload, "user_input")), spot.down("/user_input"))

    def step_begins(self, _payload: Fields, spot: Spot, steps: Steps) -> None:
        """A step of the agent begins."""
        steps.begin(spot)

    def part(self, payload: Fields, spot: Spot, steps: Steps) -> None:
        """A piece of what the model thinks or says."""
        self._says(steps, as_object(payload), spot)

    def call(self, payload: Fields, spot: Spot, steps: Steps) -> None:
        """A call that the model asks for."""
        function = object_in(payload, "function")
        call = Asked(text(function, "name"), text(payload, "id"), present(function, "arguments"))
        steps.asks(call, spot.down("/function/arguments"))

    def result(self, payload: Fields, spot: Spot, steps: Steps) -> None:
        """What came of a call."""
        given = object_in(payload, "return_value")
        output, said = output_of(present(given, "output")), present(given, "message")
        told = said if output is None or bytes(output) == b'""' else output
        failed = is_true(given, "is_error")
        steps.gives(text(payload, "tool_call_id"), told, spot.down("/return_value"), failed=failed)

    def wants(self, payload: Fields, spot: Spot, _steps: Steps) -> None:
        """A call waits until somebody allows it."""
        call = self.asked_for[text(payload, "id")] = text(payload, "tool_call_id")
        told = raw({"id": text(payload, "id"), "call_id": call})
        self._step(StepKind.APPROVAL_REQUEST, text(payload, "action"), told, spot)

    def answered(self, payload: Fields, spot: Spot, steps: Steps) -> None:
        """Somebody allowed a call, or did not."""
        call = self.asked_for.get(text(payload, "request_id"), "")
        self._decided(steps, call, text(payload, "response"), spot)

    def status(self, payload: Fields, spot: Spot, _steps: Steps) -> None:
        """What the model read and wrote."""
        self._step(StepKind.OTHER, "StatusUpdate", None, spot)
        self._count(object_in(payload, "token_usage"))

    def summary(self, _payload: Fields, spot: Spot, _steps: Steps) -> None:
        """What was said before is replaced by a summary, which is not in the file."""
        step = self._step(StepKind.OTHER, "CompactionBegin", None, spot)
        note_rewritten(self.builder, step, spot)

    def piece(self, _payload: Fields, spot: Spot, _steps: Steps) -> None:
        """A piece of the arguments of a call, which belongs to the call before it."""
        self._gap("a piece of the arguments of a call stands apart from it", spot)

    def inner(self, payload: Fields, spot: Spot, steps: Steps) -> None:
        """An event of a sub-agent, which the call of its parent started."""
        parent = text(payload, "parent_tool_call_id", "task_tool_call_id")
        steps.is_sub_agents(parent)
        inner = self.steps(text(payload, "agent_id") or parent or "sub-agent")
        self._event(object_in(payload, "event"), spot.down("/event"), inner)


def _as_chat(message: Fields) -> Payload:
    """A message of Kimi Code as the chat API writes it: a call names its tool in a member of its own."""
    told = {_CHAT.get(name, name): held for name, held in message.items()}
    if "tool_calls" in told:
        calls = [bytes(_as_call(fields_of(one))) for one in items_of(told["tool_calls"])]
        told["tool_calls"] = msgspec.Raw(b"[" + b",".join(calls) + b"]")
    return as_object(told)


def _as_call(call: Fields) -> Payload:
    function: Fields = {name: call[name] for name in ("name", "arguments") if name in call}
    kept = {name: held for name, held in call.items() if name not in function}
    return as_object({**kept, "function": call.get("function", as_object(function))})


_CHAT = {"toolCalls": "tool_calls", "toolCallId": "tool_call_id"}
_ROLES = frozenset({"user", "assistant", "tool", "system"})
_DECISIONS = {"approve": "approved", "approve_for_session": "approved", "reject": "rejected", "cancelled": "rejected"}
CONTEXT = frozenset({"_system_prompt", "_checkpoint", "_usage"})
"""The roles of a context's lines that are no messages."""
_RECORDS: dict[str, Callable[[Session, Fields, Spot], None]] = {
    "metadata": Session.head,
    "profile.bind": Session.profile,
    "config.update": Session.profile,
    "llm.tools_snapshot": Session.offered,
    "llm.request": Session.asked,
    "context.append_message": Session.appended,
    "context.append_loop_event": Session.loop,
    "context.apply_compaction": Session.compacted,
    "context.clear": Session.back,
    "context.undo": Session.back,
    "agent.message.appended": Session.again,
    "permission.record_approval_result": Session.approved,
    "subagent.spawned": Session.spawned,
    "turn.ended": Session.ended,
}
_HARMLESS = frozenset(
    {"mcp.tools_discovered", "tools.register_user_tool", "tools.set_active_tools", "tools.unregister_user_tool"}
    | {"tools.reset_active_tools", "tools.update_store", "turn.prompt", "turn.steer", "agent.turn.started"}
    | {"interaction.request", "interaction.resolved", "task.started", "task.terminated", "subagent.started"}
    | {"subagent.completed", "subagent.failed", "agent.turn.ended", "usage.record", "prompt.completed"}
)
"""Records that name tools, or sound like one at work, and tell of no call that no other record tells."""
TYPES = frozenset(_RECORDS) | {"turn.prompt", "permission.set_mode", "usage.record", "runtime.set_binding"}
"""Types of records by which the file is known."""
_EVENTS: dict[str, Callable[[Session, Fields, Spot, Steps], None]] = {
    "TurnBegin": Session.prompted,
    "SteerInput": Session.prompted,
    "StepBegin": Session.step_begins,
    "ContentPart": Session.part,
    "ToolCall": Session.call,
    "ToolCallPart": Session.piece,
    "ToolResult": Session.result,
    "ApprovalRequest": Session.wants,
    "ApprovalResponse": Session.answered,
    "ApprovalRequestResolved": Session.answered,
    "StatusUpdate": Session.status,
    "CompactionBegin": Session.summary,
    "SubagentEvent": Session.inner,
}
WIRE = frozenset(_EVENTS) | {
    "TurnEnd", "StepInterrupted", "StepRetry", "CompactionEnd", "HookTriggered", "HookResolved", "HookRequest",
    "MCPLoadingBegin", "MCPLoadingEnd", "Notification", "PlanDisplay", "BtwBegin", "BtwEnd", "ToolCallRequest",
    "QuestionRequest",
}  # fmt: skip
"""The kinds of events in an envelope. A call that its client executes is asked for by an event of its own as well."""
