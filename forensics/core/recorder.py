"""What has been told of a trace so far? Its steps, findings and gaps, and the marks on its calls."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from forensics.core.evidence import Basis, Gap
from forensics.core.findings import Finding, finding
from forensics.core.lanes import RowsBy, Spot
from forensics.core.sanitise import one_line
from forensics.core.trace import NOWHERE, Call, Payload, Places, StepKind, Trace

if TYPE_CHECKING:
    from forensics.core.evidence import Locator
    from forensics.core.lanes import Lane


_TWO_WAYS = "the record of this call can be read in two ways"
_TAINTS = {
    "truncated_payload": "the record of this call is cut",
    "redaction_damage": "a value of this call was replaced by a redaction mark",
    "inconsistent_tuple": "one message asks for this call twice, in two ways",
}


class Recorder:
    """The trace under construction: rows are added and marked, nothing is joined here."""

    def __init__(self, trace_id: str, places: Places, format_name: str, *, spans_are_complete: bool = False) -> None:
        self.trace = Trace(trace_id, places, format_name)
        self.spans_are_complete = spans_are_complete
        self.gaps: list[Gap] = []
        self.orphan_results: list[str] = []
        self.result_count = 0
        self.model_calls = 0
        self._lanes: dict[str, Lane] = {}
        self._turn_rows = array("i")
        self.shown_turns: set[int] = set()  # turns that have no record of their own
        self._inherited: set[int] = set()
        self._unasked = 0
        self._asked_by = array("i")  # by call, the turn that asked for it first
        self._by_id = RowsBy(self.trace.calls.recorded_id)
        self._by_turn = RowsBy(self._asked_by.__getitem__)
        self._adopted: dict[int, list[int]] = {}  # by turn, calls that ran before anything said that it asked for them
        self._other_ids_failed = 0
        self._asked_in = array("i")

    def step(
        self,
        kind: StepKind,
        spot: Spot,
        *,
        name: str = "",
        agent: str = "",
        payload: Payload | None = None,
        call: int = NOWHERE,
        turn: int = NOWHERE,
        parent: int = NOWHERE,
    ) -> int:
        """Add a step and return its row."""
        trace = self.trace
        add = trace.strings.add
        pointer = trace.pointers.add(spot.pointer) if spot.pointer else 0  # as nearly always
        numbers = (kind, add(name), add(agent), spot.place, pointer, call, turn, parent)
        return trace.add_step(numbers, spot.at, payload)

    def _call(self, row: int) -> Call:
        return Call(self.trace.calls, row)

    def note(self, found: Finding) -> None:
        """Add a finding to the trace."""
        self.trace.findings.append(found)

    def gap(self, code: str, message: str, spot: Spot, *, hides: bool = True, basis: Basis = Basis.DERIVED) -> None:
        """Add a gap of this trace; `hides` says that a call, a result or a turn may stand in it."""
        locator = self.trace.places.locator(spot.place, spot.pointer)
        self.gaps.append(Gap(code, message, locator, self.trace.id, hides, basis))

    def _tainted(self, call: Call, code: str) -> None:
        """A call whose own record says that it is not whole or contradicts itself: blocked, and said once. (Of keys
        that stand twice the reader has told already.)
        """
        told = _TAINTS.get(code)
        if told is not None and not any(b.code == code for b in call.blocks):
            message = f"{one_line(call.tool, 60)}: {told}"
            self.note(finding(code, message, steps=(call.step,)))
        call.block(code, told or _TWO_WAYS)

    def _contradiction(self, row: int, message: str, spot: Spot) -> None:
        call = self._call(row)
        fresh = not any(b.code == "inconsistent_tuple" for b in call.blocks)
        call.block("inconsistent_tuple", message)
        if fresh:
            places = tuple(self._locator(s) for s in (Spot(self.trace.place_of(call.step)), spot))
            self.note(finding("inconsistent_tuple", message, steps=(call.step,), locators=places))

    def _locator(self, spot: Spot) -> Locator:
        return self.trace.places.locator(spot.place, spot.pointer)
