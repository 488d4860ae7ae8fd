"""Who takes what an evidence holds, one record after the other? A walk: it is handed each, told when there is no more,
and an evidence that had none for it is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from forensics.formats.shared.document import find_document, note_cut
from forensics.formats.shared.json_lines import json_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.json_lines import JsonLine
    from forensics.formats.shared.source import Source

_Line_contra = TypeVar("_Line_contra", contravariant=True)


class Walk(Protocol[_Line_contra]):
    """What takes the records of a log one by one."""

    def line(self, one: _Line_contra, /) -> None:
        """Take what the next line holds."""

    def close(self) -> None:
        """Take note that there is none behind it."""


class DocumentWalk(Walk[_Line_contra], Protocol[_Line_contra]):
    """What takes a whole document as well."""

    def document(self, source: Source, document: Document, /) -> None:
        """Take all that the document holds."""


def walk_lines(source: Source, build: EvidenceBuilder, walk: Walk[JsonLine], what: str) -> None:
    """Hand every record of a log over. Raises CorruptEvidenceError where there is none: `what` names one of them."""
    for one in json_lines(source, build):
        walk.line(one)
    _end(source, build, walk, what)


def walk_evidence(
    source: Source, build: EvidenceBuilder, walk: DocumentWalk[_Line_contra], lines: Iterable[_Line_contra], what: str
) -> None:
    """Hand over the document that the evidence is, else what its `lines` hold, which are read only then. Raises as
    `walk_lines` does.
    """
    document = find_document(source, build)
    if document is not None:
        walk.document(source, document)
        note_cut(document, build)
    else:
        for one in lines:
            walk.line(one)
    _end(source, build, walk, what)


def _end(source: Source, build: EvidenceBuilder, walk: Walk[_Line_contra], what: str) -> None:
    walk.close()
    if not build.counts.records:
        raise source.holds_no(what)
