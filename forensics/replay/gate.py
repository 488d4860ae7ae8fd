"""Which recorded answer does this request get? The gate: an equal request in its lane, in recorded order, or none.

It never serves what was recorded for another request, even where nothing else is left; each recording answers once; and
after the first request that it cannot serve it serves nothing: what a rerun asks from there on rests on an answer that
it was never given.
"""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from forensics.replay.sameness import Agreement, agreement, exact_key, loose_key, value_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


class Gate:
    """The gate over the recordings of one run. It takes requests one by one, in the order in which they are made."""

    def __init__(self, recordings: Sequence[Recording]) -> None:
        self.recordings = tuple(recordings)
        self.served_to: list[int | None] = [None] * len(recordings)
        self.stopped = False
        self._asked = 0
        self._exact: dict[tuple[bytes, str | None], _Pool] = {}
        self._loose: dict[tuple[bytes, str | None], _Pool] = {}
        self._exact_anywhere: dict[bytes, _Pool] = {}
        self._loose_anywhere: dict[bytes, _Pool] = {}
        for row, recording in enumerate(self.recordings):
            self._index(row, recording)

    def _index(self, row: int, recording: Recording) -> None:
        answer = value_key(recording.answer)
        for form in (recording.request, *recording.others):
            exact, loose = exact_key(form), loose_key(form)
            pools = (
                self._exact.setdefault((exact, form.lane), _Pool(answer)),
                self._exact_anywhere.setdefault(exact, _Pool(answer)),
                self._loose.setdefault((loose, form.lane), _Pool(answer)),
                self._loose_anywhere.setdefault(loose, _Pool(answer)),
            )
            for pool in pools:
                pool.add(row, (exact, form.lane), answer, form.recorded_id)

    def ask(self, request: Request) -> Reply:
        """The reply to the next request; a recording that it serves is used up."""
        number, self._asked = self._asked, self._asked + 1
        if self.stopped:
            return Reply(Status.NOT_REACHED)
        reply = self._reply(request)
        if reply.row is None:
            self.stopped = True
        else:
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
        """The pools that fit, the better rung first. A request that names no lane may be answered from any."""
        exact, loose = exact_key(request), loose_key(request)
        if request.lane is None:
            found = (self._exact_anywhere.get(exact), self._loose_anywhere.get(loose))
        else:
            found = (self._exact.get((exact, request.lane)), self._loose.get((loose, request.lane)))
        return (pool for pool in found if pool is not None)

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
        if exact_key(request) in self._exact_anywhere:
            if next(self._fitting(request), None) is None:
                return "an equal request is recorded in another lane only"
            return "every recording of this request has answered already"
        return "no equal request is recorded"


_NONE: deque[int] = deque()
