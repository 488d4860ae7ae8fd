"""Is this a LangGraph checkpoint database (SQLite), and which checkpoints and writes does it hold?

Three generations of the schema: `thread_ts` alone, with a table `writes`, and `checkpoint_id` with name spaces and
typed values. Read from a private copy, opened immutable, with the schema untrusted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forensics.core.build import Spot
from forensics.core.times import from_text
from forensics.core.trace import NOWHERE
from forensics.errors import UnknownFormatError, UnsupportedVersionError
from forensics.formats.shared.checkpoints.record import (
    Checkpoint,
    Messages,
    Write,
    call_ids,
    has_open_tasks,
    is_internal,
    node_of,
    read_state,
)
from forensics.formats.shared.checkpoints.values import Stored, stored
from forensics.formats.shared.checkpoints.walk import walk_checkpoints
from forensics.formats.shared.sqlite_log import cell_bytes, columns_of
from forensics.formats.shared.sqlite_rows import TableRows, damaged, database_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "langgraph-db"
ABOUT = "LangGraph checkpoints (SQLite): every thread with its forks, sub-graphs and pending writes"
CARRIES = "messages, calls, results, forks, pauses and resumes, errors of tasks, what each node wrote; times a step"
LACKS = "prompts as they were sent, tool schemas, what a node's own code called, executions apart from results"
RERUN = "what a node's own code called and minted, the prompts as they were sent, and the schemas"
RECORDS_CALLS = False
SPANS_ARE_COMPLETE = False

_MARKS = (b"checkpoints", b"thread_id")
_OLDER = {"checkpoint_id": "thread_ts", "parent_checkpoint_id": "parent_ts"}
_NEEDED = ("thread_id", "checkpoint_id", "checkpoint")
_CHECKPOINTS = (
    "thread_id", "checkpoint_ns", "checkpoint_id", "parent_checkpoint_id", "type", "checkpoint", "metadata",
)  # fmt: skip
_WRITES = (
    "thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "task_path", "idx", "channel", "type", "value",
)  # fmt: skip
_Key = tuple[str, str, str]
_Row = dict[str, Any]


def sniff(look: Look) -> int:
    """90 where the table and its key show in the first pages."""
    return 90 if look.is_sqlite and all(mark in look.head for mark in _MARKS) else 0


def read(source: Source, build: EvidenceBuilder) -> None:
    """Read every row. Raises CorruptEvidenceError, UnknownFormatError and UnsupportedVersionError with what to do."""
    store = _Store(build)
    with database_of(source, build) as database:
        _check(database, source.name)
        build.dialect = _generation(database)
        writes = store.writes(_Table(database, "writes", _WRITES, build))
        table = _Table(database, "checkpoints", _CHECKPOINTS, build)
        checkpoints = list(store.checkpoints(table, writes))
    if table.lost is not None and not checkpoints and not writes:
        raise damaged(source, table.lost)
    store.say_lost_writes(writes, checkpoints)
    walk_checkpoints(checkpoints, build)


def _check(database: sqlite3.Connection, name: str) -> None:
    kinds = dict(database.execute("SELECT name, type FROM main.sqlite_master WHERE name IN ('checkpoints', 'writes')"))
    if kinds.get(b"checkpoints") != b"table":
        message = f"{name} is a SQLite database without a table checkpoints"
        raise UnknownFormatError(message, hint="`forensics formats` lists what is read")
    columns = columns_of(database, "checkpoints")
    missing = [c for c in _NEEDED if c not in columns and _OLDER.get(c) not in columns]
    if missing:
        message = f"the table checkpoints of {name} lacks {', '.join(missing)}"
        raise UnsupportedVersionError(message, hint="three generations of LangGraph's SQLite store are known")


def _generation(database: sqlite3.Connection) -> str:
    if "thread_ts" not in columns_of(database, "checkpoints"):
        return "checkpoint_id"
    return "thread_ts with writes" if columns_of(database, "writes") else "thread_ts"


class _Table:
    """The rows of a table as the newest generation names its columns; columns that are not there are None."""

    def __init__(
        self, database: sqlite3.Connection, table: str, wanted: tuple[str, ...], build: EvidenceBuilder
    ) -> None:
        there = columns_of(database, table)
        names = [(c, c if c in there else _OLDER.get(c, "")) for c in wanted]
        self._names = ("rowid", *(name for name, column in names if column in there))
        self._blank = dict.fromkeys(wanted)
        columns = [column for _, column in names if column in there]
        self._rows = TableRows(database, table, columns, build) if there else None

    @property
    def lost(self) -> str | None:
        """Why the last row that can't be read can't."""
        return None if self._rows is None else self._rows.lost

    def __iter__(self) -> Iterator[_Row]:
        for row in self._rows or ():
            yield {**self._blank, **dict(zip(self._names, row, strict=True))}


class _Store:
    """Rows as checkpoints and writes."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self._messages = Messages()

    def writes(self, table: _Table) -> dict[_Key, list[Write]]:
        """The writes of every checkpoint, in the order of their rows."""
        found: dict[_Key, list[Write]] = {}
        for row in table:
            body = cell_bytes(row["value"])
            spot = Spot(self.build.places.add_row("writes", _number(row["rowid"]), len(body)))
            key = _key(row)
            channel = _text(row["channel"])
            told = self._value(row["type"], body, spot, "a write", key[0])
            if told is None:
                continue
            node, push = node_of(_text(row["task_path"]))
            messages = () if is_internal(channel) else self._messages.find(told.value, "")
            payload = self._messages.payload(told.value)
            found.setdefault(key, []).append(Write(_text(row["task_id"]), node, channel, payload, messages, spot, push))
        return found

    def checkpoints(self, table: _Table, writes: dict[_Key, list[Write]]) -> Iterator[Checkpoint]:
        """Every checkpoint, in the order of the rows."""
        for row in table:
            body = cell_bytes(row["checkpoint"])
            spot = Spot(self.build.places.add_row("checkpoints", _number(row["rowid"]), len(body)))
            key = _key(row)
            told = self._value(row["type"], body, spot, "a checkpoint", key[0])
            meta = self._value(None, cell_bytes(row["metadata"]), spot.down("/metadata"), "metadata", key[0])
            if told is None or not isinstance(told.value, dict):
                if told is not None:
                    self._unread("a checkpoint that is no object", spot, key[0])
                continue
            self.build.counts.records += 1
            metadata = meta.value if meta is not None and isinstance(meta.value, dict) else {}
            yield self._checkpoint(key, _text(row["parent_checkpoint_id"]), told, metadata, spot, writes.get(key, []))

    def _checkpoint(  # noqa: PLR0917 - a checkpoint is told by its columns
        self, key: _Key, parent: str, told: Stored, metadata: dict[str, Any], spot: Spot, writes: list[Write]
    ) -> Checkpoint:
        state = told.value
        values = state.get("channel_values")
        at = from_text(state["ts"]) if isinstance(state.get("ts"), str) else NOWHERE
        placed = Spot(spot.place, spot.pointer, at)
        found, channels = read_state(self._messages, values, "/channel_values")
        queued = values.get("__pregel_tasks") if isinstance(values, dict) else None
        source = metadata.get("source")
        return Checkpoint(
            thread=key[0],
            namespace=key[1],
            id=key[2],
            parent=parent,
            source=source if isinstance(source, str) else "",
            at=at,
            spot=placed,
            found=found,
            channels=channels,
            writes=tuple(writes),
            leading=tuple(self._leading(metadata, placed)),
            sends=call_ids(queued or state.get("pending_sends")),
            open=has_open_tasks(values) if "versions_seen" in state else None,
        )

    def _leading(self, metadata: dict[str, Any], spot: Spot) -> Iterator[Write]:
        """What the metadata of the older generations says that each node wrote."""
        writes = metadata.get("writes")
        for node, told in writes.items() if isinstance(writes, dict) else ():
            for channel, value in told.items() if isinstance(told, dict) else ((node, told),):
                if value is not None:
                    pointer = f"/metadata/writes/{node}/{channel}"
                    found = self._messages.find(value, pointer)
                    yield Write(node, node, channel, self._messages.payload(value), found, spot)

    def say_lost_writes(self, writes: dict[_Key, list[Write]], checkpoints: list[Checkpoint]) -> None:
        """Writes of checkpoints that are not there: what happened after is in the evidence, and not where."""
        there = {(c.thread, c.namespace, c.id) for c in checkpoints}
        for key, lost in writes.items():
            if key in there:
                continue
            spot = lost[0].spot
            message = f"{len(lost)} writes belong to a checkpoint that is not in the database"
            self.build.gap("evidence_gap", message, spot, trace=key[0])

    # values ------------------------------------------------------------------------------------------------------

    def _value(self, kind: object, body: bytes, spot: Spot, what: str, thread: str) -> Stored | None:
        """A stored value, or None where it can't be read, which is said."""
        told = stored(_text(kind) or None, body)
        if told.error is not None:
            self._unread(f"{what} can't be read: {told.error}", spot, thread)
            return None
        tainted = self.build.faults(told.faults, spot)
        for lost in (*told.lost, *((f"it can be read in two ways ({tainted})",) if tainted else ())):
            self.build.gap("evidence_gap", f"{what} holds what is not read: {lost}", spot, trace=thread)
        return told

    def _unread(self, message: str, spot: Spot, thread: str) -> None:
        self.build.unread("malformed_line", message, spot, trace=thread)


def _key(row: _Row) -> _Key:
    return _text(row["thread_id"]), _text(row["checkpoint_ns"]), _text(row["checkpoint_id"])


def _text(value: object) -> str:
    return cell_bytes(value).decode("utf-8", "replace")


def _number(value: object) -> int | str:
    return value if isinstance(value, int) else _text(value)
