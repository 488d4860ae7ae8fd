"""How are the records of a block of lines told at once? As stretches of one lane, with the turns of their pieces.

Where a record is not told at once, or more is to be said of what came before it than a stretch can, it is told by
itself, in its place in the order.
"""

from __future__ import annotations

from itertools import chain, islice, pairwise, repeat
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.limits import limits
from forensics.core.stretches import Stretch
from forensics.core.trace import NOWHERE, Payload, StepKind
from forensics.formats.shared.claude.history import said
from forensics.formats.shared.claude.kinds import CUT
from forensics.formats.shared.claude.lanes import MAIN
from forensics.formats.shared.claude.rows import Event, rows_of
from forensics.formats.shared.claude.written import NONE, Where, Written
from forensics.formats.shared.lines import line_at, spans_between
from forensics.formats.shared.messages.vocabulary import joined
from forensics.formats.shared.server_names import mcp_server

if TYPE_CHECKING:
    from forensics.formats.shared.claude.lanes import Open
    from forensics.formats.shared.claude.rows import Rows
    from forensics.formats.shared.claude.walk import Session
    from forensics.formats.shared.lines import Span
    from forensics.formats.shared.source import Source

_LARGEST = 1 << 20  # bytes of a block; one that its last line makes longer is told line by line
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
        self.written = Written()
        self.tries = _TRIES

    def block(self, source: Source, block: Span) -> None:
        """Tell a block of lines. Raises LimitExceededError for a line that is too long."""
        number, start, end = block
        if end - start > min(_LARGEST, limits().line):
            for span in spans_between(source, start, end, number):
                self.session.line(line_at(source, span))
            return
        lines = self.written.lines(source, block)
        rows = rows_of(lines)
        at, self.tries = 0, _TRIES if self.tries else 1
        while at < len(lines.numbers):
            told = self._some(rows, at) if self.tries else 0
            if not told:
                self.session.line(line_at(source, lines.span(at)))
            at += told or 1

    def _some(self, rows: Rows, at: int) -> int:
        """Tell the records from there on that can be told at once; returns how many these are."""
        lane, end = _extent(rows, at)
        one = self.session.lanes.begun(lane)
        if end - at <= _FEW or one is None or not self.session.begun:
            return 0
        while self.tries and end - at > _FEW:
            told = _Run(self.session, one, rows, at, end).tell()
            if told == end - at:
                return told
            self.tries -= 1
            end = at + told
        return 0


def _extent(rows: Rows, at: int) -> tuple[str, int]:
    """The lane of the records from there on that are told at once and are of one lane, and where they end."""
    lane = ""
    for end, name in enumerate(islice(rows.lanes, at, None), at):
        if name is None or (lane and name and name != lane):
            return lane or MAIN, end
        lane = lane or name
    return lane or MAIN, len(rows.lanes)


class _Run:
    """Records of one lane that follow each other, from a position of a block to another."""

    def __init__(self, session: Session, one: Open, rows: Rows, begin: int, end: int) -> None:
        self.session = session
        self.one = one
        self.rows = rows
        self.begin = begin
        self.end = end
        self.pieces = rows.pieces[begin:end]
        self.said = said(rows.names[begin:end], rows.offsets[begin:end])

    def tell(self) -> int:
        """Tell them; or how many of them stand before one of which more is to be said: then nothing is told."""
        session, size = self.session, self.end - self.begin
        fresh = session.again.new_ones(self.said)
        if fresh < size:
            return fresh
        turns = self._turns()
        for turn, following in pairwise(turns):
            if turn.lacks_something():
                return following.at
        events, owners = self._events(turns)
        builder = session.trace_builder()
        first = builder.trace.turns
        told = builder.tell_at_once(self.one.lane, self._stretch(events, owners))
        if told < len(events):
            return owners[told]
        self._take()
        self._end(turns, first)
        return size

    def _turns(self) -> list[Turn]:
        """The turn of the lane that began before these records, and those that they begin."""
        turns = [Turn(NOWHERE, self.one.message, [], self.one.asked, self.one.stop)]
        for at, piece in enumerate(self.pieces):
            if piece is None:
                continue
            if not piece.key or piece.key != turns[-1].key:
                turns.append(Turn(at, piece.key, []))
            turn = turns[-1]
            turn.texts.extend(piece.texts)
            turn.asked += len(self.rows.events[self.begin + at])
            turn.stop = piece.stop or turn.stop
        return turns

    def _events(self, turns: list[Turn]) -> tuple[list[Event], list[int]]:
        """The steps of these records in order, and which record each is of."""
        every = self.rows.events[self.begin : self.end]
        for turn in turns[1:]:
            piece = self.pieces[turn.at]
            says = turn.texts[0] if len(turn.texts) == 1 else NONE
            model, pointer = ("", "") if piece is None else (piece.model, piece.pointer)
            every[turn.at] = [Event(StepKind.MODEL, model, says=says, pointer=pointer), *every[turn.at]]
        owners = chain.from_iterable(map(repeat, range(len(every)), map(len, every)))
        return list(chain.from_iterable(every)), list(owners)

    def _stretch(self, events: list[Event], owners: list[int]) -> Stretch:
        lane, first = self.one.lane, len(self.session.build.places)
        times, lanes = self.rows.times[self.begin : self.end], self.rows.lanes[self.begin : self.end]
        names = [event.name for event in events]
        servers = {name: mcp_server(name) or "" for name in set(names)}
        return Stretch(
            bytes([event.kind for event in events]),
            names,
            [event.id for event in events],
            [event.outcome for event in events],
            list(map(first.__add__, owners)),
            list(map(times.__getitem__, owners)),
            [event.says[0] for event in events],
            [event.says[1] for event in events],
            [event.pointer for event in events],
            [lane.agent if lanes[owner] else MAIN for owner in owners] if lane.agent != MAIN else (),
            [servers[name] for name in names] if any(servers.values()) else (),
        )

    def _take(self) -> None:
        """Note the records as `line` notes each."""
        session, rows, count = self.session, self.rows, self.end - self.begin
        one = slice(self.begin, self.end)
        places = session.build.places.add_lines(
            rows.lines.numbers[one], rows.lines.starts[one], rows.lines.lengths[one]
        )
        session.build.counts.lines += count
        session.build.counts.records += count
        session.again.take_all(self.said)
        for at in session.chain.follow_all(rows.uuids[one], rows.parents[one], rows.asks[one], rows.speaks[one]):
            session.tell_lost(Spot(places[at], "", rows.times[self.begin + at]))
        for piece, tokens in zip(self.pieces, rows.tokens[one], strict=True):
            if piece is not None and tokens is not None:
                session.tokens.add(piece.key, tokens)

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
        place = len(session.build.places) - len(self.pieces) + last.at
        piece = self.pieces[last.at]
        pointer = "" if piece is None else piece.pointer
        one.spot = Spot(place, pointer, self.rows.times[self.begin + last.at])
        one.asked, one.stop = last.asked, last.stop

    def _payloads(self, turn: Turn) -> list[Payload]:
        text = self.session.build.places.text
        return [Payload(text[offset : offset + length]) for offset, length in turn.texts]
