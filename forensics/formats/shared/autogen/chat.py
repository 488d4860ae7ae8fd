"""What did a team of AutoGen's agents do, message by message? What its agents said to one another, and the events of
each on its way to that: calls, their results, thoughts, code.

A person speaks as `user`, or was asked for input. What an agent said of which the tokens were counted is a turn of its
model. Of any other agent nothing tells what it did before it spoke.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Execution, Spot
from forensics.core.jsonvalue import raw, text_of
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import NOWHERE, StepKind
from forensics.formats.shared.autogen.words import read_words
from forensics.formats.shared.call_words import sounds_like_a_call
from forensics.formats.shared.fields import (
    Fields,
    call_marks,
    fields_of,
    is_like_calls,
    is_true,
    items_in,
    object_in,
    present,
    text,
    unread_calls,
    whole_number,
)
from forensics.formats.shared.messages.telling import taint
from forensics.formats.shared.wholeness import arguments_damage, result_damage

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload

_PERSON = "user"
_RAN_CODE = "code_execution"
PIECE = "ModelClientStreamingChunkEvent"
"""The type of a piece of what is said as a whole later."""


class Said(msgspec.Struct, frozen=True, gc=False):
    """One message: its fields, who sent it, and where it stands."""

    fields: Fields
    source: str
    spot: Spot


class Chat:
    """The messages of one run on their way to the builder."""

    def __init__(self, builder: TraceBuilder, build: EvidenceBuilder) -> None:
        self.builder = builder
        self.build = build
        self.asked: dict[str, Lane] = {}
        self._asked_by: dict[tuple[str, str], Lane] = {}
        self._pieces: dict[str, Spot] = {}
        self._answered: set[str] = set()
        self._people = {_PERSON}
        self._answering: dict[str, Spot] = {}
        self.tells_all: set[str] = set()
        self._acted: set[str] = set()
        self._thoughts: dict[str, Payload] = {}
        self._at = Spot(NOWHERE)
        self._code: dict[str, Payload] = {}

    def message(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """Tell one message or event."""
        before = len(self.builder.trace.calls)
        at = nanoseconds(present(fields, "created_at"))
        said = Said(fields, text(fields, "source"), Spot(spot.place, spot.pointer, at))
        self._at = said.spot
        kind = text(fields, "type")
        self._pieces.pop(said.source, None)
        _TELLS.get(kind, Chat.other)(self, said)
        for name in unread_calls(fields, _READ.get(kind, _NO_MEMBERS)) if kind in _TELLS else ():
            message = f"what looks like calls in a member that is not read ({one_line(name, 40)})"
            self.builder.gap("evidence_gap", message, said.spot)
        usage = object_in(fields, "models_usage")
        self.build.counts.input_tokens += whole_number(usage, "prompt_tokens")
        self.build.counts.output_tokens += whole_number(usage, "completion_tokens")
        taint(self.builder, tainted, spot, before)

    def close(self) -> None:
        """What a model thought last, and said nothing after; agents of which no event shows that they tell of calls."""
        for source, spot in self._answering.items():
            if source not in self.tells_all | self._acted:
                message = f"no event of {one_line(source, 40)} tells of a call, and some agents run code without any"
                self.builder.gap("evidence_gap", message, spot)
        self._answering = {}
        for source, spot in self._pieces.items():
            message = f"pieces of what {one_line(source, 40)} said, and the whole is not in the file"
            self.builder.gap("evidence_gap", message, spot)
        for source in self._code:
            message = f"{one_line(source, 40)} wrote code, and no event tells whether it ran"
            self.builder.gap("evidence_gap", message, self._at)
        self._pieces, self._code = {}, {}
        for source, thought in self._thoughts.items():
            self.builder.step(StepKind.OTHER, self._at, name="thought", agent=source, payload=thought)
        self._thoughts = {}

    def lane(self, agent: str) -> Lane:
        """The lane of an agent."""
        return self.builder.lane(agent, agent)

    # what was said -----------------------------------------------------------------------------------------------

    def said(self, said: Said) -> None:
        """A message of a person, of an agent's model, or of an agent of which no more is known."""
        content = present(said.fields, "content")
        if said.source in self._people or not len(self.builder.trace):
            self.builder.step(StepKind.USER, said.spot.down("/content"), payload=content)
        elif object_in(said.fields, "models_usage") or said.source in self._answering:
            self._turn(said, content)
        else:
            self._step(StepKind.OTHER, said, "message")
            self._untold(said)

    def shows_media(self, said: Said) -> None:
        """A message with pictures: no agent that is known by its model's words alone sends such."""
        self.said(said)
        if said.source not in self._people and len(self.builder.trace) > 1:
            self._untold(said)

    def _untold(self, said: Said) -> None:
        """Of an agent of another kind nothing tells what it did, unless an event did."""
        if said.source not in self._acted:
            message = f"what {one_line(said.source, 40)} did before it said this is not recorded"
            self.builder.gap("evidence_gap", message, said.spot)

    def _turn(self, said: Said, content: Payload | None, pointer: str = "/content") -> int:
        """A turn of an agent's model, with what it thought before."""
        self._answering.setdefault(said.source, said.spot)
        thought = self._thoughts.pop(said.source, None)
        if thought is not None:
            content = thought if content is None else raw(f"{text_of(thought)}\n{text_of(content)}")
        return self.builder.turn(self.lane(said.source), said.spot.down(pointer), text=content)

    def thinks(self, said: Said) -> None:
        """What a model thought goes with what it says or asks for next."""
        told = present(said.fields, "content")
        if said.source in self._thoughts:
            self._turn(said, None)
        if told is not None:
            self._thoughts[said.source] = told

    def is_asked(self, said: Said) -> None:
        """A person is asked for input under this name."""
        self._people.add(said.source)

    def hands_over(self, said: Said) -> None:
        """An agent gives the word to another one, perhaps with what its model was shown."""
        self._step(StepKind.HANDOFF, said, text(said.fields, "target"))
        for at, item in enumerate(items_in(said.fields, "context")):
            told = read_words(item, f"/context/{at}")
            if any(part.recorded_id not in self.asked for part in told.calls):
                message = "a hand-over shows calls that no event tells of"
                self.builder.gap("evidence_gap", message, said.spot.down(told.pointer))

    def notes(self, said: Said) -> None:
        """What a team or an agent notes for itself."""
        self._step(StepKind.OTHER, said, text(said.fields, "type"))

    def other(self, said: Said) -> None:
        """A message of a type that is not known; agents may have their own."""
        kind = text(said.fields, "type")
        if not said.source or sounds_like_a_call(kind, named=True) or call_marks(said.fields) or _holds_calls(said):
            message = f"a message of the type {one_line(kind or '(none)', 40)}, which may be a call"
            self.builder.gap("evidence_gap", message, said.spot)
            self.notes(said)
        else:
            self.said(said)

    def passes(self, said: Said) -> None:
        """A piece of what is said as a whole later."""
        self._pieces[said.source] = said.spot

    def _step(self, kind: StepKind, said: Said, name: str) -> None:
        content = present(said.fields, "content")
        self.builder.step(kind, said.spot.down("/content"), name=name, agent=said.source, payload=content)

    # calls -------------------------------------------------------------------------------------------------------

    def asks(self, said: Said) -> None:
        """What an agent's model asked for."""
        self._ask(said, "content", self._turn(said, None, ""))

    def _ask(self, said: Said, member: str, turn: int) -> None:
        self.tells_all.add(said.source)
        lane = self.lane(said.source)
        for at, item in enumerate(items_in(said.fields, member)):
            call = fields_of(item)
            name, arguments = text(call, "id"), present(call, "arguments")
            if name and name in self.asked and member != "content":
                continue
            damage = None if arguments is None else arguments_damage(arguments)
            spot = said.spot.down(f"/{member}/{at}")
            self.builder.request(lane, turn, text(call, "name"), name or None, arguments, spot, tainted=damage)
            if name:
                self.asked[name] = self._asked_by[said.source, name] = lane

    def shows(self, said: Said) -> None:
        """What calls came back with."""
        self._show(said, "content")

    def _show(self, said: Said, member: str) -> None:
        for at, item in enumerate(items_in(said.fields, member)):
            self.show(fields_of(item), said.spot.down(f"/{member}/{at}"), said.source)

    def show(self, result: Fields, spot: Spot, agent: str) -> None:
        """What one call came back with; one that is shown again must say the same."""
        name, content = text(result, "call_id"), present(result, "content")
        self._answered.add(name)
        self.builder.show(
            self._asked_by.get((agent, name)) or self.asked.get(name, self.lane(agent)),
            name or None,
            text(result, "name"),
            content,
            spot.down("/content"),
            failed=is_true(result, "is_error"),
            tainted=None if content is None else result_damage(content),
        )

    def sums_up(self, said: Said) -> None:
        """Results that are the answer of an agent; the events of their calls may have been left out."""
        calls = [text(fields_of(item), "id") for item in items_in(said.fields, "tool_calls")]
        if any(not name or name not in self.asked for name in calls):
            self._ask(said, "tool_calls", self._turn(said, None, ""))
        if not self._answered.issuperset(calls):
            self._show(said, "results")
        self._step(StepKind.OTHER, said, "summary")

    # code --------------------------------------------------------------------------------------------------------

    def writes_code(self, said: Said) -> None:
        """Code that an agent's model wrote, to be run."""
        self._turn(said, present(said.fields, "content"))
        blocks = present(said.fields, "code_blocks")
        if blocks is not None:
            self._code[said.source] = blocks

    def ran_code(self, said: Said) -> None:
        """Code that ran, and what came of it."""
        result = object_in(said.fields, "result")
        failed = bytes(present(result, "exit_code") or b"0") != b"0"
        self._acted.add(said.source)
        ran = Execution(
            _RAN_CODE,
            said.spot,
            arguments=self._code.pop(said.source, None),
            result=present(result, "output"),
            status="error" if failed else "ok",
            answer=said.spot.down("/result/output"),
        )
        self.builder.execute(self.lane(said.source), ran)


def _holds_calls(said: Said) -> bool:
    return any(is_like_calls(held) for name, held in said.fields.items() if name not in ("metadata", "models_usage"))


_TELLS: dict[str, Callable[[Chat, Said], None]] = {
    "TextMessage": Chat.said,
    "StopMessage": Chat.said,
    "MultiModalMessage": Chat.shows_media,
    "HandoffMessage": Chat.hands_over,
    "ToolCallSummaryMessage": Chat.sums_up,
    "ToolCallRequestEvent": Chat.asks,
    "ToolCallMessage": Chat.asks,
    "ToolCallExecutionEvent": Chat.shows,
    "ToolCallResultMessage": Chat.shows,
    "CodeGenerationEvent": Chat.writes_code,
    "CodeExecutionEvent": Chat.ran_code,
    "ThoughtEvent": Chat.thinks,
    "UserInputRequestedEvent": Chat.is_asked,
    "MemoryQueryEvent": Chat.notes,
    "SelectSpeakerEvent": Chat.notes,
    "SelectorEvent": Chat.notes,
    PIECE: Chat.passes,
}
TYPES = frozenset(_TELLS)
_NO_MEMBERS: frozenset[str] = frozenset()
_READ: dict[str, frozenset[str]] = {
    "ToolCallRequestEvent": frozenset({"content"}),
    "ToolCallMessage": frozenset({"content"}),
    "ToolCallExecutionEvent": frozenset({"content"}),
    "ToolCallResultMessage": frozenset({"content"}),
    "ToolCallSummaryMessage": frozenset({"tool_calls", "results"}),
    "HandoffMessage": frozenset({"context"}),
    "MultiModalMessage": frozenset({"content"}),
    "MemoryQueryEvent": frozenset({"content"}),
    "CodeGenerationEvent": frozenset({"code_blocks"}),
    "CodeExecutionEvent": frozenset({"result"}),
}
"""The members of each that hold more than texts, and are read."""
