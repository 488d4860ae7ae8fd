"""Are the edges of a trace those that a person would draw, each with the right basis?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import networkx as nx
import pytest

from forensics.analysis.causality import ValueUse, causal_graph, program_order, value_uses
from forensics.analysis.graph_view import to_networkx
from forensics.core.build import Execution, Lane, Spot, TraceBuilder
from forensics.core.evidence import Basis, Evidence
from forensics.core.graph import CausalGraph, EdgeKind, GraphBuilder
from forensics.core.handles import Handle, Use
from forensics.core.messages import Message, Part
from forensics.core.reading import EvidenceBuilder
from forensics.core.trace import NOWHERE, Boundary, Outcome, Places, StepKind, Trace
from forensics.formats.registry import reader
from forensics.formats.shared.source import open_source

ROOT = Path(__file__).resolve().parents[3]
CASES = ROOT.parent / "shared" / "cases"
beside_cases = pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not beside this checkout")
RECORDED, DERIVED, INFERRED = Basis.RECORDED, Basis.DERIVED, Basis.INFERRED

Fact = tuple[int, int, Basis]


def facts(graph: CausalGraph, kind: EdgeKind) -> list[Fact]:
    """The edges of one kind."""
    return [(e.source, e.target, e.basis) for e in graph.edges() if e.kind is kind]


def pairs(graph: CausalGraph, kind: EdgeKind) -> list[tuple[int, int]]:
    return [(source, target) for source, target, _ in facts(graph, kind)]


def payload(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())


class Story:
    """A trace told by hand, each event a line of the record of its own."""

    def __init__(self) -> None:
        self.places = Places(0)
        self.build = TraceBuilder("t", self.places, "test")
        self.last_turn = NOWHERE

    def spot(self) -> Spot:
        return Spot(self.places.add(line=len(self.places) + 1))

    def lane(self, agent: str = "") -> Lane:
        return self.build.lane(agent, agent)

    def step(self, kind: StepKind, agent: str = "", parent: int = NOWHERE) -> int:
        return self.build.step(kind, self.spot(), agent=agent, parent=parent)

    def turn(self, agent: str = "") -> int:
        """A model turn; returns its row."""
        self.last_turn = self.build.turn(self.lane(agent), self.spot())
        return len(self.trace) - 1

    def ask(self, tool: str, arguments: str = "{}", recorded_id: str | None = None, agent: str = "") -> int:
        """A call that the last turn asked for; returns its row."""
        self.build.request(self.lane(agent), self.last_turn, tool, recorded_id, payload(arguments), self.spot())
        return len(self.trace) - 1

    def show(self, tool: str = "", recorded_id: str | None = None, agent: str = "", *, failed: bool = False) -> int:
        """A result in the next prompt; returns its row."""
        self.build.show(self.lane(agent), recorded_id, tool, payload('"done"'), self.spot(), failed=failed)
        return len(self.trace) - 1

    def call(self, tool: str, arguments: str = "{}", *, failed: bool = False) -> int:
        """A turn that asks for one call, and its result; returns the row of the call."""
        self.turn()
        row = self.ask(tool, arguments)
        self.show(tool, failed=failed)
        return row

    @property
    def trace(self) -> Trace:
        return self.build.trace

    def graph(self) -> CausalGraph:
        return causal_graph(self.build.finish())


def read_with(name: str, path: Path) -> Trace:
    """The only trace of a file."""
    module = reader(name)
    with open_source(str(path)) as source:
        evidence = Evidence(0, source.name, source.sha256, source.size, name)
        build = EvidenceBuilder(
            evidence, records_calls=module.RECORDS_CALLS, spans_are_complete=module.SPANS_ARE_COMPLETE
        )
        module.read(source, build)
        (trace,) = build.finish().traces
    return trace


@pytest.fixture
def pager() -> Trace:
    return read_with("openai-chat", ROOT / "samples" / "pager.chat.json")


# the pager incident --------------------------------------------------------------------------------------------------


def test_pager_has_the_steps_that_the_edges_below_are_about(pager: Trace) -> None:
    names = [f"{step.kind.label} {step.name}".strip() for step in pager.steps()]
    assert names == [
        "system",
        "user",
        "model",
        "tool_call query_metrics",
        "tool_result query_metrics",
        "model",
        "tool_call pager.trigger",
        "tool_result pager.trigger",
        "model",
        "tool_call incident.annotate",
        "tool_result incident.annotate",
        "model",
    ]


def test_pager_edges(pager: Trace) -> None:
    graph = causal_graph(pager)
    assert facts(graph, EdgeKind.REQUESTS) == [(2, 3, RECORDED), (5, 6, RECORDED), (8, 9, RECORDED)]
    assert facts(graph, EdgeKind.RETURNS) == [(3, 4, RECORDED), (6, 7, RECORDED), (9, 10, RECORDED)]
    assert facts(graph, EdgeKind.FEEDS) == [
        (row, turn, DERIVED) for row, turn in ((0, 2), (1, 2), (4, 5), (7, 8), (10, 11))
    ]
    assert facts(graph, EdgeKind.NEXT) == [(row, row + 1, DERIVED) for row in range(11)]
    assert graph.edge_count == 3 + 3 + 5 + 11
    assert graph.cycles() == []


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("otlp", ROOT / "samples" / "pager.otlp.jsonl"),
        ("fastaiagent-json", ROOT / "samples" / "pager.json"),
        pytest.param("otlp", CASES / "generated" / "otlp-pager" / "pager_otlp.json", marks=beside_cases),
        pytest.param("fastaiagent-json", CASES / "fastaiagent" / "pager_1.94.0.json", marks=beside_cases),
    ],
)
def test_pager_has_the_same_edges_in_every_format(pager: Trace, name: str, path: Path) -> None:
    assert list(causal_graph(read_with(name, path)).edges()) == list(causal_graph(pager).edges())


def test_pager_why_was_the_annotation_made(pager: Trace) -> None:
    graph = causal_graph(pager)
    why = (EdgeKind.REQUESTS, EdgeKind.RETURNS, EdgeKind.FEEDS)
    assert graph.backward(9, why) == (0, 1, 2, 3, 4, 5, 6, 7, 8)
    assert graph.predecessors(9, why) == (8,)
    assert graph.predecessors(8, why) == (7,)


def test_pager_taint_of_the_page_id_spares_what_only_came_later(pager: Trace) -> None:
    flows = [ValueUse(7, use, INFERRED) for use in (8, 9, 10, 11)]
    graph = causal_graph(pager, flows)
    assert graph.forward(7, (EdgeKind.VALUE,)) == (8, 9, 10, 11)
    assert graph.forward(4, (EdgeKind.VALUE,)) == ()
    assert graph.forward(4) == tuple(range(5, 12))


def test_pager_as_networkx(pager: Trace) -> None:
    view = to_networkx(causal_graph(pager), pager)
    assert view.nodes[6] == {"kind": "tool_call", "name": "pager.trigger", "agent": "", "occurrence": "1.0"}
    assert view.nodes[1] == {"kind": "user", "name": "", "agent": ""}
    assert view.edges[5, 6, "requests"] == {"kind": "requests", "basis": "recorded"}
    assert set(view[5][6]) == {"requests", "next"}
    assert (view.number_of_nodes(), view.number_of_edges()) == (12, 22)
    assert nx.immediate_dominators(view, 0)[11] == 10


@beside_cases
def test_a_charge_made_again_although_it_had_succeeded_is_no_retry_of_it() -> None:
    trace = read_with("openai-chat", CASES / "bugs" / "01-retry-reruns-finished-charge" / "trace.json")
    graph = causal_graph(trace)
    assert pairs(graph, EdgeKind.REQUESTS) == [(1, 2), (6, 7)]
    assert pairs(graph, EdgeKind.RETURNS) == [(2, 3), (7, 8)]
    assert pairs(graph, EdgeKind.FEEDS) == [(0, 1), (3, 6), (4, 6), (5, 6), (8, 9)]
    assert pairs(graph, EdgeKind.RETRY) == []


@beside_cases
def test_of_three_calls_asked_together_only_the_answered_one_returns() -> None:
    trace = read_with("anthropic-messages", CASES / "bugs" / "07-crash-in-parallel-batch" / "trace.json")
    graph = causal_graph(trace)
    assert facts(graph, EdgeKind.REQUESTS) == [(1, 2, RECORDED), (1, 3, RECORDED), (1, 4, RECORDED)]
    assert facts(graph, EdgeKind.RETURNS) == [(2, 5, RECORDED)]
    assert graph.predecessors(5, (EdgeKind.RETURNS,)) == (2,)


# calls ---------------------------------------------------------------------------------------------------------------


def test_a_request_on_a_line_of_its_own_is_derived() -> None:
    story = Story()
    turn = story.turn()
    call = story.ask("read")
    assert facts(story.graph(), EdgeKind.REQUESTS) == [(turn, call, DERIVED)]


@pytest.mark.parametrize(
    ("turn_at", "call_at", "basis"),
    [("/4", "/4/tool_calls/0", RECORDED), ("/4", "/4", RECORDED), ("/4", "/40", DERIVED), ("", "/input", RECORDED)],
)
def test_a_request_inside_the_record_of_its_turn_is_recorded(turn_at: str, call_at: str, basis: Basis) -> None:
    story = Story()
    place = story.spot().place
    turn = story.build.turn(story.lane(), Spot(place, turn_at))
    story.build.request(story.lane(), turn, "read", None, None, Spot(place, call_at))
    assert facts(story.graph(), EdgeKind.REQUESTS) == [(0, 1, basis)]


def test_a_result_paired_by_its_id_is_recorded_and_by_its_name_derived() -> None:
    story = Story()
    story.turn()
    by_id, by_name = story.ask("read", recorded_id="c1"), story.ask("list")
    first, second = story.show("read", "c1"), story.show("list")
    assert facts(story.graph(), EdgeKind.RETURNS) == [(by_id, first, RECORDED), (by_name, second, DERIVED)]


def test_results_in_another_order_return_from_their_own_calls() -> None:
    story = Story()
    story.turn()
    one, two = story.ask("read", recorded_id="c1"), story.ask("read", recorded_id="c2")
    of_two, of_one = story.show("read", "c2"), story.show("read", "c1")
    then = story.turn()
    graph = story.graph()
    assert pairs(graph, EdgeKind.RETURNS) == [(one, of_one), (two, of_two)]
    assert pairs(graph, EdgeKind.FEEDS) == [(of_two, then), (of_one, then)]


@pytest.mark.parametrize(("recorded_id", "basis"), [("c1", RECORDED), (None, DERIVED)])
def test_what_a_span_returned_to_a_request_is_recorded_where_an_id_joins_them(
    recorded_id: str | None, basis: Basis
) -> None:
    story = Story()
    story.turn()
    call = story.ask("read", recorded_id=recorded_id)
    ran = Execution("read", story.spot(), recorded_id, payload("{}"), payload("1"), status="ok")
    story.build.execute(story.lane(), ran)
    assert facts(story.graph(), EdgeKind.RETURNS) == [(call, call + 1, basis)]


def test_a_call_that_no_turn_asked_for_has_only_its_result() -> None:
    story = Story()
    ran = Execution("fetch", story.spot(), None, payload("{}"), payload("1"), boundary=Boundary.HTTP)
    story.build.execute(story.lane(), ran)
    graph = story.graph()
    assert pairs(graph, EdgeKind.REQUESTS) == []
    assert facts(graph, EdgeKind.RETURNS) == [(0, 1, RECORDED)]


def test_a_turn_without_a_number_asked_for_nothing() -> None:
    story = Story()
    story.step(StepKind.MODEL)
    story.build.execute(story.lane(), Execution("fetch", story.spot(), None, None, payload("1")))
    assert pairs(story.graph(), EdgeKind.REQUESTS) == []


def test_a_call_never_answered_returns_nothing() -> None:
    story = Story()
    story.turn()
    story.ask("read")
    assert pairs(story.graph(), EdgeKind.RETURNS) == []


# order ---------------------------------------------------------------------------------------------------------------


def test_each_kind_that_a_model_is_shown_feeds_its_next_turn() -> None:
    story = Story()
    shown = (StepKind.SYSTEM, StepKind.USER, StepKind.APPROVAL, StepKind.ERROR)
    rows = [story.step(kind) for kind in shown]
    unseen = story.step(StepKind.APPROVAL_REQUEST)
    turn = story.turn()
    story.turn()
    after = story.step(StepKind.USER)
    graph = story.graph()
    assert pairs(graph, EdgeKind.FEEDS) == [(row, turn) for row in rows]
    assert unseen not in graph.predecessors(turn, (EdgeKind.FEEDS,))
    assert graph.successors(after) == ()


def test_agents_do_not_feed_or_follow_each_other() -> None:
    story = Story()
    for_one, for_two = story.step(StepKind.USER, "one"), story.step(StepKind.USER, "two")
    two, one = story.turn("two"), story.turn("one")
    graph = story.graph()
    assert pairs(graph, EdgeKind.FEEDS) == [(for_one, one), (for_two, two)]
    assert facts(graph, EdgeKind.NEXT) == [(for_one, one, DERIVED), (for_two, two, DERIVED)]


def test_a_handoff_goes_to_the_next_step_of_another_agent() -> None:
    story = Story()
    first = story.step(StepKind.HANDOFF, "one")
    second = story.step(StepKind.HANDOFF, "one")
    story.step(StepKind.GUARDRAIL, "one")
    received = story.turn("two")
    back = story.step(StepKind.HANDOFF, "two")
    story.step(StepKind.GUARDRAIL, "two")
    returned = story.turn("one")
    story.step(StepKind.HANDOFF, "one")
    graph = story.graph()
    expected = [(first, received, DERIVED), (second, received, DERIVED), (back, returned, DERIVED)]
    assert facts(graph, EdgeKind.HANDOFF) == expected


def test_a_recorded_parent_is_an_edge_even_when_it_stands_later() -> None:
    story = Story()
    story.step(StepKind.AGENT)
    story.step(StepKind.USER, parent=0)
    story.step(StepKind.ERROR, parent=3)
    story.step(StepKind.AGENT, parent=2)
    graph = story.graph()
    assert facts(graph, EdgeKind.PARENT) == [(0, 1, RECORDED), (2, 3, RECORDED), (3, 2, RECORDED)]
    assert graph.cycles() == [(2, 3)]


def adopted() -> Story:
    """A span of a tool stands before the prompt that shows which turn asked for it."""
    story = Story()
    lane = story.lane()
    story.step(StepKind.USER)
    story.build.execute(lane, Execution("read", story.spot(), "c1", payload("{}"), payload("1"), status="ok"))
    asking = Message("assistant", b"a", "/0", calls=(Part("read", "c1", payload("{}"), "/tool_calls/0"),))
    showing = Message("tool", b"b", "/1", results=(Part("read", "c1", payload("1"), ""),))
    story.build.feed(lane, (asking, showing), story.spot())
    story.turn()
    return story


def test_a_call_that_ran_before_its_turn_was_told_follows_the_turn() -> None:
    story = adopted()
    kinds = [step.kind for step in story.trace.steps()]
    assert kinds == [StepKind.USER, StepKind.TOOL_CALL, StepKind.TOOL_RESULT, StepKind.MODEL, StepKind.MODEL]
    graph = story.graph()
    assert list(program_order(story.trace)) == [0, 3, 1, 2, 4]
    assert facts(graph, EdgeKind.REQUESTS) == [(3, 1, RECORDED)]
    assert pairs(graph, EdgeKind.FEEDS) == [(0, 3), (2, 4)]
    assert pairs(graph, EdgeKind.NEXT) == [(0, 3), (1, 2), (2, 4), (3, 1)]
    assert graph.cycles() == []
    assert list(graph.topological()) == [0, 3, 1, 2, 4]


# retries -------------------------------------------------------------------------------------------------------------


def test_the_same_request_after_a_failure_is_a_retry_whatever_the_order_of_its_keys() -> None:
    story = Story()
    first = story.call("pay", '{"amount": 9, "to": "x"}', failed=True)
    second = story.call("pay", '{"to":"x","amount":9}', failed=True)
    third = story.call("pay", '{"amount": 9, "to": "x"}')
    story.call("pay", '{"amount": 9, "to": "x"}')
    graph = story.graph()
    assert facts(graph, EdgeKind.RETRY) == [(first, second, INFERRED), (second, third, INFERRED)]


@pytest.mark.parametrize(("tool", "arguments"), [("pay", '{"amount": 8}'), ("refund", '{"amount": 9}')])
def test_another_request_after_a_failure_is_no_retry(tool: str, arguments: str) -> None:
    story = Story()
    story.call("pay", '{"amount": 9}', failed=True)
    story.call(tool, arguments)
    assert pairs(story.graph(), EdgeKind.RETRY) == []


def test_the_same_request_to_another_server_is_no_retry() -> None:
    story = Story()
    for number, server in enumerate(("one", "two", "one")):
        story.turn()
        story.ask("pay", recorded_id=f"c{number}")
        story.trace.calls[-1].server = server
        story.show("pay", f"c{number}", failed=True)
    assert pairs(story.graph(), EdgeKind.RETRY) == [(1, 7)]


def test_the_same_request_after_a_success_is_no_retry() -> None:
    story = Story()
    story.call("pay")
    story.call("pay")
    assert pairs(story.graph(), EdgeKind.RETRY) == []


def test_requests_made_together_are_no_retries_of_each_other() -> None:
    story = Story()
    story.turn()
    story.ask("pay", recorded_id="c1")
    story.ask("pay", recorded_id="c2")
    story.show("pay", "c1", failed=True)
    story.show("pay", "c2")
    assert pairs(story.graph(), EdgeKind.RETRY) == []


def pending(story: Story, recorded_id: str) -> int:
    """A call that is asked for, and runs into a pause whose end is not recorded; returns its row."""
    row = story.ask("pay", recorded_id=recorded_id)
    story.build.execute(story.lane(), Execution("pay", story.spot(), recorded_id, payload("{}"), status="pending"))
    return row


def test_after_an_indeterminate_call_only_another_turn_retries() -> None:
    story = Story()
    story.turn()
    pending(story, "c1")
    latest = pending(story, "c2")
    story.turn()
    again = story.ask("pay", recorded_id="c3")
    graph = story.graph()
    assert [call.outcome for call in story.trace.calls][:2] == [Outcome.INDETERMINATE] * 2
    assert facts(graph, EdgeKind.RETRY) == [(latest, again, INFERRED)]


def test_a_call_without_an_answer_settles_nothing() -> None:
    story = Story()
    first = story.call("pay", failed=True)
    story.turn()
    second = story.ask("pay", recorded_id="c2")
    story.turn()
    third = story.ask("pay", recorded_id="c3")
    assert pairs(story.graph(), EdgeKind.RETRY) == [(first, second), (first, third)]


@pytest.mark.parametrize("depth", [900, 60_000])
def test_hostile_arguments_are_compared_as_they_are(depth: int) -> None:
    nested = "[" * depth + "]" * depth
    story = Story()
    first = story.call("pay", nested, failed=True)
    again = story.call("pay", nested, failed=True)
    story.call("pay", "[" * depth)
    assert pairs(story.graph(), EdgeKind.RETRY) == [(first, again)]


# values --------------------------------------------------------------------------------------------------------------


def test_flows_become_value_edges_with_their_basis() -> None:
    story = Story()
    story.call("read")
    graph = causal_graph(story.build.finish(), [(0, 2, RECORDED), ValueUse(1, 2, INFERRED)])
    assert facts(graph, EdgeKind.VALUE) == [(0, 2, RECORDED), (1, 2, INFERRED)]


def test_a_flow_beyond_the_trace_is_an_error() -> None:
    with pytest.raises(IndexError):
        causal_graph(Story().build.finish(), [(0, 1, INFERRED)])


def test_the_uses_of_a_handle_are_flows_and_a_mere_sight_of_it_is_none() -> None:
    uses = [Use(5, "branch", "verbatim"), Use(6, "argument", "verbatim"), Use(8, "final_answer", "embedded")]
    handle = Handle("pg_8812", "prefixed-id", 1, 4, "/id", uses)
    assert list(value_uses([handle])) == [ValueUse(4, 6, INFERRED), ValueUse(4, 8, INFERRED)]


# the view ------------------------------------------------------------------------------------------------------------


def test_a_view_of_another_trace_is_refused(pager: Trace) -> None:
    with pytest.raises(ValueError, match="12 steps and the graph 3 rows"):
        to_networkx(GraphBuilder().build(3), pager)


def test_a_view_cannot_be_changed_and_its_copy_can(pager: Trace) -> None:
    view = to_networkx(causal_graph(pager), pager)
    with pytest.raises(nx.NetworkXError):
        view.add_edge(0, 1)
    copy = view.copy()
    copy.add_edge(0, 1, key="mine")
    assert type(copy) is nx.MultiDiGraph
    assert not view.has_edge(0, 1, "mine")
    assert copy.nodes[6]["name"] == "pager.trigger"


def test_networkx_is_not_imported_before_a_view_is_asked_for() -> None:
    code = "import sys, forensics.analysis.graph_view, forensics.analysis.causality; print('networkx' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    assert said.stdout.strip() == "False"
