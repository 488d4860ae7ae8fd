"""Where did a value come from, and where did it go? One pass over the steps, near linear in the bytes of the payloads.

A value is minted by a result when no earlier text of the trace holds it (forensics.analysis.minting); every later text
that holds it is a use. Texts are read as runs (forensics.analysis.runs); a value with other characters is found by its
longest run and then compared whole (forensics.analysis.minted).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.bare import bare, is_named_by
from forensics.analysis.encodings import decodings
from forensics.analysis.minted import Minted
from forensics.analysis.minting import Minting
from forensics.analysis.occurrences import Occurrences
from forensics.analysis.runs import all_runs, anchor_of
from forensics.analysis.strays import Stray, Strays
from forensics.analysis.texts import Text, encoded
from forensics.core.handles import BARE, Handles, Use
from forensics.core.jsonvalue import raw, value_of
from forensics.core.leaves import Leaf, leaves_of, pointer_of
from forensics.core.trace import StepKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.analysis.minted import Naming
    from forensics.analysis.runs import Runs
    from forensics.core.classes import Classes
    from forensics.core.trace import Call, Trace
    from forensics.rules.engine import RuleSet

_SHORT_NUMBER = 4
_CALL = int(StepKind.TOOL_CALL)
_RESULT = int(StepKind.TOOL_RESULT)
_MODEL = int(StepKind.MODEL)
_OTHER = int(StepKind.OTHER)
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

    def run(self) -> Flow:
        trace, watched, kinds = self.trace, self.minted.watched, self.trace.kind
        added, own, encoded = trace.calls.rare("added"), self.own, self.runs.encoded
        for row, line, related in self.runs.rows():
            kind, runs = kinds[row], related.split()
            hits = [run for run in runs if run in watched] if runs else runs
            if kind == _RESULT and trace.call[row] >= 0:
                text = Text(row, kind, trace.payload[row])
                if runs:
                    self._uses(text, hits, runs)
                self.minting.result(text, trace.call[row], line)
            elif hits or (runs and (kind == _CALL or own)) or row in encoded:
                self._uses(Text(row, kind, trace.payload[row]), hits, runs)
            if kind == _CALL and trace.call[row] in added:
                self._own_values(row, trace.calls[trace.call[row]])
        return Flow(self.minting.handles, tuple(self.own_back), self.strays.find())

    # uses --------------------------------------------------------------------------------------------------------

    def _uses(self, text: Text, hits: Runs, runs: Runs) -> None:
        """The values that a text names: by its own runs, and by what is encoded in it."""
        found: dict[int, str] = {}
        for run in hits:
            _note(found, self.minted.named(run, text))
        if text.kind == _CALL:
            self._promote(text, runs, found)
        if text.row in self.runs.encoded:
            self._encoded(text, found)
        for index, written in found.items():
            self._use(text, index, written)
        if self.own:
            self._come_back(text.row, runs)

    def _promote(self, text: Text, runs: Runs, found: dict[int, str]) -> None:
        """Short values that these arguments hold after all."""
        pending = self.minting.pending
        for run in [run for run in runs if run in pending]:
            index = self.minting.promote(text, run) if run in pending else None
            if index is not None:
                found[index] = "verbatim"

    def _encoded(self, text: Text, found: dict[int, str]) -> None:
        """Values that arguments or a model text hold percent-encoded or in base64."""
        watched = self.minted.watched
        if watched.isdisjoint(self.runs.encoded[text.row]):
            return
        for how, said in decodings(text.plain, self.runs.runs_of(text.plain)):
            decoded = text.saying(said)
            for run in all_runs(said):
                if run in watched:
                    _note(
                        found, ((index, how) for index, as_it_is in self.minted.named(run, decoded) if as_it_is != BARE)
                    )

    def _use(self, text: Text, number: int, written: str) -> None:
        handles, pointer = self.minting.handles, None
        value, kind, _, step, *_ = handles.told(number)
        if text.row <= step:
            return
        stands = _without_prefix(value) if written == BARE else value
        if written == BARE and not is_named_by(stands, text, self.rules.is_id_key, small=self.runs.small):
            return
        if text.kind in (_CALL, _RESULT):
            pointer, other_type = _pointer(text.leaves, stands, is_number=kind == "number")
            written = "number" if other_type and written == "verbatim" else written
        if pointer is None and value.isdigit() and len(value) < _SHORT_NUMBER:
            return
        handles.use(number, Use(text.row, self._role(text), written, pointer, text.kind == _RESULT))

    def _role(self, text: Text) -> str:
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
                if anchor and self.minting.is_new(anchor, row) and self.rules.handle_kind(str(item), key or added):
                    self.own.setdefault(anchor, row)

    def _come_back(self, row: int, runs: Runs) -> None:
        for run in runs:
            if run in self.own and self.own[run] < row:
                self.own_back.append((run.decode("ascii"), self.own.pop(run), row))


def _without_prefix(value: str) -> str:
    return (bare(encoded(value)) or b"").decode("ascii")


def _note(found: dict[int, str], named: Iterable[Naming]) -> None:
    for index, written in named:
        found.setdefault(index, written)


def _pointer(leaves: list[Leaf], wanted: str, *, is_number: bool) -> tuple[str | None, bool]:
    """Where among the leaves of a payload a value stands, and whether it changed between text and number on the way."""
    holding = None
    for leaf in leaves:
        item = leaf[3]
        if item == wanted or (type(item) is int and str(item) == wanted):
            return pointer_of(leaf[0], leaf[1]), isinstance(item, int) is not is_number
        if holding is None and isinstance(item, str) and wanted in item:
            holding = leaf
    return None if holding is None else pointer_of(holding[0], holding[1]), False


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
