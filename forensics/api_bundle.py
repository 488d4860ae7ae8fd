"""What is handed over after an incident? A folder of every output with its manifest, for whoever must check it."""

from __future__ import annotations

import datetime
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from forensics.core.digests import digest_and_size
from forensics.core.sanitise import one_line, visible
from forensics.custody.bundle import sealed
from forensics.custody.statement import MANIFEST, Custody, Input
from forensics.errors import EvidenceError, ReportError
from forensics.formats.places import named_places
from forensics.formats.shared.remote import is_url, public
from forensics.formats.shared.source import STDIN
from forensics.report.incident.forms import FORMS
from forensics.report.jsonout import json_bytes
from forensics.report.outputs import as_given, check_outputs, write_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.api import Examination
    from forensics.formats.places import Where
    from forensics.report.compose import Examined
    from forensics.report.documents import AuditDocument
    from forensics.report.incident.documents import ReportDocument

TIMELINE = "timeline.jsonl"
_NAMES = {
    "html": "report.html",
    "md": "report.md",
    "json": "report.json",
    "sarif": "findings.sarif",
    "junit": "findings.xml",
    "oscal": "assessment-results.oscal.json",
    "csv": "timeline.csv",
    "jsonl": TIMELINE,
}


class Commission(msgspec.Struct, frozen=True, kw_only=True):
    """How a bundle came to be: the command as it was given (its URLs without what they may hide), when it began (UTC),
    and the private key to sign with.
    """

    command: tuple[str, ...]
    started: datetime.datetime
    key: Path | None = None


def check_bundle(folder: Path, evidence: Sequence[Where]) -> None:
    """Look, before any work, whether a bundle may be written there. Raises ReportError."""
    if os.path.lexists(folder):
        message = f"{as_given(folder)} exists already, and a bundle is never written over anything"
        raise ReportError(message, hint="name a new folder")
    check_outputs([folder], evidence)


def write_bundle(
    folder: Path,
    evidence: Sequence[Where],
    examination: Examination,
    document: ReportDocument,
    commission: Commission,
) -> str:
    """Write a new folder with the report in every form, the audit, the inspection and the manifest over them; returns
    the SHA-256 of the manifest, to be noted elsewhere. The evidence is read and hashed once more for it.

    Raises EvidenceError where an evidence changed since it was read (no bundle is written then), ReportError where the
    folder exists or can't be written, and ConfigurationError for a key that can't be used.
    """
    outputs = {_NAMES[name]: form.bytes_of(document) for name, form in FORMS.items()}
    audit = examination.audit()
    outputs["audit.json"] = json_bytes(audit)
    outputs["inspection.json"] = json_bytes(examination.inspection())
    custody = _custody(evidence, examination, audit, commission)
    files = sealed(outputs, custody, timeline=TIMELINE, key=commission.key)
    write_folder(folder, files)
    return hashlib.sha256(files[MANIFEST]).hexdigest()


def _custody(
    evidence: Sequence[Where], examination: Examination, audit: AuditDocument, commission: Commission
) -> Custody:
    counts = {name: held for name, held in msgspec.to_builtins(audit.counts).items() if isinstance(held, int)}
    command = tuple(public(one) if is_url(one) else one for one in commission.command)
    return Custody(
        tool={"name": audit.tool.name, "version": audit.tool.version},
        command=tuple(map(visible, examination.shown(command, command))),
        started=_utc(commission.started),
        inputs=examination.shown(_inputs(evidence, examination)),
        finished=_utc(datetime.datetime.now(datetime.UTC)),
        policy={"name": audit.policy.name, "digest": audit.policy.digest},
        rules={"digest": audit.rules.digest},
        counts=counts,
    )


def _utc(time: datetime.datetime) -> str:
    return time.astimezone(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _inputs(evidence: Sequence[Where], examination: Examination) -> tuple[Input, ...]:
    """Each evidence once, an archive as the file that it is, with its digest before and after."""
    places = {name: where for where, name in named_places(evidence)}
    found: dict[str, Input] = {}
    for one in examination.examined:
        name = next((name for name in places if one.name == name or one.name.startswith(f"{name}/")), one.name)
        if name not in found:
            found[name] = _input(name, one, _digest(places.get(name, STDIN)))
    return tuple(found.values())


def _input(name: str, one: Examined, after: tuple[str, int] | None) -> Input:
    digest, size = after or (None, None)
    if one.reading is not None and after is not None and after != (one.sha256, one.size):
        message = f"{one_line(name, 80)} was changed while it was examined, so that the outputs are not about it"
        raise EvidenceError(message, hint="copy the evidence and examine the copy", code="evidence_changed")
    return Input(name=name, sha256=one.sha256, size=one.size, sha256_after=digest, size_after=size)


def _digest(where: str) -> tuple[str, int] | None:
    """The SHA-256 and size of a file as it is now; None of what can't be read a second time."""
    if where == STDIN or is_url(where):
        return None
    try:
        return digest_and_size(where)
    except OSError:
        return None
