"""Steps, calls and payloads are columns: what is put in comes out, whichever way it is kept."""

from __future__ import annotations

import msgspec
import pytest

from forensics.core.build import Execution, Spot, TraceBuilder
from forensics.core.evidence import Basis
from forensics.core.handles import REFERENCE, Handle, Handles, Use
from forensics.core.lanes import RowsBy
from forensics.core.payloads import Payloads
from forensics.core.places import Places
from forensics.core.spool import Spool
from forensics.core.strings import Strings, Texts
from forensics.core.trace import Absence, Boundary, Call, Outcome, StepKind, Trace, Witness

RECORD = b'{"args":{"id":"pg_8812"},"text":"pg_8812"}'


def raw(text: bytes) -> msgspec.Raw:
    return msgspec.Raw(text)


@pytest.fixture
def places() -> Places:
    return Places(0, b"before\n" + RECORD + b"\nafter")


def test_a_payload_of_its_record_is_kept_as_a_place_in_it(places: Places) -> None:
    record = places.add(line=2, offset=7, length=len(RECORD))
    payloads = Payloads(places)
    assert payloads.add(raw(b'{"id":"pg_8812"}'), record) == 0
    assert payloads.add(raw(b'"pg_8812"'), record) == 1
    assert [bytes(p or b"") for p in payloads] == [b'{"id":"pg_8812"}', b'"pg_8812"']
    assert payloads.spooled == 0


def test_a_payload_that_does_not_stand_in_its_record_is_spooled(places: Places) -> None:
    record = places.add(line=2, offset=7, length=len(RECORD))
    payloads = Payloads(places)
    told = [raw(b'"before"'), None, raw(b'"after"')]
    assert [payloads.add(one, at) for one, at in zip(told, (record, record, -1), strict=True)] == [0, 1, 2]
    assert list(payloads) == told
    assert payloads[-1] == told[2]
    assert payloads[1:] == told[1:]


def test_a_payload_can_be_replaced_and_taken_out(places: Places) -> None:
    payloads = Payloads(places)
    payloads.add(raw(b'"pg_8812"'), places.add(offset=7, length=len(RECORD)))
    payloads[0] = raw(b'"other"')
    assert payloads[0] == raw(b'"other"')
    payloads[0] = None
    assert list(payloads) == [None]
    with pytest.raises(IndexError):
        payloads[1]


def test_a_payload_is_not_looked_for_in_a_record_so_long_that_many_may_stand_in_it() -> None:
    text = b'"' + b"x" * (1 << 17) + b'"'
    places = Places(0, text)
    payloads = Payloads(places)
    payloads.add(raw(b'"'), places.add(offset=0, length=len(text)))
    assert payloads.spooled == 1
    assert payloads[0] == raw(b'"')


@pytest.mark.parametrize("heads", [1, 20], ids=["first of its kind", "behind many that begin alike"])
def test_payloads_that_stand_in_their_records_are_found_and_the_others_spooled(heads: int) -> None:
    one, other = (b'"' + b"x" * 40 + end + b'"' for end in (b"one", b"other"))
    text = b"[" + other * heads + one + b',null,"a"]' + b"\n" + other
    places = Places(0, text)
    line, rest = (
        places.add(line=1, offset=0, length=text.index(b"\n")),
        places.add(line=2, offset=text.index(b"\n") + 1),
    )
    payloads = Payloads(places)
    told = [raw(one), raw(b'"elsewhere"'), None, raw(b'"a"'), raw(other), raw(b"1")]
    payloads.add_each(told, [line, line, line, line, rest, -1], bytes([1, 0, 1, 1, 1, 1]))
    assert list(payloads) == told
    assert payloads.spooled == 3  # of a record that is known to have no length nothing is looked for
    payloads.add_each([], [], b"")
    assert len(payloads) == len(told)


@pytest.mark.parametrize("part", [64, 1 << 18])
@pytest.mark.parametrize(("missed", "spooled"), [(15, 15), (16, 17)])
def test_payloads_that_are_not_found_are_not_looked_for_for_ever(
    monkeypatch: pytest.MonkeyPatch, part: int, missed: int, spooled: int
) -> None:
    monkeypatch.setattr("forensics.core.payloads._PART", part)
    places = Places(0, RECORD)
    record = places.add(line=1, offset=0, length=len(RECORD))
    payloads = Payloads(places)
    told = [*[raw(b'"elsewhere"')] * missed, raw(b'"pg_8812"')]
    payloads.add_each(told, [record] * len(told), bytes([1] * len(told)))
    assert list(payloads) == told
    assert payloads.spooled == spooled


def test_payloads_of_many_records_that_take_turns_are_found() -> None:
    lines = [b",".join(b'"%d.%d"' % (line, number) for number in range(20)) for line in range(12)]
    places = Places(0, b"\n".join(lines))
    starts = [sum(map(len, lines[:line])) + line for line in range(12)]
    records = [places.add(offset=start, length=len(line)) for start, line in zip(starts, lines, strict=True)]
    payloads = Payloads(places)
    told = [raw(b'"%d.%d"' % (line, number)) for number in range(20) for line in range(12)]
    payloads.add_each(told, records * 20, bytes([1] * len(told)))
    assert list(payloads) == told
    assert payloads.spooled == 0


def test_payloads_of_a_long_record_are_found_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forensics.core.payloads._PART", 64)
    told = [raw(b'"%d"' % number * 3) for number in range(100)]
    places = Places(0, b",".join(told))
    record = places.add(offset=0, length=len(places.text))
    payloads = Payloads(places)
    payloads.add_each(told, [record] * len(told), bytes([1] * len(told)))
    assert list(payloads) == told
    assert payloads.spooled == 0


def test_several_payloads_are_told_as_each_by_itself(places: Places) -> None:
    record = places.add(line=2, offset=7, length=len(RECORD))
    payloads = Payloads(places)
    for told in (raw(b'"pg_8812"'), None, raw(b'"elsewhere"')):
        payloads.add(told, record)
    assert payloads.several([2, -1, 0, 1, -2, 0]) == [b'"elsewhere"', None, b'"pg_8812"', None, None, b'"pg_8812"']


TOLD = ("", "call_1", "pg\udc80", "ünï", "", "a", "b")


def test_texts_come_back_as_they_were_lone_surrogates_too() -> None:
    texts = Texts()
    assert [texts.add(one) for one in TOLD] == list(range(len(TOLD)))
    assert [texts[number] for number in range(len(texts))] == list(TOLD)


@pytest.mark.parametrize("numbers", [[], [0], [0, 1], [4, 5, 6], [1, 2, 3], [5, 6, 4], [6, 6], [1, 5], list(range(7))])
def test_several_texts_come_back_as_each_by_itself(numbers: list[int]) -> None:
    texts = Texts()
    for one in TOLD:
        texts.add(one)
    assert texts.several(numbers) == [TOLD[number] for number in numbers]


def test_steps_are_the_same_before_and_after_they_are_parted_into_columns() -> None:
    trace = Trace("t", Places(0), "test")
    place = trace.places.add(line=1, offset=0, length=1)
    pointer = trace.pointers.add("/a")
    for number in range(10_000):
        trace.add_step((StepKind.USER, 0, 0, place, pointer, -1, number, -1), number, None)
    before = [trace.step(row) for row in (0, 5_000, 9_999)]
    assert [trace.pointer_of(row) for row in (0, 9_999)] == ["/a", "/a"]
    trace.close()
    assert [trace.step(row) for row in (0, 5_000, 9_999)] == before
    assert [step.turn for step in before] == [step.at for step in before] == [0, 5_000, 9_999]


def test_a_call_is_a_view_of_what_is_known_of_it() -> None:
    build = TraceBuilder("t", Places(0), "test")
    spot = Spot(build.trace.places.add(line=1, offset=0, length=1), "/call")
    lane = build.lane("", "agent")
    turn = build.turn(lane, spot)
    row = build.request(lane, turn, "pay", "c1", raw(b'{"sum":9}'), spot, server="bank", boundary=Boundary.HTTP)
    call = build.trace.calls[row]
    assert (call.tool, call.agent, call.server, call.boundary, call.recorded_id) == (
        "pay", "agent", "bank", Boundary.HTTP, "c1",
    )  # fmt: skip
    assert (call.occurrence, call.start, call.end, call.again_of, call.pairing) == ("0.0", -1, -1, -1, Basis.RECORDED)
    assert str(call.absence) == Absence.UNANSWERED
    assert not call.ended
    assert not call.answered
    assert call.requested == Witness(raw(b'{"sum":9}'), spot.place, "/call", call.step)
    assert not call.result
    build.execute(
        lane, Execution("pay", spot, "c1", raw(b'{"sum":9}'), error=raw(b'"no"'), status="error", start=5, end=9)
    )
    answered = build.trace.calls[row]
    assert (answered.start, answered.end, answered.outcome, answered.absence) == (5, 9, Outcome.FAILED, None)
    assert answered.result == answered.error == raw(b'"no"')
    assert answered.returned == Witness(None, spot.place, "/call", call.result_step)
    call.block("x", "because")
    call.block("x", "again")
    assert [block.message for block in build.trace.calls[-1].blocks] == ["because"]


def test_calls_are_equal_where_they_are_one_row_of_one_trace() -> None:
    one, other = (Trace("t", Places(0), "test").calls for _ in range(2))
    for calls in (one, other):
        calls.add("a", 0, 0, None)
        calls.add("b", 0, 1, None)
    assert one[0] != one[1]
    assert one[0] != other[0]
    assert {one[0], one[0], one[1]} == {one[0], one[1]}
    assert [call.tool for call in one] == [call.tool for call in one[:]] == ["a", "b"]
    assert list(one.column("index")) == [0, 1]
    with pytest.raises(IndexError):
        one[2]


def test_columns_of_calls_say_what_each_call_says() -> None:
    build = TraceBuilder("t", Places(0), "test")
    spot = Spot(build.trace.places.add(line=1, offset=0, length=1))
    lane = build.lane("", "agent")
    turn = build.turn(lane, spot)
    rows = [build.request(lane, turn, "pay", f"c{at}" if at % 2 else None, raw(b"%d" % at), spot) for at in range(7)]
    build.execute(lane, Execution("pay", spot, "c1", raw(b"10"), result=raw(b'"ok"'), start=5, end=9))
    build.execute(lane, Execution("pay", spot, "c3", None, error=raw(b'"no"'), status="error"))
    build.execute(lane, Execution("pay", spot, "c5", raw(b"5"), result=raw(b'"the beginn"'), start=7))
    build.show(lane, "c5", "pay", raw(b'"the beginning"'), spot)
    calls = build.trace.calls
    calls[rows[5]].returned_is_cut = True
    for some in (range(7), range(1, 4), range(3, 3), range(5, 6)):
        each = [calls[row] for row in some]
        assert calls.arguments(some) == [None if c.arguments is None else bytes(c.arguments) for c in each]
        assert calls.results(some) == [None if c.result is None else bytes(c.result) for c in each]
        assert calls.recorded_ids(some) == [c.recorded_id for c in each]
        assert calls.starts(some) == [c.start for c in each]
        assert list(calls.column("step", some)) == [c.step for c in each]
        for name in ("boundary", "outcome", "absence", "pairing", "ended"):
            assert list(calls.each(name, some)) == [getattr(c, name) for c in each]


def test_calls_are_counted_by_their_tool_and_a_number() -> None:
    calls = Trace("t", Places(0), "test").calls
    for at, tool in enumerate("abbaab"):
        calls.add(tool, 0, at, None)
    assert list(calls.by_tool([7, 1, 2, 7, 8, 1])) == [("a", 7, 0, 2), ("b", 1, 1, 2), ("b", 2, 2, 1), ("a", 8, 4, 1)]


def test_calls_with_long_payloads_are_looked_at_in_smaller_parts() -> None:
    build = TraceBuilder("t", Places(0), "test")
    spot = Spot(build.trace.places.add(line=1, offset=0, length=1))
    lane = build.lane("", "agent")
    turn = build.turn(lane, spot)
    assert list(build.trace.calls.parts()) == []
    long = raw(b'"' + b"x" * (1 << 20) + b'"')
    for number in range(4_000):
        row = build.request(lane, turn, "pay", f"c{number}", long if number in {600, 601} else raw(b"1"), spot)
        if number == 1_500:
            build.trace.calls[row].returned = Witness(long, spot.place, "")
    build.trace.close()
    parts = list(build.trace.calls.parts())
    assert [part.start for part in parts] == [0, 600, 601, 602, 1500, 1501, 2525, 3549]
    assert [row for part in parts for row in part] == list(range(4_000))


def test_a_rare_fact_of_one_call_is_of_no_other() -> None:
    calls = Trace("t", Places(0), "test").calls
    first, second = (Call(calls, calls.add("a", 0, index, None)) for index in range(2))
    second.added = ("key",)
    second.start = 7
    assert (first.added, first.start, second.added, second.start, second.end) == ((), -1, ("key",), 7, -1)
    second.added = ()
    assert second.added == ()


def test_rows_are_found_by_their_key_and_under_others() -> None:
    rows = RowsBy("abca".__getitem__)
    for row in range(3):
        rows.add(row)
    assert rows.get("a") == [0]
    rows.add(3)
    rows.put("z", 1)
    assert (rows["a"], rows.get("z"), rows.get("y"), rows.get("y", [5])) == ([0, 3], [1], (), [5])
    with pytest.raises(KeyError):
        rows["y"]


def test_handles_stand_in_the_order_of_their_steps_with_their_uses() -> None:
    handles = Handles(turns=[3, 5, 8])
    late, first, other = handles.add_all(
        ["b-2", "a-1", "c"], ["id", "uuid", REFERENCE], [1, 0, 0], [9, 4, 4], ["/b", "/a", ""], [7, -1, -1]
    )
    assert not handles.add_all([], [], [], [], [], [])
    handles.use_all([(late, 12, "prompt", "verbatim", None, False), (first, 6, "argument", "case", "/x", False)])
    handles.use_all([])
    handles.use_all([(late, 11, "argument", "number", "/y", True)])
    assert handles.value(other) == ("c", REFERENCE)
    handles.close()
    branch = Use(5, "branch", "verbatim")
    told = [
        Handle("a-1", "uuid", 0, 4, "/a", [branch, Use(6, "argument", "case", "/x")]),
        Handle("c", REFERENCE, 0, 4, "", [branch]),
        Handle(
            "b-2", "id", 1, 9, "/b/7", [Use(12, "prompt", "verbatim"), Use(11, "argument", "number", "/y", echo=True)]
        ),
    ]
    assert list(handles) == told
    assert handles[1:] == told[1:]
    assert handles[-1] == told[-1]
    assert list(handles.first_by_call()) == [(0, 0), (1, 2)]
    assert list(handles.carried()) == [0, 2]
    assert handles.minted_in(range(4)) == [handles.minted_by(call) for call in range(4)] == [["a-1"], ["b-2"], [], []]
    assert handles.minted_in(range(1, 2)) == [["b-2"]]
    assert handles.minted_in(range(7, 9)) == [[], []]
    assert [handles.minted_by(call) for call in range(3)] == [["a-1"], ["b-2"], []]


def test_no_handles_are_none() -> None:
    handles = Handles()
    handles.close()
    assert (len(handles), list(handles), list(handles.first_by_call()), list(handles.carried())) == (0, [], [], [])


def test_many_texts_are_spooled_to_a_file_and_come_back() -> None:
    spool = Spool()
    told = [bytes([65 + number % 26]) * (number * 997) for number in range(60)]  # 1.7 MB
    offsets = [spool.add(text) for text in told]
    for text, offset in zip(told, offsets, strict=True):
        assert spool.get(offset, len(text)) == text
    last = spool.add(b"last")
    assert [spool.get(last, 4), spool.get(offsets[1], 997)] == [b"last", told[1]]


def test_a_long_text_is_spooled_behind_those_before_it() -> None:
    spool = Spool()
    told = [b"before", b"x" * (1 << 20), b"y" * ((1 << 20) + 1), b"behind"]
    offsets = [spool.add(text) for text in told]
    assert [spool.get(offset, len(text)) for offset, text in zip(offsets, told, strict=True)] == told
    assert spool.size == sum(map(len, told))


def test_a_spooled_payload_comes_back_from_the_file_too() -> None:
    places = Places(0, b"")
    payloads = Payloads(places)
    told = [raw(b'"' + bytes([97 + number % 26]) * 50_000 + b'"') for number in range(30)]
    for one in told:
        payloads.add(one, -1)
    assert list(payloads) == told
    assert list(payloads.texts()) == [bytes(one) for one in told]
    assert payloads.spooled == len(told)


def test_texts_that_are_added_at_once_are_kept_as_one_by_one() -> None:
    told = ["a", "", "\u00e9\ud800", "a"]
    one_by_one, at_once = Texts(), Texts()
    for texts in (one_by_one, at_once):
        texts.add("before")
    assert [one_by_one.add(text) for text in told] == list(at_once.add_all(told))
    assert [at_once[number] for number in range(5)] == ["before", *told]
    shared = Strings()
    shared.add("a")
    assert [shared[number] for number in shared.add_all(told)] == told
    assert len(set(shared.add_all(told))) == 3
