"""What did the steps of a run of the Vercel AI SDK ask for, and what came of it? What `generateText` gives, its steps
alone, or the steps that `onStepFinish` was given, one a line.

Source: `DefaultStepResult` and `StepResult` of the SDK's releases 4 to 6. A step keeps the messages of all steps so far
beside its own parts; a run is told from the messages, which hold what the model was shown of a result or an error, and
from the parts where somebody left the messages out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.messages import Doubt, Message
from forensics.core.trace import NOWHERE
from forensics.formats.shared.document import find_document, note_cut
from forensics.formats.shared.fields import (
    Fields,
    fields_of,
    items_in,
    json_inside,
    object_in,
    opens_with,
    present,
    text,
    whole_number,
)
from forensics.formats.shared.json_lines import json_values
from forensics.formats.shared.messages.blocks import read_parts
from forensics.formats.shared.messages.conversation import Conversation, parse_conversation
from forensics.formats.shared.messages.draft import Draft
from forensics.formats.shared.messages.telling import Doubts, Offers, taint, tell
from forensics.formats.shared.messages.vocabulary import in_place, message_of, parse_message
from forensics.formats.shared.records_in import records_in
from forensics.formats.shared.wholeness import cut_short, finish_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "vercel-ai"
ABOUT = "Vercel AI SDK results: generateText with its steps, the steps alone, or a step a line"
CARRIES = "calls, arguments, results, errors as the model was shown them, finish reasons, tokens"
LACKS = "times of single calls, executions apart from results; prompts where the request was not kept"
RERUN = "the system prompt and the tools where the request was not kept, and the settings"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_SURE = 90
_AROUND = frozenset({"request", "response", "usage"})
_NO_STEP = "a record that is no step of a run"
_OTHER_CALLS = "a step tells calls that its messages do not"


def sniff(look: Look) -> int:
    """90 where the first record is a step, or holds a list of some."""
    document = look.members()
    firsts = [document] if document else [*look.items()[:1], *look.lines[:1]]
    return _SURE if any(_is_step(fields) or _steps_of(fields) for fields in firsts) else 0


def _is_step(fields: Fields) -> bool:
    if "finishReason" not in fields or "steps" in fields:
        return False
    content = fields.get("content")
    in_one_list = content is not None and opens_with(content, b"[") and not _AROUND.isdisjoint(fields)
    return in_one_list or {"toolCalls", "toolResults"} <= fields.keys()


def _steps_of(fields: Fields) -> list[Payload]:
    """The steps that a result holds; none where it is no result."""
    steps = items_in(fields, "steps") if "steps" in fields else []
    return steps if steps and _is_step(fields_of(steps[0])) else []


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell every run. Raises CorruptEvidenceError where the evidence holds no step."""
    reader = _Runs(build)
    document = find_document(source, build)
    if document is not None:
        reader.value(document.body, document.spot, document.tainted)
        reader.close()
        note_cut(document, build)
    else:
        for value, spot, tainted in json_values(source, build):
            reader.value(value, spot, tainted)
        reader.close()
    if not build.counts.records:
        raise source.holds_no("step")


class _Run(msgspec.Struct):
    """A run while its steps are met."""

    spot: Spot
    prompt: Conversation
    said: list[Message] = []
    doubts: list[Doubt] = []
    tainted: str | None = None


class _Runs:
    """The runs of the evidence; a step goes on with a run where its messages do."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.offers = Offers()
        self.told = 0
        self.run: _Run | None = None

    def value(self, raw: Payload, spot: Spot, tainted: str | None) -> None:
        """Read one value of the evidence: a step, a result with its steps, or a list of either."""
        for _, fields, pointer in records_in(raw, self._around):
            if _is_step(fields):
                self._step(fields, spot, pointer, tainted)
            else:
                self.build.gap("evidence_gap", _NO_STEP, spot.down(pointer))

    def _around(self, fields: Fields) -> tuple[str, ...]:
        """Where a result has its steps, which are a run."""
        if not _steps_of(fields):
            return ()
        self.close()
        return ("steps",)

    def _step(self, fields: Fields, spot: Spot, pointer: str, tainted: str | None) -> None:
        self.build.counts.records += 1
        said = tuple(_said(fields, pointer))
        repeated = _repeated(self.run, said) if _keeps_its_messages(fields) else 0
        if self.run is None or repeated is None or _begins(fields):
            self.close()
            self.run = _Run(spot, _asked(fields, f"{pointer}/request"))
        run, repeated = self.run, repeated or 0
        run.said.extend(msgspec.structs.replace(message, place=spot.place) for message in said[repeated:])
        run.doubts.extend(_doubts(fields, said, pointer))
        run.tainted = run.tainted or tainted
        usage = object_in(fields, "usage")
        self.build.counts.input_tokens += whole_number(usage, "inputTokens", "promptTokens")
        self.build.counts.output_tokens += whole_number(usage, "outputTokens", "completionTokens")

    def close(self) -> None:
        """Tell the run whose steps were met."""
        run, self.run = self.run, None
        if run is None:
            return
        builder = self.build.trace(f"trace-{self.told}")
        self.told += 1
        prompt = (msgspec.structs.replace(one, place=run.spot.place) for one in run.prompt.prompt)
        messages = (*prompt, *run.said)
        tell(builder, builder.lane(), messages, run.spot)
        self.offers.note(builder, run.prompt.tools, run.spot.down(run.prompt.tools_pointer))
        Doubts().note(builder, messages, run.spot)
        for doubt in run.doubts:
            builder.gap(doubt.code, doubt.says, run.spot.down(doubt.pointer))
        taint(builder, run.tainted, run.spot)


def _begins(step: Fields) -> bool:
    """Whether a step says of itself that it is the first of its run (releases 4 and 6)."""
    return text(step, "stepType") == "initial" or text(step, "stepNumber") == "0"


def _repeated(run: _Run | None, said: tuple[Message, ...]) -> int | None:
    """How many messages of a step the run has told already; None where the step goes on with another run, or repeats
    what this one ended with.
    """
    told = [] if run is None else [message.key for message in run.said]
    goes_on = [message.key for message in said[: len(told)]] == told and len(said) > len(told)
    return len(told) if goes_on else None


def _keeps_its_messages(step: Fields) -> bool:
    return bool(items_in(object_in(step, "response"), "messages"))


def _asked(step: Fields, pointer: str) -> Conversation:
    """What the request of a step asked the model, as its API writes it; nothing where it was not kept."""
    body = present(object_in(step, "request"), "body")
    asked = Conversation() if body is None else parse_conversation(json_inside(body))
    place = f"{pointer}/body"
    prompt = tuple(msgspec.structs.replace(one, pointer=place + one.pointer, place=NOWHERE) for one in asked.prompt)
    return Conversation(prompt=prompt, tools=asked.tools, tools_pointer=place + asked.tools_pointer)


def _said(step: Fields, pointer: str) -> Iterator[Message]:
    """The messages of a step, with those of the steps before it where it keeps them."""
    kept = items_in(object_in(step, "response"), "messages") if "response" in step else []
    if kept:
        place = f"{pointer}/response/messages"
        yield from (parse_message(message, f"{place}/{at}") for at, message in enumerate(kept))
    else:
        yield _own(step, pointer)


def _own(step: Fields, pointer: str) -> Message:
    """What a step says in its own parts: in one list, or apart (release 4)."""
    draft = Draft(in_place)
    draft.role = "assistant"
    if "content" in step:
        read_parts(draft, items_in(step, "content"), "/content")
    else:
        said = present(step, "text")
        draft.texts.extend([] if said is None else [said])
        read_parts(draft, items_in(step, "toolCalls"), "/toolCalls")
        read_parts(draft, items_in(step, "toolResults"), "/toolResults")
    return message_of(draft, {}, pointer)


def _doubts(step: Fields, said: tuple[Message, ...], pointer: str) -> Iterator[Doubt]:
    """What of a step may hide something: an end before its time, calls that its messages do not tell."""
    own = _own(step, pointer)
    why = cut_short(finish_words(present(step, "finishReason")), calls=bool(own.calls))
    if why:
        yield Doubt(why, f"{pointer}/finishReason")
    told = {part.recorded_id for message in said for part in message.calls}
    if any(part.recorded_id not in told for part in own.calls):
        yield Doubt(_OTHER_CALLS, pointer)
