"""What did agent and customer do in the runs of a tau-bench file? A list of runs with OpenAI messages, or transcripts.

Agents of the text kinds (`act`, `react`) write their calls into their words, and the few-shot transcripts show results
alone: both hide calls, and are never cleared for want of them (FORMATS section 10).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.jsonvalue import decode, text_of
from forensics.core.trace import NOWHERE, StepKind
from forensics.formats.shared.document import note_cut, open_document
from forensics.formats.shared.fields import fields_of, is_text, items_of, opens_with, present, text
from forensics.formats.shared.lines import bad_line, lines
from forensics.formats.shared.messages.telling import Doubts, Finder, taint, tell
from forensics.formats.shared.messages.vocabulary import parse_message

if TYPE_CHECKING:
    from forensics.core.messages import Message
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.fields import Fields
    from forensics.formats.shared.lines import Line
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "tau1"
ABOUT = "tau-bench results: a list of runs (task_id, reward, traj), or its few-shot transcripts as JSON lines"
CARRIES = "calls, arguments, results, the customer's words, many runs in one file"
LACKS = "times, error flags, tool schemas; calls that a text agent wrote into its words, and those of transcripts"
RERUN = "the state of the shop that the tools change, the schemas, and the simulated customer"
RECORDS_CALLS = False
SPANS_ARE_COMPLETE = False

_TRANSCRIPT = "messages_display"
_CALL_AS_TEXT = re.compile(r"(?:^|\n)\s*Action:\s*\n?\s*\{")
_RESULT_AS_TEXT = "API output:"


def sniff(look: Look) -> int:
    """95 for a list of runs, 90 for transcripts."""
    if any({"task_id", "traj"} <= run.keys() for run in look.items()):
        return 95
    return 90 if any(_TRANSCRIPT in fields for fields in look.lines) else 0


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell every run. Raises CorruptEvidenceError where nothing of it is JSON."""
    if not opens_with(source.data, b"[") and not opens_with(source.data[3:], b"["):
        for line in lines(source):
            _transcript(line, build)
        return
    document = open_document(source, build)
    finder = Finder(source, build.places, document.start)
    names: dict[str, int] = {}
    last: str | None = None
    for index, raw in enumerate(items_of(document.body)):
        last = _run(raw, f"/{index}", document, finder, build, names) or last
        build.counts.records += 1
    note_cut(document, build, last)


# runs ----------------------------------------------------------------------------------------------------------------


def _run(  # noqa: PLR0917 - one run with all that the file says around it
    raw: Payload, pointer: str, document: Document, finder: Finder, build: EvidenceBuilder, names: dict[str, int]
) -> str | None:
    """Tell one run; returns the id of its trace."""
    fields = fields_of(raw)
    spot = document.spot.down(pointer)
    if "traj" not in fields:
        build.gap("evidence_gap", "an item that is no run", spot)
        return None
    builder = build.trace(_named(fields, names))
    lane = builder.lane()
    doubts = Doubts()
    for at, item in enumerate(items_of(fields["traj"])):
        message = msgspec.structs.replace(parse_message(item, f"{pointer}/traj/{at}"), place=finder.place(item))
        tell(builder, lane, (message,), document.spot)
        doubts.note(builder, (message,), document.spot)
        if _hides_a_call(message):
            where = Spot(message.place if message.place >= 0 else spot.place, document.spot.pointer + message.pointer)
            builder.gap("evidence_gap", "a call that stands in the words of a message", where)
    taint(builder, document.taint_of(raw), spot)
    return builder.trace.id


def _named(fields: Fields, names: dict[str, int]) -> str:
    """A name of the run that no other run of the file has."""
    trial = text(fields, "trial")
    name = f"task-{text(fields, 'task_id')}" + (f".{trial}" if trial else "")
    names[name] = number = names.get(name, 0) + 1
    return name if number == 1 else f"{name}#{number}"


def _hides_a_call(message: Message) -> bool:
    """Whether a message holds a call or a result as text, as the text agents write them."""
    if message.text is None or message.calls or not is_text(message.text):
        return False
    said = text_of(message.text)
    return bool(_CALL_AS_TEXT.search(said)) if message.says_model else said.startswith(_RESULT_AS_TEXT)


# transcripts ---------------------------------------------------------------------------------------------------------

_HIDDEN = "a transcript as text: it shows results and leaves out the calls that they answer"


def _transcript(line: Line, build: EvidenceBuilder) -> None:
    build.counts.lines += 1
    place = build.places.add(line=line.number, offset=line.offset, length=len(line.data))
    decoded = decode(line.data)
    said = present(fields_of(line.data), _TRANSCRIPT)
    if decoded.error is not None:
        bad_line(build, line, place, f"line {line.number} is no JSON: {decoded.error}")
        return
    build.counts.records += 1
    build.faults(decoded.faults, Spot(place))
    if said is None:
        build.gap("evidence_gap", "a line that is no transcript", Spot(place))
        return
    spot = Spot(place, f"/{_TRANSCRIPT}")
    builder = build.trace(f"transcript-{line.number}")
    builder.step(StepKind.OTHER, spot, name="transcript", payload=said, turn=NOWHERE)
    builder.gap("evidence_gap", _HIDDEN, spot)
