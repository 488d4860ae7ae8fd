"""What of this evidence, which is one JSON document, can be read? The whole of it or, where it breaks off or is
damaged, what stands before its first damaged record, with a gap for the rest.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.jsonvalue import decode
from forensics.core.trace import Payload
from forensics.errors import CorruptEvidenceError
from forensics.formats.shared.lines import lines, plain_start

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.source import Source

_LOOKED_AT = 32  # lines
_HINT = "check that the file is whole; nothing of it can be read as JSON"


class Cut(msgspec.Struct, frozen=True):
    """Why a document ends before it is whole, as a sentence, and where."""

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
        build.unread("container_truncated", cut.message, cut.spot, trace=trace)


def open_document(source: Source, build: EvidenceBuilder) -> Document:
    """The JSON document that the evidence is. Raises CorruptEvidenceError where no record of it is whole."""
    start = plain_start(source)
    body = source.data[start:]
    return document_of(body, Spot(build.places.add(offset=start, length=len(body))), build, source.name, start)


def document_of(body: memoryview, spot: Spot, build: EvidenceBuilder, name: str, start: int = 0) -> Document:
    """The document that stands at `spot`, in a member of a container for instance. Raises as `open_document` does."""
    whole = _whole(body, spot, build, start)
    found = whole or _mended(body, spot, build, start)
    if found is None:
        message = f"{name} is no JSON document"
        raise CorruptEvidenceError(message, hint=_HINT)
    return found


def find_document(source: Source, build: EvidenceBuilder) -> Document | None:
    """The JSON document that the evidence is; None for lines, and where no record of it is whole."""
    start = plain_start(source)
    body = source.data[start:]
    if not is_value(body) and are_lines(source):
        return None
    spot = Spot(build.places.add(offset=start, length=len(body)))
    return _whole(body, spot, build, start) or _mended(body, spot, build, start)


def are_lines(source: Source) -> bool:
    """Whether an evidence that is not one JSON value has lines that are; a bracket alone on the first line opens a
    document.
    """
    first, *others = [line.data for line in islice(lines(source), _LOOKED_AT)] or [memoryview(b"")]
    if not others or bytes(first).strip() in (b"{", b"["):
        return False
    if is_value(first):
        return True
    return any(map(is_value, others)) and decode(source.data[plain_start(source) :]).error is not None


def is_value(data: memoryview) -> bool:
    """Whether a text is one JSON object or array. Only its outline is looked at, unless that is in doubt."""
    if bytes(data[:64]).lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _whole(body: memoryview, spot: Spot, build: EvidenceBuilder, start: int) -> Document | None:
    decoded = decode(body)
    if decoded.error is not None:
        return None
    return Document(msgspec.Raw(body), spot, start, build.faults(decoded.faults, spot))


def _mended(body: memoryview, spot: Spot, build: EvidenceBuilder, start: int) -> Document | None:
    from forensics.formats.shared.mending import mend

    mended = mend(body, start)
    if mended is None:
        return None
    unread = len(body) - mended.kept
    message = f"the document {mended.why}; what stands behind its last whole record, {unread} bytes, is not read"
    cut = Cut(message, Spot(build.places.part_of(spot.place, mended.kept, unread)))
    tainted = build.faults(decode(mended.text).faults, spot)
    build.spans_are_complete = False  # that of an execution may stand in what is not read
    return Document(msgspec.Raw(mended.text), spot, start, tainted, cut)
