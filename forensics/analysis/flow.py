"""Where did a value come from, and where did it go? One pass over the steps, near linear in the bytes of the payloads.

A value is minted by a result when no earlier text of the trace holds it (forensics.analysis.minting); every later text
that holds it is a use. Texts are read as runs (forensics.analysis.runs); a value with other characters is found by its
longest run and then compared whole (forensics.analysis.minted).
"""

from __future__ import annotations

from collections import deque
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.bare import bare, is_named_by
from forensics.analysis.encodings import decodings
from forensics.analysis.minted import Minted
from forensics.analysis.minting import Minting
from forensics.analysis.newcomers import Results
from forensics.analysis.occurrences import Occurrences
from forensics.analysis.runs import all_runs, anchor_of
from forensics.analysis.strays import Stray, Strays
from forensics.analysis.texts import UNREAD, Text, encoded
from forensics.core.handles import BARE, Handles
from forensics.core.jsonvalue import raw, value_of, values_of
from forensics.core.leaves import leaves_of
from forensics.core.trace import StepKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.analysis.minted import NamedIn
    from forensics.analysis.minting import Pending
    from forensics.analysis.occurrences import Part
    from forensics.analysis.runs import Runs
    from forensics.core.classes import Classes
    from forensics.core.handles import UseTold
    from forensics.core.trace import Call, Trace
    from forensics.rules.engine import RuleSet

_SHORT_NUMBER = 4
_CALL = int(StepKind.TOOL_CALL)
_RESULT = int(StepKind.TOOL_RESULT)
_MODEL = int(StepKind.MODEL)
_OTHER = int(StepKind.OTHER)
_STRUCTURED = (_CALL, _RESULT)
_BROUGHT = attrgetter("step", "pointer", "value")
_ROLES = {_CALL: "argument", _MODEL: "model_output"}


class Flow(msgspec.Struct, frozen=True):
    """The handles and references of a trace in order of minting, and the agent's own values that came back: value,
    step that made it, step where it came back; and the values that calls name out of nowhere.
    """

    handles: Handles
    own_values: tuple[tuple[str, int, int], ...]
    strays: tuple[Stray, ...] = ()


def flow(trace: Trace, classified: Classes, rules: RuleSet) -> Flow:
    """Follow every value that a result brought into the trace."""
    followed = _Flow(trace, classified, rules).run()
    followed.handles.close()
    return followed


class _Flow:
    def __init__(self, trace: Trace, classified: Classes, rules: RuleSet) -> None:
        self.trace = trace
        self.rules = rules
        known = (*map(raw, trace.facts.values()), *trace.surroundings)
        self.runs = Occurrences(trace, (run for text in known for run in all_runs(bytes(text))))
        self.minted = Minted(self.runs)
        self.minting = Minting(trace, classified, rules, self.runs, self.minted)
        self.own: dict[bytes, int] = {}
        self.own_back: list[tuple[str, int, int]] = []
        self.final = _final_answers(trace)
        self.strays = Strays(trace, classified, rules, self.runs)
        self.adding = self._calls_that_add()
        self.special = self.adding.union(self.runs.encoded)
        self.found: list[UseTold] = []  # in the rows that are looked at

    def run(self) -> Flow:
        for part in self.runs.parts():
            results = self._results(part)
            self._look(part, results, self.minting.results(results))
        return Flow(self.minting.handles, tuple(self.own_back), self.strays.find())

    def _results(self, part: Part) -> Results:
        """The results among these rows."""
        kinds, calls = self.trace.kind, self.trace.call
        held = [kinds[row] == _RESULT and calls[row] >= 0 for row in part.rows]
        rows = list(compress(part.rows, held))
        return Results(rows, self._values(rows), list(compress(part.lines, held)))

    def _values(self, rows: list[int]) -> list[object]:
        return values_of([text or b"null" for text in self.trace.payload.several(rows)])

    # uses --------------------------------------------------------------------------------------------------------

    def _look(self, part: Part, results: Results, waiting: list[Pending]) -> None:
        """Look at those of these rows that may name a value; what waits counts from the row of its result on."""
        special = self.special.intersection(part.span) if self.special else ()
        named = self.minted.named_in(part, special)
        values = self._said(named, results)
        later = deque(waiting)
        for row in sorted(named.others):
            while later and later[0].step < row:
                self.minting.wait(later.popleft())
            self._uses(self._text(row, values), named.others[row])
            if row in self.adding:
                self._own_values(row, self.trace.calls[self.trace.call[row]])
        for pending in later:
            self.minting.wait(pending)
        kinds = self.trace.kind
        for (row, number), written in named.plainly.items():
            if kinds[row] in _STRUCTURED or written == BARE:
                self._use(self._text(row, values), number, written)
            else:
                self._note(row, kinds[row], number, written)
        self.minting.handles.use_all(sorted(self.found))  # by handle and row
        self.found.clear()

    def _said(self, named: NamedIn, results: Results) -> dict[int, object]:
        """The values of the arguments and results that may name a value, by row."""
        kinds, rows = self.trace.kind, {*named.others, *(row for row, _ in named.plainly)}
        said = dict(zip(results.rows, results.values, strict=True))
        more = [row for row in rows if kinds[row] in _STRUCTURED and row not in said]
        said.update(zip(more, self._values(more), strict=True))
        return said

    def _text(self, row: int, values: dict[int, object]) -> Text:
        return Text(row, self.trace.kind[row], self.trace.payload, values.get(row, UNREAD))

    def _uses(self, text: Text, runs: Runs) -> None:
        """The values that a text names: by its own runs, and by what is encoded in it."""
        found = self.minted.named(runs, text)
        if text.kind == _CALL:
            self._promote(text, runs, found)
        if text.row in self.runs.encoded:
            self._encoded(text, found)
        for index, written in found.items():
            self._use(text, index, written)
        if self.own:
            self._come_back(text.row, runs)

    def _promote(self, text: Text, runs: Runs, found: dict[int, str]) -> None:
        """Short values that these arguments hold after all, in the order in which they were brought."""
        pending = self.minting.pending
        for waiting in sorted({pending[run] for run in runs if run in pending}, key=_BROUGHT):
            index = self.minting.promote(text, waiting)
            if index is not None:
                found[index] = "verbatim"

    def _encoded(self, text: Text, found: dict[int, str]) -> None:
        """Values that arguments or a model text hold percent-encoded or in base64."""
        watched = self.minted.watched
        if not any(run in watched for run in self.runs.encoded[text.row]):
            return
        for how, said in decodings(text.plain, self.runs.runs_of(text.plain)):
            decoded = text.saying(said)
            named = self.minted.named(filter(watched.__contains__, all_runs(said)), decoded)
            for index in [index for index, written in named.items() if written != BARE]:
                found.setdefault(index, how)

    def _use(self, text: Text, number: int, written: str) -> None:
        value, kind = self.minting.handles.value(number)
        stands, pointer = value, None
        if written == BARE:
            stands = _without_prefix(value)
            if not is_named_by(stands, text, self.rules.is_id_key, small=self.runs.small):
                return
        if text.kind in _STRUCTURED:
            pointer, other_type = text.place_of(stands, is_number=kind == "number")
            written = "number" if other_type and written == "verbatim" else written
        self._note(text.row, text.kind, number, written, pointer)

    def _note(self, row: int, kind: int, number: int, written: str, pointer: str | None = None) -> None:
        """Note that the step of a row, of that kind, holds a value; a short number is one only where it has a place."""
        if pointer is None:
            value, _ = self.minting.handles.value(number)
            if len(value) < _SHORT_NUMBER and value.isdigit():
                return
        role = "final_answer" if row in self.final else _ROLES.get(kind, "prompt")
        self.found.append((number, row, role, written, pointer, kind == _RESULT))

    # values of the agent's own making ----------------------------------------------------------------------------

    def _calls_that_add(self) -> frozenset[int]:
        """The rows of calls to whose arguments the harness added; what it added is watched for."""
        calls, added = self.trace.calls, self.trace.calls.rare("added")
        for number in added:
            self.minted.look_at(*(anchor for anchor, _, _ in _added(calls[number])))
        of = self.trace.call
        rows = self.trace.rows(StepKind.TOOL_CALL) if added else ()
        return frozenset(row for row in rows if of[row] in added and self.trace.payload[row] is not None)

    def _own_values(self, row: int, call: Call) -> None:
        """Arguments that the harness added: values of its own, which matter when they come back."""
        for anchor, item, key in _added(call):
            if self.minting.is_new(anchor, row) and self.rules.handle_kind(item, key):
                self.own.setdefault(anchor, row)

    def _come_back(self, row: int, runs: Runs) -> None:
        for run in runs:
            if run in self.own and self.own[run] < row:
                self.own_back.append((run.decode("ascii"), self.own.pop(run), row))


def _without_prefix(value: str) -> str:
    return (bare(encoded(value)) or b"").decode("ascii")


def _added(call: Call) -> Iterator[tuple[bytes, str, str]]:
    """The scalars that the harness added to the arguments of a call: the run by which each is found, and its key."""
    executed = None if call.executed is None or call.executed.payload is None else value_of(call.executed.payload)
    if not isinstance(executed, dict):
        return
    for added in call.added:
        for _, _, key, item in leaves_of(executed.get(added)):
            anchor = anchor_of(str(item))
            if anchor:
                yield anchor, str(item), key or added


def _final_answers(trace: Trace) -> frozenset[int]:
    """The rows that hold a final answer: the last turn of each agent if it asks for no call, and a recorded output."""
    asking = set(trace.calls.column("turn"))
    last: dict[int, int] = {}
    rows: set[int] = set()
    agents, kinds = trace.agent, trace.kind
    for row in trace.rows(StepKind.MODEL):
        last[agents[row]] = row
    if _OTHER in kinds:
        rows.update(row for row in trace.rows(StepKind.OTHER) if trace.strings[trace.name[row]] == "final output")
    rows.update(row for row in last.values() if trace.turn[row] not in asking)
    return frozenset(rows)
