"""Which recorded answer does a request get, and when is it given none?"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from forensics.core.evidence import Locator
from forensics.replay.gate import Gate, Status
from forensics.replay.recordings import Recording, Request


def asked(value: Any, *, lane: str | None = None, call: str | None = None, kind: str = "tool") -> Request:
    return Request(kind=kind, value=value, locator=Locator(), lane=lane, recorded_id=call)


def recorded(value: Any, answer: Any, **more: Any) -> Recording:
    about = {name: more.pop(name) for name in ("missing", "doubt") if name in more}
    return Recording(request=asked(value, **more), answer=answer, **about)


def rows(gate: Gate, *requests: Request) -> list[int | None]:
    return [gate.ask(request).row for request in requests]


def test_equal_requests_are_answered_in_recorded_order_each_recording_once() -> None:
    gate = Gate([recorded({"q": 1}, "first"), recorded({"q": 2}, "other"), recorded({"q": 1}, "second")])
    assert rows(gate, asked({"q": 1}), asked({"q": 2}), asked({"q": 1})) == [0, 1, 2]
    reply = gate.ask(asked({"q": 1}))
    assert reply.status is Status.MISS
    assert reply.because == "every recording of this request has answered already"


def test_the_next_recording_of_a_tool_is_never_served_for_other_arguments() -> None:
    gate = Gate([recorded({"tool": "page", "arguments": {"severity": "sev1"}}, "pg_8812")])
    reply = gate.ask(asked({"tool": "page", "arguments": {"severity": "sev2"}}))
    assert (reply.status, reply.row) == (Status.MISS, None)


def test_after_the_first_request_that_is_not_served_nothing_is() -> None:
    gate = Gate([recorded({"q": 1}, "one"), recorded({"q": 2}, "two")])
    replies = [gate.ask(asked({"q": n})) for n in (1, 3, 2, 2)]
    assert [r.status for r in replies] == [Status.SERVED, Status.MISS, Status.NOT_REACHED, Status.NOT_REACHED]


def test_an_id_chooses_between_equals_only() -> None:
    record = [recorded({"q": 1}, "a", call="call_1"), recorded({"q": 1}, "b", call="call_2")]
    assert rows(Gate(record), asked({"q": 1}, call="call_2"), asked({"q": 1}, call="call_9")) == [1, 0]
    assert Gate(record).ask(asked({"q": 2}, call="call_1")).status is Status.MISS


def test_an_id_that_is_used_up_is_no_reason_to_answer_twice() -> None:
    gate = Gate([recorded({"q": 1}, "a", call="c"), recorded({"q": 1}, "b", call="c"), recorded({"q": 1}, "d")])
    assert rows(gate, *[asked({"q": 1}, call="c")] * 3) == [0, 1, 2]


def test_each_lane_has_its_own_order() -> None:
    gate = Gate([recorded({"q": 1}, "of a", lane="a"), recorded({"q": 1}, "of b", lane="b")])
    assert rows(gate, asked({"q": 1}, lane="b"), asked({"q": 1}, lane="a")) == [1, 0]
    reply = gate.ask(asked({"q": 1}, lane="c"))
    assert reply.because == "an equal request is recorded in another lane only"


def test_a_request_without_a_lane_is_ambiguous_where_two_lanes_answer_differently() -> None:
    record = [recorded({"q": 1}, "of a", lane="a"), recorded({"q": 1}, "of b", lane="b")]
    reply = Gate(record).ask(asked({"q": 1}))
    assert (reply.status, reply.rivals) == (Status.AMBIGUOUS, (0, 1))
    gate = Gate(record)
    assert rows(gate, asked({"q": 1}, lane="a"), asked({"q": 1})) == [0, 1]


def test_a_request_without_a_lane_is_served_where_all_lanes_answer_alike() -> None:
    gate = Gate([recorded({"q": 1}, {"x": 1, "y": 2}, lane="a"), recorded({"q": 1}, {"y": 2, "x": 1.0}, lane="b")])
    assert rows(gate, asked({"q": 1}), asked({"q": 1})) == [0, 1]


def test_two_different_recordings_that_fit_only_once_normalised_are_ambiguous() -> None:
    record = [recorded({"q": "[1]"}, "a"), recorded({"q": [1]}, "b")]
    assert Gate(record).ask(asked({"q": "[1 ]"})).status is Status.AMBIGUOUS
    assert rows(Gate(record), asked({"q": [1]}), asked({"q": "[ 1]"})) == [1, 0]


@pytest.mark.parametrize(
    ("about", "status"),
    [({"missing": "its result was cut"}, Status.MISS), ({"doubt": "two results fit it"}, Status.AMBIGUOUS)],
)
def test_what_can_not_be_given_is_not_passed_over_for_the_next(about: dict[str, str], status: Status) -> None:
    reply = Gate([recorded({"q": 1}, None, **about), recorded({"q": 1}, "later")]).ask(asked({"q": 1}))
    assert (reply.status, reply.rivals, reply.because) == (status, (0,), next(iter(about.values())))


def test_a_request_that_can_be_read_in_two_ways_is_not_served() -> None:
    request = msgspec.structs.replace(asked({"q": 1}), doubt="a key stands twice")
    reply = Gate([recorded({"q": 1}, "a")]).ask(request)
    assert (reply.status, reply.because) == (Status.AMBIGUOUS, "a key stands twice")


def test_a_model_is_never_answered_with_what_a_tool_returned() -> None:
    gate = Gate([recorded({"q": 1}, "a", kind="tool")])
    assert gate.ask(asked({"q": 1}, kind="model")).status is Status.MISS


def test_null_is_an_answer() -> None:
    reply = Gate([recorded({"q": 1}, None)]).ask(asked({"q": 1}))
    assert (reply.status, reply.row) == (Status.SERVED, 0)
