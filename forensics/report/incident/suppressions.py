"""Which findings has somebody set aside, why, who says so, and until when? A file of suppressions.

A suppression hides nothing: the finding stays in the report with the reason beside it, and only stops to count for
`--fail-on`. One that is over is named and covers nothing (SOC 2 CC7.3 asks for the triage decision as evidence).
"""

from __future__ import annotations

import datetime
import hashlib
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from forensics.core.findings import GROUP_OF
from forensics.core.sanitise import one_line
from forensics.report.incident.documents import Suppressed, Suppressions
from forensics.report.incident.statements import share
from forensics.rules.model import convert
from forensics.rules.yaml_strict import load_strict, rule_error

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from forensics.report.incident.documents import ReportFinding
    from forensics.rules.yaml_strict import StrictYaml


class Suppression(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry: the finding by its `fingerprint`, or every finding of a `code` (of one `trace`, if that is given);
    why, who says so, and the last day on which that holds.
    """

    because: str
    by: str
    until: datetime.date
    fingerprint: str | None = None
    code: str | None = None
    trace: str | None = None

    def covers(self, finding: ReportFinding, trace: str | None) -> bool:
        """Whether the entry is about this finding."""
        return (
            self.fingerprint in (None, finding.fingerprint)
            and self.code in (None, finding.code)
            and self.trace in (None, trace)
        )

    @property
    def title(self) -> str:
        """What the entry is about, for a list."""
        named = [self.code or "", f"fingerprint {self.fingerprint}" if self.fingerprint else ""]
        named.append(f"trace {self.trace}" if self.trace else "")
        return one_line(", ".join(part for part in named if part), 160)


class SuppressionsFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of suppressions."""

    schema: Literal["forensics/suppressions/v1"]
    suppressions: tuple[Suppression, ...]


class InForce(msgspec.Struct, frozen=True):
    """The suppressions of a file as of a date, and those that are over by then."""

    digest: str
    as_of: datetime.date
    entries: tuple[Suppression, ...]
    expired: tuple[Suppression, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """What the author of the file wrote in his own words."""
        return tuple(text for entry in (*self.entries, *self.expired) for text in (entry.because, entry.by))

    def of(self, finding: ReportFinding, trace: str | None) -> Suppressed | None:
        """Why this finding does not count; None where nothing covers it."""
        entry = next((entry for entry in self.entries if entry.covers(finding, trace)), None)
        return None if entry is None else Suppressed(because=entry.because, by=entry.by, until=entry.until.isoformat())

    def row(self, findings: Sequence[ReportFinding], traces: Sequence[str]) -> Suppressions:
        """What the document says of the file."""
        named = [(f, None if f.trace is None else traces[f.trace]) for f in findings]
        unused = [entry for entry in self.entries if not any(entry.covers(f, trace) for f, trace in named)]
        covered = sum(finding.suppressed is not None for finding in findings)
        return Suppressions(
            digest=self.digest,
            as_of=self.as_of.isoformat(),
            covered=share("findings that a suppression covers", covered, len(findings)),
            expired=[f"{entry.title} (until {entry.until.isoformat()}, {entry.by})" for entry in self.expired],
            unused=[entry.title for entry in unused],
        )


def load_suppressions(path: Path, as_of: datetime.date) -> InForce:
    """The suppressions of a file as of a date. Raises RuleError with every fault as `path:line:col: text`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise rule_error([f"{path.name}: {error.strerror or 'not readable'}"]) from None
    document = load_strict(data, path.name)
    file = convert(document, SuppressionsFile, path.name)
    faults = _faults(file, document, path.name)
    if faults:
        raise rule_error(faults)
    over = tuple(entry for entry in file.suppressions if entry.until < as_of)
    held = tuple(entry for entry in file.suppressions if entry.until >= as_of)
    return InForce(f"sha256:{hashlib.sha256(data).hexdigest()}", as_of, held, over)


def _faults(file: SuppressionsFile, document: StrictYaml, name: str) -> list[str]:
    found = []
    for index, entry in enumerate(file.suppressions):
        line, column = document.position(("suppressions", index))
        at = f"{name}:{line}:{column}"
        if entry.fingerprint is None and entry.code is None:
            found.append(f"{at}: name a code or a fingerprint")
        if entry.code is not None and entry.code not in GROUP_OF:
            found.append(f"{at}: there is no finding with the code {entry.code!r}")
        if not entry.because.strip() or not entry.by.strip():
            found.append(f"{at}: say why (because) and who says so (by)")
    return found


def suppressions_schema() -> dict[str, Any]:
    """The JSON Schema of such a file."""
    return msgspec.json.schema(SuppressionsFile)
