"""What do the calls of a trace say in two ways? Their arguments and results, decoded, with a finding for what another
reader might take otherwise: keys that stand twice, numbers that a double rounds, arguments that are no JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.findings import Finding, finding
from forensics.core.json_texts import unfolded, with_long_numbers
from forensics.core.jsonvalue import SAFE_INTEGER, decode
from forensics.core.keyed import Keyed
from forensics.core.leaves import leaves_of
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.core.jsonvalue import Decoded
    from forensics.core.trace import Trace

_NAMED = 8


class Told(msgspec.Struct, frozen=True):
    """The decoded arguments and results of some calls; None where there are none."""

    arguments: Keyed
    results: Keyed


class Doubts:
    """Reads the calls of a trace in their order, and notes what is doubtful about them."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._findings: list[Finding] = []
        self._texts: list[int] = []
        self._large: tuple[int, int] | None = None  # the first integer beyond 2^53, and the step of its call

    def read(self, rows: range) -> Told:
        """What the next calls were given and gave, a text that holds JSON unfolded."""
        calls = self._trace.calls
        arguments, results = _told_texts(calls.arguments(rows)), _told_texts(calls.results(rows))
        given, doubted = unfolded(arguments)
        gave, doubtful = unfolded(results)
        for at in sorted({*doubted, *doubtful}):
            for told in (doubted.get(at), doubtful.get(at)):
                if told is not None:
                    self._note_faults(rows[at], told)
        if self._large is None:
            self._look_for_large(rows, (arguments, given), (results, gave))
        for at in [at for at, value in enumerate(given.values) if type(value) is str]:
            self._note_text(rows[at], given.values[at])
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

    def _look_for_large(self, rows: range, *halves: tuple[Sequence[bytes], Keyed]) -> None:
        """Note the first integer beyond 2^53, of the arguments of a call before its result."""
        places = [(at, half) for half, (texts, told) in enumerate(halves) for at in _with_large(texts, told)]
        for at, half in sorted(places):
            found = _large_integer(halves[half][1].values[at])
            if found is not None:
                self._large = (found, self._trace.calls[rows[at]].step)
                return


def _told_texts(texts: Sequence[bytes | None]) -> list[bytes]:
    """The texts, with null for none."""
    return [b"null" if text is None else text for text in texts]


def _with_large(texts: Sequence[bytes], told: Keyed) -> list[int]:
    """The places of values in which an integer beyond 2^53 may stand: a column of numbers is asked, and of what holds
    other values its text.
    """
    found, nested = list[int](), set(range(len(texts)))
    for group in told.groups:
        if group.is_flat:
            nested.difference_update(group.places)
            if any(_has_large(column) for key, column in group.columns.items() if int in group.types[key]):
                found.extend(group.places)
    asked = sorted(nested)
    return [*found, *(asked[at] for at in with_long_numbers([texts[at] for at in asked]))]


def _has_large(column: Sequence[Any]) -> bool:
    numbers = [one for one in column if type(one) is int]
    return max(numbers) > SAFE_INTEGER or min(numbers) < -SAFE_INTEGER


def _is_no_json(text: str) -> bool:
    """Whether a text that says anything is no JSON."""
    return bool(text) and not text.isspace() and decode(text.encode("utf-8", "surrogatepass")).error is not None


def _large_integer(value: object) -> int | None:
    """The first integer beyond 2^53 in document order."""
    for _, _, _, item in leaves_of(value):
        if isinstance(item, int) and abs(item) > SAFE_INTEGER:
            return item
    return None
