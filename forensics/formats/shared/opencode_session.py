"""What do sessions of OpenCode tell? Their messages, each as the last word on its parts says it.

A message of the model is one turn, or several where its parts say that another step began.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.jsonvalue import text_of
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import Boundary, StepKind
from forensics.formats.shared.fields import (
    Fields,
    call_marks,
    is_like_calls,
    is_true,
    object_in,
    present,
    spelled,
    text,
    whole_number,
)
from forensics.formats.shared.messages.vocabulary import joined
from forensics.formats.shared.rewritten import note_rewritten
from forensics.formats.shared.server_names import mcp_server
from forensics.formats.shared.wholeness import arguments_damage, cut_short, result_damage

if TYPE_CHECKING:
    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload

_WORDS = frozenset({"text", "reasoning"})
_TOLD = _WORDS | {"tool"}
_BESIDE = frozenset({"step-finish", "snapshot", "patch", "agent", "file", "subtask"})
_SURROUNDINGS = ("directory", "id")
_NOT_ALLOWED = ("rejected permission", "prevents you from using", "denied", "rejected", "not allowed")
_BROKEN_OFF = ("aborted", "interrupted", "cancelled", "canceled", "timed out")
_SUB_AGENT = "task"


class _Part(msgspec.Struct, gc=False):
    """A part: the last word on it, where that stands, and what taints it."""

    fields: Fields
    spot: Spot
    tainted: str | None


class _Message(msgspec.Struct):
    """A message: what is said of the whole of it, where, and its parts in the order in which each was told first."""

    info: Fields
    spot: Spot
    parts: dict[str, _Part]
    tainted: str | None = None


class Sessions:
    """The sessions of one evidence; each is a trace."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.said: dict[str, dict[str, _Message]] = {}
        self.errors: dict[str, list[tuple[Payload | None, Spot]]] = {}
        self.head: Fields = {}

    def about(self, info: Fields) -> None:
        """What an export says of its session."""
        self.head = info

    def message(self, info: Fields, spot: Spot, tainted: str | None) -> None:
        """A message, without its parts."""
        held = self._held(text(info, "sessionID"), text(info, "id"), spot)
        held.info, held.spot = {**held.info, **info}, spot
        held.tainted = held.tainted or tainted

    def part(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """A part of a message, for the first time or again."""
        held = self._held(text(fields, "sessionID"), text(fields, "messageID"), spot)
        key = text(fields, "id") or f"#{len(held.parts)}"
        known = held.parts.get(key)
        if known is not None and text(known.fields, "callID", "type") != text(fields, "callID", "type"):
            self.build.gap("evidence_gap", "two parts of one id, which tell of two things", spot)
        held.parts[key] = _Part(fields, spot, tainted or (None if known is None else known.tainted))

    def _held(self, session: str, name: str, spot: Spot) -> _Message:
        messages = self.said.setdefault(session, {})
        name = name or f"#{len(messages)}"
        held = messages.get(name)
        if held is None:
            held = messages[name] = _Message({}, spot, {})
        return held

    def failed(self, session: str, error: Payload | None, spot: Spot) -> None:
        """An error that a run printed."""
        self.said.setdefault(session, {})
        self.errors.setdefault(session, []).append((error, spot))

    def strange(self, fields: Fields, spot: Spot) -> None:
        """A record that is neither; what it holds may be a call."""
        if call_marks(fields) or any(map(is_like_calls, fields.values())):
            self.build.gap("evidence_gap", "a record that is not read holds what looks like a call", spot)

    def close(self) -> None:
        """Tell all sessions, in the order in which each was told of first."""
        for name, messages in self.said.items():
            builder = self.build.trace(name or "session")
            builder.trace.surroundings = [self.head[key] for key in _SURROUNDINGS if key in self.head]
            telling = _Telling(builder, self.build)
            for message in messages.values():
                telling.message(message)
            for error, spot in self.errors.get(name, ()):
                builder.step(StepKind.ERROR, spot, payload=error)


class _Telling:
    """The messages of one session on their way to the builder."""

    def __init__(self, builder: TraceBuilder, build: EvidenceBuilder) -> None:
        self.builder = builder
        self.build = build
        self.lane: Lane = builder.lane()

    def message(self, one: _Message) -> None:
        """Tell one message: what a person said, or the turns of the model. In what a run printed no role is said: it
        is the model's.
        """
        at = nanoseconds(present(object_in(one.info, "time"), "created"))
        spot = Spot(one.spot.place, one.spot.pointer, at if at >= 0 else one.spot.at)
        parts = list(one.parts.values())
        if text(one.info, "role") == "user":
            self._words(StepKind.USER, parts, spot)
        else:
            self._turns(one, parts, spot)
        error = present(one.info, "error")
        if error is not None:
            self.builder.step(StepKind.ERROR, spot.down("/error"), payload=error)
            self.builder.trace.ended_normally = False
        if one.tainted is not None:
            self.builder.gap(one.tainted, "a record can be read in two ways: a key stands twice in it", spot)

    def _words(self, kind: StepKind, parts: list[_Part], spot: Spot) -> None:
        said = [raw for part in parts if text(part.fields, "type") in _WORDS if (raw := _said(part)) is not None]
        where = next((part.spot for part in parts if text(part.fields, "type") in _WORDS), spot)
        self.builder.step(kind, Spot(where.place, where.pointer, spot.at), payload=joined(said))
        for part in parts:
            if text(part.fields, "type") not in _WORDS:
                self._beside(part, spot)

    def _turns(self, one: _Message, parts: list[_Part], spot: Spot) -> None:
        model = text(one.info, "modelID") or text(object_in(one.info, "model"), "modelID")
        steps: list[list[_Part]] = [[]]
        for part in parts:
            if text(part.fields, "type") == "step-start" and steps[-1]:
                steps.append([])
            elif text(part.fields, "type") != "step-start":
                steps[-1].append(part)
        finishes = [part for part in parts if text(part.fields, "type") == "step-finish"]
        for tokens in [object_in(part.fields, "tokens") for part in finishes] or [object_in(one.info, "tokens")]:
            self.build.counts.input_tokens += whole_number(tokens, "input")
            self.build.counts.output_tokens += whole_number(tokens, "output")
        for step in steps:
            if step or len(steps) == 1:
                self._turn(step, spot, model, text(one.info, "finish"))

    def _turn(self, parts: list[_Part], spot: Spot, model: str, finish: str) -> None:
        """One turn: its words and calls, then how the calls ended, then what else its parts tell."""
        said = [raw for part in parts if text(part.fields, "type") in _WORDS if (raw := _said(part)) is not None]
        calls = [part for part in parts if text(part.fields, "type") == "tool"]
        turn = self.builder.turn(self.lane, spot, text=joined(said), model=model)
        for part in calls:
            self._ask(turn, part, spot)
        for part in calls:
            self._answer(part)
        reasons = [text(part.fields, "reason") for part in parts if text(part.fields, "type") == "step-finish"]
        why = cut_short([spelled(reason) for reason in reasons or [finish]], calls=bool(calls))
        if why:
            self.builder.gap("evidence_gap", why, spot)
        for part in parts:
            if text(part.fields, "type") not in _TOLD:
                self._beside(part, spot)

    def _ask(self, turn: int, part: _Part, spot: Spot) -> None:
        state, tool = object_in(part.fields, "state"), text(part.fields, "tool")
        arguments = present(state, "input")
        damage = None if arguments is None else arguments_damage(arguments)
        started = nanoseconds(present(object_in(state, "time"), "start"))
        at = part.spot.down("/state/input")
        self.builder.request(
            self.lane,
            turn,
            tool,
            text(part.fields, "callID") or None,
            arguments,
            Spot(at.place, at.pointer, started if started >= 0 else spot.at),
            boundary=_boundary(tool, part.fields, state),
            server=mcp_server(tool),
            tainted=part.tainted or damage,
        )

    def _answer(self, part: _Part) -> None:
        state = object_in(part.fields, "state")
        status, meta = text(state, "status"), object_in(state, "metadata")
        if status not in ("completed", "error"):
            return
        failed = status == "error"
        told, member = present(state, "error" if failed else "output"), "error" if failed else "output"
        broken_off = failed and (is_true(meta, "interrupted") or _says(told, _BROKEN_OFF))
        refused = failed and not broken_off and _says(told, _NOT_ALLOWED)
        at = part.spot.down(f"/state/{member}")
        self.builder.show(
            self.lane,
            text(part.fields, "callID") or None,
            text(part.fields, "tool"),
            told,
            Spot(at.place, at.pointer, nanoseconds(present(object_in(state, "time"), "end"))),
            failed=failed and not broken_off,
            denied=refused,
            unsettled=broken_off,
            tainted=part.tainted or (None if told is None else result_damage(told)),
        )

    def _beside(self, part: _Part, spot: Spot) -> None:
        """A part that is neither words nor a call of this turn."""
        kind = text(part.fields, "type")
        at = Spot(part.spot.place, part.spot.pointer, spot.at)
        if kind == "retry":
            self.builder.step(StepKind.ERROR, at.down("/error"), name=kind, payload=present(part.fields, "error"))
        elif kind == "compaction":
            note_rewritten(self.builder, self.builder.step(StepKind.OTHER, at, name=kind), at)
        elif kind == "subtask":
            self.builder.step(StepKind.USER, at.down("/prompt"), name=kind, payload=present(part.fields, "prompt"))
        elif kind not in _BESIDE:
            self.builder.step(StepKind.OTHER, at, name=kind or "part")
            message = f"a part of a type that is not known ({one_line(kind or '(none)', 40)})"
            self.builder.gap("evidence_gap", message, at)


def _said(part: _Part) -> Payload | None:
    said = present(part.fields, "text")
    return None if said is None or bytes(said) == b'""' else said


def _boundary(tool: str, fields: Fields, state: Fields) -> Boundary:
    if is_true(object_in(fields, "metadata"), "providerExecuted"):
        return Boundary.PROVIDER_TOOL
    starts_another = tool == _SUB_AGENT or present(object_in(state, "metadata"), "sessionId", "sessionID") is not None
    return Boundary.SUB_AGENT if starts_another else Boundary.TOOL


def _says(told: Payload | None, words: tuple[str, ...]) -> bool:
    said = "" if told is None else text_of(told)[:400].lower()
    return any(word in said for word in words)
