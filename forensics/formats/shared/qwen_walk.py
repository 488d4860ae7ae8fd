"""What does a session of Qwen Code tell, record by record? Messages, how each call ended, and what the harness notes.

For each tool that ran the harness notes an event, whoever asked for it. One of the agent's own tools repeats what its
messages say, and is compared with them; what the tools of a sub-agent did is told by these events alone.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Execution, Spot
from forensics.core.jsonvalue import canonical, value_of
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import Boundary, StepKind
from forensics.formats.shared.call_words import tells_of_a_tool
from forensics.formats.shared.entry_chain import EntryChain
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    fields_of,
    is_like_calls,
    items_in,
    object_in,
    present,
    text,
    whole_number,
)
from forensics.formats.shared.gemini_session import says_not_allowed
from forensics.formats.shared.messages.telling import Doubts, taint, tell
from forensics.formats.shared.messages.vocabulary import parse_message
from forensics.formats.shared.rewritten import note_rewritten
from forensics.formats.shared.server_names import mcp_server

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.messages import Message, Part
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.json_lines import JsonLine

TYPES = frozenset({"user", "assistant", "tool_result", "system"})
"""The types of records."""
_SURROUNDINGS = ("cwd", "sessionId")
_READ = frozenset({"message", "toolCallResult", "systemPayload"})
_READ_OF_MESSAGE = frozenset({"content", "parts"})
_READ_OF_RESULT = frozenset({"resultDisplay", "responseParts"})
_READ_OF_NOTE = {"agent_bootstrap": "history", "chat_compression": "compressedHistory", "ui_telemetry": "uiEvent"}
_SUB_AGENT = "task_execution"
_NOT_RUN = frozenset({"execution_denied"})
_TOOL_RAN, _API_FAILED = "tool_call", "api_error"
_ENDED = {"success": "ok", "error": "error", "cancelled": "unsettled"}
_BACK = "a person took the conversation back: what stands before was said all the same"
_PARTS_OF_A_SUB_AGENTS_ID = 3


class Session:
    """The walk over one session. `ran` and `asked` count tools with their arguments: those that the harness noted as
    run, and those that the agent's messages ask for. `ran_below` counts those that sub-agents ran, as the harness noted
    it, `shown_below` are those that a sub-agent's result shows.
    """

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.builder: TraceBuilder | None = None
        self.chain = EntryChain(build)
        self.doubts = Doubts()
        self.asked: Counter[bytes] = Counter()
        self.ids: set[str] = set()
        self.ran: list[tuple[bytes, str, Spot]] = []
        self.ran_below: Counter[str] = Counter()
        self.shown_below: list[tuple[str, Spot]] = []

    def line(self, one: JsonLine) -> None:
        """One record."""
        fields = one.fields
        spot = Spot(one.spot.place, "", nanoseconds(present(fields, "timestamp")))
        if self.builder is None:
            self.builder = self.build.trace(text(fields, "sessionId") or "session")
            self.builder.trace.surroundings = [fields[name] for name in _SURROUNDINGS if name in fields]
        if self.chain.is_again(text(fields, "uuid"), fields, spot, self.builder):
            return
        if not self.chain.follow(text(fields, "parentUuid")):
            self._gap("the record that this one follows is not in the file: what stood between is lost", spot)
        before = len(self.builder.trace.calls)
        self._record(fields, spot)
        taint(self.builder, one.tainted, spot, before)

    def close(self) -> None:
        """Say what can be said only at the end: which tools ran that no message asked for, and which calls of
        sub-agents no event tells.
        """
        self.build.counts.branches = self.chain.branches
        for key, tool, spot in self.ran:
            if self.asked[key] > 0:
                self.asked[key] -= 1
            else:
                self._gap(f"{one_line(tool, 60)} ran with arguments with which no message asked for it", spot)
        for tool, spot in self.shown_below:
            self.ran_below[tool] -= 1
            if self.ran_below[tool] < 0:
                self._gap(f"a sub-agent's result shows a call of {one_line(tool, 60)} of which no event tells", spot)

    def _trace(self) -> TraceBuilder:
        assert self.builder is not None  # noqa: S101 - the first line made it
        return self.builder

    def _gap(self, message: str, spot: Spot) -> None:
        self._trace().gap("evidence_gap", message, spot)

    # records -----------------------------------------------------------------------------------------------------

    def _record(self, fields: Fields, spot: Spot) -> None:
        kind, message = text(fields, "type"), present(fields, "message")
        if kind not in TYPES:
            self._gap(f"a record of a type that is not known ({one_line(kind or '(none)', 40)})", spot)
        if message is not None:
            self._said(fields, parse_message(message, "/message"), spot)
        elif kind == "system":
            told, note = object_in(fields, "systemPayload"), text(fields, "subtype")
            if note in _NOTES:
                self._look_through(told, frozenset({_READ_OF_NOTE.get(note)}), spot.down("/systemPayload"))
            _NOTES.get(note, Session.kept)(self, fields, spot)
        else:
            self._gap("a record of a message that has none: what was said is not in the file", spot)
        self._look_through(fields, _READ, spot)
        self._look_through(object_in(fields, "message"), _READ_OF_MESSAGE, spot.down("/message"))
        self._look_through(object_in(fields, "toolCallResult"), _READ_OF_RESULT, spot.down("/toolCallResult"))

    def _look_through(self, fields: Fields, read: frozenset[str | None], spot: Spot) -> None:
        """A gap where a member that is not read holds what looks like a call."""
        if any(is_like_calls(held) for name, held in fields.items() if name not in read):
            self._gap("what is not read of a record holds what looks like a call", spot)

    def _lane(self, fields: Fields) -> Lane:
        """The lane of the agent; in the file of a sub-agent each record names it."""
        agent = text(fields, "agentId")
        return self._trace().lane(agent, text(fields, "agentName") or agent)

    def _said(self, fields: Fields, message: Message, spot: Spot) -> None:
        ended = object_in(fields, "toolCallResult")
        lane, results = self._lane(fields), tuple(_ended(part, ended) for part in message.results)
        calls = tuple(msgspec.structs.replace(part, server=mcp_server(part.tool)) for part in message.calls)
        message = msgspec.structs.replace(message, calls=calls, results=results)
        if message.says_model:
            self._trace().respond(lane, message, spot, model=text(fields, "model"))
            self._count(object_in(fields, "usageMetadata"))
        else:
            tell(self._trace(), lane, (message,), spot)
        self.doubts.note(self._trace(), (message,), spot)
        for part in calls:
            self.ids.add(part.recorded_id or "")
            self.asked[_key(part.tool, part.payload)] += 1
        display, below = object_in(ended, "resultDisplay"), spot.down("/toolCallResult/resultDisplay/toolCalls")
        self.shown_below += [(text(fields_of(one), "name"), below) for one in items_in(display, "toolCalls")]
        if text(display, "type") == _SUB_AGENT:
            self._was_a_sub_agents(lane, text(ended, "callId"))

    def _was_a_sub_agents(self, lane: Lane, call: str) -> None:
        for row in lane.calls.get(call):
            self._trace().trace.calls[row].boundary = Boundary.SUB_AGENT

    def _count(self, usage: Fields) -> None:
        self.build.counts.input_tokens += whole_number(usage, "promptTokenCount")
        self.build.counts.output_tokens += whole_number(usage, "candidatesTokenCount")

    # what the harness notes --------------------------------------------------------------------------------------

    def kept(self, fields: Fields, spot: Spot) -> None:
        """What the harness keeps for itself: settings, titles, states of files."""
        kind = text(fields, "subtype")
        self._trace().step(StepKind.OTHER, spot, name=kind or "system")
        payload, told = fields.get("systemPayload", msgspec.Raw(b"null")), object_in(fields, "systemPayload")
        looks = any(map(is_like_calls, (payload, *told.values())))
        if kind not in _HARMLESS and (looks or tells_of_a_tool(kind, told)):
            what = one_line(kind or "(none)", 40)
            self._gap(f"a record of a kind that is not read ({what}) holds what looks like a call", spot)

    def compressed(self, fields: Fields, spot: Spot) -> None:
        """What the model is shown from here on: a summary, and some of the messages before it, which were told."""
        payload, below = object_in(fields, "systemPayload"), "/systemPayload/compressedHistory"
        step = self._trace().step(
            StepKind.SYSTEM, spot.down(below), name="chat_compression", payload=present(payload, "compressedHistory")
        )
        note_rewritten(self._trace(), step, spot)
        shown = (parse_message(one, "") for one in items_in(payload, "compressedHistory"))
        if any((part.recorded_id or "") not in self.ids for message in shown for part in message.calls):
            self._gap("a summary shows a call that no message before it asks for", spot.down(below))

    def rewound(self, fields: Fields, spot: Spot) -> None:
        """A person took the conversation back, and goes on from there."""
        step = self._trace().step(StepKind.OTHER, spot, name="rewind", payload=present(fields, "systemPayload"))
        note_rewritten(self._trace(), step, spot, _BACK)

    def seeded(self, fields: Fields, spot: Spot) -> None:
        """What an agent was shown of the conversation that it was forked from; its calls stand in another file."""
        payload = object_in(fields, "systemPayload")
        history = present(payload, "history")
        self._trace().step(
            StepKind.SYSTEM, spot.down("/systemPayload/history"), name="agent_bootstrap", payload=history
        )
        if history is not None and is_like_calls(history):
            self._gap("the agent was shown calls of the conversation that it was forked from", spot)

    def event(self, fields: Fields, spot: Spot) -> None:
        """An event: a tool ran, the model was asked, or could not be."""
        told, below = object_in(object_in(fields, "systemPayload"), "uiEvent"), spot.down("/systemPayload/uiEvent")
        kind = text(told, "event.name").rpartition(".")[2]
        if kind == _TOOL_RAN:
            self._ran(told, below)
            return
        step = StepKind.ERROR if kind == _API_FAILED else StepKind.OTHER
        self._trace().step(step, below, name=kind or "event", payload=present(told, "error", "error_message"))
        if is_like_calls(as_object(told)) or tells_of_a_tool(kind, told):
            self._gap("an event of a kind that is not known names a tool with its arguments", below)

    def _ran(self, told: Fields, spot: Spot) -> None:
        """A tool ran: the agent's own, or one of a sub-agent, of which nothing else tells."""
        tool, arguments = text(told, "function_name"), present(told, "function_args")
        agent = _sub_agent(text(told, "prompt_id"))
        if not agent:
            self.ran.append((_key(tool, arguments), tool, spot))
            return
        self.ran_below[tool] += 1
        status = _ENDED.get(text(told, "status"), "")
        error = present(told, "error") if status == "error" else None
        ran = Execution(tool, spot, arguments=arguments, error=error, status=status, end=spot.at)
        self._trace().execute(self._trace().lane(agent, agent), ran)


_NOTES: dict[str, Callable[[Session, Fields, Spot], None]] = {
    "chat_compression": Session.compressed,
    "rewind": Session.rewound,
    "agent_bootstrap": Session.seeded,
    "ui_telemetry": Session.event,
}
_HARMLESS = frozenset(
    {"attribution_snapshot", "branch_checkpoint", "custom_title", "file_history_snapshot", "session_approval_mode"}
    | {"session_model", "session_source", "parent_session", "user_text_elements"}
)
"""What says nothing of a tool, whatever the names of its members."""


def _key(tool: str, arguments: Payload | None) -> bytes:
    """A tool with its arguments, however they are spelled."""
    return canonical([tool, None if arguments is None else value_of(arguments)])


def _sub_agent(prompt: str) -> str:
    """The sub-agent whose round a prompt's id names: `<session>#<agent>#<round>`."""
    parts = prompt.split("#")
    return parts[1] if len(parts) == _PARTS_OF_A_SUB_AGENTS_ID and all(parts) else ""


def _ended(part: Part, ended: Fields) -> Part:
    """A result with what the harness notes of it: a call that was cancelled may have taken effect, unless somebody did
    not let it run.
    """
    status, payload = text(ended, "status"), part.payload
    refused = status == "cancelled" and payload is not None and says_not_allowed(payload)
    denied = refused or text(ended, "errorType") in _NOT_RUN
    return msgspec.structs.replace(
        part,
        failed=part.failed or denied or status == "error",
        denied=part.denied or denied,
        unsettled=status == "cancelled" and not denied,
    )
