"""What does each record of a block of lines say that is told at once? Records of one shape are read column by column.

No row is made of a record of which more is to be said than a row can: such a record is told by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, TypeVar

import msgspec

from forensics.core.jsonvalue import text_of
from forensics.core.trace import Outcome, StepKind
from forensics.core.tuples import outcome_said
from forensics.formats.shared.claude.hidden import may_hold
from forensics.formats.shared.claude.history import Said
from forensics.formats.shared.claude.kinds import (
    AGENT_NEWS,
    API_ERROR,
    COMPACTIONS,
    CONTENT,
    CUT,
    LOCAL_COMMAND,
    STRUCTURED,
    SUB_AGENT_TOOLS,
    SYNTHETIC,
    WORDS,
)
from forensics.formats.shared.claude.lanes import MAIN, lane_name
from forensics.formats.shared.claude.outcomes import INTERRUPTION, MAY_SAY, outcome, ran_plainly
from forensics.formats.shared.claude.records import NONE, Opened, Records, Where
from forensics.formats.shared.claude.tokens import usages
from forensics.formats.shared.fields import fields_of, is_text, text

if TYPE_CHECKING:
    from forensics.core.trace import Payload
    from forensics.formats.shared.claude.shapes import Shapes
    from forensics.formats.shared.fields import Fields
    from forensics.formats.shared.groups import Group
    from forensics.formats.shared.line_fields import Block

_TRUE = msgspec.Raw(b"true")
_SILENT = msgspec.Raw(b'""')
_TOLD_ALONE = COMPACTIONS | {API_ERROR, LOCAL_COMMAND}
_OF_NONE = ""  # instead of a lane
_NOBODY = repeat(False)  # noqa: FBT003 - a column of what is not so of any record
_T = TypeVar("_T")


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
    said), its texts, and the tokens of the message (None: not said).
    """

    key: str
    model: str
    stop: str
    texts: tuple[Where, ...]
    tokens: tuple[int, int] | None


class Row(msgspec.Struct, frozen=True, gc=False):
    """One record: by what it is known, the record that it follows, its lane ("": of none), when it was, whether a
    person asks in it and whether it has a message; its steps but that of the turn, and the piece of a turn that it is.
    """

    said: Said
    parent: str
    lane: str
    at: int
    asks: bool
    speaks: bool
    events: tuple[Event, ...]
    piece: Piece | None = None


def rows_of(block: Block, shapes: Shapes) -> list[Row | None]:
    """The row of each record of a block; None for one that is told by itself."""
    found: list[Row | None] = [None] * len(block.fields)
    for records in Opened(block, shapes).by_shape():
        rows = _TOLD.get(records.shape.kind, _noted)(records)
        for at, row in zip(records.at, rows, strict=True):
            found[at] = row
    return found


# turns ---------------------------------------------------------------------------------------------------------------


def _turns(records: Records) -> Iterable[Row | None]:
    """Records of the model: pieces of its turns, and the calls that they ask for."""
    message = records.message
    assert message is not None  # noqa: S101 - the shape says so
    keys = zip(records.texts("id", among=message), records.texts("requestId"), strict=True)
    texts = [[where for _, where in _words(records, number)] for number in records.shape.words]
    pieces = list(
        map(
            Piece,
            [key or request for key, request in keys],
            records.texts("model", among=message),
            records.texts("stop_reason", among=message),
            [tuple(one for one in told if one != NONE) for told in _by_record(texts, records)],
            usages(message.records),
        )
    )
    calls = [_calls(records, number) for number in records.shape.calls]
    rows = _rows(records, _lanes(records), _NOBODY, list(_by_record(calls, records)), pieces)
    return (None if row is None or _is_odd(row) else row for row in rows)


def _calls(records: Records, number: int) -> list[Event]:
    group, pointer = records.blocks[number], f"/message/content/{number}"
    names, ids = records.texts("name", among=group), records.texts("id", among=group)
    told = zip(names, ids, records.in_block(number, ("input",)), strict=True)
    return [Event(StepKind.TOOL_CALL, name, id_, Outcome.RECORDED, says, pointer) for name, id_, says in told]


def _is_odd(row: Row) -> bool:
    """Whether more is to be said of a piece: it is none of the model's, it was cut, or it starts a sub-agent."""
    piece = row.piece
    if piece is None or piece.model == SYNTHETIC or piece.stop in CUT:
        return True
    return any(event.name in SUB_AGENT_TOOLS for event in row.events)


# what the model was shown --------------------------------------------------------------------------------------------


def _shown(records: Records) -> Iterable[Row | None]:
    """Records of a person or of the harness: results, and what was said beside them."""
    shape = records.shape
    results = _by_record([_results(records, number) for number in shape.results], records)
    spoken, metas = _spoken(records), records.marked("isMeta")
    events = [
        (*shown, said) if said is not None and (said.says != NONE or not shown) else shown
        for shown, said in zip(results, spoken, strict=True)
    ]
    asks = [
        not (shape.results or meta or aside) for meta, aside in zip(metas, records.marked("isSidechain"), strict=True)
    ]
    rows = _rows(records, _lanes(records), asks, events)
    return (None if said is None else row for row, said in zip(rows, spoken, strict=True))


def _results(records: Records, number: int) -> list[Event]:
    group, pointer = records.blocks[number], f"/message/content/{number}"
    told = zip(
        records.texts("tool_use_id", among=group),
        _outcomes(records, group),
        records.in_block(number, CONTENT),
        strict=True,
    )
    return [Event(StepKind.TOOL_RESULT, "", id_, ended, says, pointer) for id_, ended, says in told]


def _outcomes(records: Records, group: Group) -> list[Outcome]:
    contents = group.payloads(tuple(name for name in CONTENT if group.has(name)))
    told = zip(group.records, contents, records.payloads(*STRUCTURED), records.top.records, strict=True)
    return [_outcome(block, content, structured, marks) for block, content, structured, marks in told]


def _outcome(block: Fields, content: Payload | None, structured: Payload | None, marks: Fields) -> Outcome:
    if block.get("is_error") != _TRUE and ran_plainly(content, structured):
        return Outcome.RECORDED
    told = outcome(block, structured, marks)
    return outcome_said(failed=told.failed, denied=told.denied, unsettled=told.unsettled)


def _spoken(records: Records) -> list[Event | None]:
    """What was said in each; None for one of which more is to be said."""
    message, numbers = records.message, records.shape.words
    if message is None or (records.shape.in_blocks and not numbers):
        told: Sequence[tuple[Payload | None, Where]] = [(None, NONE)] * len(records.at)
    elif numbers:
        told = list(_words(records, numbers[0]))
    else:
        told = list(zip(message.column("content"), records.contents, strict=True))
    marked = zip(told, records.marked("isMeta"), strict=True)
    return [None if _may_interrupt(said) else _said(where, meta=meta) for (said, where), meta in marked]


def _words(records: Records, number: int) -> Iterable[tuple[Payload | None, Where]]:
    """The text of a block of each, and where it stands."""
    group = records.blocks[number]
    said = group.payloads(tuple(name for name in WORDS if group.has(name)))
    told = zip(said, records.in_block(number, WORDS), strict=True)
    return ((None, NONE) if payload is None or payload == _SILENT else (payload, where) for payload, where in told)


def _may_interrupt(said: Payload | None) -> bool:
    begins = b"" if said is None else bytes(memoryview(said)[:2])
    return said is not None and begins in MAY_SAY and text_of(said).startswith(INTERRUPTION)


def _said(where: Where, *, meta: bool) -> Event:
    return Event(StepKind.SYSTEM, "meta", says=where) if meta else Event(StepKind.USER, says=where)


# everything else -----------------------------------------------------------------------------------------------------


def _noted(records: Records) -> Iterable[Row | None]:
    """Records that the model is not shown, or that put something before it beside the conversation."""
    odd = _suspects(records)
    events, lanes = _NOTES.get(records.shape.kind, _kept)(records)
    told = [() if event is None else (event,) for event in events]
    rows = _rows(records, lanes, _NOBODY, told)
    return (row if event and at not in odd else None for at, (row, event) in enumerate(zip(rows, events, strict=True)))


def _suspects(records: Records) -> set[int]:
    """Which of the records may hold a call or a result. Where each holds the same, one is looked at."""
    found: set[int] = set()
    for name in records.top.records[0]:
        column = records.top.column(name)
        same = column[0] == column[-1] and column.count(column[0]) == len(column)
        if may_hold(column[0] if same else b"\n".join(column)):
            found.update(row for row, raw in enumerate(column) if may_hold(raw))
    return found


_Notes = tuple[Sequence[Event | None], Sequence[str | None]]


def _kept(records: Records) -> _Notes:
    """Bookkeeping: no more than that it is there."""
    count = len(records.at)
    return [Event(StepKind.OTHER, records.shape.kind)] * count, [_OF_NONE] * count


def _progress(records: Records) -> _Notes:
    """News of a running tool; those of a sub-agent are told by themselves."""
    kinds = _types(records.payloads("data"))
    events = [None if kind == AGENT_NEWS else Event(StepKind.OTHER, kind or "progress") for kind in kinds]
    return events, [_OF_NONE] * len(events)


def _system(records: Records) -> _Notes:
    """What the harness noted, but for what it says more of: errors, commands, compaction."""
    kinds = records.texts("subtype")
    events = [None if kind in _TOLD_ALONE else Event(StepKind.OTHER, kind or "system") for kind in kinds]
    return events, [_OF_NONE] * len(events)


def _attachment(records: Records) -> _Notes:
    """What the harness put before the model beside the conversation."""
    shown = records.payloads("attachment")
    where = records.in_top("attachment")
    events = [
        Event(StepKind.SYSTEM, kind or "attachment", says=one) for kind, one in zip(_types(shown), where, strict=True)
    ]
    return events, _lanes(records)


class _Typed(msgspec.Struct, gc=False):
    type: str = ""


_all_typed = msgspec.json.Decoder(list[_Typed]).decode


def _types(payloads: Sequence[Payload | None]) -> list[str]:
    """The type of each object; "" where it says none, or is none."""
    objects = [one for one in payloads if one is not None]
    try:
        told = _all_typed(b"[" + b",".join(objects) + b"]")
    except (msgspec.DecodeError, UnicodeDecodeError):
        told = []
    if len(told) == len(payloads):
        return [one.type for one in told]
    return ["" if one is None or is_text(one) else text(fields_of(one), "type") for one in payloads]


# rows ----------------------------------------------------------------------------------------------------------------


def _rows(
    records: Records,
    lanes: Iterable[str | None],
    asks: Iterable[bool],
    events: Iterable[tuple[Event, ...]],
    pieces: Iterable[Piece | None] = repeat(None),
) -> list[Row | None]:
    """The row of each record; None where its lane follows from the records before."""
    said, parents, times, speaks = records.said(), records.texts("parentUuid"), records.times(), records.shape.speaks
    columns = zip(said, parents, lanes, times, asks, events, pieces, strict=False)
    return [
        None if lane is None else Row(one, parent, lane, at, asked, speaks, told, piece)
        for one, parent, lane, at, asked, told, piece in columns
    ]


def _lanes(records: Records) -> Sequence[str | None]:
    """The lane of each; None where it follows from the records before."""
    under, aside = records.texts("parent_tool_use_id"), records.marked("isSidechain")
    if not any(aside) and not any(under):
        return [MAIN] * len(records.at)
    told = zip(under, records.texts("agentId"), aside, strict=True)
    return [lane_name(call, agent, aside=apart) or None for call, agent, apart in told]


def _by_record(columns: Sequence[Sequence[_T]], records: Records) -> Iterable[tuple[_T, ...]]:
    """What stands in the columns, record by record."""
    return zip(*columns, strict=True) if columns else [()] * len(records.at)


_Told = Callable[[Records], "Iterable[Row | None]"]
_TOLD: dict[str, _Told] = {"assistant": _turns, "user": _shown}
_NOTES: dict[str, Callable[[Records], _Notes]] = {
    "progress": _progress,
    "system": _system,
    "attachment": _attachment,
}
