"""What did an agent do in an AgentDojo run, and which texts did the benchmark plant for it? One run, one JSON document.

A tool message holds a full copy of the call that it answers, so results are joined by that copy and not by ids, which
half of these runs leave empty and others use twice (FORMATS section 11; written by AgentDojo's `TraceLogger`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Execution
from forensics.core.pointers import escape
from forensics.core.trace import StepKind
from forensics.formats.shared.document import note_cut, open_document
from forensics.formats.shared.fields import fields_of, is_text, items_in, items_of, opens_with, present, text
from forensics.formats.shared.messages.telling import Doubts, Finder, taint, tell
from forensics.formats.shared.messages.vocabulary import joined, parse_message

if TYPE_CHECKING:
    from forensics.core.build import Lane, Spot, TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.fields import Fields
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "agentdojo"
ABOUT = "AgentDojo run: one JSON document a run, with the texts that the benchmark injected"
CARRIES = "calls, arguments, results with a copy of their call, errors, injected texts, verdicts of the benchmark"
LACKS = "times, tool schemas, call ids (about half), the state of the environment"
RERUN = "the environment, which the benchmark builds anew, and the schemas that the model was offered"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_MARKS = ("suite_name", "pipeline_name")
_NAMES = ("pipeline_name", "suite_name", "user_task_id", "attack_type", "injection_task_id")


def sniff(look: Look) -> int:
    """95 for the keys of a run."""
    return 95 if all(mark in look.members() for mark in _MARKS) else 0


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell the run. Raises CorruptEvidenceError where nothing of it is JSON."""
    document = open_document(source, build)
    fields = fields_of(document.body)
    build.dialect = text(fields, "benchmark_version") or None
    names = (text(fields, name) for name in _NAMES)
    run = _Run(build.trace("/".join(name for name in names if name) or "run"), document)
    run.finder = Finder(source, build.places, document.start)
    run.tell(fields)
    note_cut(document, build)
    build.counts.records = run.told


class _Run:
    """One run on its way to the builder."""

    finder: Finder

    def __init__(self, builder: TraceBuilder, document: Document) -> None:
        self.builder = builder
        self.document = document
        self.lane: Lane = builder.lane()
        self.doubts = Doubts()
        self.told = 0
        self.tainted = False

    def tell(self, fields: Fields) -> None:
        self._injections(fields)
        for index, raw in enumerate(items_in(fields, "messages")):
            self._message(raw, index)
            self.told += 1
        self._end(fields)

    def _injections(self, fields: Fields) -> None:
        """The planted texts stand in the environment before the agent begins: they are told first, by their names."""
        for vector, planted in fields_of(fields["injections"]).items() if "injections" in fields else ():
            self.builder.step(
                StepKind.OTHER, self._at(f"/injections/{escape(vector)}"), name="injection", payload=planted
            )

    def _at(self, pointer: str) -> Spot:
        return self.document.spot.down(pointer)

    def _message(self, raw: Payload, index: int) -> None:
        pointer = f"/messages/{index}"
        fields = fields_of(raw)
        before = len(self.builder.trace.calls)
        place = self.finder.place(raw)
        if "tool_call" in fields and text(fields, "role") == "tool":
            spot = self._at(pointer)
            self._ran(fields, spot if place < 0 else msgspec.structs.replace(spot, place=place))
        else:
            message = msgspec.structs.replace(parse_message(raw, pointer), place=place)
            tell(self.builder, self.lane, (message,), self.document.spot)
            self.doubts.note(self.builder, (message,), self.document.spot)
        tainted = self.document.taint_of(raw)
        self.tainted = self.tainted or tainted is not None
        taint(self.builder, tainted, self._at(pointer), before)

    def _ran(self, fields: Fields, spot: Spot) -> None:
        """A tool message: the call that ran, by its copy, and what the model was given for it."""
        call = fields_of(fields["tool_call"])
        error = present(fields, "error")
        if error is None and not _gives(fields):
            self.builder.gap("evidence_gap", "a tool message whose content is not there to be read", spot)
        ran = Execution(
            text(call, "function"),
            spot,
            recorded_id=text(call, "id") or text(fields, "tool_call_id") or None,
            arguments=present(call, "args"),
            result=None if error is not None else _words(present(fields, "content")),
            error=error,
            status="" if error is None else "error",
        )
        row = self.builder.execute(self.lane, ran)
        if self.builder.trace.calls[row].requested is None:
            self.builder.gap("orphan_result", "a tool message answers no call that a turn asked for", spot)

    def _end(self, fields: Fields) -> None:
        """An error of the run itself ends it: what happened after the last message is not recorded."""
        error = present(fields, "error")
        if error is not None and bytes(error) != b'""':
            spot = self._at("/error")
            self.builder.step(StepKind.ERROR, spot, payload=error)
            self.builder.gap(
                "evidence_gap", "the run broke off: what came after its last message is not recorded", spot
            )
            self.builder.trace.ended_normally = False
        if not self.told:
            self.builder.gap("evidence_gap", "the run holds no message", self._at("/messages"))
        if not self.tainted:  # what stands twice stands around the messages
            taint(self.builder, self.document.tainted, self.document.spot)


def _gives(fields: Fields) -> bool:
    """Whether a tool message has the content that each has: a text, or in newer runs a list of blocks."""
    content = present(fields, "content")
    return content is not None and (is_text(content) or opens_with(content, b"["))


def _words(content: Payload | None) -> Payload | None:
    """The text of a content, which newer runs write as a list of blocks; a list with anything else stays as it is."""
    if content is None or is_text(content):
        return content
    blocks = [fields_of(item) for item in items_of(content)]
    if any(text(block, "type") != "text" or "content" not in block for block in blocks):
        return content
    return joined([block["content"] for block in blocks])
