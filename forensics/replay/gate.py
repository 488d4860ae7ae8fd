"""Which recorded answer does this request get? The gate: an equal request in its lane, in recorded order, or none.

It never serves what was recorded for another request, even where nothing else is left; each recording answers once; and
after the first request that it cannot serve it serves nothing: what a rerun asks from there on rests on an answer that
it was never given.
"""

from __future__ import annotations

import functools
from collections import deque
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from forensics.replay.sameness import Agreement, agreement, exact_key, loose_key, value_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from forensics.replay.recordings import Recording, Request


class Status(StrEnum):
    """What became of a request."""

    SERVED = "served"
    MISS = "miss"
    AMBIGUOUS = "ambiguous"
    NOT_REACHED = "not_reached"


class Reply(msgspec.Struct, frozen=True):
    """What the gate says to one request: the row of the recording that it serves and how that agrees; or why it serves
    none, with the rows that stand in question.
    """

    status: Status
    row: int | None = None
    agreement: Agreement | None = None
    because: str = ""
    rivals: tuple[int, ...] = ()


_Queue = tuple[bytes, str | None]
"""Equal requests in one lane, of which the first unused one answers: their exact key, and the lane."""


class _Pool:
    """The recordings that fit one key, in recorded order. `alike` says that all of them have the same answer."""

    def __init__(self, answer: bytes) -> None:
        self.rows: deque[int] = deque()
        self.queues: dict[_Queue, deque[int]] = {}
        self.by_id: dict[str, deque[int]] = {}
        self.alike = True
        self._answer = answer

    def add(self, row: int, queue: _Queue, answer: bytes, recorded_id: str | None) -> None:
        """Add a recording, in order."""
        if self.rows and self.rows[-1] == row:  # another form of the same
            return
        self.rows.append(row)
        self.queues.setdefault(queue, deque()).append(row)
        self.alike = self.alike and answer == self._answer
        if recorded_id:
            self.by_id.setdefault(recorded_id, deque()).append(row)


class _Rung:
    """The recordings of a record by one kind of key: in each lane, and anywhere."""

    def __init__(self, recordings: Sequence[Recording], key_of: Callable[[Request], bytes]) -> None:
        self.key_of = key_of
        self._in_lane: dict[_Queue, _Pool] = {}
        self._anywhere: dict[bytes, _Pool] = {}
        for row, recording in enumerate(recordings):
            answer = value_key(recording.answer)
            for form in (recording.request, *recording.others):
                self._add(row, form, answer)

    def _add(self, row: int, form: Request, answer: bytes) -> None:
        key = self.key_of(form)
        queue = (key if self.key_of is exact_key else exact_key(form), form.lane)
        for pool in (
            self._in_lane.get((key, form.lane)) or self._in_lane.setdefault((key, form.lane), _Pool(answer)),
            self._anywhere.get(key) or self._anywhere.setdefault(key, _Pool(answer)),
        ):
            pool.add(row, queue, answer, form.recorded_id)

    def pool(self, request: Request) -> _Pool | None:
        """The recordings that fit a request: in its lane or, where it names none, in any; None where none ever did."""
        key = self.key_of(request)
        return self._anywhere.get(key) if request.lane is None else self._in_lane.get((key, request.lane))

    def knows(self, request: Request) -> bool:
        """Whether a recording fits in any lane, used or not."""
        return self.key_of(request) in self._anywhere


class Gate:
    """The gate over the recordings of one run. It takes requests one by one, in the order in which they are made."""

    def __init__(self, recordings: Sequence[Recording]) -> None:
        self.recordings = tuple(recordings)
        self.served_to: list[int | None] = [None] * len(recordings)
        self.stopped = False
        self._asked = 0
        self._exact = _Rung(self.recordings, exact_key)

    @functools.cached_property
    def _loose(self) -> _Rung:
        """Made when the first request is not found as it stands."""
        return _Rung(self.recordings, loose_key)

    def ask(self, request: Request) -> Reply:
        """The reply to the next request; a recording that it serves is used up, and where it serves none, it stops."""
        reply = self.look_up(request)
        self.stopped = self.stopped or reply.row is None
        return reply

    def look_up(self, request: Request) -> Reply:
        """The same for a request that something else can answer where no recording does: that is then no stop."""
        number, self._asked = self._asked, self._asked + 1
        if self.stopped:
            return Reply(Status.NOT_REACHED)
        reply = self._reply(request)
        if reply.row is not None:
            self.served_to[reply.row] = number
        return reply

    def _reply(self, request: Request) -> Reply:
        if request.doubt:
            return Reply(Status.AMBIGUOUS, because=request.doubt)
        for pool in self._fitting(request):
            rows = self._free(pool, request.recorded_id)
            if len(rows) == 1:
                return self._serve(rows[0], request)
            if rows:
                because = "recordings with different answers fit alike, and no order tells between them"
                return Reply(Status.AMBIGUOUS, because=because, rivals=rows)
        return Reply(Status.MISS, because=self._why_none(request))

    def _fitting(self, request: Request) -> Iterator[_Pool]:
        """What fits exactly, and then what fits once normalised."""
        exact = self._exact.pool(request)
        if exact is not None:
            yield exact
        loose = self._loose.pool(request)
        if loose is not None:
            yield loose

    def _free(self, pool: _Pool, recorded_id: str | None) -> tuple[int, ...]:
        """The recording that answers next; two where it can't be told which; none where all are used."""
        named = self._first(pool.by_id.get(recorded_id, _NONE)) if recorded_id else None
        if named is not None:
            return (named,)
        first = self._first(pool.rows)
        if first is None:
            return ()
        if pool.alike or len(pool.queues) == 1:
            return (first,)
        return self._heads(pool)

    def _heads(self, pool: _Pool) -> tuple[int, ...]:
        """The first unused recordings of the first two queues that have one; used-up queues are dropped for good."""
        heads: list[int] = []
        for key in list(pool.queues):
            head = self._first(pool.queues[key])
            if head is None:
                del pool.queues[key]
                continue
            heads.append(head)
            if len(heads) > 1:
                break
        return tuple(heads)

    def _first(self, rows: deque[int]) -> int | None:
        while rows and self.served_to[rows[0]] is not None:
            rows.popleft()
        return rows[0] if rows else None

    def _serve(self, row: int, request: Request) -> Reply:
        recording = self.recordings[row]
        if recording.doubt:
            return Reply(Status.AMBIGUOUS, because=recording.doubt, rivals=(row,))
        if recording.missing:
            return Reply(Status.MISS, because=recording.missing, rivals=(row,))
        return Reply(Status.SERVED, row, agreement(recording.form(request.kind), request))

    def _why_none(self, request: Request) -> str:
        if self._loose.pool(request) is not None:
            return "every recording of this request has answered already"
        if self._loose.knows(request):
            return "an equal request is recorded in another lane only"
        return "no equal request is recorded"


_NONE: deque[int] = deque()
