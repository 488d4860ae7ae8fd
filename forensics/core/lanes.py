"""What has one agent's conversation seen so far? Lanes: the calls that wait, the messages that were shown."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import msgspec

from forensics.core.pairing import OpenCalls
from forensics.core.trace import NOWHERE, Boundary, Payload

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from forensics.core.trace import Calls


class Spot(msgspec.Struct, frozen=True, gc=False):
    """Where an event stands: a place of the evidence, a JSON Pointer inside it, and when (ns since the epoch; -1: not
    known).
    """

    place: int
    pointer: str = ""
    at: int = NOWHERE

    def down(self, pointer: str) -> Spot:
        """The spot further down, by a JSON Pointer seen from this one."""
        return Spot(self.place, self.pointer + pointer, self.at)


class Execution(msgspec.Struct, frozen=True):
    """What a tool span says: a tool ran, with these arguments, and ended so. Payloads are None where not captured.

    `status` is ok, error, denied, pending (paused), unsettled (it may have taken effect), redacted (what it returned)
    or "" (not said). `answer` is where the result stands, where that is not `spot`; `disputes` are sentences about what
    the records of this one execution say against each other.
    """

    tool: str
    spot: Spot
    recorded_id: str | None = None
    arguments: Payload | None = None
    result: Payload | None = None
    error: Payload | None = None
    status: str = ""
    ended: bool = True
    start: int = NOWHERE
    end: int = NOWHERE
    boundary: Boundary = Boundary.TOOL
    server: str | None = None
    disposition: str | None = None
    tainted: str | None = None
    answer: Spot | None = None
    disputes: tuple[str, ...] = ()


class Known(msgspec.Struct, frozen=True, gc=False):
    """A message that a lane's model has been shown or has said: its content key, the turn that said it, and the ids of
    the calls that it answers.
    """

    key: bytes
    turn: int = NOWHERE
    answers: frozenset[str] = frozenset()


class RowsBy:
    """Calls by a key. They are sorted by it when first asked for: most traces never ask, and an index of lists costs
    more than all else that is known of a call.
    """

    def __init__(self, key_of: Callable[[int], Hashable]) -> None:
        self._key_of = key_of
        self._rows = array("i")
        self._index: dict[Hashable, list[int]] | None = None

    def add(self, row: int) -> None:
        """Note a call under its own key, which must be the same until it is asked for."""
        if self._index is None:
            self._rows.append(row)
        else:
            self._index.setdefault(self._key_of(row), []).append(row)

    def add_all(self, rows: Iterable[int]) -> None:
        """Note calls, each under its own key."""
        if self._index is None:
            self._rows.extend(rows)
        else:
            for row in rows:
                self.add(row)

    def put(self, key: Hashable, row: int) -> None:
        """Note a call under a key that is not its own."""
        self._sorted().setdefault(key, []).append(row)

    def get(self, key: Hashable, default: list[int] | tuple[int, ...] = ()) -> list[int] | tuple[int, ...]:
        """The calls under a key, in the order in which they were noted."""
        return self._sorted().get(key, default)

    def __getitem__(self, key: Hashable) -> list[int]:
        return self._sorted()[key]

    def _sorted(self) -> dict[Hashable, list[int]]:
        if self._index is None:
            self._index = {}
            for row in self._rows:
                self._index.setdefault(self._key_of(row), []).append(row)
            self._rows = array("i")
        return self._index


class Lane:
    """One conversation inside a trace: the calls of one agent and the messages that its model was shown. `whole` says
    that every prompt repeats all of it and that every turn and execution has a record of its own.
    """

    def __init__(self, calls: Calls, agent: str) -> None:
        self.agent = agent
        self.history: list[Known] = []
        self.fed = False
        self.compacted = False
        self.whole = False
        self.turns = array("i")
        self.silent: int = NOWHERE
        self.calls = RowsBy(calls.recorded_id)
        self.unshown = OpenCalls(calls)
        self.unasked: list[int] = []
        self._all_calls = calls
        self._asked = array("i")
        self._unexecuted: OpenCalls | None = None

    def ask(self, call: int) -> None:
        """Note a call that the model asked for: it waits for its execution and for its result in a prompt."""
        self.unshown.add(call)
        if self._unexecuted is None:
            self._asked.append(call)
        else:
            self._unexecuted.add(call)

    def ask_all(self, calls: Sequence[int], waiting: Sequence[int]) -> None:
        """Note calls that the model asked for, of which only some still wait for their result in a prompt."""
        self.unshown.add_all(waiting)
        if self._unexecuted is None:
            self._asked.extend(calls)
        else:
            self._unexecuted.add_all(calls)

    def ask_and_run(self, calls: Sequence[int], waiting: Sequence[int]) -> None:
        """Note calls that the model asked for, of which only some still wait for their execution."""
        self.unshown.add_all(calls)
        self.unexecuted.add_all(waiting)

    @property
    def unexecuted(self) -> OpenCalls:
        """The calls that wait for their execution; most formats record none, so they are only sorted when asked for."""
        if self._unexecuted is None:
            self._unexecuted = OpenCalls(self._all_calls)
            for call in self._asked:
                self._unexecuted.add(call)
        return self._unexecuted


class Seen:
    """The messages that a lane has been shown, taken one by one as a later prompt repeats them."""

    def __init__(self, history: list[Known]) -> None:
        self._by_key: dict[bytes, list[Known]] = {}
        for entry in reversed(history):
            self._by_key.setdefault(entry.key, []).append(entry)

    def take(self, key: bytes) -> Known | None:
        """The earliest message with that content that was not taken yet."""
        held = self._by_key.get(key)
        if not held:
            return None
        entry = held.pop()
        if not held:
            del self._by_key[key]
        return entry

    def forget_turn(self, turn: int) -> None:
        """A later prompt tells this turn in other words: it was not left out."""
        self._forget(lambda entry: entry.turn == turn >= 0)

    def forget_answers(self, ids: frozenset[str]) -> None:
        """A later prompt answers these calls in other words: their answers were not left out."""
        if ids:
            self._forget(lambda entry: bool(entry.answers & ids))

    def _forget(self, told_again: Callable[[Known], bool]) -> None:
        for key, held in list(self._by_key.items()):
            kept = [entry for entry in held if not told_again(entry)]
            if kept:
                self._by_key[key] = kept
            else:
                del self._by_key[key]

    @property
    def left(self) -> list[Known]:
        """The messages that the later prompt did not repeat."""
        return [entry for held in self._by_key.values() for entry in held]
