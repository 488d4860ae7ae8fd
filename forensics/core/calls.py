"""What is known of each call? The call occurrences of a trace in columns, and a small view of each of them.

What nearly every call has is a number in a row of numbers; what few have stands in a dictionary. A record of a call
that is a step of the trace, as most are, is no more than the number of that step.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import accumulate, chain, repeat
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import msgspec

from forensics.core.evidence import Basis
from forensics.core.payloads import Payload, Payloads
from forensics.core.places import NOWHERE
from forensics.core.strings import Texts

if TYPE_CHECKING:
    from forensics.core.strings import Parted, Strings
    from forensics.core.trace import Trace

_T = TypeVar("_T")


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
    NOT_DUE = "none is due"
    """The call ended the run, as its record says: the harness takes it as the end, and nothing answers it."""


class Witness(msgspec.Struct, frozen=True, gc=False):
    """One record of one half of a tuple: its payload (None: not captured) and the step or place where it stands."""

    payload: Payload | None
    place: int
    pointer: str
    step: int = NOWHERE


class Block(msgspec.Struct, frozen=True, gc=False):
    """One thing that makes a call not injectable: a code of the contract and a sentence."""

    code: str
    message: str


# the columns, and how a view reads and writes them -------------------------------------------------------------------

_NUMBERS = (
    "tool", "turn", "index", "id", "agent", "server", "step", "result_step",
    "requested", "executed", "returned", "shown", "error", "agreement",
)  # fmt: skip
_WIDTH = len(_NUMBERS)
_AT = {name: at for at, name in enumerate(_NUMBERS)}
_KINDS = ("boundary", "outcome", "absence", "pairing", "ended", "returned_is_cut", "freeform")
_DEPTH = len(_KINDS)
_BESIDE = -2  # this and below: a record that is no step, by its number
_BESIDE_WIDTH = 4  # numbers of such a record: its payload, place, pointer and step
_TIMES = 2  # start and end
_AT_ONCE = 1024  # calls that are looked at together
_HELD = 1 << 20  # bytes of their payloads
_SIZED = 4096


class _Number:
    """A number of a call."""

    def __init__(self, name: str) -> None:
        self._at = _AT[name]

    def __get__(self, call: Call, owner: object) -> int:
        return call.calls.numbers[call.row * _WIDTH + self._at]

    def __set__(self, call: Call, value: int) -> None:
        call.calls.numbers[call.row * _WIDTH + self._at] = value


class _Time:
    """A time of a call in nanoseconds since the epoch; -1 where it has none."""

    def __init__(self, at: int) -> None:
        self._at = at

    def __get__(self, call: Call, owner: object) -> int:
        at = call.row * _TIMES + self._at
        return call.calls.times[at] if at < len(call.calls.times) else NOWHERE

    def __set__(self, call: Call, value: int) -> None:
        times, at = call.calls.times, call.row * _TIMES + self._at
        if at >= len(times):
            if value == NOWHERE:
                return
            times.extend([NOWHERE] * ((call.row + 1) * _TIMES - len(times)))
        times[at] = value


class _Text:
    """A text that many calls share, or None."""

    def __init__(self, name: str) -> None:
        self._at = _AT[name]

    def __get__(self, call: Call, owner: object) -> str | None:
        number = call.calls.numbers[call.row * _WIDTH + self._at]
        return None if number < 0 else call.calls.strings[number]

    def __set__(self, call: Call, value: str | None) -> None:
        call.calls.numbers[call.row * _WIDTH + self._at] = NOWHERE if value is None else call.calls.strings.add(value)


class _Kind(Generic[_T]):
    """One of a few values, in a byte."""

    def __init__(self, name: str, values: Iterable[_T]) -> None:
        self._at = _KINDS.index(name)
        self.values = tuple(values)
        self._numbers = {value: number for number, value in enumerate(self.values)}

    def __get__(self, call: Call, owner: object) -> _T:
        return self.values[call.calls.kinds[call.row * _DEPTH + self._at]]

    def __set__(self, call: Call, value: _T) -> None:
        call.calls.kinds[call.row * _DEPTH + self._at] = self._numbers[value]


class _Rare(Generic[_T]):
    """What few calls have; the others have the usual value."""

    def __init__(self, usual: _T) -> None:
        self._usual = usual

    def __set_name__(self, owner: object, name: str) -> None:
        self._name = name

    def __get__(self, call: Call, owner: object) -> _T:
        found: _T = call.calls.rare(self._name).get(call.row, self._usual)
        return found

    def __set__(self, call: Call, value: _T) -> None:
        if value != self._usual or call.row in call.calls.rare(self._name):
            call.calls.rare(self._name)[call.row] = value


class _Record:
    """One record of one half of the tuple, or None."""

    def __init__(self, name: str) -> None:
        self._at = _AT[name]

    def __get__(self, call: Call, owner: object) -> Witness | None:
        return call.calls.witness(call.calls.numbers[call.row * _WIDTH + self._at])

    def __set__(self, call: Call, value: Witness | int) -> None:
        """A record, or the step that it is."""
        number = value if isinstance(value, int) else call.calls.beside(value)
        call.calls.numbers[call.row * _WIDTH + self._at] = number


_UNPAIRED = bytes((
    0, list(Outcome).index(Outcome.ABSENT), 1 + list(Absence).index(Absence.UNANSWERED), 0, 0, 0, 0,
))  # fmt: skip
_ANSWERED = {outcome: bytes((0, number, 0, 0, 0, 0, 0)) for number, outcome in enumerate(Outcome)}


NOT_REACHED = "not_reached"
"""The disposition of a call that the model of a rerun asked for and that its agent never made."""


class Call:
    """One call occurrence: a view of its row. Filled while the trace is built and only read after that.

    Up to three records tell one tuple: what the model `requested`, what the tool span `executed`, and the result as
    the next prompt has `shown` it. `turn` and `index` are its identity (`turn` is -1 where no turn asked);
    `recorded_id` is evidence. `freeform` says that its arguments may be any text, by the tool's kind. `again_of` is the
    row of the call that this one executes once more on another branch (-1: of none). `marked` is the outcome that the
    record marks, where the words of the result say that it is not known (None: it is `outcome`).
    """

    __slots__ = ("calls", "row")

    def __init__(self, calls: Calls, row: int) -> None:
        self.calls = calls
        self.row = row

    turn = _Number("turn")
    index = _Number("index")
    step = _Number("step")
    result_step = _Number("result_step")
    server = _Text("server")
    agreement = _Text("agreement")
    requested = _Record("requested")
    executed = _Record("executed")
    returned = _Record("returned")
    shown = _Record("shown")
    boundary: _Kind[Boundary] = _Kind("boundary", Boundary)
    outcome: _Kind[Outcome] = _Kind("outcome", Outcome)
    absence: _Kind[Absence | None] = _Kind("absence", (None, *Absence))
    pairing: _Kind[Basis] = _Kind("pairing", Basis)
    ended: _Kind[bool] = _Kind("ended", (False, True))
    returned_is_cut: _Kind[bool] = _Kind("returned_is_cut", (False, True))
    freeform: _Kind[bool] = _Kind("freeform", (False, True))
    start = _Time(0)
    end = _Time(1)
    added: _Rare[tuple[str, ...]] = _Rare(())
    disposition: _Rare[str | None] = _Rare(None)
    blocks: _Rare[tuple[Block, ...]] = _Rare(())
    again_of: _Rare[int] = _Rare(NOWHERE)
    marked: _Rare[Outcome | None] = _Rare(None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and self.calls is other.calls and self.row == other.row

    def __hash__(self) -> int:
        return self.row

    @property
    def tool(self) -> str:
        """The tool's name as it was recorded."""
        return self.calls.tool(self.row)

    @property
    def agent(self) -> str:
        """The agent that called."""
        return self.calls.strings[self.calls.numbers[self.row * _WIDTH + _AGENT]]

    @property
    def recorded_id(self) -> str | None:
        """The id by which the records name the call."""
        return self.calls.recorded_id(self.row)

    @recorded_id.setter
    def recorded_id(self, value: str | None) -> None:
        self.calls.numbers[self.row * _WIDTH + _ID] = NOWHERE if value is None else self.calls.ids.add(value)

    @property
    def error(self) -> Payload | None:
        """What a tool span says went wrong."""
        number = self.calls.numbers[self.row * _WIDTH + _ERROR]
        return None if number < 0 else self.calls.payloads[number]

    @error.setter
    def error(self, payload: Payload | None) -> None:
        number = NOWHERE if payload is None else self.calls.payloads.add(payload, NOWHERE)
        self.calls.numbers[self.row * _WIDTH + _ERROR] = number

    def block(self, code: str, message: str) -> None:
        """Mark it as not injectable, with the reason; each code once."""
        if not any(block.code == code for block in self.blocks):
            self.blocks = (*self.blocks, Block(code, message))

    @property
    def occurrence(self) -> str:
        """`turn.index`, or `-.index` for a call that no turn asked for."""
        return occurrence(self.turn, self.index)

    @property
    def arguments(self) -> Payload | None:
        """The arguments that reached the tool: the executed ones, else those that the model asked for."""
        return self.calls.first_payload(self.row, _ARGUMENTS)

    @property
    def result(self) -> Payload | None:
        """The result that a rerun would inject: what the tool returned, else what the model was shown, or the error."""
        found = self.calls.first_payload(self.row, _AS_SHOWN if self.returned_is_cut else _AS_RETURNED)
        return self.error if found is None else found

    @property
    def answered(self) -> bool:
        """Whether anything says how the call ended."""
        return self.outcome is not Outcome.ABSENT or self.absence is not Absence.UNANSWERED


def occurrence(turn: int, index: int) -> str:
    """The identity of a call as it is written."""
    return f"{'-' if turn < 0 else turn}.{index}"


_TOOL, _TURN, _ID, _AGENT, _ERROR = (_AT[name] for name in ("tool", "turn", "id", "agent", "error"))
_EXECUTED, _RETURNED, _RESULT_STEP, _SERVER = (_AT[name] for name in ("executed", "returned", "result_step", "server"))
_OUTCOME, _ABSENCE, _ENDED = (_KINDS.index(name) for name in ("outcome", "absence", "ended"))
_RECORDED = list(Outcome).index(Outcome.RECORDED)
_ARGUMENTS = (_EXECUTED, _AT["requested"])
_AS_RETURNED, _AS_SHOWN = (_AT["returned"], _AT["shown"]), (_AT["shown"], _AT["returned"])


class Calls(Sequence[Call]):
    """The call occurrences of one trace, in order. `numbers`, `kinds` and `times` are what each call has, row after
    row; `payloads` those of records that are no step.
    """

    def __init__(self, trace: Trace) -> None:
        self.strings: Strings = trace.strings
        self.ids = Texts()
        self.numbers = array("i")
        self.kinds = bytearray()
        self.times = array("q")
        self.payloads = Payloads(trace.places)
        self._trace = trace
        self._beside = array("i")
        self._rare: dict[str, dict[int, Any]] = {}

    def __len__(self) -> int:
        return len(self.kinds) // _DEPTH

    @overload
    def __getitem__(self, row: int) -> Call: ...
    @overload
    def __getitem__(self, row: slice) -> list[Call]: ...
    def __getitem__(self, row: int | slice) -> Call | list[Call]:
        if isinstance(row, slice):
            return [Call(self, one) for one in range(*row.indices(len(self)))]
        return Call(self, range(len(self))[row])

    def __iter__(self) -> Iterator[Call]:
        return map(Call, repeat(self), range(len(self)))

    def that_ended(self, *outcomes: Outcome) -> Iterator[Call]:
        """The calls with one of these outcomes."""
        wanted = {list(Outcome).index(outcome) for outcome in outcomes}
        ended = self.kinds[_KINDS.index("outcome") :: _DEPTH]
        return (Call(self, row) for row, number in enumerate(ended) if number in wanted)

    def with_an_id(self) -> Iterator[int]:
        """The rows of the calls that have an id."""
        return (row for row, number in enumerate(self.column("id")) if number >= 0)

    def tools(self, rows: range | None = None) -> Iterator[tuple[str, str | None]]:
        """The tool and the server of each call, or of each of these."""
        tools, servers = self.column("tool", rows), self.column("server", rows)
        told = {
            (tool, server): (self.strings[tool], None if server < 0 else self.strings[server])
            for tool, server in set(zip(tools, servers, strict=True))
        }
        return map(told.__getitem__, zip(tools, servers, strict=True))

    def by_tool(self, numbers: Sequence[int]) -> Iterator[tuple[str, int, int, int]]:
        """Of calls that have these numbers, each tool with each number that a call of it has: the tool, the number, the
        row of the first such call and how many there are, in the order of the first ones.
        """
        tools = self.column("tool")
        counts = Counter(zip(tools, numbers, strict=True))
        firsts: dict[tuple[int, int], int] = {}
        for row, pair in enumerate(zip(tools, numbers, strict=True)):
            firsts.setdefault(pair, row)
        return ((self.strings[tool], number, row, counts[tool, number]) for (tool, number), row in firsts.items())

    def add(
        self,
        tool: str,
        turn: int,
        index: int,
        recorded_id: str | None,
        *,
        agent: str = "",
        server: str | None = None,
        boundary: Boundary = Boundary.TOOL,
    ) -> int:
        """Add a call of which nothing is known yet but who asked for it; returns its row."""
        row = len(self)
        add = self.strings.add
        known = NOWHERE if recorded_id is None else self.ids.add(recorded_id)
        at = NOWHERE if server is None else add(server)
        self.numbers.extend((add(tool), turn, index, known, add(agent), at, *_NOTHING))
        self.kinds += _UNPAIRED
        if boundary is not Boundary.TOOL:
            Call(self, row).boundary = boundary
        return row

    def add_all(  # noqa: PLR0913, PLR0917 - columns of what `add` takes, and of the steps that ask and answer
        self,
        tools: Sequence[int],
        turns: Sequence[int],
        indexes: Sequence[int],
        recorded_ids: Sequence[str],
        agent: str,
        steps: Sequence[int],
        answers: Sequence[int],
        outcomes: Sequence[Outcome],
        servers: Sequence[str] = (),
    ) -> range:
        """Add calls that steps ask for and, where they are not NOWHERE, steps answer with these outcomes, as a prompt
        shows it. The tools are numbers of `strings`, an id or a server that is "" is none; returns their rows.
        """
        first, count = len(self), len(tools)
        with_id = self.ids.add_all(list(filter(None, recorded_ids)))
        ids: Sequence[int] = with_id
        if len(with_id) < count:
            numbers_left = iter(with_id)
            ids = [next(numbers_left) if recorded_id else NOWHERE for recorded_id in recorded_ids]
        columns = {
            "tool": tools, "turn": turns, "index": indexes, "id": ids, "agent": [self.strings.add(agent)] * count,
            "step": steps, "requested": steps, "result_step": answers, "shown": answers,
        }  # fmt: skip
        if any(servers):
            columns["server"] = [self.strings.add(server) if server else NOWHERE for server in servers]
        numbers = array("i", [NOWHERE]) * (count * _WIDTH)
        for name, told in columns.items():
            numbers[_AT[name] :: _WIDTH] = array("i", told)
        self.numbers.extend(numbers)
        ends = zip(answers, outcomes, strict=True)
        self.kinds += b"".join([_UNPAIRED if answer < 0 else _ANSWERED[outcome] for answer, outcome in ends])
        return range(first, len(self))

    def run_all(
        self,
        rows: Sequence[int],
        executed: Sequence[int],
        answers: Sequence[int],
        servers: Sequence[int],
        times: Sequence[tuple[int, int]],
    ) -> None:
        """Note that these calls ran: the number of the record of each, the step that says what it returned, the server
        as a number of `strings` (NOWHERE: not told), and when it began and ended.
        """
        numbers, kinds = self.numbers, self.kinds
        self.times.extend(repeat(NOWHERE, _TIMES * (max(rows, default=NOWHERE) + 1) - len(self.times)))
        told = zip(rows, executed, answers, servers, times, strict=True)
        for row, record, answer, server, (start, end) in told:
            at, kind, time = row * _WIDTH, row * _DEPTH, row * _TIMES
            numbers[at + _EXECUTED], numbers[at + _RETURNED], numbers[at + _RESULT_STEP] = record, answer, answer
            if numbers[at + _SERVER] < 0:
                numbers[at + _SERVER] = server
            kinds[kind + _OUTCOME], kinds[kind + _ABSENCE], kinds[kind + _ENDED] = _RECORDED, 0, end >= 0
            self.times[time], self.times[time + 1] = start, end

    def all_beside(
        self,
        payloads: Sequence[Payload | None],
        places: Sequence[int],
        pointers: Sequence[str | Parted],
        steps: Sequence[int],
    ) -> range:
        """Keep records that are no steps, by what each `Witness` of them would have; returns their numbers."""
        first = _BESIDE - len(self._beside) // _BESIDE_WIDTH
        told = zip(payloads, places, strict=True)
        numbers = [NOWHERE if payload is None else self.payloads.add(payload, place) for payload, place in told]
        found = zip(numbers, places, self._trace.pointers.add_all(pointers), steps, strict=True)
        self._beside.extend(chain.from_iterable(found))
        return range(first, first - len(numbers), -1)

    def tool(self, row: int) -> str:
        """The tool of a call."""
        return self.strings[self.numbers[row * _WIDTH + _TOOL]]

    def turn(self, row: int) -> int:
        """The turn that asked for a call."""
        return self.numbers[row * _WIDTH + _TURN]

    def recorded_id(self, row: int) -> str | None:
        """The id of a call, or None."""
        number = self.numbers[row * _WIDTH + _ID]
        return None if number < 0 else self.ids[number]

    def column(self, name: str, rows: range | None = None) -> array[int]:
        """One number of every call, or of these: turn, step, result_step, or the tool as a number of `strings`."""
        return self.numbers[_among(rows, _AT[name], _WIDTH)]

    def each(self, name: str, rows: range | None = None) -> Iterator[Any]:
        """One of a few values of every call, or of these: boundary, outcome, absence, pairing, ended."""
        values = vars(Call)[name].values
        return map(values.__getitem__, self.kinds[_among(rows, _KINDS.index(name), _DEPTH)])

    def parts(self) -> Iterator[range]:
        """All calls in their order, not too many at a time: some hundred, or fewer where their payloads are long, so
        that what is decoded together is never much more than one call alone may need.
        """
        for first in range(0, len(self), _SIZED):
            rows = range(first, min(first + _SIZED, len(self)))
            held = list(accumulate(self._sizes(rows), initial=0))
            begin = 0
            while begin < len(rows):
                most = bisect_right(held, held[begin] + _HELD) - 1
                end = min(max(most, begin + 1), begin + _AT_ONCE)
                yield rows[begin:end]
                begin = end

    def _sizes(self, rows: range) -> Iterable[int]:
        """How many bytes the payloads of each of these calls have."""
        size = self._trace.payload.sizes
        halves = [self.column(half, rows) for half in ("requested", "executed", "returned", "shown")]
        sizes = [size(half) for half in halves]
        if self._beside:
            sizes += [list(map(self._size_beside, half)) for half in halves]
        return map(sum, zip(*sizes, strict=True))

    def _size_beside(self, number: int) -> int:
        return self.payloads.sizes(self._numbers_beside(number)[:1])[0] if number <= _BESIDE else 0

    def starts(self, rows: range) -> list[int]:
        """When each of these calls began, in nanoseconds since the epoch; -1 where that is not told."""
        known = self.times[_among(rows, 0, _TIMES)]
        return [*known, *repeat(NOWHERE, len(rows) - len(known))]

    def recorded_ids(self, rows: range) -> list[str | None]:
        """The ids of these calls."""
        numbers = self.column("id", rows)
        known = iter(self.ids.several([number for number in numbers if number >= 0]))
        return [next(known) if number >= 0 else None for number in numbers]

    def arguments(self, rows: range) -> list[bytes | None]:
        """The bytes of what reached the tools in these calls, as `Call.arguments` tells."""
        return self._first_texts(rows, _ARGUMENTS)

    def results(self, rows: range) -> list[bytes | None]:
        """The bytes of what a rerun of these calls would inject, as `Call.result` tells."""
        found = self._first_texts(rows, _AS_RETURNED)
        for at, cut in enumerate(self.each("returned_is_cut", rows)):
            if found[at] is None or cut:
                result = Call(self, rows[at]).result
                found[at] = None if result is None else bytes(result)
        return found

    def records(self, half: str, rows: range) -> list[bytes | None]:
        """The bytes of one record of each of these calls: requested, executed, returned or shown."""
        return self._texts(self.column(half, rows))

    def _first_texts(self, rows: range, halves: tuple[int, int]) -> list[bytes | None]:
        """For each call the bytes of the first of two records that has a payload."""
        first, second = (self.numbers[_among(rows, half, _WIDTH)] for half in halves)
        found = self._texts(first)
        missing = [at for at, text in enumerate(found) if text is None]
        for at, text in zip(missing, self._texts([second[at] for at in missing]), strict=True):
            found[at] = text
        return found

    def _texts(self, numbers: Sequence[int]) -> list[bytes | None]:
        """The bytes of these records: most are steps, and told together."""
        found = self._trace.payload.several(numbers)
        for at, number in enumerate(numbers):
            if number <= _BESIDE and (payload := self._numbers_beside(number)[0]) >= 0:
                found[at] = bytes(self.payloads[payload] or b"")
        return found

    def rare(self, name: str) -> dict[int, Any]:
        """By row, what few calls have."""
        return self._rare.setdefault(name, {})

    def witness(self, number: int) -> Witness | None:
        """The record of that number: a step, or one that is none."""
        if number >= 0:
            trace = self._trace
            return Witness(trace.payload[number], trace.place_of(number), trace.pointer_of(number), number)
        if number > _BESIDE:
            return None
        payload, place, pointer, step = self._numbers_beside(number)
        said = None if payload < 0 else self.payloads[payload]
        return Witness(said, place, self._trace.pointers[pointer], step)

    def beside(self, witness: Witness) -> int:
        """Keep a record that is no step; returns its number."""
        payload = NOWHERE if witness.payload is None else self.payloads.add(witness.payload, witness.place)
        number = _BESIDE - len(self._beside) // _BESIDE_WIDTH
        self._beside.extend((payload, witness.place, self._trace.pointers.add(witness.pointer), witness.step))
        return number

    def first_payload(self, row: int, halves: Iterable[int]) -> Payload | None:
        """The payload of the first of these records that has one."""
        for half in halves:
            number = self.numbers[row * _WIDTH + half]
            found = None
            if number >= 0:
                found = self._trace.payload[number]
            elif number <= _BESIDE and (payload := self._numbers_beside(number)[0]) >= 0:
                found = self.payloads[payload]
            if found is not None:
                return found
        return None

    def _numbers_beside(self, number: int) -> array[int]:
        begin = (_BESIDE - number) * _BESIDE_WIDTH
        return self._beside[begin : begin + _BESIDE_WIDTH]


def _among(rows: range | None, at: int, width: int) -> slice:
    """Where one of the values stands of all rows, or of these, that have so many each."""
    return slice(at, None, width) if rows is None else slice(rows.start * width + at, rows.stop * width, width)


_NOTHING = (NOWHERE,) * (_WIDTH - _AT["step"])
