"""Which fields has the document of a checked bundle? Frozen types, as those of every document."""

from __future__ import annotations

from forensics.report.documents import Document, Program

VERIFICATION = "forensics/verification/v1"


class BundleFault(Document, frozen=True):
    """One thing in which a bundle is not what was handed over; `event` is counted from 1."""

    kind: str
    file: str
    message: str
    event: int | None = None


class BundleInput(Document, frozen=True):
    """One evidence as the manifest tells of it; `unchanged` is null where it could not be read a second time."""

    name: str
    sha256: str
    size: int
    unchanged: bool | None


class VerificationDocument(Document, frozen=True):
    """A bundle checked against its manifest. `manifest` is the digest of the manifest as it stands: with it noted
    elsewhere, `--expect` tells a bundle from one that was rewritten whole. `vouched` says that somebody else than the
    folder vouches for the manifest: the key of its signature, or that digest. `notes` say what was not checked.
    """

    schema: str
    tool: Program
    verified: bool
    vouched: bool
    manifest: str
    signature: str
    written_by: Program
    finished: str
    files: int
    matching: int
    events: int
    inputs: list[BundleInput]
    faults: list[BundleFault]
    notes: list[str]


CUSTODY_DOCUMENTS: dict[str, type[Document]] = {"verification": VerificationDocument}
