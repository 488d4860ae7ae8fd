"""What is new since another report? The fingerprints that it has, and how the findings of both lie."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from forensics.errors import ConfigurationError
from forensics.report.incident.documents import REPORT, Baseline
from forensics.report.incident.statements import share

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from forensics.report.incident.documents import ReportFinding

_MAKE_ONE = "a baseline is what `forensics report EVIDENCE --to FILE.json` wrote"


class _Found(msgspec.Struct, frozen=True):
    code: str
    fingerprint: str


class _Findings(msgspec.Struct, frozen=True):
    rows: tuple[_Found, ...]


class _Report(msgspec.Struct, frozen=True):
    """What of an earlier report is looked at; whatever else it holds is left unread."""

    schema: str
    findings: _Findings


class Earlier(msgspec.Struct, frozen=True):
    """An earlier report: its digest and, by fingerprint, the codes that it found."""

    digest: str
    codes: dict[str, str]

    def lacks(self, fingerprint: str) -> bool:
        """Whether the earlier report does not have this finding."""
        return fingerprint not in self.codes

    def row(self, findings: Sequence[ReportFinding]) -> Baseline:
        """What the document says of it."""
        held = {finding.fingerprint for finding in findings}
        gone = [print_ for print_ in self.codes if print_ not in held]
        return Baseline(
            digest=self.digest,
            new=share("findings that the baseline has not", sum(bool(f.new) for f in findings), len(findings)),
            gone=gone,
            gone_codes=[self.codes[print_] for print_ in gone],
        )


def load_baseline(path: Path) -> Earlier:
    """The earlier report in a file. Raises ConfigurationError for a file that is none."""
    try:
        data = path.read_bytes()
        report = msgspec.json.decode(data, type=_Report)
    except OSError as error:
        raise ConfigurationError(f"{path.name} can't be read: {error.strerror}", hint=_MAKE_ONE) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ConfigurationError(f"{path.name} is no report", hint=_MAKE_ONE) from None
    if report.schema != REPORT:
        raise ConfigurationError(f"{path.name} is no report of this version ({REPORT})", hint=_MAKE_ONE)
    codes = {found.fingerprint: found.code for found in report.findings.rows}
    return Earlier(f"sha256:{hashlib.sha256(data).hexdigest()}", codes)
