"""What did models answer to Gemini CLI? The responses that it records, one a line, to be given again as fake ones.

What the models were asked is not in them, nor what the calls gave that they asked for, and nothing tells which
conversation a response is of: that of the user, of a sub-agent, a summary, a choice of the model to use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.sanitise import one_line
from forensics.core.trace import StepKind
from forensics.formats.shared.fields import Fields, fields_of, present, text, whole_number
from forensics.formats.shared.messages.answers import read_answer
from forensics.formats.shared.messages.telling import Doubts, taint
from forensics.formats.shared.walks import walk_lines

if TYPE_CHECKING:
    from forensics.core.build import Spot
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.json_lines import JsonLine
    from forensics.formats.shared.messages.answers import Answer
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "gemini-responses"
ABOUT = "Gemini CLI's recorded responses (--record-responses, --fake-responses): one a line"
CARRIES = "what models said and which calls they asked for, with arguments; tokens"
LACKS = "prompts, results, times, schemas; which conversation a response is of"
RERUN = "everything but the models' answers: no result is recorded that could be given again"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_ANSWERS = frozenset({"generateContent", "generateContentStream"})
_COUNTS = frozenset({"countTokens", "embedContent"})
_ALONE = "only what models answered is recorded: not what they were asked, nor what the calls gave that they asked for"


def sniff(look: Look) -> int:
    """95 for a method of the API with its response."""
    return 95 if any(map(_is_response, look.lines)) else 0


def _is_response(fields: Fields) -> bool:
    return "response" in fields and "jsonrpc" not in fields and text(fields, "method") in _ANSWERS | _COUNTS


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell the responses. Raises CorruptEvidenceError where no line of it can be read."""
    walk_lines(source, build, _Responses(build), "response")


class _Responses:
    """The responses of one recording."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.builder = build.trace("responses")
        self.doubts = Doubts()

    def line(self, one: JsonLine) -> None:
        """One response."""
        if not len(self.builder.trace):
            self.builder.gap("evidence_gap", _ALONE, one.spot)
        method, response = text(one.fields, "method"), present(one.fields, "response")
        before = len(self.builder.trace.calls)
        if method in _ANSWERS and response is not None:
            self._answer(response, one.spot)
        else:
            self.builder.step(StepKind.OTHER, one.spot, name=method or "response")
            if method not in _COUNTS:
                message = f"a response of a method that is not known ({one_line(method or '(none)', 40)}), or none"
                self.builder.gap("evidence_gap", message, one.spot)
        taint(self.builder, one.tainted, one.spot, before)

    def _answer(self, response: Payload, spot: Spot) -> None:
        """What a model said, in one piece or in those of a stream."""
        answer, lane = read_answer(response, "/response"), self.builder.lane()
        for message in answer.messages:
            self.builder.respond(lane, message, spot, model=answer.model)
        self.doubts.note(self.builder, answer.messages, spot)
        for doubt in answer.doubts:
            self.builder.gap(doubt.code, doubt.says, spot.down(doubt.pointer))
        if not answer.messages and not answer.doubts:
            self.builder.gap("evidence_gap", "a response without an answer in it", spot.down("/response"))
        if answer.error is not None:
            self.builder.step(StepKind.ERROR, spot.down("/response"), payload=answer.error)
        self._count(answer)

    def _count(self, answer: Answer) -> None:
        usage = {} if answer.usage is None else fields_of(answer.usage)
        self.build.counts.input_tokens += whole_number(usage, "promptTokenCount")
        self.build.counts.output_tokens += whole_number(usage, "candidatesTokenCount")

    def close(self) -> None:
        """Nothing is left to say."""
