"""What did the agent do, told from the checkpoints of its graph? Walks each thread's checkpoints in order and tells the
builder what is new in each: the messages, what the tasks wrote, pauses, errors.

One thread is one trace. A fork is a branch with a lane of its own; a call that was asked for before the fork and has a
result on both sides was executed twice. What nodes other than a model's or the tools' did is not recorded: it is told
as a step with what they wrote, and the trace says that more may have happened.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from forensics.core.evidence import Basis
from forensics.core.findings import finding
from forensics.core.jsonvalue import raw, text_of, value_of
from forensics.core.sanitise import one_line
from forensics.core.trace import NOWHERE, Payload, StepKind
from forensics.formats.shared.checkpoints.calls import Teller
from forensics.formats.shared.checkpoints.record import is_internal
from forensics.formats.shared.checkpoints.tree import CheckpointTree

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forensics.core.build import Lane, Spot
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.checkpoints.record import Checkpoint, Found, Write

_ERROR, _INTERRUPT, _RESUME = "__error__", "__interrupt__", "__resume__"
_EVENTS = frozenset({_ERROR, _INTERRUPT, _RESUME})
_START = "__start__"
_BY_A_PERSON = frozenset({"update", "fork"})
_FROM_OUTSIDE = _BY_A_PERSON | {"input"}
_NOBODYS_TASK = "00000000-0000-0000-0000-000000000000"
_NAMED = 6
_DEEPEST = 32  # graphs inside graphs whose order is told apart


def walk_checkpoints(checkpoints: Iterable[Checkpoint], build: EvidenceBuilder) -> None:
    """Tell the builder every thread of these checkpoints, in the order in which they first stand."""
    threads: dict[str, list[Checkpoint]] = {}
    for checkpoint in checkpoints:
        threads.setdefault(checkpoint.thread, []).append(checkpoint)
    for thread, held in threads.items():
        _Thread(thread, held, build).run()


class _Thread:
    """One thread on its way to the builder."""

    def __init__(self, thread: str, checkpoints: Sequence[Checkpoint], build: EvidenceBuilder) -> None:
        self.build = build
        self.builder = build.trace(thread)
        self.tree = CheckpointTree(checkpoints)
        self.teller = Teller(self.tree, self.builder)
        self.ran: dict[int, Counter[bytes]] = {}
        self.pending: dict[str, int] = {}
        self.inside: dict[str, dict[str, None]] = {}
        self.silent_nodes: dict[str, Spot] = {}
        self.outputs: dict[tuple[int, str, str], tuple[int, Payload]] = {}
        self.compacted: set[str] = set()
        self.resumed: set[int] = set()

    def run(self) -> None:
        """Walk the thread."""
        self._check_structure()
        for row, checkpoint in enumerate(self.tree.rows):
            self._flush(checkpoint.namespace)
            self._enter(row, checkpoint)
            self._wait(checkpoint.namespace, row)
        self._flush("")
        self._say_what_is_not_recorded()
        self._end()

    def _check_structure(self) -> None:
        for row in self.tree.orphans:
            checkpoint = self.tree.rows[row]
            message = f"a checkpoint goes on from {one_line(checkpoint.parent, 60)}, which is not in the evidence"
            self.builder.gap("evidence_gap", message, checkpoint.spot)
        for row in self.tree.ring:
            locator = self.build.places.locator(self.tree.rows[row].spot.place, self.tree.rows[row].spot.pointer)
            message = "checkpoints name each other as what they went on from: a ring"
            self.builder.note(finding("cycle", message, locators=(locator,)))
            self.builder.gap("cycle", message, self.tree.rows[row].spot)
        self.build.counts.branches += sum(not self.tree.rows[row].namespace for row in self.tree.leaves())

    # one checkpoint ----------------------------------------------------------------------------------------------

    def _enter(self, row: int, checkpoint: Checkpoint) -> None:
        """What is new in a checkpoint, seen from the one that it went on from."""
        lane, parent = self.teller.lane(row), self.tree.parent[row]
        self._say_by_whom(row, checkpoint, lane)
        new, dropped = _difference(checkpoint.found, self.tree.rows[parent].found if parent >= 0 else ())
        ran = self.ran.get(row, Counter())
        for one in new:
            self.teller.take(row, one, checkpoint.spot, ran)
        self._leading(row, checkpoint)
        if parent >= 0 and dropped:
            self._say_compacted(checkpoint, dropped)
        if checkpoint.tainted is not None:
            message = "a checkpoint can be read in two ways"
            self.builder.gap(checkpoint.tainted, message, checkpoint.spot)
        if parent >= 0 and not checkpoint.leading and not self.tree.rows[parent].writes:
            self._changed_state(row, checkpoint, self.tree.rows[parent])

    def _say_by_whom(self, row: int, checkpoint: Checkpoint, lane: Lane) -> None:
        """What a run was begun with, and a state that a person or a program changed from outside."""
        if checkpoint.source in _BY_A_PERSON:
            self.builder.step(StepKind.OTHER, checkpoint.spot, name=checkpoint.source, agent=lane.agent)
        elif self.tree.parent[row] < 0 and not checkpoint.namespace:
            for channel, value in checkpoint.channels.items():
                spot = checkpoint.spot
                self.builder.step(StepKind.USER, spot, name=channel, agent=lane.agent, payload=value)

    def _leading(self, row: int, checkpoint: Checkpoint) -> None:
        """What the metadata says that the nodes wrote, as far as the state does not show it."""
        if checkpoint.source == "input":
            return
        shown = {one.told.message.key for one in checkpoint.found}
        parent = self.tree.parent[row]
        told_by_tasks = parent >= 0 and bool(self.tree.rows[parent].writes)
        for node, writes in _by_task(checkpoint.leading).items():
            found = [one for write in writes for one in write.found]
            for one in found:
                if one.told.message.key not in shown:
                    self.teller.take(row, one, writes[0].spot, Counter())
            if not told_by_tasks:
                self._node_wrote(parent if parent >= 0 else row, node[1], writes, found=bool(found))

    def _changed_state(self, row: int, checkpoint: Checkpoint, before: Checkpoint) -> None:
        """What changed in the state, where nothing tells which task did it."""
        changed = [(k, v) for k, v in checkpoint.channels.items() if before.channels.get(k) != v]
        lane, outside = self.teller.lane(row), checkpoint.source in _FROM_OUTSIDE
        kind = StepKind.USER if checkpoint.source == "input" else StepKind.OTHER
        for channel, value in changed:
            self.builder.step(kind, checkpoint.spot, name=channel, agent=lane.agent, payload=value)
        if changed and not outside:
            self.silent_nodes.setdefault("a node that is not named", checkpoint.spot)

    def _say_compacted(self, checkpoint: Checkpoint, dropped: int) -> None:
        if checkpoint.namespace in self.compacted:
            return
        self.compacted.add(checkpoint.namespace)
        message = f"a checkpoint leaves out {dropped} messages of the state before it: removed or replaced"
        locator = self.build.places.locator(checkpoint.spot.place, checkpoint.spot.pointer)
        self.builder.note(finding("compacted_history", message, locators=(locator,), basis=Basis.DERIVED))

    # what the tasks wrote ----------------------------------------------------------------------------------------

    def _wait(self, namespace: str, row: int) -> None:
        """Remember the last checkpoint of a namespace, under every graph that it stands in."""
        self.pending[namespace] = row
        for around in _around(namespace):
            self.inside.setdefault(around, {})[namespace] = None

    def _flush(self, namespace: str) -> None:
        """Tell what the tasks on the last checkpoint of a namespace wrote, after what the graphs inside them did."""
        inside = list(self.inside.get(namespace, ()))
        for name in sorted(inside, key=lambda n: -len(_around(n))):
            for around in _around(name):
                self.inside[around].pop(name, None)
            self._tasks(self.pending.pop(name))

    def _tasks(self, row: int) -> None:
        checkpoint = self.tree.rows[row]
        if not checkpoint.writes:
            return
        after = self.tree.led_to(row)
        if any(w.channel == _RESUME and w.task != _NOBODYS_TASK for w in checkpoint.writes):
            self.resumed.add(row)
        ran: Counter[bytes] = Counter()
        for task, writes in _by_task(checkpoint.writes).items():
            found = [(write, one) for write in writes if not is_internal(write.channel) for one in write.found]
            node = self._node(checkpoint, writes[0]) or task[1]
            if node == _START or (checkpoint.source == "input" and not node):
                continue
            for write in writes:
                if write.channel in _EVENTS:
                    self._event(row, checkpoint, write)
            for write, one in found:
                ran[one.told.message.key] += 1
                self.teller.take(row, one, write.spot, Counter(), after=after)
            if not any(write.channel in _EVENTS for write in writes) or found:
                self._node_wrote(row, node, writes, found=bool(found))
        if after >= 0:
            self.ran.setdefault(after, Counter()).update(ran)

    @staticmethod
    def _node(checkpoint: Checkpoint, write: Write) -> str:
        if write.node:
            return write.node
        queued = 0 <= write.push < len(checkpoint.sends) and checkpoint.sends[write.push]
        return "tools" if queued else ""

    def _node_wrote(self, row: int, node: str, writes: Sequence[Write], *, found: bool) -> None:
        """A node that left no message: what it wrote is a step, and what it did besides is not recorded."""
        lane = self.teller.lane(row)
        for write in writes:
            if not is_internal(write.channel) and not write.found and bytes(write.value) != b"null":
                name = f"{node}.{write.channel}" if node and write.channel != node else write.channel
                step = self.builder.step(StepKind.OTHER, write.spot, name=name, agent=lane.agent, payload=write.value)
                self._compare_outputs(row, node, write, step)
        if not found and writes and writes[0].task != _NOBODYS_TASK:
            self.silent_nodes.setdefault(node or "a node that is not named", writes[0].spot)

    def _compare_outputs(self, row: int, node: str, write: Write, step: int) -> None:
        """A node that wrote something else when a branch went back to before it: what it does happened twice."""
        first, value = self.outputs.setdefault((self.tree.copied[row], node, write.channel), (step, write.value))
        if first != step and bytes(value) != bytes(write.value):
            message = (
                f"the node {one_line(node, 60)} ran again on a branch that went back to before it, and wrote "
                f"{one_line(text_of(write.value), 60)} where it had written "
                f"{one_line(text_of(value), 60)}: what it reaches may have been done twice"
            )
            steps = (first, step)
            self.builder.note(finding("possible_duplicate_side_effect", message, steps=steps, basis=Basis.INFERRED))

    def _event(self, row: int, checkpoint: Checkpoint, write: Write) -> None:
        """A pause, the answer to it, or an error of a task."""
        lane = self.teller.lane(row)
        if write.channel == _INTERRUPT:
            for payload in _interrupts(write.value):
                self.builder.step(
                    StepKind.APPROVAL_REQUEST, write.spot, name=write.node, agent=lane.agent, payload=payload
                )
        elif write.channel == _RESUME:
            if write.task != _NOBODYS_TASK or row not in self.resumed:
                self.builder.step(StepKind.APPROVAL, write.spot, agent=lane.agent, payload=write.value)
        else:
            self._failed(row, checkpoint, write, lane)

    def _failed(self, row: int, checkpoint: Checkpoint, write: Write, lane: Lane) -> None:
        """The call that a task was queued for failed with it; other errors are steps of their own."""
        queued = checkpoint.sends[write.push] if 0 <= write.push < len(checkpoint.sends) else ""
        if not queued or not self.teller.failed(row, queued, write):
            self.builder.step(StepKind.ERROR, write.spot, name=write.node, agent=lane.agent, payload=write.value)

    # the end -----------------------------------------------------------------------------------------------------

    def _say_what_is_not_recorded(self) -> None:
        if not self.silent_nodes:
            return
        names = list(self.silent_nodes)
        shown = ", ".join(one_line(name, 40) for name in names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
        message = f"nodes ran of which no message is left ({shown}): what they called is not recorded"
        self.builder.gap("evidence_gap", message, self.silent_nodes[names[0]])

    def _end(self) -> None:
        trace, rows = self.builder.trace, self.tree.rows
        trace.started = min((c.at for c in rows if c.at >= 0), default=NOWHERE)
        leaves = [row for row in self.tree.leaves() if not rows[row].namespace]
        if leaves and rows[leaves[-1]].open is False:
            trace.ended_normally = True
        for row in leaves[:-1]:
            if rows[row].open:
                message = "the thread went on from an earlier checkpoint, and left this one with tasks to do"
                locator = self.build.places.locator(rows[row].spot.place, rows[row].spot.pointer)
                self.builder.note(finding("abandoned_checkpoint", message, locators=(locator,), basis=Basis.DERIVED))


def _around(namespace: str) -> list[str]:
    """A namespace and every one around it: `a:1|b:2`, `a:1`, and the graph itself."""
    parts = namespace.split("|")[:_DEEPEST] if namespace else []
    return ["", *("|".join(parts[:n]) for n in range(1, len(parts))), *([namespace] if namespace else [])]


def _difference(found: Sequence[Found], before: Sequence[Found]) -> tuple[list[Found], int]:
    """The messages that a state has beyond those of another one, in order, and how many of the other's it lacks."""
    held = Counter((one.told.id, one.told.message.key) for one in before)
    new = []
    for one in found:
        key = (one.told.id, one.told.message.key)
        if held[key] > 0:
            held[key] -= 1
        else:
            new.append(one)
    return new, sum(held.values())


def _by_task(writes: Iterable[Write]) -> dict[tuple[str, str], list[Write]]:
    """The writes of each task, by its id and node, in order."""
    tasks: dict[tuple[str, str], list[Write]] = {}
    for write in writes:
        tasks.setdefault((write.task, write.node), []).append(write)
    return tasks


def _interrupts(value: Payload) -> list[Payload]:
    """One payload for each pause that a task wrote."""
    told = value_of(value)
    return [raw(item) for item in told] if isinstance(told, list) else [value]
