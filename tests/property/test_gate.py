"""What holds of the gate for every record and every list of requests?"""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from forensics.core.evidence import Locator
from forensics.core.jsonvalue import equal_values, unfold
from forensics.replay.gate import Gate, Reply, Status
from forensics.replay.recordings import Recording, Request

LANES = (None, "a", "b")
VALUES: tuple[Any, ...] = ({"q": 1}, {"q": 1.0}, {"q": True}, {"q": "[1]"}, {"q": [1]}, {"q": "[1 ]"}, "x", {"q": 2})

requests_strategy = st.builds(
    Request,
    kind=st.sampled_from(["tool", "model"]),
    value=st.sampled_from(VALUES),
    locator=st.just(Locator()),
    lane=st.sampled_from(LANES),
    recorded_id=st.sampled_from([None, "c1", "c2"]),
    doubt=st.sampled_from(["", "", "", "", "two ways"]),
)
records = st.lists(
    st.builds(
        Recording,
        request=requests_strategy,
        answer=st.sampled_from(["x", "y", None, 1]),
        missing=st.sampled_from(["", "", "", "cut"]),
        doubt=st.sampled_from(["", "", "", "two results"]),
    ),
    max_size=8,
)
asks = st.lists(requests_strategy, max_size=10)


def replies(record: list[Recording], requests: list[Request]) -> list[Reply]:
    gate = Gate(record)
    return [gate.ask(request) for request in requests]


def normal(value: Any) -> Any:
    return {name: unfold(held) for name, held in value.items()} if isinstance(value, dict) else value


def fits(recording: Recording, request: Request) -> bool:
    recorded = recording.request
    return (
        recorded.kind == request.kind
        and (request.lane is None or recorded.lane == request.lane)
        and equal_values(normal(recorded.value), normal(request.value))
    )


@given(records, asks)
def test_each_recording_answers_at_most_once(record: list[Recording], requests: list[Request]) -> None:
    served = [reply.row for reply in replies(record, requests) if reply.row is not None]
    assert len(served) == len(set(served))


@given(records, asks)
def test_what_is_served_was_recorded_for_an_equal_request(record: list[Recording], requests: list[Request]) -> None:
    for request, reply in zip(requests, replies(record, requests), strict=True):
        if reply.row is not None:
            assert fits(record[reply.row], request)
            assert not record[reply.row].missing + record[reply.row].doubt + request.doubt


@given(records, asks)
def test_nothing_is_served_after_the_first_that_is_not(record: list[Recording], requests: list[Request]) -> None:
    statuses = [reply.status for reply in replies(record, requests)]
    stop = next((n for n, status in enumerate(statuses) if status is not Status.SERVED), len(statuses))
    assert all(status is Status.NOT_REACHED for status in statuses[stop + 1 :])
    assert Status.NOT_REACHED not in statuses[: stop + 1]


@given(records, asks)
def test_a_miss_means_that_no_unused_recording_that_could_be_given_fits(
    record: list[Recording], requests: list[Request]
) -> None:
    used: set[int] = set()
    for request, reply in zip(requests, replies(record, requests), strict=True):
        if reply.status is Status.MISS and not reply.rivals:
            assert not any(fits(one, request) for row, one in enumerate(record) if row not in used)
        used |= set() if reply.row is None else {reply.row}


@given(records, asks, st.randoms())
def test_the_order_of_unrelated_requests_changes_nothing(
    record: list[Recording], requests: list[Request], random: Any
) -> None:
    """Requests of the same kind that no recording fits both may change places: each is served what it was served."""
    before = replies(record, requests)
    assume(all(reply.status is Status.SERVED for reply in before))
    groups: dict[bytes, list[int]] = {}
    for number, request in enumerate(requests):
        groups.setdefault(repr((request.kind, normal(request.value))).replace("1.0", "1").encode(), []).append(number)
    order = [key for key, numbers in groups.items() for _ in numbers]
    random.shuffle(order)
    rest = {key: iter(numbers) for key, numbers in groups.items()}
    moved = [next(rest[key]) for key in order]
    after = replies(record, [requests[number] for number in moved])
    assert [reply.row for reply in after] == [before[number].row for number in moved]


@given(records, asks, requests_strategy)
def test_a_recording_of_another_request_changes_nothing(
    record: list[Recording], requests: list[Request], other: Request
) -> None:
    unrelated = Recording(request=Request(kind="cache", value=other.value, locator=Locator()), answer="z")
    with_it = replies([unrelated, *record], requests)
    assert [(r.status, None if r.row is None else r.row - 1) for r in with_it] == [
        (r.status, r.row) for r in replies(record, requests)
    ]
