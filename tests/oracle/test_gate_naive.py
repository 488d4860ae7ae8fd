"""Does the indexed gate reply as a naive one does that looks through the whole record for every request?"""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from forensics.core.evidence import Locator
from forensics.core.jsonvalue import equal_values, unfold
from forensics.replay.gate import Gate, Status
from forensics.replay.recordings import Recording, Request

VALUES: tuple[Any, ...] = ("[1]", [1], "[1 ]", [1.0], "x", [True])
requests_strategy = st.builds(
    Request,
    kind=st.just("tool"),
    value=st.sampled_from(VALUES),
    locator=st.just(Locator()),
    lane=st.sampled_from([None, "a", "b"]),
    recorded_id=st.sampled_from([None, None, "c1", "c2"]),
)
records = st.lists(st.builds(Recording, request=requests_strategy, answer=st.sampled_from(["x", "y"])), max_size=7)


class Naive:
    """The rules of the gate as they are written down, one after another."""

    def __init__(self, record: list[Recording]) -> None:
        self.record = record
        self.used: set[int] = set()
        self.stopped = False

    def ask(self, request: Request) -> tuple[Status, int | None]:
        if self.stopped:
            return Status.NOT_REACHED, None
        status, row = self.reply(request)
        if row is None:
            self.stopped = True
        else:
            self.used.add(row)
        return status, row

    def reply(self, request: Request) -> tuple[Status, int | None]:
        in_lane = [n for n, r in enumerate(self.record) if request.lane is None or r.request.lane == request.lane]
        exact = [n for n in in_lane if equal_values(self.value(n), request.value)]
        loose = [n for n in in_lane if equal_values(unfold(self.value(n)), unfold(request.value))]
        fitting = exact if set(exact) - self.used else loose
        free = [n for n in fitting if n not in self.used]
        if not free:
            return Status.MISS, None
        ids = [n for n in free if request.recorded_id and self.record[n].request.recorded_id == request.recorded_id]
        one_answer = len({self.record[n].answer for n in fitting}) == 1
        if not ids and not one_answer and not all(self.of_one_queue(n, free[0]) for n in free):
            return Status.AMBIGUOUS, None
        return Status.SERVED, (ids or free)[0]

    def value(self, row: int) -> Any:
        return self.record[row].request.value

    def of_one_queue(self, row: int, other: int) -> bool:
        """Whether recorded order tells between two recordings: equal requests in one lane."""
        lanes = {self.record[n].request.lane for n in (row, other)}
        return len(lanes) == 1 and equal_values(self.value(row), self.value(other))


@given(records, st.lists(requests_strategy, max_size=8))
def test_the_gate_replies_as_the_naive_one(record: list[Recording], requests: list[Request]) -> None:
    gate, naive = Gate(record), Naive(record)
    for request in requests:
        reply = gate.ask(request)
        assert (reply.status, reply.row) == naive.ask(request)
