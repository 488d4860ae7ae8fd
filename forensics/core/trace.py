"""What did the agent do, in causal order? A trace in columns, and small views of its steps and calls.

Dense rows, interned strings, and payloads that stay where they are in the mapped evidence, by offset and length, so
that a trace costs tens of bytes a step beside its file (docs/adr/0002).
"""

from __future__ import annotations

from array import array
from enum import IntEnum
from typing import TYPE_CHECKING

import msgspec

from forensics.core.calls import NOT_REACHED, Absence, Block, Boundary, Call, Calls, Outcome, Witness
from forensics.core.evidence import Basis, Locator
from forensics.core.payloads import Payload, Payloads
from forensics.core.places import NOWHERE, Places
from forensics.core.sanitise import one_line
from forensics.core.strings import Numbered, Strings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.classes import ToolFacts
    from forensics.core.evidence import Gap
    from forensics.core.findings import Finding
    from forensics.core.setup import Setup

__all__ = [
    "NOT_REACHED",
    "NOWHERE", "Absence", "Block", "Boundary", "Call", "Calls", "Outcome", "Payload", "Places", "Step", "StepKind",
    "Strings", "Trace", "Witness",
]  # fmt: skip

_STEP = 8  # numbers of a step that is not parted into columns yet: all but its time, in the order of the columns
_PLACE, _POINTER = 3, 4
_PARTED = 4096 * _STEP  # numbers that are parted at once


class StepKind(IntEnum):
    """The kind of a step; the names are those of the contract."""

    SYSTEM = 0
    USER = 1
    MODEL = 2
    TOOL_CALL = 3
    TOOL_RESULT = 4
    GUARDRAIL = 5
    MEMORY = 6
    HANDOFF = 7
    APPROVAL_REQUEST = 8
    APPROVAL = 9
    ERROR = 10
    AGENT = 11
    OTHER = 12

    @property
    def label(self) -> str:
        """The name of the kind in documents."""
        return self.name.lower()


class Step(msgspec.Struct, frozen=True):
    """A view of one step. `at` is nanoseconds since the epoch or None; `call` a row of `Trace.calls` or None."""

    index: int
    kind: StepKind
    name: str
    agent: str
    at: int | None
    locator: Locator
    payload: Payload | None
    call: int | None
    turn: int | None


class Trace:
    """One agent run in columns. Rows are steps in causal order; `calls` are the call occurrences in order.

    `gaps` are those of the evidence that concern this trace; `records_calls` says that the format always records calls;
    `also_in` names the other evidences that tell of the same run. `surroundings` are texts that stood before the first
    call and in no step, such as the working folder: what they hold no call minted. `named_turns` are those whose
    records, the calls among them, share a recorded id; `earlier_turns` are those of which only the first prompt of a
    run tells, as what was said before it. `setups` are the records of how its agents were set up, `judges` the lanes in
    which guardrails asked a model, `tokens` those that its model read and wrote, where its own record counts them;
    `media` are the digests of the pictures, sounds and files that a message held, by the first step of the message.
    """

    def __init__(self, trace_id: str, places: Places, format_name: str) -> None:
        self.id = trace_id
        self.places = places
        self.format = format_name
        self.turns = 0
        self.agents: list[str] = []
        self.facts: dict[str, ToolFacts] = {}
        self.surroundings: list[Payload] = []
        self.named_turns: set[int] = set()
        self.earlier_turns: frozenset[int] = frozenset()
        self.setups: list[Setup] = []
        self.judges: set[str] = set()
        self.tokens: tuple[int, int] | None = None
        self.findings: list[Finding] = []
        self.gaps: tuple[Gap, ...] = ()
        self.evidence_sha256 = ""
        self.records_calls = True
        self.also_in: tuple[str, ...] = ()
        self.media: dict[int, tuple[str, ...]] = {}
        self.rerun_of: str | None = None
        self.rerun_basis: Basis = Basis.RECORDED
        self.started = NOWHERE
        self.session = ""  # joins the traces of one conversation: a resumed run may have a trace of its own
        self.ended_normally: bool | None = None
        self.strings = Strings()
        self.pointers = Numbered()
        self._steps = array("i")
        self.kind = array("b")
        self.at = array("q")
        columns = [array("i") for _ in range(_STEP - 1)]
        self.name, self.agent, self.place, self.pointer, self.call, self.turn, self.parent = columns
        self._columns = (self.kind, *columns)
        self.payload = Payloads(places)
        self.calls = Calls(self)
        self.silent_turns: list[int] = []

    def __repr__(self) -> str:
        size = f"{len(self)} step{'s' * (len(self) != 1)}, {len(self.calls)} call{'s' * (len(self.calls) != 1)}"
        return f"<Trace {one_line(self.id, 60)!r} ({self.format}): {size}>"

    def add_step(self, numbers: tuple[int, ...], at: int, payload: Payload | None) -> int:
        """Add a step while the trace is built; `numbers` are its columns from `kind` to `parent` without `at`. Returns
        its row.
        """
        if len(self._steps) >= _PARTED:
            self.close()
        self._steps.extend(numbers)
        self.at.append(at)
        return self.payload.add(payload, numbers[_PLACE])

    def add_steps(self, columns: Sequence[Sequence[int]], at: Sequence[int]) -> None:
        """Add steps while the trace is built, by their columns from `kind` to `parent` without `at`; their payloads are
        added beside it.
        """
        self.close()
        for column, told in zip(self._columns, columns, strict=True):
            column.extend(array(column.typecode, told))
        self.at.extend(array("q", at))

    def place_of(self, row: int) -> int:
        """The place of a step, while the trace is built too."""
        return self.place[row] if row < len(self.place) else self._numbers(row)[_PLACE]

    def pointer_of(self, row: int) -> str:
        """The pointer of a step, while the trace is built too."""
        return self.pointers[self.pointer[row] if row < len(self.pointer) else self._numbers(row)[_POINTER]]

    def _numbers(self, row: int) -> Sequence[int]:
        """The numbers of a step, whether it stands in the columns yet or not."""
        closed = len(self.place)
        if row < closed:
            return [column[row] for column in self._columns]
        return self._steps[(row - closed) * _STEP : (row - closed + 1) * _STEP]

    def close(self) -> None:
        """Part the steps that were added into columns: adding a row at a time costs a third of adding to each column.
        (The columns are whole when the trace is.)
        """
        for at, column in enumerate(self._columns if self._steps else ()):
            column.extend(array(column.typecode, self._steps[at::_STEP]))
        self._steps = array("i")

    def __len__(self) -> int:
        return len(self.payload)

    def step(self, index: int) -> Step:
        """The step of that row. Raises IndexError beyond the trace."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        kind, name, agent, place, pointer, call, turn, _ = self._numbers(index)
        at = self.at[index]
        return Step(
            index,
            StepKind(kind),
            self.strings[name],
            self.strings[agent],
            None if at < 0 else at,
            self.places.locator(place, self.pointers[pointer]),
            self.payload[index],
            None if call < 0 else call,
            None if turn < 0 else turn,
        )

    def when(self, row: int) -> int:
        """When a step was, in nanoseconds since the epoch; -1 where that is not told. A call was when it began or,
        where that is not told, when it was asked for (which `at` keeps); its result, when it ended.
        """
        call = self.call[row] if self.kind[row] == StepKind.TOOL_CALL else NOWHERE
        began = NOWHERE if call < 0 else self.calls.starts(range(call, call + 1))[0]
        return began if began >= 0 else self.at[row]

    def steps(self) -> Iterator[Step]:
        """Every step, in order."""
        return (self.step(i) for i in range(len(self)))

    def locator(self, index: int) -> Locator:
        """Where a step stands in the evidence."""
        return self.places.locator(self.place[index], self.pointers[self.pointer[index]])

    def rows(self, kind: StepKind) -> list[int]:
        """The rows of one kind, in order."""
        wanted = int(kind)
        return [i for i, k in enumerate(self.kind) if k == wanted]
