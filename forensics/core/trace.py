"""What did the agent do, in causal order? A trace in columns, and small views of its steps and calls.

Dense rows, interned strings, and payloads that stay where they are in the mapped evidence (`msgspec.Raw` is a view of
48 bytes), so that a trace costs tens of bytes a step beside its file (docs/adr/0002).
"""

from __future__ import annotations

from array import array
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

import msgspec

from forensics.core.evidence import Basis, Locator
from forensics.core.limits import exceeded, limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.classes import ToolFacts
    from forensics.core.evidence import Gap
    from forensics.core.findings import Finding

Payload = msgspec.Raw

NOWHERE = -1
_RECORD = 3  # numbers of a record: line, offset, length
_STEP = 9  # numbers of a step: its columns, in the order of `Trace.close`
_STEP_PLACE = 4


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


class Boundary(StrEnum):
    """What kind of thing a boundary call reaches (CONTRACT: boundary call)."""

    TOOL = "tool"
    PROVIDER_TOOL = "provider_tool"
    SUB_AGENT = "sub_agent"
    RETRIEVER = "retriever"
    MEMORY = "memory"
    HTTP = "http"
    DATABASE = "database"
    MESSAGING = "messaging"


class Outcome(StrEnum):
    """What is known of how a call ended. A timeout is indeterminate, never "no effect"."""

    RECORDED = "recorded"
    FAILED = "failed"
    DENIED = "denied"
    ABSENT = "absent"
    INDETERMINATE = "indeterminate"


class Absence(StrEnum):
    """Why an outcome is absent."""

    NOT_CAPTURED = "not captured"
    REDACTED = "redacted"
    TRUNCATED = "truncated"
    STREAMED = "streamed"
    UNANSWERED = "unanswered"


class Witness(msgspec.Struct, gc=False):
    """One record of one half of a tuple: its payload (None: not captured) and the step or place where it stands."""

    payload: Payload | None
    place: int
    pointer: str
    step: int = NOWHERE


class Block(msgspec.Struct, frozen=True, gc=False):
    """One thing that makes a call not injectable: a code of the contract and a sentence."""

    code: str
    message: str


class Call(msgspec.Struct, gc=False):
    """One call occurrence. Filled while the trace is built and only read after that.

    Up to three records tell one tuple: what the model `requested`, what the tool span `executed`, and the result as
    the next prompt has `shown` it. `turn` and `index` are its identity (`turn` is -1 where no turn asked);
    `recorded_id` is evidence. `freeform` says that its arguments may be any text, by the tool's kind. `again_of` is the
    row of the call that this one executes once more on another branch (-1: of none).
    """

    tool: str
    turn: int
    index: int
    recorded_id: str | None = None
    agent: str = ""
    server: str | None = None
    boundary: Boundary = Boundary.TOOL
    step: int = NOWHERE
    result_step: int = NOWHERE
    requested: Witness | None = None
    executed: Witness | None = None
    returned: Witness | None = None
    shown: Witness | None = None
    error: Payload | None = None
    outcome: Outcome = Outcome.ABSENT
    absence: Absence | None = Absence.UNANSWERED
    ended: bool = False
    start: int = NOWHERE
    end: int = NOWHERE
    added: tuple[str, ...] = ()
    agreement: str | None = None
    returned_is_cut: bool = False
    pairing: Basis = Basis.RECORDED
    disposition: str | None = None
    freeform: bool = False
    blocks: tuple[Block, ...] = ()
    again_of: int = NOWHERE

    def block(self, code: str, message: str) -> None:
        """Mark it as not injectable, with the reason; each code once."""
        if not any(block.code == code for block in self.blocks):
            self.blocks = (*self.blocks, Block(code, message))

    @property
    def occurrence(self) -> str:
        """`turn.index`, or `-.index` for a call that no turn asked for."""
        return f"{'-' if self.turn < 0 else self.turn}.{self.index}"

    @property
    def arguments(self) -> Payload | None:
        """The arguments that reached the tool: the executed ones, else those that the model asked for."""
        for witness in (self.executed, self.requested):
            if witness is not None and witness.payload is not None:
                return witness.payload
        return None

    @property
    def result(self) -> Payload | None:
        """The result that a rerun would inject: what the tool returned, else what the model was shown, or the error."""
        records = (self.shown, self.returned) if self.returned_is_cut else (self.returned, self.shown)
        for witness in records:
            if witness is not None and witness.payload is not None:
                return witness.payload
        return self.error

    @property
    def answered(self) -> bool:
        """Whether anything says how the call ended."""
        return self.outcome is not Outcome.ABSENT or self.absence is not Absence.UNANSWERED


class Places:
    """Where records stand in one evidence: columns of line, offset and length, the row of a database record, and the
    member of an archive.
    """

    def __init__(self, evidence: int) -> None:
        self.evidence = evidence
        self._records = array("q")
        self._most = limits().records * _RECORD
        self._row: dict[int, tuple[str, int | str]] = {}
        self._member: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._records) // _RECORD

    def add(self, *, line: int = 0, offset: int = NOWHERE, length: int = 0) -> int:
        """Note a record by its line (from 1; 0: not a line), byte offset and length; returns its place. Raises
        LimitExceededError for one too many.
        """
        if len(self._records) >= self._most:
            raise exceeded("records", f"the evidence holds {len(self) + 1} records or more")
        self._records.extend((line, offset, length))
        return len(self._records) // _RECORD - 1

    def add_row(self, table: str, row: int | str, length: int) -> int:
        """Note a database row; `length` is that of its payload in bytes."""
        place = self.add(length=length)
        self._row[place] = (table, row)
        return place

    def add_member(self, member: str, length: int, offset: int = 0) -> int:
        """Note a part of an archive's member; `offset` and `length` count its unpacked bytes."""
        place = self.add(offset=offset, length=length)
        self._member[place] = member
        return place

    def part_of(self, place: int, offset: int, length: int) -> int:
        """Note a part of a record that has an offset: `offset` counts from its beginning."""
        _, begins, _ = self._records[place * _RECORD : (place + 1) * _RECORD]
        member = self._member.get(place)
        if member is not None:
            return self.add_member(member, length, max(begins, 0) + offset)
        return self.add(offset=max(begins, 0) + offset, length=length)

    def locator(self, place: int, pointer: str = "") -> Locator:
        """The locator of a place, with a JSON Pointer inside the record."""
        table, row = self._row.get(place, (None, None))
        line, offset, length = self._records[place * _RECORD : (place + 1) * _RECORD]
        return Locator(
            evidence=self.evidence,
            line=line or None,
            offset=None if offset < 0 else offset,
            length=length or None,
            member=self._member.get(place),
            table=table,
            row=row,
            pointer=pointer or None,
        )


class Strings:
    """Interned strings: equal strings share one small number."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {"": 0}
        self._texts = [""]

    def add(self, text: str) -> int:
        """The number of a text."""
        number = self._index.get(text)
        if number is None:
            number = self._index[text] = len(self._texts)
            self._texts.append(text)
        return number

    def __getitem__(self, number: int) -> str:
        return self._texts[number]


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
    records, the calls among them, share a recorded id; `shows_media` says that a message held what is no text.
    """

    def __init__(self, trace_id: str, places: Places, format_name: str) -> None:
        self.id = trace_id
        self.places = places
        self.format = format_name
        self.calls: list[Call] = []
        self.turns = 0
        self.agents: list[str] = []
        self.facts: dict[str, ToolFacts] = {}
        self.surroundings: list[Payload] = []
        self.named_turns: set[int] = set()
        self.findings: list[Finding] = []
        self.gaps: tuple[Gap, ...] = ()
        self.evidence_sha256 = ""
        self.records_calls = True
        self.also_in: tuple[str, ...] = ()
        self.shows_media = False
        self.rerun_of: str | None = None
        self.rerun_basis: Basis = Basis.RECORDED
        self.started = NOWHERE
        self.session = ""  # joins the traces of one conversation: a resumed run may have a trace of its own
        self.ended_normally: bool | None = None
        self.strings = Strings()
        self._steps = array("q")
        columns = [array("q") for _ in range(_STEP)]
        self.kind, self.name, self.agent, self.at, self.place, self.pointer, self.call, self.turn, self.parent = columns
        self._columns = columns
        self.payload: list[Payload | None] = []
        self.silent_turns: list[int] = []

    def add_step(self, numbers: tuple[int, ...], payload: Payload | None) -> int:
        """Add a step while the trace is built; `numbers` are its columns in the order of `close`. Returns its row."""
        self._steps.extend(numbers)
        self.payload.append(payload)
        return len(self.payload) - 1

    def place_of(self, row: int) -> int:
        """The place of a step while the trace is built."""
        return self._numbers(row)[_STEP_PLACE]

    def _numbers(self, row: int) -> Sequence[int]:
        """The numbers of a step, whether it stands in the columns yet or not."""
        closed = len(self.place)
        if row < closed:
            return [column[row] for column in self._columns]
        return self._steps[(row - closed) * _STEP : (row - closed + 1) * _STEP]

    def close(self) -> None:
        """Part the steps into columns, when the last one is there: adding a row at a time costs a third of adding to
        each column.
        """
        for at, column in enumerate(self._columns):
            column.extend(self._steps[at::_STEP])
        self._steps = array("q")

    def __len__(self) -> int:
        return len(self.payload)

    def step(self, index: int) -> Step:
        """The step of that row. Raises IndexError beyond the trace."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        kind, name, agent, at, place, pointer, call, turn, _ = self._numbers(index)
        return Step(
            index,
            StepKind(kind),
            self.strings[name],
            self.strings[agent],
            None if at < 0 else at,
            self.places.locator(place, self.strings[pointer]),
            self.payload[index],
            None if call < 0 else call,
            None if turn < 0 else turn,
        )

    def steps(self) -> Iterator[Step]:
        """Every step, in order."""
        return (self.step(i) for i in range(len(self)))

    def locator(self, index: int) -> Locator:
        """Where a step stands in the evidence."""
        return self.places.locator(self.place[index], self.strings[self.pointer[index]])

    def rows(self, kind: StepKind) -> list[int]:
        """The rows of one kind, in order."""
        wanted = int(kind)
        return [i for i, k in enumerate(self.kind) if k == wanted]
