"""Which commands did a mini-swe-agent run? Its trajectory: a list of messages, or a document that names its format.

Older runs hold each command as a code block in the model's words, exactly one a turn, and what it gave as the next
message of the user; the calls told of them are derived from that rule (FORMATS section 9). Newer ones have tool calls.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import raw, text_of
from forensics.core.messages import Doubt, Message, Part
from forensics.core.trace import StepKind
from forensics.formats.shared.document import note_cut, open_document
from forensics.formats.shared.exit_status import tell_end
from forensics.formats.shared.fields import (
    Fields,
    fields_of,
    is_text,
    items_in,
    items_of,
    object_in,
    opens_with,
    present,
    text,
)
from forensics.formats.shared.messages.telling import Doubts, Finder, taint, tell
from forensics.formats.shared.messages.vocabulary import parse_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.build import Spot, TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "mini-swe-agent"
ABOUT = "mini-swe-agent trajectory: a list of messages with a command a turn, or a document with tool calls"
CARRIES = "the commands and what each gave, prompts, how the run ended"
LACKS = "call ids and results apart from messages (older runs), times, tool schemas"
RERUN = "the container, in which every command has effects"
RECORDS_CALLS = False
SPANS_ARE_COMPLETE = False

TOOL = "bash"
_FORMAT = "mini-swe-agent"
_OPENS = re.compile(r"```(?:mswea_bash_command|bash|sh)[ \t]*\n")
_CLOSES = "\n```"
_OBSERVED = ("<returncode>", "<output>", "<output ", "<exception>")
_SUBMITS = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")
_LATE = "timed out"
_NO_WORDS = "a turn that says something else than words, in which a command may stand"
_NOTHING = msgspec.Raw(b"null")


def sniff(look: Look) -> int:
    """95 for a document that names the format, 75 for messages with a command and what it gave."""
    if text(look.members(), "trajectory_format").startswith(_FORMAT):
        return 95
    messages = look.items()
    asks = any(True for m in messages if text(m, "role") == "assistant" for _ in _blocks(text(m, "content")))
    gives = any(text(m, "role") == "user" and text(m, "content").lstrip().startswith(_OBSERVED) for m in messages)
    return 75 if asks and gives else 0


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell the run. Raises CorruptEvidenceError where nothing of it is JSON."""
    document = open_document(source, build)
    fields = fields_of(document.body) if opens_with(document.body, b"{") else {}
    listed = fields.get("messages", _NOTHING) if fields else document.body
    info = object_in(fields, "info")
    build.dialect = text(fields, "trajectory_format") or None
    run = _Run(build.trace(text(info, "instance_id") or "run"), document, "/messages" if fields else "")
    finder = Finder(source, build.places, document.start)
    for at, item in enumerate(items_of(listed)):
        run.message(item, at, finder.place(item))
        build.counts.records += 1
    run.close()
    tell_end(info, run.builder, document.spot.down("/info"))
    note_cut(document, build)


class _Run:
    """One run on its way to the builder."""

    def __init__(self, builder: TraceBuilder, document: Document, base: str) -> None:
        self.builder = builder
        self.document = document
        self.base = base
        self.lane = builder.lane()
        self.doubts = Doubts()
        self.submits = False
        self.ending: int | None = None

    def message(self, item: Payload, at: int, place: int) -> None:
        """Tell one message; a command in it is a call, and what follows a command is its result."""
        fields = fields_of(item)
        pointer = f"{self.base}/{at}"
        if text(fields, "role") == "exit":
            self._exit(fields, self.document.spot.down(pointer))
            return
        self.ending = None
        message = self._with_its_part(parse_message(item, pointer), fields)
        before = len(self.builder.trace.calls)
        tell(self.builder, self.lane, (msgspec.structs.replace(message, place=place),), self.document.spot)
        self.doubts.note(self.builder, (message,), self.document.spot)
        taint(self.builder, self.document.taint_of(item), self.document.spot.down(pointer), before)

    def _exit(self, fields: Fields, spot: Spot) -> None:
        """The message that ends a run. What a command gave that submitted is the submission, and answers no call; which
        of several it was that wait for their results is not known.
        """
        self.builder.step(StepKind.OTHER, spot, name="exit", payload=present(fields, "content"))
        waiting = self.lane.unshown.latest()
        submitted = text(object_in(fields, "extra"), "exit_status").lower() == "submitted"
        if submitted and waiting is not None and len(waiting.calls) == 1:
            row = waiting.first()
            asked_last = self.builder.trace.calls[row].turn == self.lane.turns[-1]
            self.ending = row if asked_last else None

    def close(self) -> None:
        """The run is told: nothing answers the command that submitted, where the run did not go on."""
        if self.ending is not None:
            self.builder.end_by(self.lane, self.ending)

    def _with_its_part(self, message: Message, fields: Fields) -> Message:
        if message.calls or message.results:
            return message
        if message.says_model:
            commands = _commands(message, fields)
            if not commands and message.text is not None and not is_text(message.text):
                message = msgspec.structs.replace(message, doubts=(*message.doubts, Doubt(_NO_WORDS)))
            self.submits = any(mark in command for command in commands for mark in _SUBMITS)
            calls = tuple(Part(TOOL, None, raw({"command": command}), "/content") for command in commands)
            return msgspec.structs.replace(message, calls=calls)
        said = "" if message.text is None else text_of(message.text)
        observed = said.lstrip().startswith(_OBSERVED) or self.submits
        if message.role != "user" or not (observed or self.lane.unshown.latest() is not None):
            return message
        part = Part(TOOL, None, message.text, "/content", unsettled=not observed or _LATE in said[:400])
        return msgspec.structs.replace(message, results=(part,), text=None)


def _commands(message: Message, fields: Fields) -> list[str]:
    """The commands of a turn: those that the agent notes beside it, else the one block in its words. A turn with more
    or fewer blocks is answered by an error, and nothing of it is run.
    """
    noted = items_in(object_in(fields, "extra"), "actions")
    if noted:
        return [text(fields_of(action), "command", "action") for action in noted]
    found = list(islice(_blocks("" if message.text is None else text_of(message.text)), 2))
    return [found[0].strip()] if len(found) == 1 else []


def _blocks(said: str) -> Iterator[str]:
    """The code blocks of a text. Where no end follows one, none follows a later one."""
    opens = _OPENS.search(said)
    while opens is not None:
        end = said.find(_CLOSES, opens.end())
        if end < 0:
            return
        yield said[opens.end() : end]
        opens = _OPENS.search(said, end + len(_CLOSES))
