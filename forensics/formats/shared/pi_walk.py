"""What does a session of Pi tell, entry by entry? The walk over its log, whichever harness wrote it.

What a person ran in the terminal of the session (`!command`) is a call of theirs, in a lane of its own. What an
extension keeps for itself may hold the calls of another agent: it is looked through, and a gap where it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Execution, Spot
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import StepKind
from forensics.formats.shared.call_words import sounds_like_a_call
from forensics.formats.shared.entry_chain import EntryChain
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    fields_of,
    is_like_calls,
    is_true,
    items_in,
    names_a_tool,
    object_in,
    present,
    spelled,
    text,
    whole_number,
)
from forensics.formats.shared.lost_arguments import also_lost, lost_arguments
from forensics.formats.shared.messages.telling import Doubts, taint, tell
from forensics.formats.shared.messages.vocabulary import parse_message
from forensics.formats.shared.rewritten import note_rewritten
from forensics.formats.shared.wholeness import TRUNCATED

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.build import TraceBuilder
    from forensics.core.messages import Message
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.json_lines import JsonLine

HEADS = frozenset({"session", "session_start"})
_PERSON = "user"
_SHELL = "bash"
_SUMMARIES = frozenset({"compactionSummary", "branchSummary"})
_BROKE_OFF = frozenset({"error", "aborted"})
_READ = frozenset({"role", "content", "usage", "toolCallId", "toolName"})
_ASKS = frozenset({"toolCall", "tool_use"})
_SURROUNDINGS = ("cwd", "id")


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One entry: its type, its fields, where it stands, and what makes it unsure (None: nothing)."""

    kind: str
    fields: Fields
    spot: Spot
    tainted: str | None


class Session:
    """The walk over one session."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.builder: TraceBuilder | None = None
        self.chain = EntryChain(build)
        self.doubts = Doubts()
        self.ended: bool | None = None

    def line(self, one: JsonLine) -> None:
        """One line of the log."""
        fields = one.fields
        kind, name = text(fields, "type"), text(fields, "id")
        if self.builder is None:
            self.builder = self.build.trace(name if kind in HEADS and name else "session")
        spot = Spot(one.spot.place, "", nanoseconds(present(fields, "timestamp")))
        if kind not in HEADS and self.chain.is_again(name, fields, spot, self.builder):
            return
        entry = Entry(kind, fields, spot, one.tainted)
        if not self.chain.follow(text(fields, "parentId")):
            self._gap(entry, "the entry that this one follows is not in the file: what stood between is lost")
        before = len(self.builder.trace.calls)
        _ENTRIES.get(kind, Session.kept)(self, entry)
        taint(self.builder, one.tainted, spot, before)

    def close(self) -> None:
        """Say what can be said only at the end."""
        self.build.counts.branches = self.chain.branches
        if self.builder is not None:
            self.builder.trace.ended_normally = self.ended

    def _trace(self) -> TraceBuilder:
        assert self.builder is not None  # noqa: S101 - the first line made it
        return self.builder

    def _gap(self, entry: Entry, message: str, pointer: str = "") -> None:
        self._trace().gap("evidence_gap", message, entry.spot.down(pointer))

    def _step(self, kind: StepKind, entry: Entry, name: str, member: str) -> int:
        payload = present(entry.fields, member)
        return self._trace().step(kind, entry.spot.down(f"/{member}"), name=name, payload=payload)

    # entries -----------------------------------------------------------------------------------------------------

    def head(self, entry: Entry) -> None:
        """What the session is, and where it began."""
        self.chain.know(text(entry.fields, "id"))
        surroundings = [entry.fields[name] for name in _SURROUNDINGS if name in entry.fields]
        self._trace().trace.surroundings = self._trace().trace.surroundings or surroundings
        self.kept(entry)

    def kept(self, entry: Entry) -> None:
        """What the harness or an extension keeps: settings, names, a state."""
        self._trace().step(StepKind.OTHER, entry.spot, name=entry.kind or "entry")
        named = "toolName" in entry.fields or "tool" in entry.fields
        sounds = entry.kind not in HEADS and sounds_like_a_call(entry.kind, named=named)
        if sounds or names_a_tool(entry.fields) or any(map(is_like_calls, entry.fields.values())):
            what = one_line(entry.kind or "(none)", 40)
            self._gap(entry, f"an entry of a kind that is not read ({what}) holds what looks like a call")
        elif "role" in object_in(entry.fields, "message"):
            self._gap(entry, f"a message in an entry of a kind that is not known ({one_line(entry.kind, 40)})")

    def injected(self, entry: Entry) -> None:
        """What an extension put before the model."""
        self._step(StepKind.SYSTEM, entry, text(entry.fields, "customType") or entry.kind, "content")

    def summary(self, entry: Entry) -> None:
        """A summary that the model is shown instead of what was said before; that stands in the file all the same."""
        step = self._step(StepKind.SYSTEM, entry, entry.kind, "summary")
        if entry.kind == "compaction":
            note_rewritten(self._trace(), step, entry.spot)

    # messages ----------------------------------------------------------------------------------------------------

    def message(self, entry: Entry) -> None:
        """A message of the model, of a person, or of a tool."""
        fields = object_in(entry.fields, "message")
        role = text(fields, "role")
        if role == "bashExecution":
            self._ran_by_person(entry, fields)
        elif role == "custom" or role in _SUMMARIES:
            said = present(fields, "content", "summary")
            name = text(fields, "customType") or role
            step = self._trace().step(StepKind.SYSTEM, entry.spot.down("/message"), name=name, payload=said)
            if role == "compactionSummary":
                note_rewritten(self._trace(), step, entry.spot)
        else:
            self._said(entry, fields)
        self._look_through(entry, fields)

    def _said(self, entry: Entry, fields: Fields) -> None:
        builder, lane = self._trace(), self._trace().lane()
        message = parse_message(as_object(fields), "/message")
        ends = text(fields, "stopReason")
        message = msgspec.structs.replace(message, finish=spelled(ends) or message.finish)
        message = _with_lost_arguments(message, fields)
        if message.says_model:
            builder.respond(lane, message, entry.spot, model=text(fields, "model"))
            self._ended(entry, fields, ends)
        else:
            tell(builder, lane, (message,), entry.spot)
        self.doubts.note(builder, (message,), entry.spot)
        for part in message.calls:
            self.chain.know(part.recorded_id or "")

    def _ended(self, entry: Entry, fields: Fields, ends: str) -> None:
        usage = object_in(fields, "usage")
        self.build.counts.input_tokens += whole_number(usage, "input", "input_tokens")
        self.build.counts.output_tokens += whole_number(usage, "output", "output_tokens")
        self.ended = False if ends in _BROKE_OFF else None
        error = present(fields, "errorMessage")
        if error is not None:
            self._trace().step(StepKind.ERROR, entry.spot.down("/message/errorMessage"), payload=error)

    def _ran_by_person(self, entry: Entry, fields: Fields) -> None:
        """A command that a person ran in the session; the model is shown what it printed."""
        code = present(fields, "exitCode")
        failed = code is not None and bytes(code) != b"0"
        status = "unsettled" if is_true(fields, "cancelled") else "error" if failed else "ok"
        output = present(fields, "output")
        ran = Execution(
            _SHELL,
            entry.spot.down("/message/command"),
            arguments=_only(fields, "command"),
            result=output,
            status=status,
            end=entry.spot.at,
            answer=entry.spot.down("/message/output"),
            tainted=TRUNCATED if is_true(fields, "truncated") else None,
        )
        self._trace().execute(self._trace().lane(_PERSON, _PERSON), ran)

    def _look_through(self, entry: Entry, fields: Fields) -> None:
        """What a message keeps beside what it says may hold the calls of an agent that its tool started."""
        for name, held in fields.items():
            if name not in _READ and is_like_calls(held):
                message = f"calls of another agent, in a member that is not read ({one_line(name, 40)})"
                self._gap(entry, message, f"/message/{name}")


def _with_lost_arguments(message: Message, fields: Fields) -> Message:
    """The message with what of its calls is lost."""
    for at, block in enumerate(map(fields_of, items_in(fields, "content"))):
        if text(block, "type") in _ASKS:
            lost = lost_arguments(text(block, "name", "toolName"), block, "arguments", "input", "args")
            message = also_lost(message, f"/content/{at}", lost)
    return message


def _only(fields: Fields, name: str) -> Payload:
    return as_object({name: fields[name]} if name in fields else {})


_ENTRIES: dict[str, Callable[[Session, Entry], None]] = {
    **dict.fromkeys(sorted(HEADS), Session.head),
    "message": Session.message,
    "custom_message": Session.injected,
    "compaction": Session.summary,
    "branch_summary": Session.summary,
}
