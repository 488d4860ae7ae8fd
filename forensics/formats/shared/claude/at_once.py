"""How are the records of a block of lines told at once? As stretches of one lane, with the turns of their pieces.

Where a record is not told at once, or more is to be said of what came before it than a stretch can, it is told by
itself, in its place in the order.
"""

from __future__ import annotations

from itertools import pairwise, repeat
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.stretches import Stretch
from forensics.core.trace import NOWHERE, Payload, StepKind
from forensics.formats.shared.claude.kinds import CUT
from forensics.formats.shared.claude.lanes import MAIN
from forensics.formats.shared.claude.records import NONE, Where
from forensics.formats.shared.claude.rows import Event, Row, rows_of
from forensics.formats.shared.claude.shapes import Shapes
from forensics.formats.shared.lines import line_at
from forensics.formats.shared.messages.vocabulary import joined
from forensics.formats.shared.server_names import mcp_server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.formats.shared.claude.lanes import Open
    from forensics.formats.shared.claude.walk import Session
    from forensics.formats.shared.line_fields import Block
    from forensics.formats.shared.source import Source

_FEW = 4  # records that are told one by one
_TRIES = 8  # in a block, to tell records at once; where the last block was given up, one


class Turn(msgspec.Struct, gc=False):
    """A turn while its pieces are told: the position of its first record (NOWHERE: it began before), the id that its
    pieces share, its texts, how many calls it asked for, and how it says that it ended.
    """

    at: int
    key: str
    texts: list[Where]
    asked: int = 0
    stop: str = ""

    def lacks_something(self) -> bool:
        """Whether there is more to be said of it when it has ended."""
        return self.stop in CUT or (self.stop == "tool_use" and not self.asked)


class AtOnce:
    """The walk over the blocks of a session's lines."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.shapes = Shapes()
        self.tries = _TRIES

    def block(self, source: Source, block: Block) -> None:
        """Tell a block."""
        spans = list(block.spans())
        rows: Sequence[Row | None] = rows_of(block, self.shapes) if block.is_compact else ()
        at, self.tries = 0, _TRIES if self.tries else 1
        while at < len(spans):
            told = self._some(block, rows, at) if self.tries and at < len(rows) else 0
            if not told:
                self.session.line(line_at(source, spans[at]))
            at += told or 1

    def _some(self, block: Block, rows: Sequence[Row | None], at: int) -> int:
        """Tell the records from there on that can be told at once; returns how many these are."""
        lane, end = _extent(rows, at)
        one = self.session.lanes.begun(lane)
        if end - at <= _FEW or one is None or not self.session.begun:
            return 0
        while self.tries and end - at > _FEW:
            run = [row for row in rows[at:end] if row is not None]
            told = _Run(self.session, one, run, block, at).tell()
            if told == len(run):
                return told
            self.tries -= 1
            end = at + told
        return 0


def _extent(rows: Sequence[Row | None], at: int) -> tuple[str, int]:
    """The lane of the records from there on that are told at once and are of one lane, and where they end."""
    lane = ""
    for end in range(at, len(rows)):
        row = rows[end]
        if row is None or (lane and row.lane and row.lane != lane):
            return lane or MAIN, end
        lane = lane or row.lane
    return lane or MAIN, len(rows)


class _Run:
    """Records of one lane that follow each other, from a position of a block on."""

    def __init__(self, session: Session, one: Open, run: list[Row], block: Block, at: int) -> None:
        self.session = session
        self.one = one
        self.run = run
        self.block = block
        self.begin = at

    def tell(self) -> int:
        """Tell them; or how many of them stand before one of which more is to be said: then nothing is told."""
        session, run = self.session, self.run
        fresh = session.again.new_ones([row.said for row in run])
        if fresh < len(run):
            return fresh
        turns = _turns(run, self.one)
        for turn, following in pairwise(turns):
            if turn.lacks_something():
                return following.at
        events, owners = _events(run, turns)
        builder = session.trace_builder()
        first = builder.trace.turns
        told = builder.tell_at_once(self.one.lane, self._stretch(events, owners))
        if told < len(events):
            return owners[told]
        self._take()
        self._end(turns, first)
        return len(run)

    def _stretch(self, events: list[Event], owners: list[int]) -> Stretch:
        run, lane, first = self.run, self.one.lane, len(self.session.build.places)
        names = [event.name for event in events]
        servers = {name: mcp_server(name) or "" for name in set(names)}
        return Stretch(
            bytes([event.kind for event in events]),
            names,
            [event.id for event in events],
            [event.outcome for event in events],
            [first + owner for owner in owners],
            [run[owner].at for owner in owners],
            [event.says[0] for event in events],
            [event.says[1] for event in events],
            [event.pointer for event in events],
            [lane.agent if run[owner].lane else MAIN for owner in owners] if lane.agent != MAIN else (),
            [servers[name] for name in names] if any(servers.values()) else (),
        )

    def _take(self) -> None:
        """Note the records as `line` notes each."""
        session, block, count = self.session, self.block, len(self.run)
        one = slice(self.begin, self.begin + count)
        places = session.build.places.add_lines(block.numbers[one], block.starts[one], block.lengths[one])
        session.build.counts.lines += count
        session.build.counts.records += count
        session.again.take_all([row.said for row in self.run])
        for place, row in zip(places, self.run, strict=True):
            if session.chain.follow(row.said.uuid, row.parent, asks=row.asks, speaks=row.speaks):
                session.tell_lost(Spot(place, "", row.at))
            if row.piece is not None and row.piece.tokens is not None:
                session.tokens.add(row.piece.key, row.piece.tokens)

    def _end(self, turns: list[Turn], first: int) -> None:
        """Say what the turns said whose texts stand in several places; the last one may go on."""
        one, session, (before, *begun) = self.one, self.session, turns
        one.texts.extend(self._payloads(before))
        one.asked, one.stop = before.asked, before.stop
        if not begun:
            return
        session.end_turn(one)
        builder = session.trace_builder()
        builder.trace.named_turns.update(number for number, turn in enumerate(begun, first) if turn.key)
        for number, turn in enumerate(begun[:-1], first):
            if turn.texts[1:]:
                builder.words(number, joined(self._payloads(turn)))
        last = begun[-1]
        one.turn, one.message, one.texts = first + len(begun) - 1, last.key, self._payloads(last)
        place = len(session.build.places) - len(self.run) + last.at
        one.spot, one.asked, one.stop = Spot(place, "", self.run[last.at].at), last.asked, last.stop

    def _payloads(self, turn: Turn) -> list[Payload]:
        text = self.session.build.places.text
        return [Payload(text[offset : offset + length]) for offset, length in turn.texts]


def _turns(run: list[Row], one: Open) -> list[Turn]:
    """The turn of the lane that began before some records, and those that they begin."""
    turns = [Turn(NOWHERE, one.message, [], one.asked, one.stop)]
    for at, row in enumerate(run):
        piece = row.piece
        if piece is None:
            continue
        if not piece.key or piece.key != turns[-1].key:
            turns.append(Turn(at, piece.key, []))
        turn = turns[-1]
        turn.texts.extend(piece.texts)
        turn.asked += len(row.events)
        turn.stop = piece.stop or turn.stop
    return turns


def _events(run: list[Row], turns: list[Turn]) -> tuple[list[Event], list[int]]:
    """The steps of some records in order, and which record each is of."""
    said = {turn.at: turn.texts[0] if len(turn.texts) == 1 else NONE for turn in turns[1:]}
    events: list[Event] = []
    owners: list[int] = []
    for at, row in enumerate(run):
        if row.piece is not None and at in said:
            events.append(Event(StepKind.MODEL, row.piece.model, says=said[at]))
        events.extend(row.events)
        owners.extend(repeat(at, len(events) - len(owners)))
    return events, owners
