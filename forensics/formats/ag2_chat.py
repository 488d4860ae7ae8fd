"""What did agents say to one another in a chat of AG2, or of AutoGen before 0.4? The result of a chat, its history, or
the records of Who&When, which also keep logs of Magentic-One in that shape.

A role is that of one agent's view: what it said itself is the assistant's, what it was told the user's, whoever spoke.
The speaker is the name. Calls are told as such or stand in words (code that another agent runs, what a browser did): of
the latter no call is made, but a gap. What a record says of a mistake is somebody's judgement, and no evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import raw
from forensics.core.late import late
from forensics.core.trace import StepKind
from forensics.formats.shared.document_values import document_values
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    fields_of,
    is_text,
    items_in,
    items_of,
    opens_with,
    present,
    spelled,
    text,
    unread_calls,
)
from forensics.formats.shared.json_lines import json_values
from forensics.formats.shared.messages.telling import Doubts, taint, tell
from forensics.formats.shared.messages.vocabulary import parse_message
from forensics.formats.shared.walks import walk_evidence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.core.build import Lane, Spot, TraceBuilder
    from forensics.core.messages import Message
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "ag2-chat"
ABOUT = "AG2 and AutoGen before 0.4: results and histories of chats, and the records of Who&When"
CARRIES = "what each agent said; calls, arguments and results where agents have tools"
LACKS = "prompts, tool schemas, times; calls of agents that act in their words: code that ran, pages that were visited"
RERUN = "the prompts, the schemas, and what agents did in their words"
RECORDS_CALLS = False
SPANS_ARE_COMPLETE = False

_HISTORIES = ("history", "chat_history")
_LABELS = frozenset({"mistake_agent", "mistake_step", "ground_truth"})
_READ = _LABELS | {*_HISTORIES}
_READ_OF_A_MESSAGE = frozenset({"content", "function_call", "tool_calls"})
_READ_OF_AN_ANSWER = frozenset({"content", "tool_responses"})
_OF_A_RESULT = frozenset({"summary", "cost", "human_input"})
_NAMES = ("question_ID", "id")
_RESPONSES = "tool_responses"
_LOOKED_AT = 40
_PEOPLE = frozenset({"user", "human", "user_proxy", "userproxy", "admin"})
_PLAIN_ROLES = frozenset({"assistant", "user"})
_RESULTS = frozenset({"tool", "function"})
_RAN = late(rb'"\s*exitcode: -?\d+ \(')
_RAN_BELOW = late(rb"\\n\s*exitcode: -?\d+ \(")  # in what is said of it: behind a line of one's own, or quoted
_IN_WORDS = "calls of this chat stand in the words of its agents, and are not read"
_CODE_RAN = "code ran that stands only in the words of an agent"
_Value = tuple["Payload", "Spot", "str | None"]


def sniff(look: Look) -> int:
    """95 for a result or a record, 90 for messages that answer calls as only these libraries do."""
    shown = [look.document] if look.document is not None else [*look.lines, *look.items()]
    if any(_history_of(fields) for fields in shown):
        return 95
    listed = [fields_of(one) for one in (look.array or [])[:_LOOKED_AT]] if look.array else look.lines
    return 90 if any(_RESPONSES in fields and "role" in fields for fields in listed) else 0


def _history_of(fields: Fields) -> str:
    """The name of the member that holds the history of a chat; "" where none does."""
    name = next((one for one in _HISTORIES if one in fields), "")
    if not name or not opens_with(fields[name], b"["):
        return ""
    whose = _LABELS if name == _HISTORIES[0] else _OF_A_RESULT
    first = fields_of(next(iter(items_of(fields[name])), b""))
    return name if whose & fields.keys() and {"role", "content"} <= first.keys() else ""


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell the chats. Raises CorruptEvidenceError where none can be read."""
    walk_evidence(source, build, _Chats(build), json_values(source, build), "message of a chat")


class _Chats:
    """The chats of one evidence: each record and each result is one, and so is what stands loose."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self._number = 0
        self._names: set[str] = set()
        self._loose: list[_Value] = []
        self._doubts = Doubts()

    def document(self, source: Source, document: Document) -> None:
        """A chat, or a list of chats or messages."""
        fields = {} if opens_with(document.body, b"[") else fields_of(document.body)
        name = _history_of(fields)
        if name:
            listed = document_values(source, self.build, document, items_in(fields, name), f"/{name}")
            self.chat(fields, document.spot, listed)
        elif fields:
            self.line((document.body, document.spot, document.tainted))
        else:
            for one in document_values(source, self.build, document, items_of(document.body), ""):
                self.line(one)

    def line(self, one: _Value) -> None:
        """One value of the evidence: a chat, or a message of one."""
        value, spot, tainted = one
        fields = fields_of(value)
        name = _history_of(fields)
        if name:
            listed = ((item, spot.down(f"/{name}/{at}"), tainted) for at, item in enumerate(items_in(fields, name)))
            self.chat(fields, spot, listed)
        elif "role" in fields or "content" in fields:
            self._loose.append(one)
        else:
            self.build.unread("malformed_line", "a record that is no message of a chat", spot)

    def close(self) -> None:
        """Tell the messages that stood loose: they are one chat."""
        if self._loose:
            self._tell(self._begin({}), self._loose)

    def chat(self, fields: Fields, spot: Spot, messages: Iterable[_Value]) -> None:
        """One chat, with what stands beside its messages."""
        chat = self._begin(fields)
        prompts = present(fields, "system_prompt")
        for agent, prompt in _prompts_in(prompts) if prompts is not None else ():
            chat.builder.step(StepKind.SYSTEM, spot.down("/system_prompt"), agent=agent, payload=prompt)
        self._tell(chat, list(messages))
        if _LABELS & fields.keys():
            chat.builder.gap("evidence_gap", _IN_WORDS, spot)
        for name in unread_calls(fields, _READ):
            message = "what looks like calls beside the messages of a chat"
            chat.builder.gap("evidence_gap", message, spot.down(f"/{name}"))

    def _begin(self, fields: Fields) -> _Chat:
        name = text(fields, *_NAMES)
        if not name or name in self._names:  # two records of one question are two chats
            name = f"{name or 'chat'}-{self._number}"
        self._number += 1
        self._names.add(name)
        return _Chat(self.build.trace(name), self._doubts)

    def _tell(self, chat: _Chat, messages: list[_Value]) -> None:
        chat.look_at([fields_of(value) for value, _, _ in messages])
        for value, spot, tainted in messages:
            self.build.counts.records += 1
            chat.message(fields_of(value), spot, tainted)


class _Chat:
    """The messages of one chat on their way to the builder."""

    def __init__(self, builder: TraceBuilder, doubts: Doubts) -> None:
        self.builder = builder
        self._doubts = doubts
        self._asked: dict[str, Lane] = {}
        self._acts: set[str] = set()
        self._begun = False
        self._nameless = ""

    def look_at(self, messages: list[Fields]) -> None:
        """Who answers calls and who runs code speaks for a person, or for nobody. What says no name, as an agent's
        calls may, is said by the one other agent, where there is one.
        """
        self._acts = {_speaker(fields) for fields in messages if _answers(fields) or _ran_code(fields)}
        others = {text(fields, "name") for fields in messages} - self._acts - {""}
        self._nameless = others.pop() if len(others) == 1 else ""

    def message(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """Tell one message."""
        before = len(self.builder.trace.calls)
        first, self._begun = not self._begun, True
        speaker, message = _speaker(fields), _spoken(fields)
        if speaker in _PLAIN_ROLES and not text(fields, "name"):
            speaker = self._nameless or speaker
        if message.results:
            self._answer(message, spot)
        elif _ran_code(fields):
            self._step(StepKind.OTHER, message, speaker, spot)
        elif message.says_model and (message.calls or not (first or self._speaks_for_a_person(speaker))):
            self._turn(message, speaker, spot)
        else:
            self._step(StepKind.SYSTEM if message.role == "system" else StepKind.USER, message, speaker, spot)
        if _ran_code(fields) or _tells_of_code(fields):
            self.builder.gap("evidence_gap", _CODE_RAN, spot)
        self._doubts.note(self.builder, (message,), spot)
        for name in unread_calls(fields, _READ_OF_AN_ANSWER if _RESPONSES in fields else _READ_OF_A_MESSAGE):
            says = "what looks like calls in a member of a message that is not read"
            self.builder.gap("evidence_gap", says, spot.down(f"/{name}"))
        taint(self.builder, tainted, spot, before)

    def _speaks_for_a_person(self, speaker: str) -> bool:
        return spelled(speaker) in _PEOPLE or speaker in self._acts

    def _turn(self, message: Message, speaker: str, spot: Spot) -> None:
        lane = self.builder.lane(speaker, speaker)
        tell(self.builder, lane, (message,), spot)
        for part in message.calls:
            self._asked[part.recorded_id or ""] = lane

    def _answer(self, message: Message, spot: Spot) -> None:
        """What calls came back with, each to the agent that asked for it."""
        for part in message.results:
            lane = self._asked.get(part.recorded_id or "") or self.builder.lane("")
            at = spot.down(message.pointer + part.pointer)
            self.builder.show(lane, part.recorded_id, "", part.payload, at, failed=part.failed, tainted=part.tainted)

    def _step(self, kind: StepKind, message: Message, speaker: str, spot: Spot) -> None:
        self.builder.step(kind, spot.down("/content"), name=speaker, agent=speaker, payload=message.text)


# one message ---------------------------------------------------------------------------------------------------------


def _speaker(fields: Fields) -> str:
    """Who spoke: the name or, where a role is one, that role, without what it did (`Orchestrator (thought)`)."""
    role = text(fields, "role")
    told = role if role and role not in _PLAIN_ROLES | _RESULTS else text(fields, "name") or role
    return told.partition(" (")[0]


def _answers(fields: Fields) -> bool:
    """Whether a message answers calls of tools."""
    return _RESPONSES in fields or text(fields, "role") in _RESULTS


def _ran_code(fields: Fields) -> bool:
    """Whether a message is what came of code that ran."""
    return any(_RAN.match(one) for one in _said(fields))


def _tells_of_code(fields: Fields) -> bool:
    """Whether a message says, among other things, what came of code that ran."""
    return any(_RAN_BELOW.search(one) for one in _said(fields))


def _said(fields: Fields) -> list[Payload]:
    """The texts of a message, as they are written."""
    content = present(fields, "content")
    parts = [] if content is None else [content] if is_text(content) else items_of(content)
    said = [one if is_text(one) else present(fields_of(one), "text") for one in parts]
    return [one for one in said if one is not None]


def _spoken(fields: Fields) -> Message:
    """A message in the words that are read everywhere: whoever speaks and is no person does so as a model."""
    role = text(fields, "role")
    answers = items_in(fields, _RESPONSES)
    if answers:
        parts = [as_object({**fields_of(one), "type": raw("tool_result")}) for one in answers]
        told = parse_message(
            as_object({"role": raw("tool"), "content": msgspec.Raw(b"[" + b",".join(parts) + b"]")}), ""
        )
        placed = [msgspec.structs.replace(part, pointer=f"/{_RESPONSES}/{at}") for at, part in enumerate(told.results)]
        return msgspec.structs.replace(told, results=tuple(placed))
    known = role in _RESULTS or role in ("system", "human")
    return parse_message(as_object(fields if known else {**fields, "role": raw("assistant")}), "")


def _prompts_in(prompts: Payload) -> list[tuple[str, Payload]]:
    """The system prompts of a record, each with the agent whose it is ("": not said)."""
    return [("", prompts)] if is_text(prompts) else list(fields_of(prompts).items())
