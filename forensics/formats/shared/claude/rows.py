"""What does each record of a block of lines say that is told at once? Its columns, and the events in it.

Nothing is told at once of a record of which more is to be said than stands in these columns: it is told by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.jsonvalue import text_of
from forensics.core.late import Made
from forensics.core.times import all_from_texts
from forensics.core.trace import NOWHERE, Outcome, StepKind
from forensics.core.tuples import outcome_said
from forensics.formats.shared.claude.hidden import is_named_so, may_hold
from forensics.formats.shared.claude.history import names_of
from forensics.formats.shared.claude.kinds import (
    AGENT_NEWS,
    API_ERROR,
    COMPACTIONS,
    CONTENT,
    CUT,
    LOCAL_COMMAND,
    MEDIA,
    SUB_AGENT_TOOLS,
    SYNTHETIC,
    TEXTS,
    WORDS,
)
from forensics.formats.shared.claude.lanes import MAIN, lane_name
from forensics.formats.shared.claude.outcomes import INTERRUPTION, MAY_SAY, outcome, ran_plainly
from forensics.formats.shared.claude.tokens import usages
from forensics.formats.shared.claude.written import NONE, Lines, Where, begins_of, size_of, written
from forensics.formats.shared.fields import fields_of
from forensics.formats.shared.forms import ABSENT, keys_of

if TYPE_CHECKING:
    from forensics.core.trace import Payload
    from forensics.formats.shared.claude.history import Name

_NULL = msgspec.Raw(b"null")
_INPUT = ("input",)
_SILENT = msgspec.Raw(b'""')
_SPOKEN = TEXTS | MEDIA
_TOLD_ALONE = COMPACTIONS | {API_ERROR, LOCAL_COMMAND}
_OF_NONE = ""  # instead of a lane


class Event(msgspec.Struct, frozen=True, gc=False):
    """One step of a record: its kind, its name, the id of its call, the outcome that it tells, what it says, and where
    in the record that stands.
    """

    kind: StepKind
    name: str = ""
    id: str = ""
    outcome: Outcome = Outcome.RECORDED
    says: Where = NONE
    pointer: str = ""


class Piece(msgspec.Struct, frozen=True, gc=False):
    """A piece of a model turn: the id that all pieces share ("": it has none), who spoke, why the turn ended ("": not
    said), its texts, and where in its record it stands.
    """

    key: str
    model: str
    stop: str
    texts: Sequence[Where]
    pointer: str


class Speech(msgspec.Struct, frozen=True, gc=False):
    """What the model said or was shown, in the record of a row: the object that says it, where in the text that begins,
    where in the record it stands ("": it is the record), and its lane.
    """

    row: int
    one: Any
    begin: int
    pointer: str
    lane: str | None


class Rows:
    """Records of a block of lines, in columns: their ids and those that they follow, when they were, by which names
    they are known and where their content stands; the lane of each ("": of none, None: it is told by itself), whether a
    person asks in it, and whether it has a message; its steps but that of the turn, the piece of a turn that it is, and
    the tokens of its message (None: not said).
    """

    def __init__(self, lines: Lines) -> None:
        records = lines.records
        size = len(records)
        self.lines = lines
        self.uuids: list[str] = [one.uuid or "" for one in records]
        self.parents: list[str] = [one.parentUuid or "" for one in records]
        self.times = _times([one.timestamp or "" for one in records])
        self.names: list[tuple[Name, ...]] = [()] * size
        self.offsets = [0] * size
        self.lanes: list[str | None] = [None] * size
        self.asks = bytearray(size)
        self.speaks = bytearray(size)
        self.events: list[Sequence[Event]] = [()] * size
        self.pieces: list[Piece | None] = [None] * size
        self.tokens: list[tuple[int, int] | None] = [None] * size
        self.noted: Made[str, tuple[Event, ...]] = Made(_noted_as)

    def tell(self, row: int, lane: str | None, events: Sequence[Event]) -> None:
        """Tell the steps of a record of that lane (None: it follows from the records before)."""
        self.lanes[row], self.events[row] = lane, events

    def know(self, speech: Speech, kind: str, content: Where) -> None:
        """Note by what a message is known, which is a piece of a message with an id or else of its time."""
        row, one, (offset, length) = speech.row, speech.one, content
        owner = one.message.id or one.timestamp or ""
        self.names[row] += names_of(kind, one.uuid or "", owner, length)
        self.offsets[row] = offset
        self.speaks[row] = not speech.pointer


def _noted_as(name: str) -> tuple[Event, ...]:
    """What is told of a record of which no more is told than that it is there."""
    return (Event(StepKind.OTHER, name),)


def _times(texts: list[str]) -> list[int]:
    """When each was."""
    if all(texts):
        return all_from_texts(texts)
    told = iter(all_from_texts([one for one in texts if one]))
    return [next(told) if one else NOWHERE for one in texts]


def rows_of(lines: Lines) -> Rows:
    """The rows of the records of some lines."""
    rows, records = Rows(lines), lines.records
    by_kind: dict[str, list[int]] = {}
    for row, one in enumerate(records):
        by_kind.setdefault(one.type or "", []).append(row)
    spoken: dict[str, list[Speech]] = {kind: [] for kind in _TOLD}
    for kind, some in by_kind.items():
        if kind in spoken:
            begins = (lines.starts[row] - lines.base for row in some)
            spoken[kind] += [
                Speech(row, records[row], at, "", _lane(records[row])) for row, at in zip(some, begins, strict=True)
            ]
        elif kind not in _BY_THEMSELVES:
            _noted(lines, rows, some, spoken)
    for kind, tell in _TOLD.items():
        tell(lines, rows, spoken[kind])
    return rows


_BY_THEMSELVES = frozenset({"", "result"})


# turns ---------------------------------------------------------------------------------------------------------------


def _turns(lines: Lines, rows: Rows, spoken: Sequence[Speech]) -> None:
    """What the model said: pieces of its turns, and the calls that they ask for."""
    told = [speech for speech in spoken if _is_piece(lines, rows, speech)]
    spent = usages([speech.one.message.usage for speech in told])
    for speech, tokens in zip(told, spent, strict=True):
        rows.tokens[speech.row] = tokens


def _is_piece(lines: Lines, rows: Rows, speech: Speech) -> bool:
    """Tell what the model said, unless more is to be said of it: it is none of its own, was cut, or starts a sub-agent.
    Returns whether it was told.
    """
    one = speech.one
    message = one.message
    if not message or message.model == SYNTHETIC or message.stop_reason in CUT or not isinstance(message.content, list):
        return False
    begin = lines.within(message, "content", lines.within(one, "message", speech.begin))
    begins = begins_of(message.content, begin)
    told = _asked(lines, speech, begins) if begin >= 0 and message.content else None
    if told is None:
        return False
    calls, texts = told
    rows.know(speech, "assistant", (lines.base + begin, begins[-1] - begin))
    rows.tell(speech.row, speech.lane, calls)
    key, model, stop = message.id or one.requestId or "", message.model or "", message.stop_reason or ""
    rows.pieces[speech.row] = Piece(key, model, stop, texts, speech.pointer)
    return True


def _asked(lines: Lines, speech: Speech, begins: Sequence[int]) -> tuple[list[Event], list[Where]] | None:
    """The calls that the blocks of a message ask for, which begin there, and their texts; None where one of the blocks
    is told by itself.
    """
    calls: list[Event] = []
    texts: list[Where] = []
    for number, block in enumerate(speech.one.message.content):
        is_call = block.type == "tool_use"
        found = lines.found(block, _INPUT if is_call else WORDS, begins[number])
        if found is None or not (is_call or block.type in _SPOKEN) or (is_call and block.name in SUB_AGENT_TOOLS):
            return None
        said, where = found
        if is_call:
            pointer = f"{speech.pointer}/message/content/{number}"
            calls.append(Event(StepKind.TOOL_CALL, block.name or "", block.id or "", Outcome.RECORDED, where, pointer))
        elif said is not None and said != _SILENT:
            texts.append(where)
    return calls, texts


# what the model was shown --------------------------------------------------------------------------------------------


def _shown(lines: Lines, rows: Rows, spoken: Sequence[Speech]) -> None:
    """What a person or the harness said: results, and what was said beside them."""
    for speech in spoken:
        one = speech.one
        content = one.message.content if one.message else ""
        begin = lines.within(one.message, "content", lines.within(one, "message", speech.begin)) if content else NOWHERE
        if begin < 0:
            continue
        if isinstance(content, list):
            begins = begins_of(content, begin)
            where = (lines.base + begin, begins[-1] - begin)
            told = _answered(lines, speech, begins)
        else:
            where = (lines.base + begin, size_of(content))
            told = None if content.startswith(INTERRUPTION) else [_said(speech, where)]
        if told is not None:
            rows.know(speech, "user", where)
            rows.tell(speech.row, speech.lane, told)
            answers = told[0].kind is StepKind.TOOL_RESULT
            rows.asks[speech.row] = not (speech.pointer or one.isMeta or one.isSidechain or answers)


def _answered(lines: Lines, speech: Speech, begins: Sequence[int]) -> list[Event] | None:
    """The results in the blocks of a message, which begin there, then what is said beside them; None where the message
    is told by itself.
    """
    results: list[Event] = []
    spoken: list[Where] = []
    one = speech.one
    for number, block in enumerate(one.message.content):
        answers = block.type == "tool_result"
        found = lines.found(block, CONTENT if answers else WORDS, begins[number])
        if found is None or not (answers or block.type in _SPOKEN):
            return None
        said, where = found
        if answers:
            told = _outcome(one, block, said)
            if told is None:
                return None
            pointer = f"{speech.pointer}/message/content/{number}"
            results.append(Event(StepKind.TOOL_RESULT, "", block.tool_use_id or "", told, where, pointer))
        elif said is not None and said != _SILENT:
            spoken.append(where)
            if spoken[1:] or _interrupts(said):
                return None
    if spoken or not results:
        results.append(_said(speech, spoken[0] if spoken else NONE))
    return results


def _outcome(one: Any, block: Any, content: Payload | None) -> Outcome | None:
    """What a result tells; None of one that has words as well, or that is recorded beside it in two ways."""
    structured, other = one.toolUseResult, one.tool_use_result
    if block.text is not ABSENT or block.thinking is not ABSENT or (structured is not ABSENT and other is not ABSENT):
        return None
    structured = other if structured is ABSENT else structured
    structured = None if structured is ABSENT or structured == _NULL else structured
    if not block.is_error and ran_plainly(content, structured):
        return Outcome.RECORDED
    told = outcome(fields_of(written(block)), structured, {})
    return outcome_said(failed=told.failed, denied=told.denied, unsettled=told.unsettled)


def _interrupts(said: Payload) -> bool:
    return bytes(memoryview(said)[:2]) in MAY_SAY and text_of(said).startswith(INTERRUPTION)


def _said(speech: Speech, where: Where) -> Event:
    meta = speech.one.isMeta is True
    kind, name = (StepKind.SYSTEM, "meta") if meta else (StepKind.USER, "")
    return Event(kind, name, says=where, pointer=speech.pointer)


# everything else -----------------------------------------------------------------------------------------------------


def _noted(lines: Lines, rows: Rows, some: Sequence[int], spoken: dict[str, list[Speech]]) -> None:
    """Records that the model is not shown, or that put something before it beside the conversation."""
    records, uuids = lines.records, rows.uuids
    kind: str = records[some[0]].type
    news = {row for row in some if kind == "progress" and records[row].data and records[row].data.type == AGENT_NEWS}
    others = [row for row in some if row not in news]
    odd = _named_so(lines, some) | _suspects(lines, others)
    tell = _NOTES.get(kind, _kept)
    for row in some:
        one = records[row]
        if one.message is not ABSENT or row in odd:
            continue
        rows.names[row] = ((uuids[row], kind, 0),) if uuids[row] else ()
        if row in news:
            _tell_news(lines, row, one, spoken)
        else:
            tell(lines, rows, row, one)


def _named_so(lines: Lines, some: Sequence[int]) -> set[int]:
    """Which of the records are named like calls."""
    records = lines.records
    told = records[some[0]].type
    shapes = {type(records[row]) for row in some}
    named = {shape for shape in shapes if is_named_so(told, shape.__struct_encode_fields__)}
    return {row for row in some if named and type(records[row]) in named and is_named_so(told, keys_of(records[row]))}


def _suspects(lines: Lines, some: Sequence[int]) -> set[int]:
    """Which of the records may hold a call or a result."""
    found: set[int] = set()
    for run, begin, end in lines.runs(some):
        if may_hold(lines.text, begin, end):
            found.update(row for row in run if may_hold(lines.line(row)))
    return found


def _tell_news(lines: Lines, row: int, one: Any, spoken: dict[str, list[Speech]]) -> None:
    """What a sub-agent said or was shown, in news of it that hold no more calls than that."""
    data, said, line = one.data, one.data.message, lines.starts[row] - lines.base
    if not said or isinstance(said, str) or said.type not in spoken:
        return
    agent = said.agentId if data.agentId is ABSENT else data.agentId
    lane = lane_name(said.parent_tool_use_id or "", agent or "", aside=True)
    begin = lines.within(data, "message", lines.within(one, "data", line))
    if not lane or begin < 0:
        return
    beside = ((line, begin), (begin + size_of(said), line + lines.lengths[row]))
    if not any(may_hold(lines.text, *part) for part in beside):
        spoken[said.type].append(Speech(row, said, begin, "/data/message", lane))


def _kept(_: Lines, rows: Rows, row: int, one: Any) -> None:
    """Bookkeeping: no more than that it is there."""
    rows.tell(row, _OF_NONE, rows.noted[one.type])


def _progress(_: Lines, rows: Rows, row: int, one: Any) -> None:
    """News of a running tool."""
    rows.tell(row, _OF_NONE, rows.noted[(one.data and one.data.type) or "progress"])


def _system(_: Lines, rows: Rows, row: int, one: Any) -> None:
    """What the harness noted, but for what it says more of: errors, commands, compaction."""
    kind = one.subtype or "system"
    if kind not in _TOLD_ALONE:
        rows.tell(row, _OF_NONE, rows.noted[kind])


def _attachment(lines: Lines, rows: Rows, row: int, one: Any) -> None:
    """What the harness put before the model beside the conversation."""
    shown = one.attachment
    begin = lines.within(one, "attachment", lines.starts[row] - lines.base) if shown else NOWHERE
    if begin >= 0:
        says = (lines.base + begin, size_of(shown))
        rows.tell(row, _lane(one), (Event(StepKind.SYSTEM, shown.type or "attachment", says=says),))


# small things --------------------------------------------------------------------------------------------------------


def _lane(one: Any) -> str | None:
    """The lane of a record; None where it follows from the records before."""
    aside, under = one.isSidechain, one.parent_tool_use_id
    if not aside and not under:
        return MAIN
    return lane_name(under or "", one.agentId or "", aside=bool(aside)) or None


_TOLD: dict[str, Callable[[Lines, Rows, Sequence[Speech]], None]] = {"assistant": _turns, "user": _shown}
_NOTES: dict[str, Callable[[Lines, Rows, int, Any], None]] = {
    "progress": _progress,
    "system": _system,
    "attachment": _attachment,
}
