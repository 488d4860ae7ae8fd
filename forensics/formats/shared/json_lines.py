"""Which JSON objects does a line format hold, one a line, and what of it is damaged? What can be read is read.

Three kinds of damage leave the record readable and are said: bytes that are no UTF-8 (kept as escapes, so that none is
lost), NUL bytes around a record (a power cut between two appends), and records run together on one line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.evidence import Severity
from forensics.core.findings import finding
from forensics.core.jsonvalue import Decoded, decode
from forensics.formats.shared.fields import Fields, fields_of
from forensics.formats.shared.glued import covers, glued
from forensics.formats.shared.lines import Line, bad_line, lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.jsonvalue import Fault
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.source import Source

_BLANK = b" \t\r"


class JsonLine(msgspec.Struct, frozen=True, gc=False):
    """One record: its fields, where it stands, and the code of what makes it unsure (None: nothing)."""

    fields: Fields
    spot: Spot
    tainted: str | None = None


def json_lines(source: Source, build: EvidenceBuilder) -> Iterator[JsonLine]:
    """The objects of every line, in order; lines, records and damage are counted and told to the builder."""
    for line in lines(source):
        build.counts.lines += 1
        for one in _objects(line, build):
            build.counts.records += 1
            yield one


def json_values(source: Source, build: EvidenceBuilder) -> Iterator[tuple[Payload, Spot, str | None]]:
    """The JSON value of every line, of any kind, with the code that taints it; a line that is none is a bad line."""
    for line in lines(source):
        build.counts.lines += 1
        spot = _spot(line, build)
        decoded = decode(line.data)
        if decoded.error is not None:
            bad_line(build, line, spot.place, f"line {line.number} is no JSON: {decoded.error}")
        else:
            yield msgspec.Raw(line.data), spot, build.faults(decoded.faults, spot)


def _objects(line: Line, build: EvidenceBuilder) -> Iterator[JsonLine]:
    decoded = decode(line.data)
    if isinstance(decoded.value, dict):
        spot = _spot(line, build)
        yield JsonLine(fields_of(line.data), spot, faults_of(decoded.faults, spot, build))
        return
    if decoded.error is None:
        bad_line(build, line, _spot(line, build).place, f"line {line.number} is a JSON value that is no object")
        return
    yield from _recovered(line, decoded.error, build)


def _spot(line: Line, build: EvidenceBuilder, start: int = 0, length: int = -1) -> Spot:
    size = len(line.data) if length < 0 else length
    return Spot(build.places.add(line=line.number, offset=line.offset + start, length=size))


def faults_of(faults: tuple[Fault, ...], spot: Spot, build: EvidenceBuilder) -> str | None:
    """Note what a record says in two ways; returns the code that taints it. Lone surrogates are named once: each is
    kept and shown as an escape.
    """
    loud = tuple(fault for fault in faults if fault.code != "lone_surrogate")
    if len(loud) < len(faults):
        message = "texts with lone surrogates (bytes of another encoding); each is kept and shown as an escape"
        build.once("lone_surrogate", message, spot, severity=Severity.INFO)
    return build.faults(loud, spot)


# damaged lines -------------------------------------------------------------------------------------------------------


def _recovered(line: Line, why: str, build: EvidenceBuilder) -> Iterator[JsonLine]:
    data = bytes(line.data)
    reencoded = _escaped(data)
    if reencoded is not None:
        yield from _reencoded(line, reencoded, why, build)
        return
    inner = data.strip(b"\x00" + _BLANK)
    decoded = decode(inner) if inner != data else None
    if decoded is not None and isinstance(decoded.value, dict):
        yield _between_nul(line, inner, decoded, build)
        return
    found = list(glued(data))
    if not covers(found, data):
        bad_line(build, line, _spot(line, build).place, f"line {line.number} is no JSON object: {why}")
    if found:
        said = f"line {line.number} is no JSON object; {len(found)} records were read out of it"
        _note_recovered(line, len(found), said, build)
    for offset, size in found:
        piece = line.data[offset : offset + size]
        spot = _spot(line, build, offset, size)
        yield JsonLine(fields_of(piece), spot, faults_of(decode(piece).faults, spot, build))


def _escaped(data: bytes) -> bytes | None:
    r"""Bytes that are no UTF-8 as the JSON escapes that Python knows them by (`\udce9`); None where all is UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape").encode("utf-8", "backslashreplace")
    return None


def _reencoded(line: Line, text: bytes, why: str, build: EvidenceBuilder) -> Iterator[JsonLine]:
    spot = _spot(line, build)
    decoded = decode(text)
    if not isinstance(decoded.value, dict):
        bad_line(build, line, spot.place, f"line {line.number} is no JSON object: {decoded.error or why}")
        return
    message = f"line {line.number} holds bytes that are no UTF-8: each is kept and shown as an escape ({why})"
    build.unread("encoding", message, spot, hides=False)
    build.counts.recovered_records += 1
    others = tuple(fault for fault in decoded.faults if fault.code != "lone_surrogate")  # the escapes just made
    yield JsonLine(fields_of(text), spot, faults_of(others, spot, build) or "encoding")


def _between_nul(line: Line, inner: bytes, decoded: Decoded, build: EvidenceBuilder) -> JsonLine:
    start = bytes(line.data).index(inner)
    message = f"line {line.number} holds NUL bytes around a record: storage damage"
    bad_line(build, line, _spot(line, build).place, message)
    _note_recovered(line, 1, f"a record was read from between NUL bytes in line {line.number}", build)
    spot = _spot(line, build, start, len(inner))
    return JsonLine(fields_of(inner), spot, faults_of(decoded.faults, spot, build))


def _note_recovered(line: Line, count: int, message: str, build: EvidenceBuilder) -> None:
    build.counts.recovered_records += count
    build.found(finding("recovered_record", message, locators=(build.places.locator(_spot(line, build).place),)))
