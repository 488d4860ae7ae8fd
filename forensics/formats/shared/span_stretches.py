"""Which spans of a trace are told at once, and what do they say? Turns whose prompts were not captured, and the tools
that ran between them.

A span is usual where its attributes leave but questions that their values answer; those with equal attributes are asked
together. Every other span takes its own way (`span_walk`), in its place in the order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.executions import Ran, Turns
from forensics.core.jsonvalue import texts_of_all
from forensics.core.stretches import Stretch
from forensics.core.trace import NOWHERE, Boundary, Outcome, Payload, StepKind
from forensics.formats.shared import span_names as names
from forensics.formats.shared.span_messages import Said
from forensics.formats.shared.span_names import Role
from forensics.formats.shared.spans import Span, below, column
from forensics.formats.shared.wholeness import damaged_arguments, damaged_results

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forensics.core.messages import Message
    from forensics.core.strings import Parted
    from forensics.formats.shared.span_cast import Cast

_MORE_OF_A_TURN = frozenset({*names.TOOL_LISTS, "error.type", *names.TOOL_ERROR})
_MORE_OF_A_TOOL = frozenset({
    "error.type", *names.TOOL_ERROR, *names.ERROR_TYPE, *names.TOOL_STATUS, *names.DISPOSITION, *names.TOOL_ORIGIN,
    *names.TOOL_NAME[1:], *names.TOOL_CALL_ID[1:], *names.TOOL_ARGUMENTS[1:], *names.TOOL_RESULT[1:],
})  # fmt: skip
"""Attributes of which more is to be said than a stretch can: names of older vocabularies, failures, who ran it."""


At = tuple[str, int]
"""Where a span stands: a pointer as what is before its index, and the index; that is below 0 where it has none."""


class Turn(msgspec.Struct, frozen=True, gc=False):
    """A usual turn: where its span stands, the model that it names, and what it says of how it ended."""

    span: Span
    where: At
    said: Said
    model: str
    finish: Payload | None

    @property
    def message(self) -> Message:
        """What the model said."""
        return self.said.messages[0]


class Tool(msgspec.Struct, frozen=True, gc=False):
    """A usual execution: where its span stands, its tool, the id of the call, arguments and result, and where these two
    stand below the span.
    """

    span: Span
    where: At
    tool: str
    recorded_id: str
    arguments: Payload | None
    result: Payload
    given: str
    returned: str


class UsualSpans:
    """Which spans of one trace are usual."""

    def __init__(self, cast: Cast, two_events: frozenset[int], around_agents: set[int]) -> None:
        self._cast = cast
        self._apart = two_events | around_agents | cast.twins_of.keys() | cast.told_again.keys()

    def among(self, rows: Iterable[int]) -> dict[int, Turn | Tool]:
        """Those of these rows that are usual."""
        cast, spans = self._cast, self._cast.spans
        shapes: dict[tuple[Role, int], list[int]] = {}
        for row in rows:
            if self._may_be(row):
                shapes.setdefault((cast.roles[row], id(spans.shape(row))), []).append(row)
        found: dict[int, Turn | Tool] = {}
        for (role, _), alike in shapes.items():
            found.update(self._turns(alike) if role is Role.MODEL else self._tools(alike))
        return found

    def _may_be(self, row: int) -> bool:
        """Whether a span is a turn of which only the answer was captured, or a tool that returned something."""
        cast, role = self._cast, self._cast.roles[row]
        if role is Role.MODEL:
            return row in cast.answers and row not in cast.prompts and row not in self._apart
        return role is Role.TOOL and _RETURNED in cast.spans.shape(row).numbers and row not in self._apart

    def _turns(self, rows: list[int]) -> dict[int, Turn | Tool]:
        cast = self._cast
        spans = cast.spans.several(rows)
        keys = spans[0].names.keys()
        if not keys.isdisjoint(_MORE_OF_A_TURN):
            return {}
        models = _text(spans, _first(names.MODEL, keys))
        finish = _payloads(spans, _first(names.FINISH, keys))
        told = zip(rows, spans, cast.spans.where(rows), cast.answers.several(rows), models, finish, strict=True)
        turns = [(row, Turn(span, at, said, *more)) for row, span, at, said, *more in told if said is not None]
        return {row: turn for row, turn in turns if _says_no_more(turn.span) and _is_plain(turn.said)}

    def _tools(self, rows: list[int]) -> dict[int, Turn | Tool]:
        spans = self._cast.spans.several(rows)
        keys = spans[0].names.keys()
        if not (keys >= _OF_A_TOOL and keys.isdisjoint(_MORE_OF_A_TOOL)):
            return {}
        arguments = _payloads(spans, _first(_GIVEN, keys))
        results = column(spans, _RETURNED)
        odd = {*damaged_arguments(arguments), *damaged_results(results)}
        under, at = _place(spans[0], _first(_GIVEN, keys)), _place(spans[0], _RETURNED)
        where = self._cast.spans.where(rows)
        told = zip(rows, spans, where, _text(spans, _TOOL), _text(spans, _CALL), arguments, results, strict=True)
        tools = (
            (row, Tool(span, stands, tool, recorded_id, given, result, under, at))
            for number, (row, span, stands, tool, recorded_id, given, result) in enumerate(told)
            if number not in odd
        )
        return {row: tool for row, tool in tools if _is_named(tool) and _says_no_more(tool.span)}


_GIVEN = names.TOOL_ARGUMENTS[:1]
_TOOL, _CALL, _RETURNED = names.TOOL_NAME[0], names.TOOL_CALL_ID[0], names.TOOL_RESULT[0]
_OF_A_TOOL = frozenset({_TOOL, _CALL, _RETURNED})


def _place(span: Span, name: str) -> str:
    """Where that attribute stands below its span."""
    return below(span.shape.slots[span.names[name]], name) if name else ""


def _is_named(tool: Tool) -> bool:
    """Whether an execution names its tool, in one way, and its call."""
    return bool(tool.tool and tool.recorded_id) and tool.span.name == f"execute_tool {tool.tool}"


def _first(table: tuple[str, ...], keys: Iterable[str]) -> str:
    return next((name for name in table if name in keys), "")


def _payloads(spans: list[Span], name: str) -> Sequence[Payload | None]:
    return column(spans, name) if name else [None] * len(spans)


def _text(spans: list[Span], name: str) -> list[str]:
    """The text of that attribute of each; "" where none is named."""
    return texts_of_all(column(spans, name)) if name else [""] * len(spans)


def _says_no_more(span: Span) -> bool:
    """Whether a span tells of no failure, no event and nothing that is missing in it."""
    return not (span.failed or span.events or span.lost or span.tainted)


def _is_plain(said: Said) -> bool:
    """Whether an answer is whole, and a text with calls that hold nothing else."""
    message = said.messages[0]
    if said.cut or said.disputed or message.results or message.media or message.place >= 0:
        return False
    return all(
        part.tainted is None and not part.freeform and part.boundary is Boundary.TOOL and part.server is None
        for part in message.calls
    )


def _said_of(span: Span) -> tuple[bytes, bytes]:
    """How a span describes its tool, and the class that it declares."""
    if _ABOUT_A_TOOL.isdisjoint(span.names):
        return b"", b""
    described, declared = span.payload(names.TOOL_DESCRIPTION), span.payload(names.REPLAY_CLASS)
    return bytes(described or b""), bytes(declared or b"")


_ABOUT_A_TOOL = frozenset({*names.TOOL_DESCRIPTION, *names.REPLAY_CLASS})


def _pointer(where: At, under: str) -> str | Parted:
    above, index = where
    return above + under if index < 0 else (above, index, under)


# the stretch ---------------------------------------------------------------------------------------------------------


class Columns:
    """The columns of a stretch of spans while they are filled, in order. `ends` says where the steps of each span end,
    `tools` has the first span that says just so what a tool is.
    """

    def __init__(self) -> None:
        self._kinds = bytearray()
        self._names: list[str] = []
        self._ids: list[str] = []
        self._places: list[int] = []
        self._times: list[int] = []
        self._pointers: list[str | Parted] = []
        self._says: list[Payload | None] = []
        self._keys: list[bytes] = []
        self._ran: list[Ran] = []
        self.ends: list[int] = []
        self.tools: dict[tuple[str, str, bytes, bytes], Span] = {}

    def turn(self, turn: Turn) -> None:
        """A turn, and the calls that it asks for."""
        message = turn.message
        place, at = turn.span.place, turn.span.ended_at
        under = turn.said.pointer[len(turn.span.pointer) :] + message.pointer
        self._event(StepKind.MODEL, turn.model, "", place, at, _pointer(turn.where, under), message.text)
        for part in message.calls:
            pointer = _pointer(turn.where, under + part.pointer)
            self._event(StepKind.TOOL_CALL, part.tool, part.recorded_id or "", place, at, pointer, part.payload)
        self._keys.append(message.key)
        self.ends.append(len(self._kinds))

    def tool(self, tool: Tool, server: str) -> None:
        """An execution."""
        span = tool.span
        place, at, returned = span.place, span.ended_at, _pointer(tool.where, tool.returned)
        self._event(StepKind.TOOL_RESULT, tool.tool, tool.recorded_id, place, at, returned, tool.result)
        given = _pointer(tool.where, tool.given if tool.arguments is not None else "")
        self.tools.setdefault((tool.tool, server, *_said_of(span)), span)
        self._ran.append(Ran(tool.arguments, place, given, server or None, span.start, span.end))
        self.ends.append(len(self._kinds))

    def _event(  # noqa: PLR0917 - a row of the columns
        self,
        kind: StepKind,
        name: str,
        recorded_id: str,
        place: int,
        at: int,
        pointer: str | Parted,
        says: Payload | None,
    ) -> None:
        self._kinds.append(kind)
        self._names.append(name)
        self._ids.append(recorded_id)
        self._places.append(place)
        self._times.append(at)
        self._pointers.append(pointer)
        self._says.append(says)

    def told(self) -> Turns:
        """The stretch."""
        size = len(self._kinds)
        outcomes, none = [Outcome.RECORDED] * size, [NOWHERE] * size
        stretch = Stretch(
            bytes(self._kinds), self._names, self._ids, outcomes, self._places, self._times, none, none, self._pointers
        )
        return Turns(stretch, self._says, self._keys if any(self._keys) else (), self._ran)
