"""Which event stands beside which, lane by lane?"""

from __future__ import annotations

from forensics.compare.events import Event, lanes_of, tool_name
from forensics.compare.keys import Keys
from forensics.compare.script import Script, script
from forensics.core.jsonvalue import raw
from forensics.core.trace import Places, Trace


def events(*told: str) -> tuple[Event, ...]:
    """Events out of words like `x:hello`: the agent, and what its model said."""
    pairs = [word.split(":") for word in told]
    return tuple(Event("model", agent, step, raw(text)) for step, (agent, text) in enumerate(pairs))


def beside(left: tuple[Event, ...], right: tuple[Event, ...]) -> Script:
    keys = Keys(Trace("t", Places(0), "plain"), (), loose=False)
    return script(left, right, (keys, keys))


def steps(found: Script) -> list[tuple[int | None, int | None, bool]]:
    return [
        (None if row.left is None else row.left.step, None if row.right is None else row.right.step, row.moved)
        for row in found.rows
    ]


def test_agents_side_by_side_may_take_turns_otherwise() -> None:
    found = beside(events(":go", "x:1", "x:2", "y:1", "y:2"), events(":go", "y:1", "x:1", "y:2", "x:2"))
    assert steps(found) == [(0, 0, False), (1, 2, False), (2, 4, False), (3, 1, False), (4, 3, False)]
    assert found.interleaved


def test_within_one_agent_order_counts() -> None:
    found = beside(events("x:1", "x:2", "x:3"), events("x:1", "x:3", "x:2"))
    assert sorted(moved for *_, moved in steps(found)) == [False, False, True]
    assert not found.interleaved


def test_something_extra_stands_where_it_would_stand_in_the_left_run() -> None:
    found = beside(events("x:1", "x:2"), events("x:1", "x:new", "x:2", "x:last"))
    alone = [(row.at, row.right.step) for row in found.rows if row.left is None and row.right is not None]
    assert alone == [(1, 1), (1, 3)]


def test_an_agent_that_has_another_name_is_set_beside_its_twin() -> None:
    assert lanes_of(events("x:1", "x:2"), events("z:1", "z:2")) == (("", ""), ("", ""))
    assert lanes_of(events(":go", "x:1"), events("x:go", "x:1")) == (("", ""), ("", ""))
    assert lanes_of(events("x:1", "y:1"), events("x:1", "y:1")) == (("x", "y"), ("x", "y"))
    assert lanes_of(events(":go", "x:1", "y:1"), events("x:go", "x:1", "y:1")) == (("x", "x", "y"), ("x", "x", "y"))


def test_a_tool_is_known_without_its_server_only_between_formats() -> None:
    assert tool_name("mcp__oncall__pager_trigger", loose=True) == tool_name("pager.trigger", loose=True)
    assert tool_name("pager.trigger", loose=False) == "pager.trigger"


def test_calls_that_no_turn_asked_for_stand_before_the_turn_that_came_there_in_the_other_run() -> None:
    """They are what was done otherwise, on whichever side they are; else the left run comes first."""
    first, second = events("x:1", "x:2")
    again = tuple(Event("call", "x", step, raw("page")) for step in (1, 2))
    for left, right in (((first, second), (first, *again)), ((first, *again), (first, second))):
        found = beside(left, right)
        kinds = [event.kind for row in found.rows for event in (row.left, row.right) if event is not None]
        assert kinds == ["model", "model", "call", "call", "model"]
