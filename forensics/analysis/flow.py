"""Where did a value come from, and where did it go? One pass over the steps, near linear in the bytes of the payloads.

A value is minted by a result when no earlier text of the trace holds it (the first-seen rule); every later text that
holds it is a use. Texts are read as runs (forensics.analysis.runs); a value with other characters is found by its
longest run and then compared whole. Short values and pure numbers in running text count only when a later argument
holds them (PERFORMANCE section 4: the rules that decide precision).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

import msgspec

from forensics.analysis.runs import SMALL_TRACE, Runs, all_runs, anchor_of, plain_bytes, runs_by_row
from forensics.analysis.survey import escape, leaves_of
from forensics.core.classes import Effect
from forensics.core.handles import REFERENCE, Handle, Use
from forensics.core.jsonvalue import decode, unfold, value_of
from forensics.core.times import from_text
from forensics.core.trace import NOWHERE, StepKind

if TYPE_CHECKING:
    from forensics.core.classes import Classification
    from forensics.core.trace import Call, Payload, Trace
    from forensics.rules.engine import RuleSet

_PERCENT = re.compile(rb"%[0-9A-Fa-f]{2}")
_DIGIT = re.compile("[0-9]")
_SPACE = re.compile(r"\s")
_SHORT_NUMBER = 4
_LONGEST_RUN = 200
_LONGEST_VALUE = 4096
_NEW_BY_SHAPE = frozenset({"uuid", "ulid", "cursor", "token", "url", "presigned-url", "jwt"})
_CLOCK = "timestamp"
_WINDOW = 5 * 10**9
_ROLES = {StepKind.TOOL_CALL: "argument", StepKind.MODEL: "model_output"}
_CALL = int(StepKind.TOOL_CALL)
_RESULT = int(StepKind.TOOL_RESULT)


class Pending(msgspec.Struct, frozen=True, gc=False):
    """A short value in a result that counts only when a later argument holds it."""

    value: str
    call: int
    step: int
    pointer: str


class Flow(msgspec.Struct, frozen=True):
    """The handles and references of a trace in order of minting, and the agent's own values that came back: value,
    step that made it, step where it came back."""

    handles: tuple[Handle, ...]
    own_values: tuple[tuple[str, int, int], ...]


def flow(trace: Trace, classified: tuple[Classification, ...], rules: RuleSet) -> Flow:
    """Follow every value that a result brought into the trace."""
    return _Flow(trace, classified, rules).run()


class _Flow:
    def __init__(self, trace: Trace, classified: tuple[Classification, ...], rules: RuleSet) -> None:
        self.trace = trace
        self.classified = classified
        self.rules = rules
        self.small = len(trace) <= SMALL_TRACE
        self.seen: set[bytes] = set()
        self.handles: list[Handle] = []
        self.minted: dict[bytes, list[int]] = {}
        self.pending: dict[bytes, Pending] = {}
        self.own: dict[bytes, int] = {}
        self.own_back: list[tuple[str, int, int]] = []
        self.model_rows = trace.rows(StepKind.MODEL)
        self.final = _final_answers(trace)

    def run(self) -> Flow:
        trace = self.trace
        for facts in trace.facts.values():
            self.seen.update(all_runs(msgspec.json.encode(facts)))
        for row, runs in runs_by_row(trace):
            if self.minted or self.pending or self.own:
                self._uses(row, runs)
            if trace.kind[row] == _RESULT and trace.call[row] >= 0:
                self._mint(row, trace.call[row], runs)
            elif trace.kind[row] == _CALL and trace.calls[trace.call[row]].added:
                self._own_values(row, trace.calls[trace.call[row]])
            self.seen.update(runs)
        self.handles.sort(key=lambda h: h.step)
        return Flow(tuple(self.handles), tuple(self.own_back))

    # minting -----------------------------------------------------------------------------------------------------

    def _mint(self, row: int, call: int, runs: Runs) -> None:
        payload = self.trace.payload[row]
        value = None if payload is None else value_of(payload)
        taken: set[bytes] = set()
        if isinstance(value, (dict, list)):
            self._members(row, call, value, taken)
        for run in dict.fromkeys(runs):
            token = run.strip(b"-_") if run[0] in b"-_" or run[-1] in b"-_" else run
            if token not in self.seen and token not in self.minted and token not in taken:
                self._loose(row, call, token)

    def _members(self, row: int, call: int, value: Any, taken: set[bytes]) -> None:
        """The scalars of a structured result that may be values of its own: what a key names, or opaque text."""
        todo: list[tuple[str, str | None, Any]] = [("", None, value)]
        while todo:
            pointer, key, item = todo.pop()
            if isinstance(item, dict):
                todo.extend((f"{pointer}/{escape(k)}", k, v) for k, v in reversed(item.items()))
            elif isinstance(item, list):
                todo.extend((f"{pointer}/{i}", key, item[i]) for i in range(len(item) - 1, -1, -1))
            elif isinstance(item, str):
                if 0 < len(item) <= _LONGEST_VALUE and not _SPACE.search(item):
                    self._text_member(row, call, pointer, key, item, taken)
            elif isinstance(item, int) and key is not None and not isinstance(item, bool):
                self._number_member(row, call, pointer, key, item, taken)

    def _text_member(self, row: int, call: int, pointer: str, key: str | None, value: str, taken: set[bytes]) -> None:
        digit = _DIGIT.search(value) is not None
        if not digit and (key is None or not self.rules.is_id_key(key)):
            return
        anchor = anchor_of(value)
        if anchor is None or anchor in self.seen or self._is_minted(anchor, value):
            return
        taken.add(anchor)
        kind = self.rules.handle_kind(value, key)
        if kind is not None and (self.small or digit):
            self._add(value, kind, row, call, pointer, anchor)
        elif digit:
            self.pending.setdefault(anchor, Pending(value, call, row, pointer))

    def _number_member(self, row: int, call: int, pointer: str, key: str, number: int, taken: set[bytes]) -> None:
        """A number counts only when its key names an id."""
        anchor = str(abs(number)).encode()
        taken.add(anchor)
        if self.rules.is_id_key(key) and anchor not in self.seen and anchor not in self.minted:
            self._add(str(number), "number", row, call, pointer, anchor)

    def _loose(self, row: int, call: int, token: bytes) -> None:
        """A run of running text."""
        if not 2 <= len(token) <= _LONGEST_RUN or not any(48 <= b <= 57 for b in token):
            return
        value = token.decode("ascii")
        kind = None if value.isdigit() else self.rules.handle_kind(value, None)
        if kind is not None and kind not in ("number", _CLOCK):
            self._add(value, kind, row, call, "", token)
        else:
            self.pending.setdefault(token, Pending(value, call, row, ""))

    def _is_minted(self, anchor: bytes, value: str) -> bool:
        rows = self.minted.get(anchor)
        return rows is not None and any(self.handles[i].value == value for i in rows)

    def _add(self, value: str, kind: str, row: int, call: int, pointer: str, anchor: bytes) -> None:
        effect = self.classified[call].effect
        if effect is Effect.NONE and not self._new_by_shape(kind, value, call):
            if kind == _CLOCK:
                return
            kind = REFERENCE
        index = len(self.handles)
        self.minted.setdefault(anchor, []).append(index)
        lowered = anchor.lower()
        if lowered != anchor:
            self.minted.setdefault(lowered, []).append(index)
        self.handles.append(Handle(value, kind, call, row, pointer, self._branch(row)))

    def _new_by_shape(self, kind: str, value: str, call: int) -> bool:
        """Whether the shape alone says that even a read made the value: random ids, cursors, tokens, its own clock."""
        if kind == _CLOCK:
            return _within(value, self.trace.calls[call])
        return kind in _NEW_BY_SHAPE

    def _branch(self, row: int) -> list[Use]:
        """The first model turn after a value was minted was shown it: what it did next may rest on it."""
        after = bisect_right(self.model_rows, row)
        return [Use(self.model_rows[after], "branch", "verbatim")] if after < len(self.model_rows) else []

    # uses --------------------------------------------------------------------------------------------------------

    def _uses(self, row: int, runs: Runs) -> None:
        found: dict[int, str] = {}
        minted, pending, own = self.minted, self.pending, self.own
        is_call = self.trace.kind[row] == _CALL
        for run in runs:
            if run in minted:
                self._hit(row, run, found)
            elif not run.islower() and run.lower() in minted:
                self._hit(row, run.lower(), found, "case")
            elif b"-" in run or b"_" in run:
                self._embedded(run, found)
            if is_call and run in pending:
                self._promote(row, run, found)
            if own and run in own:
                self._came_back(row, run)
        if is_call:
            self._encoded(row, found)
        for index, written in found.items():
            self._use(row, index, written)

    def _hit(self, row: int, run: bytes, found: dict[int, str], written: str | None = None) -> None:
        for index in self.minted[run]:
            how = self._written(index, run, row)
            if how is not None:
                found.setdefault(index, written or how)

    def _written(self, index: int, run: bytes, row: int) -> str | None:
        """How a value whose anchor was found stands in the text, or None where the whole value doesn't."""
        value = self.handles[index].value.encode("utf-8", "surrogatepass")
        if value == run:
            return "verbatim"
        if len(value) == len(run):
            return "case"
        payload = self.trace.payload[row]
        data = b"" if payload is None else plain_bytes(payload)
        if value in data:
            return "verbatim"
        return "case" if value.lower() in data.lower() else None

    def _embedded(self, run: bytes, found: dict[int, str]) -> None:
        """A value at the start or the end of a longer run (`page-pg_8812`, `pg_8812-copy`)."""
        for cut, byte in enumerate(run):
            if byte not in b"-_":
                continue
            for piece in (run[:cut], run[cut + 1 :]):
                for index in self.minted.get(piece, ()):
                    if len(piece) >= _SHORT_NUMBER and self.handles[index].value.encode() == piece:
                        found.setdefault(index, "embedded")

    def _promote(self, row: int, run: bytes, found: dict[int, str]) -> None:
        """A short value that an argument holds after all: it came from that result."""
        waiting = self.pending.pop(run)
        payload = self.trace.payload[row]
        if payload is None or (waiting.value.isdigit() and not _holds_leaf(payload, waiting.value)):
            return
        kind = self.rules.handle_kind(waiting.value, None) or ("number" if waiting.value.isdigit() else "id")
        before = len(self.handles)
        self._add(waiting.value, kind, waiting.step, waiting.call, waiting.pointer, run)
        if len(self.handles) > before:
            found[before] = "verbatim"

    def _encoded(self, row: int, found: dict[int, str]) -> None:
        """Values that an argument holds percent-encoded (RFC 3986)."""
        payload = self.trace.payload[row]
        if payload is None or not _PERCENT.search(memoryview(payload)):
            return
        for run in all_runs(unquote_to_bytes(plain_bytes(payload))):
            for index in self.minted.get(run, ()):
                found.setdefault(index, "url")

    def _use(self, row: int, index: int, written: str) -> None:
        handle, kind, payload = self.handles[index], self.trace.kind[row], self.trace.payload[row]
        if row <= handle.step or payload is None:
            return
        short = handle.value.isdigit() and len(handle.value) < _SHORT_NUMBER
        pointer = None
        if kind in (_CALL, _RESULT):
            pointer, other_type = _pointer(payload, handle)
            written = "number" if other_type and written == "verbatim" else written
        if short and pointer is None:
            return
        handle.uses.append(Use(row, self._role(row, kind), written, pointer, kind == _RESULT))

    def _role(self, row: int, kind: int) -> str:
        if row in self.final:
            return "final_answer"
        return _ROLES.get(StepKind(kind), "prompt")

    # values of the agent's own making ----------------------------------------------------------------------------

    def _own_values(self, row: int, call: Call) -> None:
        """Arguments that the harness added: values of its own, which matter when they come back."""
        executed = None if call.executed is None or call.executed.payload is None else value_of(call.executed.payload)
        if not isinstance(executed, dict):
            return
        for key in call.added:
            for leaf in leaves_of(executed.get(key)):
                anchor = anchor_of(str(leaf.value))
                if anchor and anchor not in self.seen and self.rules.handle_kind(str(leaf.value), leaf.key or key):
                    self.own.setdefault(anchor, row)

    def _came_back(self, row: int, run: bytes) -> None:
        made = self.own.pop(run)
        if made < row:
            self.own_back.append((run.decode("ascii"), made, row))


def _holds_leaf(payload: Payload, value: str) -> bool:
    return any(str(leaf.value) == value for leaf in leaves_of(value_of(payload)))


def _pointer(payload: Payload, handle: Handle) -> tuple[str | None, bool]:
    """Where in a JSON payload a value stands, and whether it changed between text and number on the way."""
    holding = None
    for leaf in leaves_of(unfold(decode(payload).value)):
        if str(leaf.value) == handle.value:
            return leaf.pointer, isinstance(leaf.value, int) is not (handle.kind == "number")
        if holding is None and isinstance(leaf.value, str) and handle.value in leaf.value:
            holding = leaf.pointer
    return holding, False


def _within(value: str, call: Call) -> bool:
    """Whether a timestamp lies in the call's own time."""
    moment = from_text(value)
    if NOWHERE in (moment, call.start, call.end):
        return False
    return call.start - _WINDOW <= moment <= call.end + _WINDOW


def _final_answers(trace: Trace) -> frozenset[int]:
    """The rows that hold a final answer: the last turn of each agent when it asks for no call, and a recorded output."""
    asking = {call.turn for call in trace.calls}
    last: dict[int, int] = {}
    rows = set()
    for row, kind in enumerate(trace.kind):
        if kind == StepKind.MODEL:
            last[trace.agent[row]] = row
        elif kind == StepKind.OTHER and trace.strings[trace.name[row]] == "final output":
            rows.add(row)
    rows.update(row for row in last.values() if trace.turn[row] not in asking)
    return frozenset(rows)
