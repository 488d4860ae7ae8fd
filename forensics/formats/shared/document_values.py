"""Where does each value of a list in a document stand, and what taints it? Told as the values of lines are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.formats.shared.messages.telling import Finder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.source import Source


def document_values(
    source: Source, build: EvidenceBuilder, document: Document, values: Iterable[Payload], pointer: str
) -> Iterator[tuple[Payload, Spot, str | None]]:
    """The values of the list at that JSON Pointer, each with its own place, or that of the document where it is spelled
    otherwise there, and the code that taints it.
    """
    finder = Finder(source, build.places, document.start)
    for at, value in enumerate(values):
        place = finder.place(value)
        spot = Spot(place if place >= 0 else document.spot.place, f"{pointer}/{at}")
        yield value, spot, document.taint_of(value)
