"""Which commands did SWE-agent run? Its trajectory file: the steps that it took, and the history that its model saw.

A turn runs one action: a line for the shell, which text parsers note beside the model's words, or a function call. What
it gave is the next message of the history; that of the last action stands in the steps alone (FORMATS section 9).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import raw, text_of
from forensics.core.messages import Message, Part
from forensics.core.trace import NOWHERE, StepKind
from forensics.formats.shared.document import note_cut, open_document
from forensics.formats.shared.exit_status import tell_end
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    fields_of,
    is_true,
    items_in,
    object_in,
    present,
    text,
)
from forensics.formats.shared.messages.telling import Doubts, Finder, taint, tell
from forensics.formats.shared.messages.vocabulary import parse_message

if TYPE_CHECKING:
    from forensics.core.build import TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "sweagent"
ABOUT = "SWE-agent trajectory (.traj): its steps and the history of its messages"
CARRIES = "actions and what each gave, prompts, function calls where the model made them, how the run ended"
LACKS = "times, tool schemas (mostly), call ids and arguments apart from a line (text parsers)"
RERUN = "the container, in which every command has effects, and the schemas (mostly)"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

TOOL = "bash"
_STEP = frozenset({"action", "observation"})
_LATE = ("execution timed out", "timed out after", "command timed out")
_NOTHING = msgspec.Raw(b"null")
_FIRST = 8


def sniff(look: Look) -> int:
    """95 for steps with a history, 90 for a history alone, told by what it notes beside an action."""
    fields = look.members()
    steps = [fields_of(item) for item in items_in(fields, "trajectory")[:_FIRST]]
    if any(step.keys() >= _STEP for step in steps):
        return 95
    messages = [fields_of(item) for item in items_in(fields, "history")[:_FIRST]]
    return 90 if any("action" in message and "thought" in message for message in messages) else 0


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell the run. Raises CorruptEvidenceError where nothing of it is JSON."""
    document = open_document(source, build)
    fields = fields_of(document.body)
    run = _Run(build.trace(text(fields, "environment") or "run"), document)
    finder = Finder(source, build.places, document.start)
    steps = items_in(fields, "trajectory")
    history = items_in(fields, "history")
    for at, item in enumerate(history):
        run.message(item, f"/history/{at}", finder.place(item))
    for at, step in enumerate([] if history else steps):
        for message in _as_messages(step):
            run.message(message, f"/trajectory/{at}", NOWHERE)
    build.counts.records = len(history or steps)
    run.check_steps(steps)
    tell_end(object_in(fields, "info"), run.builder, document.spot.down("/info"))
    note_cut(document, build)


def _as_messages(step: Payload) -> tuple[Payload, Payload]:
    """A step without a history: what the model said, and what its action gave."""
    fields = fields_of(step)
    said = present(fields, "response", "thought")
    asked = {"role": raw("assistant"), "content": said or raw(""), "action": fields.get("action", _NOTHING)}
    return as_object(asked), as_object({"role": raw("user"), "content": fields.get("observation", _NOTHING)})


class _Run:
    """One run on its way to the builder."""

    def __init__(self, builder: TraceBuilder, document: Document) -> None:
        self.builder = builder
        self.document = document
        self.lane = builder.lane()
        self.doubts = Doubts()
        self.actions = 0

    def message(self, item: Payload, pointer: str, place: int) -> None:
        """Tell one message of the history."""
        fields = fields_of(item)
        spot = self.document.spot.down(pointer)
        if is_true(fields, "is_demo"):  # shown to the model as an example: nothing in it ran
            self.builder.step(StepKind.USER, spot, name="demonstration", payload=present(fields, "content"))
            return
        message = self._with_its_part(parse_message(item, pointer), fields)
        before = len(self.builder.trace.calls)
        tell(self.builder, self.lane, (msgspec.structs.replace(message, place=place),), self.document.spot)
        self.doubts.note(self.builder, (message,), self.document.spot)
        taint(self.builder, self.document.taint_of(item), spot, before)

    def _with_its_part(self, message: Message, fields: Fields) -> Message:
        if message.says_model:
            return self._asking(message, fields)
        if message.role == "tool":
            ids = items_in(fields, "tool_call_ids")
            own = text_of(ids[0]) if ids else text(fields, "tool_call_id")
            part = _result(own or None, present(fields, "content"))
            return msgspec.structs.replace(message, results=(part,), text=None)
        if message.role != "user" or self.lane.unshown.latest() is None:
            return message
        return msgspec.structs.replace(message, results=(_result(None, message.text),), text=None)

    def _asking(self, message: Message, fields: Fields) -> Message:
        """The call of a turn: its function calls, else the action that was parsed out of its words."""
        action = text(fields, "action").strip()
        self.actions += bool(message.calls or action)
        if message.calls or not action:
            return message
        return msgspec.structs.replace(message, calls=(Part(TOOL, None, raw({"command": action}), "/action"),))

    def check_steps(self, steps: list[Payload]) -> None:
        """The steps tell what the last action gave, and that no action is missing from the history."""
        if not steps:
            return
        last = self.document.spot.down(f"/trajectory/{len(steps) - 1}/observation")
        if len(steps) != self.actions:
            message = f"the file has {len(steps)} steps, and its history {self.actions} actions"
            self.builder.gap("evidence_gap", message, last)
        elif self.lane.unshown.latest() is not None:
            part = _result(None, present(fields_of(steps[-1]), "observation"))
            self.builder.show(self.lane, None, "", part.payload, last, unsettled=part.unsettled)


def _result(recorded_id: str | None, content: Payload | None) -> Part:
    """What an action gave; after a timeout it may have taken effect all the same."""
    said = "" if content is None else text_of(content).lower()
    late = any(mark in said[-400:] for mark in _LATE)
    return Part("", recorded_id, content, "/content", unsettled=late)
