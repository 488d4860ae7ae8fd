"""Are lanes folded, words kept once, and long traces cut with a word about it?"""

from __future__ import annotations

import pytest

from forensics.errors import LimitExceededError
from forensics.report.documents import (
    Digest,
    EvidenceRow,
    GraphDocument,
    GraphStepRow,
    GraphTraceRow,
    Place,
    PolicyName,
    Program,
)
from forensics.report.html.graph import graph_html
from forensics.report.html.lanes import DrawnLane, drawn_lanes
from forensics.report.html.timeline import STEPS, Drawing, timeline, timeline_data
from forensics.report.html.ways import values
from forensics.report.html.words import command, where
from forensics.report.incident.documents import Edge, Event, Lane, Thread, ThreadUse

from .conftest import Page


def lane(index: int, kind: str, name: str, steps: int = 1) -> Lane:
    return Lane(index=index, trace=0, kind=kind, name=name, steps=steps)


def event(index: int, name: str = "") -> Event:
    return Event(index=index, trace=0, lane=0, kind="model", locator=Place(evidence=0), name=name)


def test_people_come_first_and_the_least_used_tools_share_a_lane() -> None:
    lanes = [lane(0, "model", "m", 9), *(lane(n, "tool", f"t{n}", n) for n in range(1, 11)), lane(11, "people", "", 1)]
    drawn, places = drawn_lanes(lanes)
    assert drawn[:2] == [DrawnLane("people", ""), DrawnLane("model", "m")]
    assert [one.name for one in drawn[2:]] == ["other tools", *(f"t{n}" for n in range(3, 11))]
    assert places[1] == places[2] == 2
    assert places[11] == 0


def test_a_word_stands_in_the_data_once() -> None:
    events = [event(n, name="same") for n in range(50)]
    data = timeline_data(Drawing("t", [lane(0, "model", "same")], events, [], []))
    assert data["words"].count("same") == 1
    assert len(data["steps"]) == 50


def test_causes_name_steps_and_values_apart_and_leave_out_sequence() -> None:
    use = ThreadUse(step=2, role="argument", written="verbatim", basis="recorded")
    shown = ThreadUse(step=1, role="branch", written="verbatim", basis="inferred")
    threads = [Thread(index=0, trace=0, value="v", kind="uuid", minted=0, pointer="", tool="t", uses=[shown, use])]
    edges = [
        Edge(source=1, target=2, kind="requests", basis="recorded"),
        Edge(source=0, target=1, kind="next", basis="derived"),
    ]
    html = timeline(Drawing("t", [lane(0, "model", "")], [event(0), event(1), event(2)], edges, threads)).html
    table = html[html.index('id="s0"') :]
    assert '<td><a href="#s0">◆0</a> <a href="#s1">1</a></td>' in table
    assert table.count("<a ") == 2


def test_the_drawing_has_room_for_minted_values_first_and_draws_no_value_twice() -> None:
    uses = [ThreadUse(step=1, role="argument", written="verbatim", basis="recorded")] * 9_998
    kinds = ("reference", "uuid", "uuid")
    threads = [
        Thread(index=n, trace=0, value=f"v{n}", kind=kind, minted=0, pointer="", tool="t", uses=uses)
        for n, kind in enumerate(kinds)
    ]
    edges = [Edge(source=0, target=1, kind="value", basis="inferred")]
    data = timeline_data(Drawing("t", [lane(0, "model", "")], [event(0), event(1)], edges, threads))
    assert [data["words"][thread[0]] for thread in data["threads"]] == ["v1", "v2"]
    assert data["edges"] == []


def test_a_row_of_a_long_run_names_fewer_causes() -> None:
    def causes(count: int) -> int:
        edges = [Edge(source=n, target=20, kind="feeds", basis="derived") for n in range(15)]
        html = timeline(Drawing("t", [lane(0, "model", "")], [event(n) for n in range(count)], edges, [])).html
        return html.count("<a ")

    assert (causes(100), causes(2_000)) == (12, 4)


def test_the_way_of_a_value_is_told_in_words_with_how_it_was_written() -> None:
    use = ThreadUse(step=2, role="argument", written="base64", basis="recorded", pointer="/id")
    echo = ThreadUse(step=3, role="output", written="verbatim", basis="recorded", echo=True)
    thread = Thread(index=0, trace=0, value="v<1>", kind="uuid", minted=0, pointer="", tool="make", uses=[use, echo])
    told = values([thread] * 101)
    assert told is not None
    text = Page(told.html.encode()).text
    assert "Values and their ways: 101" in text
    assert "v<1> uuid step 0 by make step 2 argument /id as base64, step 3 echo" in text
    assert "1 more values are in the form .json of the report." in text
    reference = Thread(index=0, trace=0, value="r", kind="reference", minted=0, pointer="", tool="get", uses=[use])
    assert values([reference]) is None


def test_a_trace_beyond_what_a_page_holds_says_what_is_not_there() -> None:
    drawing = Drawing("t", [lane(0, "model", "")], [event(n) for n in range(STEPS + 5)], [], [])
    assert "5 steps of it are not in this page" in timeline(drawing).html
    assert len(timeline_data(drawing)["steps"]) == STEPS


def test_a_place_is_told_as_far_as_it_is_known() -> None:
    place = Place(evidence=0, line=7, offset=120, length=361, pointer="/spans/3")
    assert where(place) == "line 7, bytes 120 to 480, /spans/3"
    assert where(Place(evidence=0, table="spans", row=3, member="a.db")) == "a.db, spans row 3"
    assert where(Place(evidence=0, offset=9)) == "from byte 9 on"
    assert where(Place(evidence=0)) == "the whole evidence"


def test_a_command_is_quoted_or_not_given() -> None:
    assert command("forensics", "inspect", "a b;rm.json") == "forensics inspect 'a b;rm.json'"
    assert command("forensics", "inspect", "a\u202eb") is None
    assert command("forensics", "inspect", "a\nb") is None


def test_a_graph_beyond_what_a_page_holds_is_refused_with_the_advice_to_slice() -> None:
    trace = GraphTraceRow(id="t", evidence=0, format="f", first_step=0, steps=STEPS + 1)
    document = GraphDocument(
        schema="forensics/graph/v1",
        tool=Program(name="forensics", version="0"),
        policy=PolicyName(name="strict", digest="sha256:0", base="strict"),
        rules=Digest(digest="sha256:0"),
        evidence=[EvidenceRow(name="e", sha256="0", size=1, status="read")],
        trace=trace,
        slice=None,
        steps=[GraphStepRow(index=n, kind="model", locator=Place(evidence=0)) for n in range(STEPS + 1)],
        edges=[],
    )
    with pytest.raises(LimitExceededError, match="a page holds at most 20,000 steps") as raised:
        graph_html(document)
    assert "--slice" in raised.value.hint
