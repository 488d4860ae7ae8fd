"""What could not be compared, and what is to be said beside the divergences? Collected while two runs are walked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.compare.beside import Beside
from forensics.core.evidence import Basis, Severity
from forensics.core.findings import Finding, finding
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.compare.batches import Batch
    from forensics.compare.divergence import Divergence
    from forensics.core.evidence import Locator
    from forensics.core.renaming import Renamed
    from forensics.core.trace import Call, Trace

_NAMED = 3
_SIDES = ("left", "right")


class Untold(msgspec.Struct, frozen=True):
    """Something that could not be compared: what, why, and the steps of both runs where it would stand."""

    what: str
    why: str
    left_step: int | None = None
    right_step: int | None = None


class Notes:
    """`not_compared` and `findings` of one comparison, and what stands beside what. `same` holds for one trace of the
    same bytes: what nobody can read of it can't differ, so that nothing is left untold.
    """

    def __init__(self, left: Trace, right: Trace, *, same: bool) -> None:
        self.not_compared: list[Untold] = []
        self.findings: list[Finding] = []
        self.beside = Beside(left, right)
        self._left, self._right, self._same = left, right, same

    def untold(self, what: str, why: str, left_step: int | None = None, right_step: int | None = None) -> None:
        """Note what could not be compared."""
        if not self._same:
            self.not_compared.append(Untold(what, why, left_step, right_step))

    def gaps(self) -> None:
        """What may be missing in a run altogether: such a gap may hide a difference."""
        for side, trace in zip(_SIDES, (self._left, self._right), strict=True):
            for gap in trace.gaps:
                if gap.hides:
                    self.untold(f"what a gap of the {side} run hides", f"{gap.code}: {gap.message}")

    def reordered(self, batch: Batch) -> None:
        """Calls of one batch came in another order."""
        left = [made.call for made, _ in batch.pairs]
        right = [made.call for _, made in batch.pairs]
        message = (
            f"calls of one turn came in another order: {_order(left)} in the left run, {_order(right)} in the right"
        )
        self._say("parallel_order_differs", message, [c.step for c in left], [c.step for c in right], Severity.INFO)

    def interleaved(self) -> None:
        """Agents side by side took turns in another order."""
        message = "the agents took turns in another order, each with its own steps in the same order"
        self._say("parallel_order_differs", message, [0], [0], Severity.INFO)

    def renamed(self, handles: Sequence[Renamed]) -> None:
        """One finding a minting tool: its values that are called otherwise."""
        by_tool: dict[str, list[Renamed]] = {}
        for handle in handles:
            by_tool.setdefault(self._left.calls[handle.call].tool, []).append(handle)
        for tool, found in by_tool.items():
            names = ", ".join(f"{one_line(h.left, 40)} is {one_line(h.right, 40)}" for h in found[:_NAMED])
            more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
            message = f"{one_line(tool, 60)} minted other values: {names}{more}"
            self._say("handle_changed", message, [h.left_step for h in found], [h.right_step for h in found])

    def caused(self, code: str, one: Divergence) -> None:
        """A divergence whose cause is a finding by itself."""
        nothing = "nothing"
        message = f"{one.what}: {one.left or nothing} in the left run, {one.right or nothing} in the right one"
        left, right = ([] if step is None else [step] for step in (one.left_step, one.right_step))
        self._say(code, message, left, right)

    def _say(
        self, code: str, message: str, left: list[int], right: Sequence[int] = (), severity: Severity | None = None
    ) -> None:
        places: list[Locator] = [self._left.locator(step) for step in left[:_NAMED]]
        places += [self._right.locator(step) for step in right[:_NAMED]]
        steps = tuple(dict.fromkeys(left))
        self.findings.append(
            finding(code, message, steps=steps, locators=tuple(places), basis=Basis.DERIVED, severity=severity)
        )


def _order(calls: Sequence[Call]) -> str:
    """The tools in the order of their results."""
    ended = sorted(calls, key=lambda call: (call.result_step, call.step))
    return ", ".join(one_line(call.tool, 40) for call in ended[: 2 * _NAMED]) + (
        ", …" if len(ended) > 2 * _NAMED else ""
    )
