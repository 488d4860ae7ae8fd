"""Is this the finding that another report has too? A fingerprint of what a finding is about, not of where it stands.

Records in another order, a longer log, another file name and other line numbers leave it as it is: it is made of the
code, the trace and, for each step, its kind, name, call occurrence and payload without secrets; of a finding without
steps, of its message without numbers. Equal ones are told apart by a number (SARIF 2.1.0, section 3.27.17,
partialFingerprints).
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import canonical, value_of
from forensics.core.trace import StepKind
from forensics.report.redaction import redactor_of

if TYPE_CHECKING:
    from forensics.report.documents import FindingRow
    from forensics.report.incident.material import Material

_NUMBERS = re.compile(r"\d+")
_NAMED = re.compile(r"\b((?:secret|personal):[a-z0-9-]+):[0-9a-f]+")
_DIGITS = 32


class Fingerprints:
    """The fingerprints of one report, given out finding by finding."""

    def __init__(self, material: Material) -> None:
        self._material = material
        self._given: dict[str, int] = {}
        self._steps: dict[int, list[str]] = {}
        self._redactor = redactor_of(one.reading for one in material.examined)

    def of(self, finding: FindingRow) -> str:
        """The fingerprint of a finding: hexadecimal digits, with `/2` and so on for a second one like it."""
        print_ = sha256(msgspec.json.encode(self._about(finding))).hexdigest()[:_DIGITS]
        count = self._given[print_] = self._given.get(print_, 0) + 1
        return print_ if count == 1 else f"{print_}/{count}"

    def _about(self, finding: FindingRow) -> list[object]:
        steps = sorted(map(self._known, dict.fromkeys(finding.steps)))
        return [finding.code, finding.trace, steps or _NUMBERS.sub("#", _unkeyed(finding.message))]

    def _known(self, number: int) -> list[str]:
        """A step as fingerprints tell it; most that have a finding have several."""
        known = self._steps.get(number)
        if known is None:
            known = self._steps[number] = self._step(number)
        return known

    def _step(self, number: int) -> list[str]:
        index = self._material.trace_at(number)
        trace = self._material.analyses[index].trace
        row = number - self._material.traces[index].first_step
        call, payload = trace.call[row], trace.payload[row]
        occurrence = "" if call < 0 else trace.calls[call].occurrence
        said = b"" if payload is None else self._without_secrets(value_of(payload))
        name = trace.strings[trace.name[row]].encode("utf-8", "backslashreplace").decode()
        return [StepKind(trace.kind[row]).label, name, occurrence, sha256(said).hexdigest()]

    def _without_secrets(self, value: object) -> bytes:
        """What a payload says, its secrets by their kinds: nobody can try guesses of one against a fingerprint."""
        if self._redactor.idle:
            return canonical(value)
        return _unkeyed(canonical(self._redactor.document(value)).decode("utf-8", "surrogatepass")).encode(
            "utf-8", "surrogatepass"
        )


def _unkeyed(text: str) -> str:
    """The names of secrets without their fingerprints, which are others in a longer log."""
    return _NAMED.sub(r"\1", text)
