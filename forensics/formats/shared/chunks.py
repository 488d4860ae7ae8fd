"""What does one part of an evidence hold: a JSON value, or a document that is read up to where it breaks off?"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.jsonvalue import decode
from forensics.errors import CorruptEvidenceError
from forensics.formats.shared.document import Document, document_of, note_cut
from forensics.formats.shared.json_stream import values
from forensics.formats.shared.lines import plain_start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.json_stream import Chunk
    from forensics.formats.shared.source import Source

_FAR = 64  # bytes around a part in which another one would show


def documents(source: Source, build: EvidenceBuilder, what: str) -> Iterator[Document]:
    """The values of the evidence, each with its place. What is none is a bad line; `what` says what it should be."""
    for chunk in values(source):
        document = _document(chunk, source, build, what)
        if document is not None:
            yield document


def _document(chunk: Chunk, source: Source, build: EvidenceBuilder, what: str) -> Document | None:
    spot = Spot(build.places.add(line=chunk.line, offset=chunk.offset, length=len(chunk.data)))
    decoded = decode(chunk.data)
    if chunk.is_value and decoded.error is None:
        return Document(msgspec.Raw(chunk.data), spot, tainted=build.faults(decoded.faults, spot))
    if _is_all(chunk, source):
        with contextlib.suppress(CorruptEvidenceError):
            document = document_of(chunk.data, spot, build, source.name)
            note_cut(document, build)
            return document
    code = "nul_padding" if b"\x00" in bytes(chunk.data) else "malformed_line"
    message = f"line {chunk.line} is no {what}: {decoded.error or 'another text'}"
    build.bad_line(chunk.line, code, message, spot)
    return None


def _is_all(chunk: Chunk, source: Source) -> bool:
    """Whether nothing but blanks stands around a part of the evidence."""
    before, behind = source.data[plain_start(source) : chunk.offset], source.data[chunk.offset + len(chunk.data) :]
    return not bytes(before[:_FAR]).strip() and not bytes(behind[:_FAR]).strip()
