"""Are LangGraph's checkpoints read alike from every store, with forks, sub-graphs, pauses and unfinished tasks?"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from forensics.core.jsonvalue import text_of, value_of
from forensics.core.trace import Outcome, StepKind
from forensics.errors import UnknownFormatError, UnsupportedVersionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from forensics.core.reading import Reading

    Read = Callable[..., Reading]

pack = msgspec.msgpack.encode


def pydantic(name: str, /, **fields: Any) -> msgspec.msgpack.Ext:
    """A message as the serialiser of today writes it: extension 5, with the name of its class."""
    told = [f"langchain_core.messages.{name}", name, {"type": name, **fields}, "model_validate_json"]
    return msgspec.msgpack.Ext(5, pack(told))


Fields = dict[str, Any]
HUMAN: Fields = {"content": "page somebody", "id": "h1"}
ASK: Fields = {"content": "", "id": "a1", "tool_calls": [{"name": "page_oncall", "args": {"team": "sre"}, "id": "c1"}]}
DONE = {
    "content": '{"page_id": "pg_8812"}',
    "id": "t1",
    "tool_call_id": "c1",
    "name": "page_oncall",
    "status": "success",
}
AGAIN: Fields = {**DONE, "content": '{"page_id": "pg_9147"}', "id": "t2"}
SAID: Fields = {"content": "paged", "id": "a2", "tool_calls": []}
MESSAGES: dict[str, tuple[str, Fields]] = {
    "h1": ("human", HUMAN), "a1": ("ai", ASK), "t1": ("tool", DONE), "t2": ("tool", AGAIN), "a2": ("ai", SAID),
}  # fmt: skip
Row = tuple[str, str | None, str, str]  # id, parent, source, the messages of its state
STRAIGHT: tuple[Row, ...] = (
    ("k0", None, "input", ""),
    ("k1", "k0", "loop", "h1"),
    ("k2", "k1", "loop", "h1 a1"),
    ("k3", "k2", "loop", "h1 a1 t1"),
    ("k4", "k3", "loop", "h1 a1 t1 a2"),
)
FORKED: tuple[Row, ...] = (*STRAIGHT, ("k5", "k2", "fork", "h1 a1"), ("k6", "k5", "loop", "h1 a1 t2"))


def constructor(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """A message as the JSON serialiser of older releases writes it."""
    cls = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}[name]
    return {
        "lc": 2,
        "type": "constructor",
        "id": ["langchain_core", "messages", name, cls],
        "kwargs": {**fields, "type": name},
    }


def history(rows: tuple[Row, ...]) -> list[dict[str, Any]]:
    """Snapshots as `get_state_history` gives them, from the newest to the oldest."""

    def config(checkpoint: str | None) -> dict[str, Any] | None:
        return (
            None
            if checkpoint is None
            else {"configurable": {"thread_id": "th", "checkpoint_ns": "", "checkpoint_id": checkpoint}}
        )

    return [
        {
            "values": {"messages": [{"type": MESSAGES[m][0], **MESSAGES[m][1]} for m in told.split()]},
            "next": [],
            "config": config(name),
            "parent_config": config(parent),
            "metadata": {"source": source, "step": step},
            "created_at": f"2026-07-01T10:00:{step:02}+00:00",
            "tasks": [],
        }
        for step, (name, parent, source, told) in reversed(list(enumerate(rows)))
    ]


def first_generation(path: Path, rows: tuple[Row, ...]) -> None:
    """2024-06: `thread_ts`, JSON, no writes."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE checkpoints (thread_id, thread_ts, parent_ts, checkpoint BLOB, metadata BLOB)")
        for step, (name, parent, source, told) in enumerate(rows):
            state = {"messages": [constructor(*MESSAGES[m]) for m in told.split()]}
            body = {"v": 1, "ts": f"2026-07-01T10:00:{step:02}+00:00", "id": name, "channel_values": state}
            meta = json.dumps({"source": source, "step": step}).encode()
            database.execute(
                "INSERT INTO checkpoints VALUES (?,?,?,?,?)", ("th", name, parent, json.dumps(body).encode(), meta)
            )
        database.commit()


def second_generation(path: Path, rows: tuple[Row, ...]) -> None:
    """2024-07: a table `writes` beside it."""
    first_generation(path, rows)
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE writes (thread_id, thread_ts, task_id, idx INTEGER, channel, value BLOB)")
        database.execute(
            "INSERT INTO writes VALUES (?,?,?,?,?,?)",
            ("th", "k2", "task-1", 0, "messages", json.dumps([constructor(*MESSAGES["t1"])]).encode()),
        )
        database.commit()


class Store:
    """A database of the third generation, row by row."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.step = 0
        with closing(sqlite3.connect(path)) as database:
            database.execute(
                "CREATE TABLE checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, "
                "checkpoint BLOB, metadata BLOB)"
            )
            database.execute(
                "CREATE TABLE writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx INTEGER, "
                "channel, type, value BLOB)"
            )
            database.commit()

    def checkpoint(
        self, name: str, parent: str | None, told: str = "", *, source: str = "loop", namespace: str = "", **state: Any
    ) -> None:
        if told:
            state["messages"] = [pydantic(MESSAGES[m][0], **MESSAGES[m][1]) for m in told.split()]
        self.step += 1
        body = {
            "v": 4,
            "ts": f"2026-07-01T10:00:{self.step:02}+00:00",
            "id": name,
            "channel_values": state,
            "versions_seen": {},
        }
        meta = json.dumps({"source": source, "step": self.step}).encode()
        self._insert("checkpoints", ("th", namespace, name, parent, "msgpack", pack(body), meta))

    def write(
        self, name: str, channel: str, value: Any, path: str = "", *, task: str = "task-1", namespace: str = ""
    ) -> None:
        kind, body = ("null", b"") if value is None else ("msgpack", pack(value))
        self._insert("writes", ("th", namespace, name, task, path, 0, channel, kind, body))

    def raw(self, name: str, kind: str, body: bytes) -> None:
        self._insert("checkpoints", ("th", "", name, None, kind, body, b"{}"))

    def _insert(self, table: str, row: tuple[Any, ...]) -> None:
        with closing(sqlite3.connect(self.path)) as database:
            database.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
            database.commit()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "checkpoints.sqlite")


def third_generation(path: Path, rows: tuple[Row, ...]) -> None:
    store = Store(path)
    for name, parent, source, told in rows:
        store.checkpoint(name, parent, told, source=source)


def as_history(path: Path, rows: tuple[Row, ...]) -> None:
    path.write_text(json.dumps(history(rows)), encoding="utf-8")


def as_lines(path: Path, rows: tuple[Row, ...]) -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in history(rows)), encoding="utf-8")


STORES = (first_generation, second_generation, third_generation, as_history, as_lines)


def outcomes(reading: Reading) -> list[tuple[str, str, Any, str]]:
    (trace,) = reading.traces
    return [(c.occurrence, c.tool, value_of(c.result) if c.result else None, c.outcome.value) for c in trace.calls]


def codes(reading: Reading) -> list[str]:
    return [f.code for t in reading.traces for f in t.findings] + [f.code for f in reading.findings]


def kinds(reading: Reading) -> list[str]:
    (trace,) = reading.traces
    return [step.kind.label for step in trace.steps()]


@pytest.mark.parametrize("write", STORES)
def test_every_store_tells_the_same_run(tmp_path: Path, read: Read, write: Callable[[Path, Any], None]) -> None:
    write(tmp_path / "evidence", STRAIGHT)
    reading = read(tmp_path / "evidence")
    assert kinds(reading) == ["user", "model", "tool_call", "tool_result", "model"]
    assert outcomes(reading) == [("0.0", "page_oncall", {"page_id": "pg_8812"}, "recorded")]
    assert reading.counts.branches == 1
    assert not reading.gaps


@pytest.mark.parametrize("write", STORES)
def test_a_call_that_a_fork_executes_again_is_a_call_of_its_own(
    tmp_path: Path, read: Read, write: Callable[[Path, Any], None]
) -> None:
    write(tmp_path / "evidence", FORKED)
    reading = read(tmp_path / "evidence")
    assert outcomes(reading) == [
        ("0.0", "page_oncall", {"page_id": "pg_8812"}, "recorded"),
        ("-.0", "page_oncall", {"page_id": "pg_9147"}, "recorded"),
    ]
    first, again = reading.traces[0].calls
    assert again.again_of == 0
    assert [b.code for b in first.blocks] == [b.code for b in again.blocks] == ["conflicting_results"]
    assert (reading.counts.branches, reading.counts.tool_results) == (2, 2)


def test_each_of_many_forks_executes_the_call_once_more(tmp_path: Path, read: Read) -> None:
    forks: list[Row] = [(f"f{n}", "k2", "loop", "h1 a1 t2") for n in range(100)]
    told = history((*STRAIGHT, *forks))
    for number, one in enumerate(told[:100]):
        one["values"]["messages"][-1]["id"] = f"t-{number}"
    (tmp_path / "evidence").write_text(json.dumps(told), encoding="utf-8")
    reading = read(tmp_path / "evidence")
    assert [c.again_of for c in reading.traces[0].calls] == [-1] + [0] * 100
    assert reading.counts.branches == 101


def test_an_older_store_that_replays_from_the_same_checkpoint_has_no_fork_row(tmp_path: Path, read: Read) -> None:
    second_generation(tmp_path / "evidence", (*STRAIGHT, ("k5", "k2", "loop", "h1 a1 t2")))
    assert [row[2] for row in outcomes(read(tmp_path / "evidence"))] == [{"page_id": "pg_8812"}, {"page_id": "pg_9147"}]


def test_results_that_stand_below_their_call_are_no_repetition(store: Store, read: Read) -> None:
    for name, parent, source, told in STRAIGHT:
        store.checkpoint(name, parent, told, source=source)
    store.checkpoint("k5", "k4", "h1 a1 t1 a2 t2", source="update")
    reading = read(store.path)
    assert len(reading.traces[0].calls) == 1
    assert "conflicting_results" in codes(reading)


# what the tasks wrote --------------------------------------------------------------------------------------------


def test_a_write_of_a_task_that_no_state_took_in_is_read(store: Store, read: Read) -> None:
    store.checkpoint("k1", None, "h1 a1")
    store.write("k1", "messages", [pydantic("tool", **DONE)], "~__pregel_push, 0000000000, 0000000000")
    assert outcomes(read(store.path))[0][2:] == ({"page_id": "pg_8812"}, "recorded")


def test_a_state_that_holds_only_snapshots_of_deltas_is_folded_from_the_writes(store: Store, read: Read) -> None:
    snapshot = msgspec.msgpack.Ext(7, pack([[pydantic("human", **HUMAN)]]))
    store.checkpoint("k1", None, messages=snapshot)
    store.write("k1", "messages", [pydantic("ai", **ASK)], "~__pregel_pull, model")
    store.checkpoint("k2", "k1")
    store.write("k2", "messages", [pydantic("tool", **DONE)], "~__pregel_pull, tools")
    store.checkpoint("k3", "k2")
    reading = read(store.path)
    assert kinds(reading) == ["user", "model", "tool_call", "tool_result"]
    assert not reading.gaps


def test_an_error_of_the_task_that_was_queued_for_a_call_is_the_end_of_the_call(store: Store, read: Read) -> None:
    send = msgspec.msgpack.Ext(
        1, pack(["langgraph.types", "Send", ["tools", [{**ASK["tool_calls"][0], "type": "tool_call"}]]])
    )
    store.checkpoint("k1", None, "h1 a1", __pregel_tasks=[send])
    store.write("k1", "__error__", "ValueError('down')", "~__pregel_push, 0000000000, 0000000000")
    assert outcomes(read(store.path))[0][2:] == ("ValueError('down')", "failed")
    store.checkpoint("k2", "k1", "h1 a1 t1")
    again = outcomes(read(store.path))
    assert [row[3] for row in again] == ["failed", "recorded"]


def test_a_timeout_leaves_open_whether_the_call_took_effect(store: Store, read: Read) -> None:
    send = msgspec.msgpack.Ext(
        1, pack(["langgraph.types", "Send", ["tools", [{**ASK["tool_calls"][0], "type": "tool_call"}]]])
    )
    store.checkpoint("k1", None, "h1 a1", __pregel_tasks=[send])
    store.write("k1", "__error__", "ReadTimeout('no answer')", "~__pregel_push, 0000000000, 0000000000")
    assert read(store.path).traces[0].calls[0].outcome is Outcome.INDETERMINATE


def test_an_error_of_another_task_is_a_step(store: Store, read: Read) -> None:
    store.checkpoint("k1", None, "h1")
    store.write("k1", "__error__", "KeyError('x')", "~__pregel_pull, model")
    assert kinds(read(store.path)) == ["user", "error"]


def test_a_pause_and_what_a_person_answered(store: Store, read: Read) -> None:
    pause = msgspec.msgpack.Ext(2, pack(["langgraph.types", "Interrupt", {"value": {"approve": "sre"}, "id": "i1"}]))
    store.checkpoint("k1", None, "h1 a1")
    store.write("k1", "__interrupt__", [pause])
    store.write("k1", "__resume__", "yes", task="00000000-0000-0000-0000-000000000000")
    store.write("k1", "__resume__", ["yes"])
    store.checkpoint("k2", "k1", "h1 a1 t1")
    reading = read(store.path)
    assert kinds(reading) == ["user", "model", "tool_call", "approval_request", "approval", "tool_result"]
    asked = reading.traces[0].step(reading.traces[0].rows(StepKind.APPROVAL_REQUEST)[0])
    assert asked.payload is not None
    assert value_of(asked.payload)["value"] == {"approve": "sre"}


def test_a_node_of_which_no_message_is_left_is_a_gap(store: Store, read: Read) -> None:
    store.checkpoint("k1", None, "h1")
    store.write("k1", "page_id", "pg_8812", "~__pregel_pull, page")
    store.checkpoint("k2", "k1", "h1", page_id="pg_8812")
    reading = read(store.path)
    assert kinds(reading) == ["user", "other"]
    assert [(g.code, g.hides) for g in reading.gaps] == [("evidence_gap", True)]
    assert "page" in reading.gaps[0].message


def test_a_node_that_wrote_something_else_on_a_fork_may_have_acted_twice(store: Store, read: Read) -> None:
    store.checkpoint("k1", None, "h1")
    store.write("k1", "page_id", "pg_8812", "~__pregel_pull, page")
    store.checkpoint("k2", "k1", "h1", page_id="pg_8812")
    store.checkpoint("k3", "k1", "h1", source="fork")
    store.write("k3", "page_id", "pg_9147", "~__pregel_pull, page")
    reading = read(store.path)
    twice = [f for f in reading.traces[0].findings if f.code == "possible_duplicate_side_effect"]
    assert [len(f.steps) for f in twice] == [2]


def test_a_node_that_wrote_the_same_on_a_fork_is_not_called_a_repetition(store: Store, read: Read) -> None:
    store.checkpoint("k1", None, "h1")
    store.write("k1", "rate", 0.31, "~__pregel_pull, metrics")
    store.checkpoint("k2", "k1", "h1", rate=0.31)
    store.checkpoint("k3", "k1", "h1", source="fork")
    store.write("k3", "rate", 0.31, "~__pregel_pull, metrics")
    assert "possible_duplicate_side_effect" not in codes(read(store.path))


# structure -------------------------------------------------------------------------------------------------------


def test_the_graph_inside_a_node_is_an_agent_and_tells_nothing_twice(store: Store, read: Read) -> None:
    store.checkpoint("k1", None, "h1")
    store.checkpoint("s1", None, "h1", namespace="pager:4b1d", source="input")
    store.checkpoint("s2", "s1", "h1 a1", namespace="pager:4b1d")
    store.checkpoint("s3", "s2", "h1 a1 t1", namespace="pager:4b1d")
    store.write("k1", "messages", [pydantic("ai", **ASK), pydantic("tool", **DONE)], "~__pregel_pull, pager")
    store.checkpoint("k2", "k1", "h1 a1 t1")
    reading = read(store.path)
    assert kinds(reading) == ["user", "model", "tool_call", "tool_result"]
    assert reading.traces[0].agents == ["pager"]
    assert [c.agent for c in reading.traces[0].calls] == ["pager"]
    assert reading.counts.branches == 1


def test_what_graphs_inside_graphs_wrote_is_told_before_what_stands_around_them(store: Store, read: Read) -> None:
    store.checkpoint("k1", None, "h1")
    store.checkpoint("s1", None, "h1", namespace="outer:1", source="input")
    store.checkpoint("u1", None, "h1", namespace="outer:1|inner:2", source="input")
    store.write("u1", "messages", [pydantic("ai", **ASK)], "~__pregel_pull, model", namespace="outer:1|inner:2")
    store.write("s1", "messages", [pydantic("tool", **DONE)], "~__pregel_pull, inner", namespace="outer:1")
    store.write("k1", "messages", [pydantic("ai", **SAID)], "~__pregel_pull, outer")
    store.checkpoint("k2", "k1", "h1 a1 t1 a2")
    reading = read(store.path)
    told = [(step.kind.label, step.agent) for step in reading.traces[0].steps()]
    asked = [("model", "outer|inner"), ("tool_call", "outer|inner"), ("tool_result", "outer|inner")]
    assert told == [("user", ""), *asked, ("model", "")]


def test_a_parent_that_is_not_there_is_a_gap(store: Store, read: Read) -> None:
    store.checkpoint("k2", "k1", "h1 a1 t1")
    assert [g.hides for g in read(store.path).gaps] == [True]


def test_a_ring_of_parents_is_a_cycle_and_is_read(store: Store, read: Read) -> None:
    store.checkpoint("k1", "k2", "h1 a1")
    store.checkpoint("k2", "k1", "h1 a1 t1")
    reading = read(store.path)
    assert "cycle" in codes(reading)
    assert len(reading.traces[0].calls) == 1


def test_what_was_removed_from_the_state_is_said(store: Store, read: Read) -> None:
    store.checkpoint("k1", None, "h1 a1 t1")
    store.checkpoint("k2", "k1", "a2")
    reading = read(store.path)
    assert "compacted_history" in codes(reading)
    assert len(reading.traces[0].calls) == 1


def test_a_message_that_was_replaced_under_its_id_is_said(tmp_path: Path, read: Read) -> None:
    told = history(STRAIGHT[:3])
    edited = json.loads(json.dumps(told[0]))
    edited["values"]["messages"][1]["tool_calls"][0]["args"] = {"team": "all"}
    edited["config"]["configurable"]["checkpoint_id"] = "k9"
    edited["parent_config"]["configurable"]["checkpoint_id"] = "k2"
    edited["metadata"]["source"] = "update"
    edited["created_at"] = "2026-07-01T11:00:00+00:00"
    (tmp_path / "evidence").write_text(json.dumps([edited, *told]), encoding="utf-8")
    assert "args_replaced" in codes(read(tmp_path / "evidence"))


def test_a_checkpoint_that_was_left_with_tasks_to_do_is_abandoned(tmp_path: Path, read: Read) -> None:
    told = history(FORKED)
    told[2]["next"] = ["model"]
    (tmp_path / "evidence").write_text(json.dumps(told), encoding="utf-8")
    assert "abandoned_checkpoint" in codes(read(tmp_path / "evidence"))


def test_what_the_metadata_of_older_releases_says_that_nodes_wrote(tmp_path: Path, read: Read) -> None:
    told = history(STRAIGHT[:2])
    told[0]["values"] = {"draft": "x"}
    told[0]["metadata"]["writes"] = {"agent": {"messages": [{"type": "ai", **ASK}]}, "rank": {"draft": "x"}}
    (tmp_path / "evidence").write_text(json.dumps(told), encoding="utf-8")
    reading = read(tmp_path / "evidence")
    assert kinds(reading) == ["model", "tool_call", "other"]
    assert "rank" in reading.gaps[0].message


def test_snapshots_of_the_platform_and_graphs_inside_tasks(tmp_path: Path, read: Read) -> None:
    told = history(STRAIGHT[:2])
    for one in told:
        one["checkpoint"] = one.pop("config")["configurable"]
        parent = one.pop("parent_config")
        one["parent_checkpoint"] = parent and parent["configurable"]
    inner = json.loads(json.dumps(told[0]))
    inner["checkpoint"] |= {"checkpoint_ns": "pager:1", "checkpoint_id": "s1"}
    inner["parent_checkpoint"] = None
    inner["values"]["messages"].append({"type": "ai", **ASK})
    told[0]["tasks"] = [{"id": "x", "name": "pager", "path": ["__pregel_pull", "pager"], "state": inner}]
    (tmp_path / "evidence").write_text(json.dumps({"history": told}), encoding="utf-8")
    reading = read(tmp_path / "evidence")
    assert kinds(reading) == ["user", "model", "tool_call"]
    assert reading.traces[0].agents == ["pager"]


def test_checkpoint_tuples_with_their_pending_writes(tmp_path: Path, read: Read) -> None:
    told = history(STRAIGHT[:3])
    for one in told:
        one["checkpoint"] = {"id": one["config"]["configurable"]["checkpoint_id"], "channel_values": one.pop("values")}
        one["pending_writes"] = []
    told[0]["pending_writes"] = [["task-1", "messages", [{"type": "tool", **DONE}]]]
    (tmp_path / "evidence").write_text(json.dumps(told), encoding="utf-8")
    assert outcomes(read(tmp_path / "evidence"))[0][2:] == ({"page_id": "pg_8812"}, "recorded")


# damage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("pickle", b"\x80\x04cos\nsystem\n."),
        ("msgpack+aes", b"\x00\x01"),
        ("msgpack", b"\xdf\xff\xff\xff\xff"),
        ("msgpack", b"\x91" * 5000 + b"\xc0"),
        ("json", b'{"channel_values": '),
        ("json", b"[1]"),
    ],
)
def test_what_can_not_be_read_hides_and_the_rest_is_read(store: Store, read: Read, kind: str, body: bytes) -> None:
    store.raw("bad", kind, body)
    store.checkpoint("k1", None, "h1 a1 t1")
    reading = read(store.path)
    assert [(g.code, g.hides) for g in reading.gaps] == [("malformed_line", True)]
    assert reading.gaps[0].locator is not None
    assert reading.gaps[0].locator.table == "checkpoints"
    assert len(reading.traces[0].calls) == 1


def test_a_pickle_without_a_kind_is_not_opened(tmp_path: Path, read: Read) -> None:
    first_generation(tmp_path / "evidence", STRAIGHT)
    with closing(sqlite3.connect(tmp_path / "evidence")) as database:
        database.execute("UPDATE checkpoints SET checkpoint = ? WHERE thread_ts = 'k4'", (b"\x80\x04cos\nsystem\n.",))
        database.commit()
    assert "kind" in read(tmp_path / "evidence").gaps[0].message


def test_a_class_that_the_evidence_names_is_never_imported(store: Store, read: Read) -> None:
    hostile = msgspec.msgpack.Ext(0, pack(["forensics_no_such_module", "Payload", "x"]))
    store.checkpoint("k1", None, "h1", note=hostile)
    (trace,) = read(store.path).traces
    told = [text_of(s.payload) for s in trace.steps() if s.name == "note" and s.payload is not None]
    assert "forensics_no_such_module" in told[0]


def test_a_key_that_stands_twice_is_said(store: Store, read: Read) -> None:
    twice = b"\x82" + pack("channel_values") + pack({}) + pack("channel_values") + pack({"x": "y"})
    store.raw("k1", "msgpack", twice)
    assert any("twice" in g.message for g in read(store.path).gaps)


def test_writes_without_their_checkpoint_are_a_gap(store: Store, read: Read) -> None:
    store.checkpoint("k1", None, "h1")
    store.write("gone", "messages", [pydantic("ai", **ASK)])
    assert any("not in the database" in g.message for g in read(store.path).gaps)


def test_lost_writes_are_told_in_the_order_of_the_database(store: Store, read: Read) -> None:
    names = [f"gone-{n}" for n in range(12)]
    for name in names:
        store.write(name, "messages", [pydantic("ai", **ASK)])
    store.checkpoint("k1", None, "h1")
    lost = [g for g in read(store.path).gaps if "not in the database" in g.message]
    assert [g.locator.row for g in lost if g.locator] == list(range(1, len(names) + 1))


def test_a_bad_line_of_a_history_is_a_gap_and_the_rest_is_read(tmp_path: Path, read: Read) -> None:
    as_lines(tmp_path / "evidence", STRAIGHT)
    body = (tmp_path / "evidence").read_text(encoding="utf-8").splitlines()
    body.insert(2, '{"values": ')
    (tmp_path / "evidence").write_text("\n".join(body), encoding="utf-8")
    reading = read(tmp_path / "evidence", "langgraph-history")
    assert reading.counts.bad_lines == [3]
    assert len(reading.traces[0].calls) == 1


def test_a_history_that_breaks_off_is_read_up_to_there(tmp_path: Path, read: Read) -> None:
    for indent in (None, 1):
        body = json.dumps(history(STRAIGHT), indent=indent)
        (tmp_path / "evidence").write_text(body[: len(body) * 3 // 4], encoding="utf-8")
        reading = read(tmp_path / "evidence")
        assert reading.evidence.format == "langgraph-history"
        assert len(reading.traces[0].calls) == 1
        assert any(g.hides and g.code in ("container_truncated", "truncated_payload") for g in reading.gaps)


def test_other_databases_are_refused_with_the_reason(tmp_path: Path, read: Read) -> None:
    with closing(sqlite3.connect(tmp_path / "a")) as database:
        database.execute("CREATE TABLE notes (thread_id)")
    with pytest.raises(UnknownFormatError):
        read(tmp_path / "a", "langgraph-db")
    with closing(sqlite3.connect(tmp_path / "b")) as database:
        database.execute("CREATE TABLE checkpoints (thread_id)")
    with pytest.raises(UnsupportedVersionError):
        read(tmp_path / "b", "langgraph-db")


# the corpus ------------------------------------------------------------------------------------------------------


def test_the_agent_of_the_corpus(cases: Path, read: Read) -> None:
    reading = read(cases / "generated/langgraph/agent_checkpoints.sqlite")
    told = {t.id: [(c.tool, c.outcome.value) for c in t.calls] for t in reading.traces}
    weather = ("get_weather", "recorded")
    assert told == {"t1": [weather, weather, ("refund", "recorded")], "t2": [("boom", "failed")]}
    assert not reading.gaps


def test_the_replays_of_the_corpus(cases: Path, read: Read) -> None:
    reading = read(cases / "generated/langgraph-replay/langgraph_checkpoints.sqlite")
    assert (reading.counts.branches, reading.counts.records) == (3, 10)
    assert codes(reading).count("possible_duplicate_side_effect") == 1
