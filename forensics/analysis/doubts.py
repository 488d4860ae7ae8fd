"""What do the calls of a trace say in two ways? Their arguments and results, decoded, with a finding for what another
reader might take otherwise: keys that stand twice, numbers that a double rounds, arguments that are no JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from forensics.core.findings import Finding, finding
from forensics.core.json_texts import unfolded, with_long_numbers
from forensics.core.jsonvalue import SAFE_INTEGER, decode
from forensics.core.leaves import leaves_of
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.core.jsonvalue import Decoded
    from forensics.core.trace import Trace

_NAMED = 8


class Told(NamedTuple):
    """The decoded arguments and results of some calls; None where there are none."""

    arguments: list[Any]
    results: list[Any]


class Doubts:
    """Reads the calls of a trace in their order, and notes what is doubtful about them."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._findings: list[Finding] = []
        self._texts: list[int] = []
        self._large: tuple[int, int] | None = None  # the first integer beyond 2^53, and the step of its call

    def read(self, rows: range) -> Told:
        """What the next calls were given and gave, a text that holds JSON unfolded."""
        arguments, results = self._trace.calls.arguments(rows), self._trace.calls.results(rows)
        given, doubted = _values(arguments)
        gave, doubtful = _values(results)
        for at in sorted({*doubted, *doubtful}):
            for told in (doubted.get(at), doubtful.get(at)):
                if told is not None:
                    self._note_faults(rows[at], told)
        if self._large is None:
            self._look_for_large(rows, (arguments, given), (results, gave))
        for row, value in zip(rows, given, strict=True):
            if isinstance(value, str):
                self._note_text(row, value)
        return Told(given, gave)

    def findings(self) -> tuple[Finding, ...]:
        """Everything that was noted."""
        found = list(self._findings)
        if self._large is not None:
            value, step = self._large
            message = f"integers beyond 2^53 ({value}) are rounded by readers that use doubles; here they are exact"
            found.append(finding("large_integer", message, steps=(step,)))
        if self._texts:
            count = len(self._texts)
            many = f"the arguments of {count} calls are" if count > 1 else "the arguments of a call are"
            message = f"{many} a text that is no JSON: kept as a text"
            found.append(finding("dialect", message, steps=tuple(self._texts[:_NAMED])))
        return tuple(found)

    def _note_faults(self, row: int, decoded: Decoded) -> None:
        call = self._trace.calls[row]
        for fault in decoded.faults:
            message = f"{one_line(call.tool, 60)}: {fault.message}"
            place = self._trace.locator(call.step)
            self._findings.append(finding(fault.code, message, steps=(call.step,), locators=(place,)))
            if fault.code == "duplicate_key":
                call.block(fault.code, message)

    def _note_text(self, row: int, text: str) -> None:
        """Arguments that a tool takes as JSON, and that a model wrote as something else."""
        call = self._trace.calls[row]
        if not call.freeform and not call.blocks and _is_no_json(text):
            self._texts.append(call.step)

    def _look_for_large(self, rows: range, *halves: tuple[Sequence[bytes | None], Sequence[Any]]) -> None:
        """Note the first integer beyond 2^53, of the arguments of a call before its result."""
        places = [(at, half) for half, (texts, _) in enumerate(halves) for at in with_long_numbers(texts)]
        for at, half in sorted(places):
            found = _large_integer(halves[half][1][at])
            if found is not None:
                self._large = (found, self._trace.calls[rows[at]].step)
                return


def _values(texts: Sequence[bytes | None]) -> tuple[list[Any], dict[int, Decoded]]:
    """The value of each text, and by its place what is doubtful about it; None for None."""
    places = [at for at, text in enumerate(texts) if text is not None]
    found, doubtful = unfolded([text for text in texts if text is not None])
    if len(places) == len(texts):
        return found, doubtful
    values: list[Any] = [None] * len(texts)
    for at, value in zip(places, found, strict=True):
        values[at] = value
    return values, {places[at]: one for at, one in doubtful.items()}


def _is_no_json(text: str) -> bool:
    """Whether a text that says anything is no JSON."""
    return bool(text) and not text.isspace() and decode(text.encode("utf-8", "surrogatepass")).error is not None


def _large_integer(value: object) -> int | None:
    """The first integer beyond 2^53 in document order."""
    for _, _, _, item in leaves_of(value):
        if isinstance(item, int) and abs(item) > SAFE_INTEGER:
            return item
    return None
