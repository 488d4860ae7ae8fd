"""Is this the history of a LangGraph thread, as `get_state_history` or a checkpointer's `list` gives it, and which
checkpoints does it hold?

State snapshots (`values`, `config`, `metadata`, `parent_config`, `tasks`), those of the platform's API (`checkpoint`,
`parent_checkpoint`), and checkpoint tuples (`checkpoint`, `pending_writes`): a list of them, one a line, or under one
name of an object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forensics.core.build import Spot
from forensics.core.jsonvalue import decode, text_in
from forensics.core.times import from_text
from forensics.core.trace import NOWHERE
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
from forensics.formats.shared.checkpoints.walk import walk_checkpoints
from forensics.formats.shared.chunks import documents
from forensics.formats.shared.fields import Fields, fields_of, items_of, opens_with

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "langgraph-history"
ABOUT = "LangGraph state history (JSON): snapshots of get_state_history, of the platform's API, or checkpoint tuples"
CARRIES = "messages, calls, results, forks, pauses and resumes, errors of tasks, what each node wrote; times a step"
LACKS = "prompts as they were sent, tool schemas, what a node's own code called, executions apart from results"
RERUN = "what a node's own code called and minted, the prompts as they were sent, and the schemas"
RECORDS_CALLS = False
SPANS_ARE_COMPLETE = False

_SNAPSHOT = (
    {"values", "metadata", "config"},
    {"values", "metadata", "checkpoint"},
    {"config", "metadata", "checkpoint"},
)
_LISTS = ("history", "states", "snapshots", "checkpoints")
_SURE = 95


def sniff(look: Look) -> int:
    """95 where the first records have the keys of a snapshot."""
    document, records = look.members(), look.items()
    if records:
        return _score(records[:1])
    if document:
        listed = next((document[k] for k in _LISTS if k in document), None)
        return _SURE if _is_snapshot(document) else _score(_first_fields(listed))
    return _score(list(look.lines))


def _first_fields(listed: Payload | None) -> list[Fields]:
    return [] if listed is None or not opens_with(listed, b"[") else [fields_of(i) for i in items_of(listed)[:1]]


def _score(records: list[Fields]) -> int:
    return _SURE if records and all(_is_snapshot(fields) for fields in records) else 0


def _is_snapshot(fields: Fields | dict[str, Any]) -> bool:
    return any(keys <= fields.keys() for keys in _SNAPSHOT) and "run_type" not in fields


def read(source: Source, build: EvidenceBuilder) -> None:
    """Read every snapshot. Raises CorruptEvidenceError where nothing of it is JSON."""
    reader = _Snapshots(build)
    for document in documents(source, build, "snapshot"):
        for pointer, value in _listed(decode(document.body).value):
            reader.snapshot(value, document.spot.down(pointer), document.tainted)
    if not reader.checkpoints:
        raise source.holds_no("snapshot")
    walk_checkpoints(reader.checkpoints, build)


def _listed(value: Any) -> Iterator[tuple[str, Any]]:
    """The records of a document, each with its pointer."""
    if isinstance(value, dict) and not _is_snapshot(value):
        name = next((k for k in _LISTS if isinstance(value.get(k), list)), None)
        if name is not None:
            yield from ((f"/{name}/{i}", item) for i, item in enumerate(value[name]))
            return
    if isinstance(value, list):
        yield from ((f"/{i}", item) for i, item in enumerate(value))
    else:
        yield "", value


class _Snapshots:
    """Snapshots as checkpoints, in document order."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.checkpoints: list[Checkpoint] = []
        self._messages = Messages()

    def snapshot(self, value: Any, spot: Spot, tainted: str | None) -> None:
        """One snapshot, and those of the graphs inside its tasks. Iterative: graphs hold graphs."""
        todo = [(value, spot)]
        while todo:
            held, where = todo.pop()
            if not isinstance(held, dict) or not _is_snapshot(held):
                self.build.gap("evidence_gap", "a record that is no snapshot of a state", where)
                continue
            self.build.counts.records += 1
            self.checkpoints.append(self._checkpoint(held, where, tainted))
            inner = [(task.get("state"), where.down(f"/tasks/{i}/state")) for i, task in enumerate(_tasks_of(held))]
            todo.extend([one for one in inner if isinstance(one[0], dict) and _is_snapshot(one[0])][::-1])

    def _checkpoint(self, value: dict[str, Any], spot: Spot, tainted: str | None) -> Checkpoint:
        state, pointer = _state(value)
        own = _configured(value, "config", "checkpoint")
        metadata = value["metadata"] if isinstance(value["metadata"], dict) else {}
        at = _time(value, state)
        placed = Spot(spot.place, spot.pointer, at)
        found, channels = read_state(self._messages, state, pointer)
        inner = value.get("checkpoint")
        queued = state.get("__pregel_tasks") if isinstance(state, dict) else None
        return Checkpoint(
            thread=text_in(own, "thread_id") or text_in(metadata, "thread_id") or "thread",
            namespace=text_in(own, "checkpoint_ns"),
            id=text_in(own, "checkpoint_id", "thread_ts") or (text_in(inner, "id") if isinstance(inner, dict) else ""),
            parent=text_in(_configured(value, "parent_config", "parent_checkpoint"), "checkpoint_id", "thread_ts"),
            source=text_in(metadata, "source"),
            at=at,
            spot=placed,
            found=found,
            channels=channels,
            writes=(*self._tasks(value, placed), *self._pending(value, placed)),
            leading=tuple(self._leading(metadata, placed)),
            sends=call_ids(queued),
            open=bool(value["next"]) if isinstance(value.get("next"), list) else has_open_tasks(state),
            tainted=tainted,
        )

    def _tasks(self, value: dict[str, Any], spot: Spot) -> Iterator[Write]:
        """What the tasks of a snapshot returned, and how they stopped."""
        for index, task in enumerate(_tasks_of(value)):
            name, node = text_in(task, "id") or str(index), text_in(task, "name")
            path = task.get("path")
            push = node_of(", ".join(map(str, path)))[1] if isinstance(path, list) else NOWHERE
            where = f"/tasks/{index}"
            for channel, told in (("__interrupt__", task.get("interrupts")), ("__error__", task.get("error"))):
                if told not in (None, [], ""):
                    yield self._write(name, node, channel, told, f"{where}/{channel.strip('_')}", spot, push)
            returned = task.get("result")
            if returned not in (None, {}, []):
                yield from self._returned(name, node, returned, f"{where}/result", spot)

    def _pending(self, value: dict[str, Any], spot: Spot) -> Iterator[Write]:
        """The writes of a checkpoint tuple: `[task, channel, value]` each."""
        for index, write in enumerate(value.get("pending_writes") or []):
            if isinstance(write, list) and len(write) > 2 and isinstance(write[1], str):  # noqa: PLR2004 - a triple
                yield self._write(str(write[0]), "", write[1], write[2], f"/pending_writes/{index}/2", spot)

    def _leading(self, metadata: dict[str, Any], spot: Spot) -> Iterator[Write]:
        """What the metadata of older releases says that each node wrote."""
        writes = metadata.get("writes")
        for node, told in writes.items() if isinstance(writes, dict) else ():
            if told is not None:
                yield from self._returned(node, node, told, f"/metadata/writes/{node}", spot)

    def _returned(self, task: str, node: str, told: Any, pointer: str, spot: Spot) -> Iterator[Write]:
        """What a node returned: an update by channel, or a value that is taken whole."""
        whole = self._messages.find(told, "")
        if isinstance(told, dict) and not any(one.pointer == "" for one in whole):
            for channel, value in told.items():
                yield self._write(task, node, channel, value, f"{pointer}/{channel}", spot)
        else:
            yield self._write(task, node, node, told, pointer, spot)

    def _write(  # noqa: PLR0917 - a write is told by its columns
        self, task: str, node: str, channel: str, value: Any, pointer: str, spot: Spot, push: int = NOWHERE
    ) -> Write:
        found = () if is_internal(channel) else self._messages.find(value, pointer)
        return Write(task, node, channel, self._messages.payload(value), found, spot, push)


def _state(value: dict[str, Any]) -> tuple[Any, str]:
    """The values of a state, and where they stand."""
    if "values" in value:
        return value["values"], "/values"
    inner = value["checkpoint"]
    return (inner.get("channel_values"), "/checkpoint/channel_values") if isinstance(inner, dict) else (None, "")


def _configured(value: dict[str, Any], *names: str) -> dict[str, Any]:
    """The thread and checkpoint that a configuration names."""
    for name in names:
        told = value.get(name)
        if isinstance(told, dict):
            inner = told.get("configurable", told)
            if isinstance(inner, dict) and inner.keys() & {"thread_id", "checkpoint_id", "thread_ts"}:
                return inner
    return {}


def _time(value: dict[str, Any], state: object) -> int:
    inner = value.get("checkpoint")
    told = value.get("created_at") or (inner.get("ts") if isinstance(inner, dict) and state is not None else None)
    return from_text(told) if isinstance(told, str) and told else NOWHERE


def _tasks_of(value: dict[str, Any]) -> list[dict[str, Any]]:
    tasks = value.get("tasks")
    return [task for task in tasks if isinstance(task, dict)] if isinstance(tasks, list) else []
