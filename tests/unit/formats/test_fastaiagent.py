"""Does FastAIAgent's own evidence read alike in each of its forms, and is every edit of it found?"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.evidence import Basis
from forensics.core.jsonvalue import value_of
from forensics.core.trace import Outcome, StepKind
from forensics.errors import CorruptEvidenceError, EvidenceError, UnsupportedVersionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from forensics.core.reading import Reading
    from forensics.core.trace import Trace

    Read = Callable[..., Reading]
    Edit = Callable[[str, str, tuple[Any, ...]], Path]

PAGER = "8433c342dbbe334809eb343535865ec2"
DATABASES = (
    "pager_1.87.0", "pager_1.94.0", "readonly_only", "payment_branch", "parallel_tools", "tool_error", "crashed_midrun",
    "streaming", "chain", "bulk_300runs_1.94.0",
)  # fmt: skip
# spans, traces, model turns, calls, results: counted by hand in the rows of each database
COUNTS = {
    "pager_1.87.0": (16, 2, 8, 6, 6),
    "pager_1.94.0": (32, 4, 16, 12, 12),
    "readonly_only": (6, 1, 3, 2, 2),
    "payment_branch": (6, 1, 3, 2, 2),
    "parallel_tools": (6, 1, 2, 3, 3),
    "tool_error": (4, 1, 2, 1, 1),
    "crashed_midrun": (3, 1, 1, 1, 1),
    "streaming": (4, 1, 2, 1, 1),
    "chain": (5, 1, 2, 0, 0),
    "bulk_300runs_1.94.0": (2004, 300, 952, 752, 752),
}


def told(trace: Trace) -> list[tuple[Any, ...]]:
    """What a trace says about its calls, whatever the notation."""
    return [
        (c.occurrence, c.tool, value_of(c.arguments), value_of(c.result), c.outcome.value)
        for c in trace.calls
        if c.arguments is not None and c.result is not None
    ]


def codes(reading: Reading) -> list[str]:
    return [f.code for f in reading.findings] + [f.code for t in reading.traces for f in t.findings]


@pytest.mark.parametrize("name", DATABASES)
def test_each_database_reads_in_full(cases: Path, read: Read, name: str) -> None:
    reading = read(cases / "fastaiagent" / f"{name}.db")
    calls = sum(len(t.calls) for t in reading.traces)
    counts = reading.counts
    assert (counts.spans, len(reading.traces), counts.model_calls, calls, counts.tool_results) == COUNTS[name]
    assert not reading.gaps
    assert "inconsistent_tuple" not in codes(reading)


def test_the_pager_run_is_the_same_in_four_forms(cases: Path, read: Read) -> None:
    def calls(path: str) -> list[tuple[Any, ...]]:
        traces = read(cases / path).traces
        return told(next((t for t in traces if t.id == PAGER), traces[0]))

    expected = calls("fastaiagent/pager_1.94.0.db")
    assert [c[:2] for c in expected] == [
        ("0.0", "query_metrics"),
        ("1.0", "pager.trigger"),
        ("2.0", "incident.annotate"),
    ]
    assert expected[1][3] == {"status": "paged", "id": "pg_8812"}
    assert calls("fastaiagent/pager_1.94.0.json") == expected
    assert calls("generated/otlp-pager/pager_otlp.json") == expected
    assert calls("fastaiagent/pager_1.87.0.db") == expected


def test_tools_are_known_with_their_declarations(cases: Path, read: Read) -> None:
    for path in (
        "fastaiagent/pager_1.94.0.db",
        "fastaiagent/pager_1.94.0.json",
        "generated/otlp-pager/pager_otlp.json",
    ):
        facts = read(cases / path).traces[0].facts
        assert {n: f.replay_class for n, f in facts.items()} == {
            "query_metrics": "read_only",
            "pager.trigger": "side_effecting",
            "incident.annotate": "side_effecting",
        }
        assert all(f.server == "oncall" and f.input_schema and f.description for f in facts.values())


def test_reruns_name_their_source(cases: Path, read: Read) -> None:
    newer = read(cases / "fastaiagent/pager_1.94.0.db").traces
    assert [t.rerun_of for t in newer] == [None, PAGER, PAGER, PAGER]
    assert {t.rerun_basis for t in newer[1:]} == {Basis.RECORDED}
    blocked, live, stubbed = ([(c.disposition, c.outcome) for c in t.calls] for t in newer[1:])
    assert blocked == [("blocked", Outcome.DENIED)] * 3
    assert live == [("live", Outcome.RECORDED)] * 3
    assert [d for d, _ in stubbed] == ["live", "stub", "stub"]
    original, rerun = read(cases / "fastaiagent/pager_1.87.0.db").traces
    assert (rerun.rerun_of, rerun.rerun_basis, original.rerun_of) == (original.id, Basis.INFERRED, None)


def test_a_crash_is_an_error_step_and_no_normal_end(cases: Path, read: Read) -> None:
    (trace,) = read(cases / "fastaiagent/crashed_midrun.db").traces
    assert trace.ended_normally is False
    payloads = [trace.payload[row] for row in trace.rows(StepKind.ERROR)]
    assert [value_of(payload) for payload in payloads if payload is not None] == ["provider returned 503"]
    assert trace.calls[0].outcome is Outcome.RECORDED


def test_a_failed_tool_agrees_with_what_the_prompt_shows(cases: Path, read: Read) -> None:
    (trace,) = read(cases / "fastaiagent/tool_error.db").traces
    (call,) = trace.calls
    assert (call.outcome, call.agreement) == (Outcome.FAILED, "text of the same value")


def test_parallel_calls_keep_the_order_of_the_request(cases: Path, read: Read) -> None:
    (trace,) = read(cases / "fastaiagent/parallel_tools.db").traces
    assert [(c.occurrence, c.tool) for c in trace.calls] == [
        ("0.0", "get_weather"),
        ("0.1", "get_weather"),
        ("0.2", "send_email"),
    ]
    assert [value_of(c.result) for c in trace.calls[:2] if c.result is not None] == ["Paris: 18C", "Tokyo: 18C"]


def test_a_streamed_root_and_a_chain_read_without_blueprint(cases: Path, read: Read) -> None:
    (streamed,) = read(cases / "fastaiagent/streaming.db").traces
    assert streamed.facts["query_metrics"].input_schema is not None
    (chain,) = read(cases / "fastaiagent/chain.db").traces
    assert chain.agents == ["first", "second"]
    assert [StepKind(k) for k in chain.kind] == [StepKind.USER, StepKind.MODEL] * 2


def test_a_locator_leads_to_the_row_and_the_attribute(cases: Path, read: Read) -> None:
    trace = read(cases / "fastaiagent/pager_1.94.0.db").traces[0]
    place = trace.locator(trace.calls[1].result_step)
    assert (place.table, place.row, place.pointer) == ("spans", 4, "/attributes/tool.result")


# edits ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def edited(cases: Path, tmp_path: Path) -> Edit:
    """A copy of a database in which one statement was run."""

    def edit(name: str, statement: str, values: tuple[Any, ...]) -> Path:
        path = tmp_path / f"{name}.db"
        shutil.copy(cases / "fastaiagent" / f"{name}.db", path)
        path.chmod(0o600)
        with sqlite3.connect(path) as database:
            _drop_what_watches(database)
            database.execute(statement, values)
        database.close()
        return path

    return edit


def _drop_what_watches(database: sqlite3.Connection) -> None:
    """Triggers and indexes of the table would refuse an edit that is no JSON."""
    watching = (
        "SELECT type, name FROM sqlite_master "
        "WHERE tbl_name = 'spans' AND type IN ('trigger', 'index') AND sql IS NOT NULL"
    )
    for kind, name in database.execute(watching).fetchall():
        database.execute(f"DROP {kind} {name}")


def tool_rows(path: Path) -> list[tuple[int, str, dict[str, Any], bool]]:
    """Row, trace and attributes of each tool span, and whether a later model span of its trace shows a result."""
    with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as database:
        rows = database.execute("SELECT rowid, trace_id, name, attributes FROM spans ORDER BY rowid").fetchall()
    database.close()
    found = []
    for rowid, trace, name, attributes in rows:
        if name.startswith("tool."):
            later = any(r[0] > rowid and r[1] == trace and r[2].startswith("llm.") for r in rows)
            found.append((rowid, trace, json.loads(attributes), later))
    return found


SMALL = [name for name in DATABASES if name not in ("chain", "bulk_300runs_1.94.0")]


def is_found(reading: Reading, trace: str) -> bool:
    """Whether the trace is known to be damaged: a contradiction in it, or a gap."""
    told_in_trace = [f.code for t in reading.traces if t.id == trace for f in t.findings]
    return "inconsistent_tuple" in told_in_trace or any(g.trace == trace for g in reading.gaps)


@pytest.mark.parametrize("name", SMALL)
def test_every_edited_result_is_found(cases: Path, read: Read, edited: Edit, name: str) -> None:
    for rowid, trace, attributes, shown in tool_rows(cases / "fastaiagent" / f"{name}.db"):
        key = "tool.result" if "tool.result" in attributes else "tool.error"
        changed = json.dumps(
            {
                **attributes,
                key: "something else 4711",
                **({"tool.error": "and this"} if "tool.error" in attributes else {}),
            }
        )
        path = edited(name, "UPDATE spans SET attributes = ? WHERE rowid = ?", (changed, rowid))
        assert is_found(read(path), trace) == shown, (name, rowid)


@pytest.mark.parametrize("name", SMALL)
def test_all_edited_arguments_are_found(cases: Path, read: Read, edited: Edit, name: str) -> None:
    for rowid, trace, attributes, _ in tool_rows(cases / "fastaiagent" / f"{name}.db"):
        asked = json.loads(attributes["tool.args"])
        asked[next(iter(asked))] = "mallory"
        changed = json.dumps({**attributes, "tool.args": json.dumps(asked)})
        path = edited(name, "UPDATE spans SET attributes = ? WHERE rowid = ?", (changed, rowid))
        assert is_found(read(path), trace), (name, rowid)


@pytest.mark.parametrize("name", SMALL)
def test_every_deleted_tool_span_is_found(cases: Path, read: Read, edited: Edit, name: str) -> None:
    for rowid, trace, _, shown in tool_rows(cases / "fastaiagent" / f"{name}.db"):
        path = edited(name, "DELETE FROM spans WHERE rowid = ?", (rowid,))
        reading = read(path)
        assert is_found(reading, trace) or not shown, (name, rowid)
        assert shown or "unanswered_call" in codes(reading)


@pytest.mark.parametrize("kind", ["result", "arguments", "deleted"])
def test_in_three_hundred_runs_each_edit_is_found(cases: Path, read: Read, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bulk.db"
    shutil.copy(cases / "fastaiagent/bulk_300runs_1.94.0.db", path)
    path.chmod(0o600)
    touched = set()
    with sqlite3.connect(path) as database:
        _drop_what_watches(database)
        for rowid, trace, attributes, shown in tool_rows(path):
            if trace in touched or not shown:
                continue
            touched.add(trace)
            if kind == "deleted":
                database.execute("DELETE FROM spans WHERE rowid = ?", (rowid,))
                continue
            changed = {"tool.result": "x", "tool.error": "y"} if kind == "result" else {"tool.args": '{"service": "z"}'}
            body = json.dumps({**attributes, **{k: v for k, v in changed.items() if k in attributes}})
            database.execute("UPDATE spans SET attributes = ? WHERE rowid = ?", (body, rowid))
    database.close()
    reading = read(path)
    assert len(touched) == 300
    assert [t for t in sorted(touched) if not is_found(reading, t)] == []


@pytest.mark.parametrize("name", ["pager_1.94.0", "payment_branch"])
def test_a_deleted_model_span_is_a_gap(cases: Path, read: Read, edited: Edit, name: str) -> None:
    database = sqlite3.connect(f"file:{cases / 'fastaiagent' / name}.db?mode=ro&immutable=1", uri=True)
    rows = database.execute("SELECT rowid, trace_id FROM spans WHERE name LIKE 'llm.%' ORDER BY rowid").fetchall()
    database.close()
    last = {trace: rowid for rowid, trace in rows}
    for rowid, trace in rows:
        if rowid != last[trace]:
            reading = read(edited(name, "DELETE FROM spans WHERE rowid = ?", (rowid,)))
            assert any(g.trace == trace and g.hides for g in reading.gaps), rowid


def test_a_first_turn_deleted_with_its_tool_is_a_gap(read: Read, edited: Edit) -> None:
    reading = read(edited("payment_branch", "DELETE FROM spans WHERE rowid IN (1, 2)", ()))
    assert [g.code for g in reading.gaps] == ["evidence_gap"]


def test_a_history_from_an_earlier_run_is_no_contradiction(read: Read, edited: Edit, cases: Path) -> None:
    """A session's memory shows calls that another trace recorded: before the user's last message."""
    database = sqlite3.connect(f"file:{cases / 'fastaiagent/payment_branch.db'}?mode=ro&immutable=1", uri=True)
    (body,) = database.execute("SELECT attributes FROM spans WHERE rowid = 3").fetchone()
    (root,) = database.execute("SELECT attributes FROM spans WHERE parent_span_id IS NULL").fetchone()
    database.close()
    attributes, output = json.loads(body), json.loads(root)["agent.output"]
    shown = [*json.loads(attributes["gen_ai.request.messages"]), {"role": "user", "content": "and now?"}]
    changes = {
        "gen_ai.request.messages": json.dumps(shown),
        "gen_ai.response.content": output,
        "gen_ai.response.tool_calls": "[]",
        "gen_ai.response.finish_reason": "stop",
    }
    changed = json.dumps({**attributes, **changes})
    path = edited("payment_branch", "UPDATE spans SET attributes = ? WHERE rowid = 3", (changed,))
    with sqlite3.connect(path) as copy:
        copy.execute("DELETE FROM spans WHERE rowid IN (1, 2, 4, 5)")
    copy.close()
    reading = read(path)
    assert not reading.gaps
    assert "inconsistent_tuple" not in codes(reading)
    assert [c.outcome for c in reading.traces[0].calls] == [Outcome.RECORDED]


def test_a_deleted_root_leaves_orphans(read: Read, edited: Edit) -> None:
    reading = read(edited("payment_branch", "DELETE FROM spans WHERE parent_span_id IS NULL", ()))
    assert reading.counts.missing_spans == ["de6c237c0ae67d43"]
    assert [g.code for g in reading.gaps] == ["orphan_span"]
    assert len(reading.traces[0].calls) == 2


# damage --------------------------------------------------------------------------------------------------------------


def test_a_row_that_is_no_json_is_a_gap_and_the_rest_is_read(read: Read, edited: Edit) -> None:
    reading = read(
        edited("payment_branch", "UPDATE spans SET attributes = ? WHERE rowid = ?", ('{"tool.name": "pay', 2))
    )
    assert [(g.code, g.locator.row if g.locator else None, g.hides) for g in reading.gaps] == [
        ("malformed_line", 2, True)
    ]
    assert reading.counts.spans == 5
    assert reading.counts.model_calls == 3


def test_a_name_that_stands_twice_taints_the_call(read: Read, edited: Edit, cases: Path) -> None:
    attributes = tool_rows(cases / "fastaiagent/payment_branch.db")[0][2]
    twice = json.dumps(attributes)[:-1] + ', "tool.args": "{}"}'
    reading = read(edited("payment_branch", "UPDATE spans SET attributes = ? WHERE rowid = ?", (twice, 2)))
    assert "duplicate_key" in codes(reading)
    assert "duplicate_key" in [b.code for b in reading.traces[0].calls[0].blocks]


def test_an_unknown_version_is_said_and_read(read: Read, edited: Edit) -> None:
    reading = read(edited("payment_branch", "PRAGMA user_version = 77", ()))
    assert codes(reading) == ["dialect"]
    assert len(reading.traces[0].calls) == 2


def test_a_version_without_the_columns_is_refused(read: Read, edited: Edit) -> None:
    path = edited("payment_branch", "ALTER TABLE spans RENAME COLUMN events TO happenings", ())
    with pytest.raises(UnsupportedVersionError) as caught:
        read(path, "fastaiagent-db")
    assert caught.value.hint


def test_a_database_without_the_table_is_refused(read: Read, edited: Edit) -> None:
    path = edited("payment_branch", "ALTER TABLE spans RENAME TO others", ())
    with pytest.raises(EvidenceError) as caught:
        read(path, "fastaiagent-db")
    assert caught.value.hint


def _with_a_row_in_the_log(cases: Path, folder: Path) -> Path:
    """A database in use: one more tool span stands in the write-ahead log beside it only."""
    live, path = folder / "live.db", folder / "local.db"
    shutil.copy(cases / "fastaiagent/readonly_only.db", live)
    live.chmod(0o600)
    with contextlib.closing(sqlite3.connect(live)) as database:
        database.execute("PRAGMA journal_mode=wal")
        database.execute("PRAGMA wal_autocheckpoint=0")
        database.execute(
            "INSERT INTO spans(span_id, trace_id, parent_span_id, name, start_time, end_time, attributes) "
            "SELECT 'aaaaaaaaaaaaaaaa', trace_id, parent_span_id, 'tool.pay', end_time, end_time, ? "
            "FROM spans WHERE rowid = 4",
            (json.dumps({"tool.name": "pay", "tool.args": "{}", "tool.result": "paid", "tool.status": "ok"}),),
        )
        database.commit()
        for suffix in ("", "-wal"):
            shutil.copy(f"{live}{suffix}", f"{path}{suffix}")
    return path


def test_rows_in_the_write_ahead_log_are_read(read: Read, cases: Path, tmp_path: Path) -> None:
    path = _with_a_row_in_the_log(cases, tmp_path)
    before = {p.name: p.read_bytes() for p in tmp_path.glob("local.db*")}
    reading = read(path)
    assert [c.tool for c in reading.traces[0].calls] == ["read_file", "get_config", "pay"]
    told = next(f.message for f in reading.findings if f.code == "dialect")
    assert f"local.db-wal ({len(before['local.db-wal'])} bytes" in told
    assert reading.evidence.sha256 == hashlib.sha256(before["local.db"]).hexdigest()
    assert {p.name: p.read_bytes() for p in tmp_path.glob("local.db*")} == before


@pytest.mark.parametrize("damage", ["a byte", "no log", "cut"])
def test_a_log_that_can_not_be_read_in_full_is_a_gap(read: Read, cases: Path, tmp_path: Path, damage: str) -> None:
    path = _with_a_row_in_the_log(cases, tmp_path)
    log = path.with_name("local.db-wal")
    whole = log.read_bytes()
    broken = bytes((whole[-99] ^ 1,))
    log.write_bytes({"a byte": whole[:-99] + broken + whole[-98:], "no log": b"x" * 99, "cut": whole[:-9]}[damage])
    gaps = read(path).gaps
    assert [(g.code, g.hides, g.trace) for g in gaps] == [("evidence_gap", True, None)]
    assert "local.db-wal" in gaps[0].message


@pytest.mark.parametrize(("head", "gaps"), [("d9d505f920a163d7", 1), ("0000000000000000", 0)])
def test_an_unfinished_transaction_is_a_gap(read: Read, edited: Edit, head: str, gaps: int) -> None:
    path = edited("payment_branch", "PRAGMA user_version = 28", ())
    path.with_name(path.name + "-journal").write_bytes(bytes.fromhex(head) + b"\x00" * 504)
    assert len(read(path).gaps) == gaps


def test_a_column_named_as_the_row_number_hides_no_row(read: Read, edited: Edit, cases: Path) -> None:
    plain = read(cases / "fastaiagent/payment_branch.db")
    named = read(edited("payment_branch", "ALTER TABLE spans ADD COLUMN RowID TEXT DEFAULT 'x'", ()))
    assert told(named.traces[0]) == told(plain.traces[0])
    assert named.traces[0].locator(0).row == plain.traces[0].locator(0).row


def test_rows_without_numbers_are_named_by_their_key(read: Read, edited: Edit, cases: Path) -> None:
    path = edited("payment_branch", "ALTER TABLE spans RENAME TO old", ())
    with contextlib.closing(sqlite3.connect(path)) as database:
        columns = "span_id, trace_id, parent_span_id, name, start_time, end_time, status, attributes, events"
        database.execute(f"CREATE TABLE spans ({columns}, PRIMARY KEY (span_id)) WITHOUT ROWID")
        database.execute(f"INSERT INTO spans SELECT {columns} FROM old")
        database.commit()
    reading = read(path)
    assert told(reading.traces[0]) == told(read(cases / "fastaiagent/payment_branch.db").traces[0])
    assert isinstance(reading.traces[0].locator(0).row, str)


def test_a_time_beyond_any_column_is_unknown_and_said(read: Read, edited: Edit) -> None:
    statement = "UPDATE spans SET start_time = '9999-12-31T23:59:59+00:00' WHERE rowid = 2"
    reading = read(edited("payment_branch", statement, ()))
    assert codes(reading) == ["large_integer"]


@pytest.mark.parametrize("duration", [int("9" * 25), int("9" * 400), "²", "-1e999", "nan"])
def test_a_duration_that_is_none_is_unknown_and_said(read: Read, cases: Path, tmp_path: Path, duration: object) -> None:
    document = json.loads((cases / "fastaiagent/payment_branch.json").read_text())
    document["spans"][1]["duration_ms"] = duration
    path = tmp_path / "export.json"
    path.write_text(json.dumps(document))
    reading = read(path)
    assert "large_integer" in codes(reading)
    assert told(reading.traces[0]) == told(read(cases / "fastaiagent/payment_branch.db").traces[0])


def test_broken_pages_are_corrupt_evidence(read: Read, cases: Path, tmp_path: Path) -> None:
    whole = (cases / "fastaiagent/payment_branch.db").read_bytes()
    path = tmp_path / "cut.db"
    path.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    with pytest.raises(CorruptEvidenceError) as caught:
        read(path, "fastaiagent-db")
    assert caught.value.hint


def test_the_evidence_is_never_written_to(read: Read, cases: Path) -> None:
    folder = cases / "fastaiagent"
    before = sorted((p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in folder.iterdir())
    read(folder / "pager_1.94.0.db")
    assert sorted((p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in folder.iterdir()) == before


def test_an_export_with_an_edited_result_is_found(read: Read, cases: Path, tmp_path: Path) -> None:
    document = json.loads((cases / "fastaiagent/pager_1.94.0.json").read_text())
    span = next(s for s in document["spans"] if s["name"] == "tool.pager.trigger")
    span["output"]["tool.result"]["id"] = "pg_9999"
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(document))
    assert is_found(read(path), PAGER)
