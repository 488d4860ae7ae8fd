"""What led to what in this trace? Every typed edge between its steps, by one table of linear passes.

The passes follow the *program order* of the trace, not its rows: a tool span may stand before the record that says
which turn asked for it, and what is recorded beats where it stands. So each edge points forward in the program order,
except where the reader itself says otherwise (a parent, a value), and a cycle is a fact about the evidence.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from forensics.core.evidence import Basis
from forensics.core.graph import EdgeKind, GraphBuilder
from forensics.core.jsonvalue import canonical, decode, unfold
from forensics.core.trace import NOWHERE, Outcome, StepKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.core.graph import CausalGraph
    from forensics.core.handles import Handle
    from forensics.core.trace import Call, Payload, Trace


class ValueUse(NamedTuple):
    """A value went from the step that minted it to a step that holds it. Any such triple will do."""

    mint: int
    use: int
    basis: Basis


FEEDING = frozenset(
    {StepKind.SYSTEM, StepKind.USER, StepKind.TOOL_RESULT, StepKind.APPROVAL, StepKind.ERROR}
)  # what the next model turn of the same agent is shown
UNSETTLED = frozenset({Outcome.FAILED, Outcome.INDETERMINATE})  # after these the same call again is a retry
_SHOWN_ONLY = "branch"  # the role of a turn that was shown a value and need not have used it


def causal_graph(trace: Trace, flows: Iterable[tuple[int, int, Basis]] = ()) -> CausalGraph:
    """The causal graph over the steps of a trace; `flows` are its value uses (`ValueUse`, or triples like it).

    The time is linear in the steps, the flows, and the arguments of the tools that failed. Raises IndexError for a flow
    that names a step beyond the trace. The kinds of edges follow PROV's "was informed by" and "was derived from" (W3C
    PROV-DM, 2013) in the terms of an agent's run.
    """
    edges = GraphBuilder()
    order = program_order(trace)
    _add_parents(edges, trace)
    _add_calls(edges, trace)
    _add_sequence(edges, trace, order)
    _add_feeds(edges, trace, order)
    _add_handoffs(edges, trace, order)
    _add_retries(edges, trace, order)
    for mint, use, basis in flows:
        edges.add(mint, use, EdgeKind.VALUE, basis)
    return edges.build(len(trace))


def value_uses(handles: Iterable[Handle]) -> Iterator[ValueUse]:
    """The flows of what the flow pass found. That a turn was shown a value (role `branch`) is what `feeds` says."""
    for handle in handles:
        for use in handle.uses:
            if use.role != _SHOWN_ONLY:
                yield ValueUse(handle.step, use.step, Basis.INFERRED)


# order ---------------------------------------------------------------------------------------------------------------


def program_order(trace: Trace) -> Sequence[int]:
    """The rows as the agent went through them: as they stand, but a call that ran before the record of the turn that
    asked for it follows that turn, and so does its result.
    """
    late = _rows_before_their_turn(trace)
    if not late:
        return range(len(trace))
    moved = {row for rows in late.values() for row in rows}
    return [r for row in range(len(trace)) if row not in moved for r in (row, *sorted(late.get(row, ())))]


def _rows_before_their_turn(trace: Trace) -> dict[int, list[int]]:
    late: dict[int, list[int]] = {}
    turns = turn_rows(trace)
    for call in trace.calls:
        asked = turns.get(call.turn, NOWHERE)
        early = [row for row in (call.step, call.result_step) if NOWHERE < row < asked]
        if early:
            late.setdefault(asked, []).extend(early)
    return late


def turn_rows(trace: Trace) -> dict[int, int]:
    """The row of each model turn that has a number."""
    return {trace.turn[row]: row for row in trace.rows(StepKind.MODEL) if trace.turn[row] >= 0}


# edges ---------------------------------------------------------------------------------------------------------------


def _add_parents(edges: GraphBuilder, trace: Trace) -> None:
    rows = [row for row, parent in enumerate(trace.parent) if parent >= 0]
    edges.add_all([trace.parent[row] for row in rows], rows, EdgeKind.PARENT, Basis.RECORDED)


def _add_calls(edges: GraphBuilder, trace: Trace) -> None:
    turns = turn_rows(trace)
    for call in trace.calls:
        turn = turns.get(call.turn, NOWHERE)
        if turn >= 0:
            edges.add(turn, call.step, EdgeKind.REQUESTS, _request_basis(trace, turn, call))
        if call.result_step >= 0:
            edges.add(call.step, call.result_step, EdgeKind.RETURNS, _return_basis(call))


def _request_basis(trace: Trace, turn: int, call: Call) -> Basis:
    """Recorded where the call stands inside the record of the turn, or in one that bears the same id; elsewhere the
    format's order says whose it is.
    """
    asked = call.requested
    if asked is not None and call.turn in trace.named_turns:
        return Basis.RECORDED
    if asked is None or asked.place != trace.place[turn]:
        return Basis.DERIVED
    return Basis.RECORDED if _inside(asked.pointer, trace.pointers[trace.pointer[turn]]) else Basis.DERIVED


def _inside(pointer: str, outer: str) -> bool:
    return pointer == outer or pointer.startswith(f"{outer}/")


def _return_basis(call: Call) -> Basis:
    """Recorded where one span holds both, or an id joins them; else tool and order do."""
    if call.executed is None:
        return call.pairing
    return Basis.RECORDED if call.requested is None or call.recorded_id else Basis.DERIVED


def _add_sequence(edges: GraphBuilder, trace: Trace, order: Sequence[int]) -> None:
    last: dict[int, int] = {}
    before, after = array("i"), array("i")
    for row in order:
        agent = trace.agent[row]
        if agent in last:
            before.append(last[agent])
            after.append(row)
        last[agent] = row
    edges.add_all(before, after, EdgeKind.NEXT, Basis.DERIVED)


def _add_feeds(edges: GraphBuilder, trace: Trace, order: Sequence[int]) -> None:
    turn_after: dict[int, int] = {}
    shown, turns = array("i"), array("i")
    for row in reversed(order):
        kind, agent = trace.kind[row], trace.agent[row]
        if kind == StepKind.MODEL:
            turn_after[agent] = row
        elif kind in FEEDING and agent in turn_after:
            shown.append(row)
            turns.append(turn_after[agent])
    edges.add_all(shown, turns, EdgeKind.FEEDS, Basis.DERIVED)


def _add_handoffs(edges: GraphBuilder, trace: Trace, order: Sequence[int]) -> None:
    open_handoffs: dict[int, list[int]] = {}
    for row in order:
        agent = trace.agent[row]
        for giver in [a for a in open_handoffs if a != agent]:
            for handoff in open_handoffs.pop(giver):
                edges.add(handoff, row, EdgeKind.HANDOFF, Basis.DERIVED)
        if trace.kind[row] == StepKind.HANDOFF:
            open_handoffs.setdefault(agent, []).append(row)


# retries -------------------------------------------------------------------------------------------------------------

_Request = tuple[str, "str | None", bytes]


def _add_retries(edges: GraphBuilder, trace: Trace, order: Sequence[int]) -> None:
    """The same request again, once the last answer to it was a failure or none that settles it."""
    requests = _requests_that_may_repeat(trace)
    unsettled: dict[_Request, Call] = {}
    for row in order if requests else ():
        number = trace.call[row]
        if number not in requests:
            continue
        call, request = trace.calls[number], requests[number]
        earlier = unsettled.get(request)
        if row == call.step and earlier is not None and _had_ended(earlier, call):
            edges.add(earlier.step, row, EdgeKind.RETRY, Basis.INFERRED)
        if row == max(call.step, call.result_step):
            _settle(unsettled, request, call)


def _requests_that_may_repeat(trace: Trace) -> dict[int, _Request]:
    """By row of `trace.calls`, the requests of the tools of which one call did not settle; no other tool's arguments
    are decoded.
    """
    failing = {call.tool for call in trace.calls if call.outcome in UNSETTLED}
    return {
        number: (call.tool, call.server, _argument_key(call.arguments))
        for number, call in enumerate(trace.calls)
        if call.tool in failing and call.arguments is not None
    }


def _argument_key(arguments: Payload) -> bytes:
    """Equal for equal arguments; what is no JSON is equal only to the same bytes."""
    decoded = decode(arguments)
    return bytes(arguments) if decoded.error is not None else canonical(unfold(decoded.value))


def _had_ended(earlier: Call, later: Call) -> bool:
    """Whether the earlier call had ended when the later one was made. Calls of one turn are made together, unless a
    recorded result stands between them.
    """
    return earlier.result_step >= 0 or earlier.turn != later.turn


def _settle(unsettled: dict[_Request, Call], request: _Request, call: Call) -> None:
    """An absent outcome settles nothing: what failed before it is still open."""
    if call.outcome in UNSETTLED:
        unsettled[request] = call
    elif call.outcome is not Outcome.ABSENT:
        unsettled.pop(request, None)
