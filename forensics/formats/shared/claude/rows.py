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
from forensics.formats.shared.claude.hidden import may_hold
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
from forensics.formats.shared.claude.written import NONE, Lines, Where, size_of, written
from forensics.formats.shared.fields import fields_of, names_a_tool
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
    said), and its texts.
    """

    key: str
    model: str
    stop: str
    texts: Sequence[Where]


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

    def know(self, row: int, kind: str, owner: str, content: Where) -> None:
        """Note by what a record with a message is known, which is a piece of `owner`."""
        offset, length = content
        self.names[row], self.offsets[row] = names_of(kind, self.uuids[row], owner, length), offset
        self.speaks[row] = True


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
    rows = Rows(lines)
    by_kind: dict[str, list[int]] = {}
    for row, one in enumerate(lines.records):
        by_kind.setdefault(one.type or "", []).append(row)
    for kind, some in by_kind.items():
        if kind not in _BY_THEMSELVES:
            _TOLD.get(kind, _noted)(lines, rows, some)
    return rows


_BY_THEMSELVES = frozenset({"", "result"})


# turns ---------------------------------------------------------------------------------------------------------------


def _turns(lines: Lines, rows: Rows, some: Sequence[int]) -> None:
    """Records of the model: pieces of its turns, and the calls that they ask for."""
    told = [row for row in some if _is_piece(lines, rows, row, lines.records[row])]
    spent = usages([lines.records[row].message.usage for row in told])
    for row, tokens in zip(told, spent, strict=True):
        rows.tokens[row] = tokens


def _is_piece(lines: Lines, rows: Rows, row: int, one: Any) -> bool:
    """Tell a record of the model, unless more is to be said of it: it is none of its own, was cut, or starts a
    sub-agent.
    """
    message = one.message
    if not message or message.model == SYNTHETIC or message.stop_reason in CUT or not isinstance(message.content, list):
        return False
    begin = lines.content_at(row)
    told = _asked(lines, message.content, begin + 1) if begin >= 0 else None
    if told is None:
        return False
    calls, texts = told
    rows.know(row, "assistant", message.id or one.timestamp or "", (lines.base + begin, size_of(message.content)))
    rows.tell(row, _lane(one), calls)
    key, model, stop = message.id or one.requestId or "", message.model or "", message.stop_reason or ""
    rows.pieces[row] = Piece(key, model, stop, texts)
    return True


def _asked(lines: Lines, blocks: Sequence[Any], begin: int) -> tuple[list[Event], list[Where]] | None:
    """The calls that some blocks ask for, and their texts; None where one of them is told by itself."""
    calls: list[Event] = []
    texts: list[Where] = []
    for number, block in enumerate(blocks):
        if number:
            begin += size_of(blocks[number - 1]) + len(",")
        is_call = block.type == "tool_use"
        found = lines.found(block, _INPUT if is_call else WORDS, begin)
        if found is None or not (is_call or block.type in _SPOKEN) or (is_call and block.name in SUB_AGENT_TOOLS):
            return None
        said, where = found
        if is_call:
            pointer = f"/message/content/{number}"
            calls.append(Event(StepKind.TOOL_CALL, block.name or "", block.id or "", Outcome.RECORDED, where, pointer))
        elif said is not None and said != _SILENT:
            texts.append(where)
    return calls, texts


# what the model was shown --------------------------------------------------------------------------------------------


def _shown(lines: Lines, rows: Rows, some: Sequence[int]) -> None:
    """Records of a person or of the harness: results, and what was said beside them."""
    for row in some:
        one = lines.records[row]
        content = one.message.content if one.message else ""
        begin = lines.content_at(row) if content else NOWHERE
        if begin < 0:
            continue
        where, meta = (lines.base + begin, size_of(content)), one.isMeta is True
        if isinstance(content, list):
            told = _answered(lines, one, begin + 1)
        else:
            told = None if content.startswith(INTERRUPTION) else [_said(where, meta=meta)]
        if told is not None:
            rows.know(row, "user", one.message.id or one.timestamp or "", where)
            rows.tell(row, _lane(one), told)
            rows.asks[row] = not (meta or one.isSidechain or told[0].kind is StepKind.TOOL_RESULT)


def _answered(lines: Lines, one: Any, begin: int) -> list[Event] | None:
    """The results in the blocks of a record, then what is said beside them; None where it is told by itself."""
    results: list[Event] = []
    spoken: list[Where] = []
    blocks = one.message.content
    for number, block in enumerate(blocks):
        if number:
            begin += size_of(blocks[number - 1]) + len(",")
        answers = block.type == "tool_result"
        found = lines.found(block, CONTENT if answers else WORDS, begin)
        if found is None or not (answers or block.type in _SPOKEN):
            return None
        said, where = found
        if answers:
            told = _outcome(one, block, said)
            if told is None:
                return None
            results.append(
                Event(StepKind.TOOL_RESULT, "", block.tool_use_id or "", told, where, f"/message/content/{number}")
            )
        elif said is not None and said != _SILENT:
            spoken.append(where)
            if spoken[1:] or _interrupts(said):
                return None
    if spoken or not results:
        results.append(_said(spoken[0] if spoken else NONE, meta=one.isMeta is True))
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


def _said(where: Where, *, meta: bool) -> Event:
    return Event(StepKind.SYSTEM, "meta", says=where) if meta else Event(StepKind.USER, says=where)


# everything else -----------------------------------------------------------------------------------------------------


def _noted(lines: Lines, rows: Rows, some: Sequence[int]) -> None:
    """Records that the model is not shown, or that put something before it beside the conversation."""
    records, uuids = lines.records, rows.uuids
    kind: str = records[some[0]].type
    tell, odd = _NOTES.get(kind, _kept), _suspects(lines, some)
    for row in some:
        one = records[row]
        if one.message is ABSENT and row not in odd:
            rows.names[row] = ((uuids[row], kind, 0),) if uuids[row] else ()
            tell(lines, rows, row, one)


def _suspects(lines: Lines, some: Sequence[int]) -> set[int]:
    """Which of the records may hold a call or a result, or be one."""
    records = lines.records
    named = {kind for kind in {type(records[row]) for row in some} if names_a_tool(kind.__struct_encode_fields__)}
    found = {row for row in some if named and type(records[row]) in named and names_a_tool(keys_of(records[row]))}
    for run, begin, end in lines.runs(some):
        if may_hold(lines.text, begin, end):
            found.update(run)
    return found


def _kept(_: Lines, rows: Rows, row: int, one: Any) -> None:
    """Bookkeeping: no more than that it is there."""
    rows.tell(row, _OF_NONE, rows.noted[one.type])


def _progress(_: Lines, rows: Rows, row: int, one: Any) -> None:
    """News of a running tool; those of a sub-agent are told by themselves."""
    kind = (one.data and one.data.type) or "progress"
    if kind != AGENT_NEWS:
        rows.tell(row, _OF_NONE, rows.noted[kind])


def _system(_: Lines, rows: Rows, row: int, one: Any) -> None:
    """What the harness noted, but for what it says more of: errors, commands, compaction."""
    kind = one.subtype or "system"
    if kind not in _TOLD_ALONE:
        rows.tell(row, _OF_NONE, rows.noted[kind])


def _attachment(lines: Lines, rows: Rows, row: int, one: Any) -> None:
    """What the harness put before the model beside the conversation."""
    shown = one.attachment
    if shown and one.free["attachment"](one):
        says = (lines.base + lines.field_at("attachment", lines.starts[row] - lines.base), size_of(shown))
        rows.tell(row, _lane(one), (Event(StepKind.SYSTEM, shown.type or "attachment", says=says),))


# small things --------------------------------------------------------------------------------------------------------


def _lane(one: Any) -> str | None:
    """The lane of a record; None where it follows from the records before."""
    aside, under = one.isSidechain, one.parent_tool_use_id
    if not aside and not under:
        return MAIN
    return lane_name(under or "", one.agentId or "", aside=bool(aside)) or None


_TOLD: dict[str, Callable[[Lines, Rows, Sequence[int]], None]] = {"assistant": _turns, "user": _shown}
_NOTES: dict[str, Callable[[Lines, Rows, int, Any], None]] = {
    "progress": _progress,
    "system": _system,
    "attachment": _attachment,
}
