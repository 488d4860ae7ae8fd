"""How does a checked bundle read? First whether it is what was handed over, then what differs, and what is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.terminal_page import Span, name, plural, short

if TYPE_CHECKING:
    from forensics.report.custody_documents import BundleInput, VerificationDocument
    from forensics.report.terminal_page import Page

_UNCHANGED = {True: "unchanged by the examination", False: "CHANGED during the examination", None: "not read again"}


def verification(page: Page, document: VerificationDocument) -> None:
    """Lay out a checked bundle."""
    of = f" {document.matching} of {plural(document.files, 'file')} as the manifest lists them"
    if document.verified:
        vouched = "" if document.vouched else ", for which nothing vouches"
        page.line(Span("VERIFIED", "cleared"), of + vouched)
    else:
        page.line(Span("NOT VERIFIED", "refused"), of)
    for fault in document.faults:
        page.field(fault.kind, f"{name(fault.file)}: {short(fault.message, 300)}")
    if page.detail < 0:
        return
    page.field("manifest", document.manifest)
    page.field("signature", document.signature)
    page.field(
        "written", f"{document.finished} by {name(document.written_by.name)} {name(document.written_by.version)}"
    )
    page.field("events", str(document.events))
    for one in document.inputs:
        page.field("input", _input(one))
    for said in document.notes:
        page.field("note", said)


def _input(one: BundleInput) -> str:
    return f"{name(one.name)}, {one.size} bytes, sha256:{one.sha256}, {_UNCHANGED[one.unchanged]}"
