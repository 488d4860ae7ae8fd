"""What of this evidence, which is one JSON document, can be read? The whole of it or, where it breaks off or is
damaged, what stands before the damage, with a gap for the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.findings import finding
from forensics.core.jsonvalue import decode
from forensics.core.trace import Payload
from forensics.errors import CorruptEvidenceError
from forensics.formats.shared.lines import BOM
from forensics.formats.shared.mending import mend

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.source import Source


class Cut(msgspec.Struct, frozen=True):
    """Where and why a document ends before it is whole: a code of the contract and a sentence."""

    code: str
    message: str
    spot: Spot


class Document(msgspec.Struct, frozen=True):
    """A document as it was read: its JSON, where it begins in the evidence, the code of what taints it (None: nothing),
    and what is missing at its end (None: nothing), which the reader notes when it knows whose it is.
    """

    body: Payload
    spot: Spot
    start: int = 0
    tainted: str | None = None
    cut: Cut | None = None

    def taint_of(self, record: Payload) -> str | None:
        """The code of what taints one record of the document."""
        if self.tainted is None:
            return None
        return next((fault.code for fault in decode(record).faults if fault.code == self.tainted), None)


def note_cut(document: Document, build: EvidenceBuilder, trace: str | None = None) -> None:
    """Say that the document is not whole: a gap of the trace that it breaks off in (None: of each trace)."""
    cut = document.cut
    if cut is not None:
        build.gap(cut.code, cut.message, cut.spot, trace=trace)
        build.found(finding(cut.code, cut.message, locators=(build.places.locator(cut.spot.place),)))


def open_document(source: Source, build: EvidenceBuilder) -> Document:
    """The JSON document that the evidence is. Raises CorruptEvidenceError where nothing of it is JSON."""
    start = len(BOM) if bytes(source.data[:3]) == BOM else 0
    body = source.data[start:]
    spot = Spot(build.places.add(offset=start, length=len(body)))
    return _whole(body, spot, build, start) or _mended(body, spot, build, start, source.name)


def document_of(body: memoryview, spot: Spot, build: EvidenceBuilder, name: str) -> Document:
    """The document in a member of a container, which stands at `spot`. Raises as `open_document` does."""
    return _whole(body, spot, build, 0) or _mended(body, spot, build, 0, name)


def _whole(body: memoryview, spot: Spot, build: EvidenceBuilder, start: int) -> Document | None:
    decoded = decode(body)
    if decoded.error is not None:
        return None
    return Document(msgspec.Raw(body), spot, start, build.faults(decoded.faults, spot))


def _mended(body: memoryview, spot: Spot, build: EvidenceBuilder, start: int, name: str) -> Document:
    mended = mend(body)
    decoded = None if mended is None else decode(mended.text)
    if mended is None or decoded is None or decoded.error is not None:
        message = f"{name} is no JSON document"
        raise CorruptEvidenceError(message, hint="check that the file is whole; nothing of it can be read as JSON")
    unread = len(body) - mended.kept
    rest = Spot(build.places.part_of(spot.place, mended.kept, unread))
    cut = Cut(mended.code, f"{mended.message}: {unread} bytes after the last whole value are not read", rest)
    return Document(msgspec.Raw(mended.text), spot, start, build.faults(decoded.faults, spot), cut)
