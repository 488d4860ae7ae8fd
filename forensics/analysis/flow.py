"""Where did a value come from, and where did it go? One pass over the steps, near linear in the bytes of the payloads.

A value is minted by a result when no earlier text of the trace holds it (the first-seen rule); every later text that
holds it is a use. Texts are read as runs (forensics.analysis.runs); a value with other characters is found by its
longest run and then compared whole. Short values and pure numbers in running text count only when a later argument
holds them (PERFORMANCE section 4: the rules that decide precision).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

import msgspec

from forensics.analysis.minted import Minted
from forensics.analysis.runs import SMALL_TRACE, Runs, all_runs, anchor_of, digit_runs, plain_bytes
from forensics.core.classes import Effect
from forensics.core.handles import REFERENCE, Handle, Use
from forensics.core.jsonvalue import value_of
from forensics.core.leaves import Leaf, leaves_of, pointer_of
from forensics.core.times import from_text
from forensics.core.trace import NOWHERE, StepKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.analysis.minted import Naming
    from forensics.core.classes import Classes
    from forensics.core.trace import Call, Payload, Trace
    from forensics.rules.engine import RuleSet

_PERCENT = re.compile(rb"%[0-9A-Fa-f]{2}")
_DIGIT = re.compile("[0-9]")
_DIGIT_BYTE = re.compile(b"[0-9]")
_SPACE = re.compile(r"\s")
_SHORT_NUMBER = 4
_SHORTEST_RUN = 2
_LONGEST_RUN = 200
_LONGEST_VALUE = 4096
_NEW_BY_SHAPE = frozenset({"uuid", "ulid", "cursor", "token", "url", "presigned-url", "jwt"})
_CLOCK = "timestamp"
_WINDOW = 5 * 10**9
_CALL = int(StepKind.TOOL_CALL)
_RESULT = int(StepKind.TOOL_RESULT)
_MODEL = int(StepKind.MODEL)
_OTHER = int(StepKind.OTHER)
_ROLES = {_CALL: "argument", _MODEL: "model_output"}


class Origin(msgspec.Struct, frozen=True, gc=False):
    """The result that a value stands in: its call and its step."""

    call: int
    step: int


class Pending(msgspec.Struct, frozen=True, gc=False):
    """A short value in a result that counts only when a later argument holds it."""

    value: str
    origin: Origin
    pointer: str


class Flow(msgspec.Struct, frozen=True):
    """The handles and references of a trace in order of minting, and the agent's own values that came back: value,
    step that made it, step where it came back.
    """

    handles: tuple[Handle, ...]
    own_values: tuple[tuple[str, int, int], ...]


def flow(trace: Trace, classified: Classes, rules: RuleSet) -> Flow:
    """Follow every value that a result brought into the trace."""
    return _Flow(trace, classified, rules).run()


class _Text:
    """One payload while it is read: as bytes without escapes and, when first asked, as a value and as its leaves."""

    def __init__(self, row: int, kind: int, payload: Payload) -> None:
        self.row = row
        self.kind = kind
        self.plain = plain_bytes(payload)
        self._payload = payload
        self._leaves: list[Leaf] | None = None

    @property
    def leaves(self) -> list[Leaf]:
        if self._leaves is None:
            self._leaves = leaves_of(value_of(self._payload))
        return self._leaves


class _Flow:
    def __init__(self, trace: Trace, classified: Classes, rules: RuleSet) -> None:
        self.trace = trace
        self.effects = list(classified.each(lambda kind: kind.effect))
        self.rules = rules
        self.small = len(trace) <= SMALL_TRACE
        self.runs_of = all_runs if self.small else digit_runs
        self.seen: set[bytes] = set()
        self.handles: list[Handle] = []
        self.minted = Minted()
        self.pending: dict[bytes, Pending] = {}
        self.own: dict[bytes, int] = {}
        self.own_back: list[tuple[str, int, int]] = []
        self.model_rows = trace.rows(StepKind.MODEL)
        self.final = _final_answers(trace)

    def run(self) -> Flow:
        trace = self.trace
        for facts in trace.facts.values():
            self.seen.update(all_runs(msgspec.json.encode(facts)))
        for row, (kind, payload) in enumerate(zip(trace.kind, trace.payload, strict=True)):
            if payload is None:
                continue
            text = _Text(row, kind, payload)
            runs = self.runs_of(text.plain)
            if not runs:
                continue
            self._uses(text, runs)
            if kind == _RESULT and trace.call[row] >= 0:
                self._mint(text, trace.call[row], runs)
            elif kind == _CALL and trace.calls[trace.call[row]].added:
                self._own_values(row, trace.calls[trace.call[row]])
            self.seen.update(runs)
        self.handles.sort(key=lambda h: h.step)
        return Flow(tuple(self.handles), tuple(self.own_back))

    # minting -----------------------------------------------------------------------------------------------------

    def _mint(self, text: _Text, call: int, runs: Runs) -> None:
        """What a result brings: the scalars of a structured one first, then the runs of its texts."""
        origin = Origin(call, text.row)
        taken: set[bytes] = set()
        for leaf in text.leaves:
            if leaf[0] is not None:
                self._member(origin, leaf, taken)
        for run in dict.fromkeys(runs):
            token = run.strip(b"-_") if run[0] in b"-_" or run[-1] in b"-_" else run
            if token not in self.seen and token not in taken and not self.minted.has(token):
                self._loose(origin, token)

    def _member(self, origin: Origin, leaf: Leaf, taken: set[bytes]) -> None:
        """A scalar of a structured result that may be a value of its own: what a key names, or opaque text."""
        _, _, key, item = leaf
        if isinstance(item, int):
            if key is not None:
                self._number_member(origin, leaf, taken)
        elif 0 < len(item) <= _LONGEST_VALUE and not _SPACE.search(item):
            digit = _DIGIT.search(item) is not None
            if digit or (self.small and key is not None and self.rules.is_id_key(key)):
                self._text_member(origin, leaf, taken, digit=digit)

    def _text_member(self, origin: Origin, leaf: Leaf, taken: set[bytes], *, digit: bool) -> None:
        above, token, key, item = leaf
        value = str(item)
        anchor = anchor_of(value)
        if anchor is None or anchor in self.seen or self.minted.knows(encoded(value), anchor):
            return
        taken.add(anchor)
        kind = self.rules.handle_kind(value, key)
        if kind is not None:
            self._add(value, kind, origin, pointer_of(above, token), anchor)
        elif digit:
            self.pending.setdefault(anchor, Pending(value, origin, pointer_of(above, token)))

    def _number_member(self, origin: Origin, leaf: Leaf, taken: set[bytes]) -> None:
        """A number counts only when its key names an id."""
        above, token, key, item = leaf
        value = str(item)
        anchor = value.lstrip("-").encode()
        taken.add(anchor)
        if key is not None and self.rules.is_id_key(key) and anchor not in self.seen and not self.minted.has(anchor):
            self._add(value, "number", origin, pointer_of(above, token), anchor)

    def _loose(self, origin: Origin, token: bytes) -> None:
        """A run of running text."""
        if not _SHORTEST_RUN <= len(token) <= _LONGEST_RUN or not _DIGIT_BYTE.search(token):
            return
        value = token.decode("ascii")
        kind = None if value.isdigit() else self.rules.handle_kind(value, None)
        if kind is not None and kind not in ("number", _CLOCK):
            self._add(value, kind, origin, "", token)
        else:
            self.pending.setdefault(token, Pending(value, origin, ""))

    def _add(self, value: str, kind: str, origin: Origin, pointer: str, anchor: bytes) -> None:
        effect = self.effects[origin.call]
        if effect is Effect.NONE and not self._new_by_shape(kind, value, origin.call):
            if kind == _CLOCK:
                return
            kind = REFERENCE
        self.minted.add(len(self.handles), encoded(value), anchor)
        self.handles.append(Handle(value, kind, origin.call, origin.step, pointer, self._branch(origin.step)))

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

    def _uses(self, text: _Text, runs: Runs) -> None:
        found: dict[int, str] = {}
        is_call = text.kind == _CALL
        for run in runs:
            if self.minted.names(run):
                _note(found, self.minted.named(run, text.plain))
            elif b"-" in run or b"_" in run:
                _note(found, self.minted.embedded(run))
            if is_call and run in self.pending:
                self._promote(text, run, found)
            if self.own and run in self.own:
                self._came_back(text.row, run)
        if is_call and self.minted and _PERCENT.search(text.plain):
            self._encoded(text, found)
        for index, written in found.items():
            self._use(text, self.handles[index], written)

    def _promote(self, text: _Text, run: bytes, found: dict[int, str]) -> None:
        """A short value that an argument holds after all: it came from that result."""
        waiting = self.pending.pop(run)
        if waiting.value.isdigit() and not any(str(leaf[-1]) == waiting.value for leaf in text.leaves):
            return
        kind = self.rules.handle_kind(waiting.value, None) or ("number" if waiting.value.isdigit() else "id")
        before = len(self.handles)
        self._add(waiting.value, kind, waiting.origin, waiting.pointer, run)
        if len(self.handles) > before:
            found[before] = "verbatim"

    def _encoded(self, text: _Text, found: dict[int, str]) -> None:
        """Values that an argument holds percent-encoded (RFC 3986)."""
        plain = unquote_to_bytes(text.plain)
        for run in all_runs(plain):
            if self.minted.names(run):
                _note(found, ((index, "url") for index, _ in self.minted.named(run, plain)))

    def _use(self, text: _Text, handle: Handle, written: str) -> None:
        if text.row <= handle.step:
            return
        pointer = None
        if text.kind in (_CALL, _RESULT):
            pointer, other_type = _pointer(text.leaves, handle)
            written = "number" if other_type and written == "verbatim" else written
        if pointer is None and handle.value.isdigit() and len(handle.value) < _SHORT_NUMBER:
            return
        handle.uses.append(Use(text.row, self._role(text), written, pointer, text.kind == _RESULT))

    def _role(self, text: _Text) -> str:
        return "final_answer" if text.row in self.final else _ROLES.get(text.kind, "prompt")

    # values of the agent's own making ----------------------------------------------------------------------------

    def _own_values(self, row: int, call: Call) -> None:
        """Arguments that the harness added: values of its own, which matter when they come back."""
        executed = None if call.executed is None or call.executed.payload is None else value_of(call.executed.payload)
        if not isinstance(executed, dict):
            return
        for added in call.added:
            for _, _, key, item in leaves_of(executed.get(added)):
                anchor = anchor_of(str(item))
                if anchor and anchor not in self.seen and self.rules.handle_kind(str(item), key or added):
                    self.own.setdefault(anchor, row)

    def _came_back(self, row: int, run: bytes) -> None:
        made = self.own.pop(run)
        if made < row:
            self.own_back.append((run.decode("ascii"), made, row))


def _note(found: dict[int, str], named: Iterable[Naming]) -> None:
    for index, written in named:
        found.setdefault(index, written)


def encoded(value: str) -> bytes:
    """A value as the bytes that a payload would hold."""
    return value.encode("utf-8", "surrogatepass")


def _pointer(leaves: list[Leaf], handle: Handle) -> tuple[str | None, bool]:
    """Where among the leaves of a payload a value stands, and whether it changed between text and number on the way."""
    wanted = handle.value
    holding = None
    for leaf in leaves:
        item = leaf[3]
        if item == wanted or (type(item) is int and str(item) == wanted):
            return pointer_of(leaf[0], leaf[1]), isinstance(item, int) is not (handle.kind == "number")
        if holding is None and isinstance(item, str) and wanted in item:
            holding = leaf
    return None if holding is None else pointer_of(holding[0], holding[1]), False


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
        if kind == _MODEL:
            last[trace.agent[row]] = row
        elif kind == _OTHER and trace.strings[trace.name[row]] == "final output":
            rows.add(row)
    rows.update(row for row in last.values() if trace.turn[row] not in asking)
    return frozenset(rows)
