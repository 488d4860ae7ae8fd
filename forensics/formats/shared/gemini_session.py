"""What does a session of Gemini CLI tell? Its messages, each as all that was ever written under its id says it.

A call stands in the message that asks for it, with its status and, once it has ended, its result. The first result that
was written is the one that the model was given; where a later one differs (old results are masked to save room), it is
said that it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.evidence import Basis, Severity
from forensics.core.findings import finding
from forensics.core.jsonvalue import text_of
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import Boundary, Payload, StepKind
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    call_marks,
    fields_of,
    is_like_calls,
    items_in,
    items_of,
    object_in,
    opens_with,
    present,
    text,
    whole_number,
)
from forensics.formats.shared.messages.telling import Doubts, tell
from forensics.formats.shared.messages.vocabulary import joined, parse_message
from forensics.formats.shared.server_names import mcp_server
from forensics.formats.shared.wholeness import arguments_damage, result_damage

if TYPE_CHECKING:
    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.messages import Message
    from forensics.core.reading import EvidenceBuilder

MODEL = "gemini"
_SPEAKERS = frozenset({MODEL, "model"})
_NOTES = {"info": StepKind.OTHER, "warning": StepKind.OTHER, "error": StepKind.ERROR}
TYPES = frozenset({"user", *_SPEAKERS, *_NOTES})
"""The types of messages."""
_ENDED = frozenset({"success", "error", "cancelled"})
_NOT_ALLOWED = ("did not allow", "not allowed", "denied", "rejected", "declined")
_SILENT = (b'""', b"[]")
_READ = frozenset({"content", "parts", "toolCalls", "displayContent", "thoughts", "tokens"})
_SURROUNDINGS = ("sessionId", "directories")


class _Asked(msgspec.Struct):
    """A call: what was last written of it, where, its first result with the place of that, and what taints it."""

    fields: Fields
    spot: Spot
    result: Payload | None = None
    answered: Spot | None = None
    tainted: str | None = None


class _Said(msgspec.Struct):
    """A message: what was last written of it, where, what taints it, and the calls that were ever written in it."""

    fields: Fields
    spot: Spot
    tainted: str | None = None
    asked: dict[str, _Asked] = {}


class Session:
    """The messages of one session, in the order in which each was written first."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.about: Fields = {}
        self.said: dict[str, _Said] = {}
        self.strangers: list[tuple[Fields, Spot]] = []
        self.unread: list[Spot] = []
        self.rewritten: list[Spot] = []
        self.changed: list[Spot] = []

    # what was written --------------------------------------------------------------------------------------------

    def head(self, fields: Fields) -> None:
        """What the file says of the whole session."""
        self.about = {**self.about, **{name: held for name, held in fields.items() if name != "messages"}}

    def strange(self, fields: Fields, spot: Spot) -> None:
        """A record that is no message; it may hold one."""
        self.strangers.append((fields, spot))

    def rewind(self, spot: Spot) -> None:
        """A person took the conversation back, and goes on from there."""
        self.build.counts.branches += 1
        self.rewritten.append(spot)

    def set_anew(self, messages: list[Fields], spot: Spot, tainted: str | None) -> None:
        """The conversation as it is set anew."""
        told = {text(fields, "id") for fields in messages}
        if not self.said.keys() <= told:
            self.rewritten.append(spot)
        for at, fields in enumerate(messages):
            self.message(fields, spot.down(f"/{at}"), tainted)

    def message(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """A message as it is written, for the first time or again."""
        name = text(fields, "id") or f"#{len(self.said)}"
        spot = Spot(spot.place, spot.pointer, nanoseconds(present(fields, "timestamp")))
        held = self.said.get(name)
        if held is None:
            held = self.said[name] = _Said(fields, spot, tainted, {})
        elif _content(held.fields) not in (None, _content(fields)):
            self.changed.append(spot)
        held.fields, held.tainted = {**held.fields, **fields}, held.tainted or tainted
        if _content(fields) is not None:
            held.spot = Spot(spot.place, spot.pointer, held.spot.at)
        for at, item in enumerate(items_in(fields, "toolCalls")):
            self._call(held, fields_of(item), at, spot.down(f"/toolCalls/{at}"))

    def _call(self, held: _Said, fields: Fields, at: int, spot: Spot) -> None:
        one = held.asked.setdefault(text(fields, "id") or f"#{at}", _Asked(fields, spot))
        if one.fields is not fields and not _same_request(one.fields, fields):
            one.tainted = "inconsistent_tuple"
        one.fields, one.spot = {**one.fields, **fields}, spot if "args" in fields else one.spot
        result = present(fields, "result")
        if result is None:
            return
        if one.result is None:
            one.result, one.answered = result, spot.down("/result")
        elif bytes(result) != bytes(one.result):
            self.changed.append(spot)

    # telling -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Tell all that was said; nothing where there is no message."""
        if not self.said:
            return
        builder = self.build.trace(text(self.about, "sessionId") or "session")
        builder.trace.surroundings = [self.about[name] for name in _SURROUNDINGS if name in self.about]
        self.build.counts.branches += 1
        telling = _Telling(builder, self.said)
        for one in self.said.values():
            telling.tell(one, self.build)
        for fields, spot in self.strangers:
            telling.look_through(fields, spot)
        for spot in self.unread:
            builder.gap("evidence_gap", "messages that are no list: what they say is not read", spot)
        self._note_changes(builder)

    def _note_changes(self, builder: TraceBuilder) -> None:
        for code, spots, message in (
            ("compacted_history", self.rewritten, "the conversation was set anew or taken back: all is told"),
            ("superseded_record", self.changed, "what a message or a result says was written otherwise later"),
        ):
            places = tuple(builder.trace.places.locator(spot.place, spot.pointer) for spot in spots[:20])
            if places:
                builder.note(finding(code, message, locators=places, severity=Severity.INFO, basis=Basis.RECORDED))


class _Telling:
    """The messages of a session on their way to the builder."""

    def __init__(self, builder: TraceBuilder, said: dict[str, _Said]) -> None:
        self.builder = builder
        self.lane: Lane = builder.lane()
        self.doubts = Doubts()
        self.answers = {name: one.result for held in said.values() for name, one in held.asked.items()}

    def tell(self, one: _Said, build: EvidenceBuilder) -> None:
        """Tell one message."""
        kind = text(one.fields, "type")
        if kind in _SPEAKERS:
            self._turn(one)
            tokens = object_in(one.fields, "tokens")
            build.counts.input_tokens += whole_number(tokens, "input")
            build.counts.output_tokens += whole_number(tokens, "output")
        elif kind == "user":
            self._user(one)
        else:
            said = _content(one.fields)
            at = one.spot.down("/content")
            self.builder.step(_NOTES.get(kind, StepKind.OTHER), at, name=kind or "message", payload=said)
            if kind not in _NOTES:
                message = f"a message of a type that is not known ({one_line(kind or '(none)', 40)})"
                self.builder.gap("evidence_gap", message, one.spot)
        if one.tainted is not None:
            self.builder.gap(one.tainted, "a record can be read in two ways: a key stands twice in it", one.spot)
        self.look_through({name: held for name, held in one.fields.items() if name not in _READ}, one.spot)

    def look_through(self, fields: Fields, spot: Spot) -> None:
        """A gap where members that are not read hold a call."""
        if call_marks(fields) or any(map(is_like_calls, fields.values())):
            self.builder.gap("evidence_gap", "what is not read of a record holds what looks like a call", spot)

    def _user(self, one: _Said) -> None:
        message = _parse("user", one)
        results = tuple(part for part in message.results if not self._is_told(part.recorded_id, part.payload))
        if results or not message.results or message.text is not None:
            tell(self.builder, self.lane, (msgspec.structs.replace(message, results=results),), one.spot)
        self.doubts.note(self.builder, (message,), one.spot)

    def _is_told(self, recorded_id: str | None, payload: Payload | None) -> bool:
        """Whether the message that asked for a call tells this result of it already."""
        told = self.answers.get(recorded_id or "")
        return told is not None and payload is not None and bytes(payload) in bytes(told)

    def _turn(self, one: _Said) -> None:
        """A turn of the model: its thoughts and words, the calls that it asks for, then how they ended."""
        message = _parse("model", one)
        thoughts = [
            inner["description"] for inner in map(fields_of, items_in(one.fields, "thoughts")) if "description" in inner
        ]
        words = [] if message.text is None else [message.text]
        turn = self.builder.turn(self.lane, one.spot, text=joined([*thoughts, *words]), model=text(one.fields, "model"))
        self.doubts.note(self.builder, (message,), one.spot)
        listed = list(one.asked.values())
        ids = {text(held.fields, "id") for held in listed} - {""}
        tools = {text(held.fields, "name") for held in listed if not text(held.fields, "id")}
        for part in message.calls:
            if part.recorded_id not in ids and part.tool not in tools:
                at = one.spot.down(part.pointer)
                self.builder.request(
                    self.lane, turn, part.tool, part.recorded_id, part.payload, at, tainted=part.tainted
                )
        for held in listed:
            self._ask(turn, held, one.tainted)
        for held in listed:
            self._answer(held)

    def _ask(self, turn: int, held: _Asked, tainted: str | None) -> None:
        arguments, tool = present(held.fields, "args"), text(held.fields, "name")
        damage = None if arguments is None else arguments_damage(arguments)
        self.builder.request(
            self.lane,
            turn,
            tool,
            text(held.fields, "id") or None,
            arguments,
            held.spot,
            boundary=Boundary.SUB_AGENT if present(held.fields, "agentId") is not None else Boundary.TOOL,
            server=mcp_server(tool),
            tainted=held.tainted or tainted or damage,
        )

    def _answer(self, held: _Asked) -> None:
        status = text(held.fields, "status")
        if held.result is None and status not in _ENDED:
            return
        payload, below = _response(held.result, text(held.fields, "id"))
        at = (held.answered or held.spot).down(below)
        refused = status == "cancelled" and payload is not None and says_not_allowed(payload)
        self.builder.show(
            self.lane,
            text(held.fields, "id") or None,
            text(held.fields, "name"),
            payload,
            at,
            failed=status == "error" or refused,
            denied=refused,
            unsettled=status == "cancelled" and not refused,
            tainted=None if payload is None else result_damage(payload),
        )


def _parse(role: str, one: _Said) -> Message:
    content = _content(one.fields)
    told: Fields = {"role": msgspec.Raw(f'"{role}"'.encode())}
    if content is not None:
        told["content"] = content
    message = parse_message(as_object(told), "")
    return msgspec.structs.replace(message, doubts=() if content is None else message.doubts, place=one.spot.place)


def _content(fields: Fields) -> Payload | None:
    said = present(fields, "content", "parts")
    return None if said is None or bytes(said) in _SILENT else said


def _same_request(one: Fields, other: Fields) -> bool:
    """Whether what is written again asks for the same tool with the same arguments."""
    return all(
        name not in other or name not in one or bytes(one[name]) == bytes(other[name]) for name in ("name", "args")
    )


def _response(result: Payload | None, recorded_id: str) -> tuple[Payload | None, str]:
    """What a tool gave back, without the part that Gemini is sent it in, and where that stands below the result; the
    parts for other calls of the turn may stand beside it.
    """
    if result is None or not opens_with(result, b"["):
        return result, ""
    told = [object_in(fields_of(part), "functionResponse") for part in items_of(result)]
    own = [at for at, inner in enumerate(told) if "response" in inner and _is_for(inner, recorded_id)]
    if len(own) != 1 or (len(told) > 1 and not recorded_id):
        return result, ""
    return told[own[0]]["response"], f"/{own[0]}/functionResponse/response"


def _is_for(response: Fields, recorded_id: str) -> bool:
    """Whether a response is for the call of that id; where one of them names none, nothing speaks against it."""
    named = text(response, "id")
    return not named or not recorded_id or named == recorded_id


def says_not_allowed(payload: Payload) -> bool:
    """Whether what a call ended with says that a person, or a rule of theirs, did not let it run."""
    said = text_of(payload)[:400].lower()
    return any(words in said for words in _NOT_ALLOWED)
