"""Where did a value come from, and where did it go? One pass over the steps, near linear in the bytes of the payloads.

A value is minted by a result when no earlier text of the trace holds it (the first-seen rule); every later text that
holds it is a use. Texts are read as runs of letters, digits, `-` and `_`; a value with other characters is found by its
longest run and then compared whole. Short and pure-digit values in running text count only when a later argument
holds them (PERFORMANCE section 4: the rules that decide precision).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

import msgspec

from forensics.analysis.survey import CallStudy, Leaf, leaves_of
from forensics.core.classes import Effect
from forensics.core.handles import REFERENCE, Handle, Use
from forensics.core.jsonvalue import decode, text_of, unfold, value_of
from forensics.core.times import from_text
from forensics.core.trace import NOWHERE, StepKind

if TYPE_CHECKING:
    from forensics.core.trace import Call, Payload, Trace
    from forensics.rules.engine import RuleSet

_RUN = re.compile(rb"[0-9A-Za-z_-]+")
_DIGIT_RUN = re.compile(rb"[0-9][0-9A-Za-z_-]*")
_ESCAPES = re.compile(rb"\\+(?:u[0-9A-Fa-f]{4}|[^u])?")
_PARTS = re.compile(rb"[_-]")
_WORD = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-")
_PERCENT = re.compile(rb"%[0-9A-Fa-f]{2}")

SMALL_TRACE = 1_000
"""Steps up to which every run is looked at; beyond it only runs with a digit (and long mixed-case ones) are."""
_SHORT_NUMBER = 4
_TOKEN_LIMIT = 200
_NEW_BY_SHAPE = frozenset({"uuid", "ulid", "cursor", "token", "url", "presigned-url", "jwt"})
_CLOCK = "timestamp"
_WINDOW = 5 * 10**9

_ROLES = {
    StepKind.TOOL_CALL: "argument",
    StepKind.MODEL: "model_output",
}


class Pending(msgspec.Struct, frozen=True, gc=False):
    """A short value in a result that counts only when a later argument holds it."""

    value: str
    call: int
    step: int
    pointer: str


class Flow(msgspec.Struct, frozen=True):
    """The handles and references of a trace in order of minting, and the agent's own values that came back."""

    handles: tuple[Handle, ...]
    own_values: tuple[tuple[str, int, int], ...]


def flow(trace: Trace, studies: tuple[CallStudy, ...], rules: RuleSet) -> Flow:
    """Follow every value that a result brought into the trace."""
    return _Flow(trace, studies, rules).run()


class _Flow:
    def __init__(self, trace: Trace, studies: tuple[CallStudy, ...], rules: RuleSet) -> None:
        self.trace = trace
        self.studies = studies
        self.rules = rules
        self.small = len(trace) <= SMALL_TRACE
        self.seen: set[bytes] = set()
        self.handles: list[Handle] = []
        self.minted: dict[bytes, list[int]] = {}
        self.pending: dict[bytes, Pending] = {}
        self.own: dict[bytes, int] = {}
        self.own_back: list[tuple[str, int, int]] = []
        self.kinds: dict[tuple[str, str | None], str | None] = {}
        self.model_rows = trace.rows(StepKind.MODEL)
        self.final = _final_answers(trace)

    def run(self) -> Flow:
        trace = self.trace
        for facts in trace.facts.values():
            self.seen.update(self._tokens(msgspec.json.encode(facts)))
        for row in range(len(trace)):
            payload = trace.payload[row]
            kind = trace.kind[row]
            if payload is not None:
                self._text(row, kind, payload)
            if kind == StepKind.TOOL_CALL:
                self._executed(row, trace.calls[trace.call[row]])
        return Flow(tuple(self.handles), tuple(self.own_back))

    # texts -------------------------------------------------------------------------------------------------------

    def _text(self, row: int, kind: int, payload: Payload) -> None:
        data = plain_bytes(payload)
        tokens = self._tokens(data)
        if self.minted or self.pending or self.own:
            self._uses(row, kind, payload, data, tokens)
        if kind == StepKind.TOOL_RESULT and self.trace.call[row] >= 0:
            self._mint(row, self.trace.call[row], data, tokens)
        self.seen.update(tokens)

    def _tokens(self, data: bytes) -> list[bytes]:
        """The runs of a text that are looked at."""
        if self.small:
            return _RUN.findall(data)
        return digit_runs(data)

    # minting -----------------------------------------------------------------------------------------------------

    def _mint(self, row: int, call: int, data: bytes, tokens: list[bytes]) -> None:
        leaves = self.studies[call].leaves
        if leaves is not None:
            for leaf in leaves:
                self._leaf(row, call, leaf)
        else:
            for token in dict.fromkeys(tokens):
                self._loose(row, call, token)

    def _leaf(self, row: int, call: int, leaf: Leaf) -> None:
        """A scalar of a structured result."""
        value = str(leaf.value)
        if not value or len(value) > 4096 or (isinstance(leaf.value, int) and not self._names_an_id(leaf.key)):
            return
        anchor = anchor_of(value)
        if anchor is None or anchor in self.seen or anchor in self.minted and self._same(anchor, value):
            return
        kind = self._kind(value, leaf.key)
        if kind is not None and (self.small or anchor_is_found(anchor)):
            self._add(value, kind, row, call, leaf.pointer, anchor)
        elif isinstance(leaf.value, str) and " " in value:
            for token in dict.fromkeys(self._tokens(value.encode("utf-8", "surrogatepass"))):
                self._loose(row, call, token, leaf.pointer)
        elif isinstance(leaf.value, str) and any(c.isdigit() for c in value):
            self.pending.setdefault(anchor, Pending(value, call, row, leaf.pointer))

    def _loose(self, row: int, call: int, token: bytes, pointer: str = "") -> None:
        """A run of running text."""
        token = token.strip(b"-_")
        if not 2 <= len(token) <= _TOKEN_LIMIT or token in self.seen or token in self.minted:
            return
        if not any(48 <= b <= 57 for b in token):
            return
        value = token.decode("ascii")
        kind = self._kind(value, None)
        if kind is not None and kind not in ("number", _CLOCK):
            self._add(value, kind, row, call, pointer, token)
        else:
            self.pending.setdefault(token, Pending(value, call, row, pointer))

    def _kind(self, value: str, key: str | None) -> str | None:
        known = self.kinds.get((value[:64], key), _UNKNOWN)
        if known is _UNKNOWN or len(value) > 64:
            known = self.rules.handle_kind(value, key)
            if len(self.kinds) < 65536:
                self.kinds[value[:64], key] = known
        return known

    def _names_an_id(self, key: str | None) -> bool:
        return key is not None and self.rules.is_id_key(key)

    def _add(self, value: str, kind: str, row: int, call: int, pointer: str, anchor: bytes) -> None:
        effect = self.studies[call].classified.effect
        if effect is Effect.NONE and not self._new_by_shape(kind, value, call):
            if kind == _CLOCK:
                return
            kind = REFERENCE
        self.minted.setdefault(anchor, []).append(len(self.handles))
        lowered = anchor.lower()
        if lowered != anchor:
            self.minted.setdefault(lowered, []).append(len(self.handles))
        self.handles.append(Handle(value, kind, call, row, pointer, self._branch(row)))

    def _new_by_shape(self, kind: str, value: str, call: int) -> bool:
        """Whether the shape alone says that even a read made the value: random ids, cursors, tokens, its own clock."""
        if kind == _CLOCK:
            return _within(value, self.trace.calls[call])
        return kind in _NEW_BY_SHAPE

    def _same(self, anchor: bytes, value: str) -> bool:
        return any(self.handles[i].value == value for i in self.minted[anchor])

    # uses --------------------------------------------------------------------------------------------------------

    def _uses(self, row: int, kind: int, payload: Payload, data: bytes, tokens: list[bytes]) -> None:
        found: dict[int, str] = {}
        for token in tokens:
            for index, written in self._hits(token, data):
                found.setdefault(index, written)
            if self.pending and kind == StepKind.TOOL_CALL and token in self.pending:
                self._promote(row, payload, token, found)
            if token in self.own and self.own[token] < row:
                self._came_back(row, token)
        if kind == StepKind.TOOL_CALL and b"%" in data and _PERCENT.search(data):
            for token in self._tokens(unquote_to_bytes(data)):
                for index, _ in self._hits(token, unquote_to_bytes(data)):
                    found.setdefault(index, "url")
        for index, written in found.items():
            self._use(row, kind, payload, index, written)

    def _hits(self, token: bytes, data: bytes) -> list[tuple[int, str]]:
        rows = self.minted.get(token)
        if rows is not None:
            return [(i, w) for i in rows if (w := self._written(i, token, data)) is not None]
        lowered = token.lower()
        if lowered != token and lowered in self.minted:
            return [(i, "case") for i in self.minted[lowered] if self._written(i, lowered, data.lower()) is not None]
        return self._embedded(token) if b"-" in token or b"_" in token else []

    def _written(self, index: int, token: bytes, data: bytes) -> str | None:
        """How a handle whose anchor was found stands in the text, or None where the whole value doesn't."""
        value = self.handles[index].value.encode("utf-8", "surrogatepass")
        if value == token:
            return "verbatim"
        if value in data:
            return "verbatim"
        return "case" if value.lower() in data.lower() else None

    def _embedded(self, token: bytes) -> list[tuple[int, str]]:
        """A handle at the start or the end of a longer run (`page-pg_8812`, `pg_8812-copy`)."""
        for cut in _PARTS.finditer(token):
            for piece in (token[: cut.start()], token[cut.end() :]):
                rows = self.minted.get(piece)
                if rows is not None and len(piece) >= _SHORT_NUMBER:
                    return [(i, "embedded") for i in rows if self.handles[i].value.encode() == piece]
        return []

    def _promote(self, row: int, payload: Payload, token: bytes, found: dict[int, str]) -> None:
        """A short value that an argument holds after all: it came from that result."""
        waiting = self.pending.pop(token)
        value = token.decode("ascii", "replace")
        if value.isdigit() and not self._is_leaf(payload, waiting.value):
            return
        kind = self._kind(waiting.value, None) or ("number" if value.isdigit() else "id")
        before = len(self.handles)
        self._add(waiting.value, kind, waiting.step, waiting.call, waiting.pointer, token)
        if len(self.handles) > before:
            found[before] = "verbatim"

    def _is_leaf(self, payload: Payload, value: str) -> bool:
        return any(str(leaf.value) == value for leaf in leaves_of(value_of(payload)))

    def _use(self, row: int, kind: int, payload: Payload, index: int, written: str) -> None:
        handle = self.handles[index]
        if row <= handle.step:
            return
        short = handle.value.isdigit() and len(handle.value) < _SHORT_NUMBER
        pointer = None
        if kind in (StepKind.TOOL_CALL, StepKind.TOOL_RESULT):
            pointer, same_type = self._pointer(payload, handle.value)
            if short and pointer is None:
                return
            if pointer is not None and not same_type:
                written = "number"
        elif short:
            return
        handle.uses.append(Use(row, self._role(row, kind), written, pointer, kind == StepKind.TOOL_RESULT))

    def _pointer(self, payload: Payload, value: str) -> tuple[str | None, bool]:
        holding = None
        for leaf in leaves_of(unfold(decode(payload).value)):
            if str(leaf.value) == value:
                return leaf.pointer, not isinstance(leaf.value, int) or value.isdigit()
            if holding is None and isinstance(leaf.value, str) and value in leaf.value:
                holding = leaf.pointer
        return holding, True

    def _role(self, row: int, kind: int) -> str:
        if row in self.final:
            return "final_answer"
        return _ROLES.get(StepKind(kind), "prompt")

    def _branch(self, row: int) -> list[Use]:
        """The first model turn after a value was minted was shown it: what it did next may rest on it."""
        after = bisect_right(self.model_rows, row)
        return [Use(self.model_rows[after], "branch", "verbatim")] if after < len(self.model_rows) else []

    # values of the agent's own making ----------------------------------------------------------------------------

    def _executed(self, row: int, call: Call) -> None:
        """Arguments that the harness added: values of its own, which matter when they come back."""
        if call.executed is None or call.executed.payload is None or not call.added:
            return
        value = unfold(decode(call.executed.payload).value)
        if not isinstance(value, dict):
            return
        for key in call.added:
            for leaf in leaves_of(value.get(key)):
                anchor = anchor_of(str(leaf.value))
                if anchor is not None and anchor not in self.seen and self._kind(str(leaf.value), key) is not None:
                    self.own.setdefault(anchor, row)

    def _came_back(self, row: int, token: bytes) -> None:
        self.own_back.append((token.decode("ascii"), self.own.pop(token), row))


_UNKNOWN = "\x00unknown"


def plain_bytes(payload: Payload) -> bytes:
    """The text of a payload with JSON's escapes turned into separators, so that `\\npg_8812` is not read as a run."""
    data = bytes(payload)
    if b"\\" not in data:
        return data
    if b"\\u00" in data:
        return _ESCAPES.sub(b" ", text_of(payload).encode("utf-8", "surrogatepass"))
    return _ESCAPES.sub(b" ", data)


def digit_runs(data: bytes) -> list[bytes]:
    """The runs that hold a digit: found by their first digit, then widened to the left."""
    out = []
    floor = 0
    for match in _DIGIT_RUN.finditer(data):
        start = match.start()
        while start > floor and data[start - 1] in _WORD:
            start -= 1
        floor = match.end()
        out.append(data[start:floor])
    return out


def anchor_of(value: str) -> bytes | None:
    """The run by which a value is found: its longest, the first of equals; None where it has no ASCII run."""
    runs = _RUN.findall(value.encode("utf-8", "surrogatepass"))
    if not runs:
        return None
    longest = max(runs, key=len)
    return longest.strip(b"-_") or longest


def anchor_is_found(anchor: bytes) -> bool:
    """Whether the pass over a large trace looks at this run at all."""
    return any(48 <= b <= 57 for b in anchor)


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
    for row in range(len(trace)):
        kind = trace.kind[row]
        if kind == StepKind.MODEL:
            last[trace.agent[row]] = row
        elif kind == StepKind.OTHER and trace.strings[trace.name[row]] == "final output":
            rows.add(row)
    rows.update(row for row in last.values() if trace.turn[row] not in asking)
    return frozenset(rows)
