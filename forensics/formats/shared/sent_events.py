"""Which JSON values does a stream of server-sent events hold that was kept as it came? That of each line of data.

An event whose data are spread over several lines (HTML, section 9.2) is none that an API sends: its lines are bad ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.jsonvalue import decode
from forensics.formats.shared.lines import bad_line, lines
from forensics.formats.shared.messages.streams import is_event_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.source import Source

_DATA = b"data:"
_BESIDE = (b"event:", b"id:", b"retry:", b":")
_DONE = b"[DONE]"
_SHOWN = 64  # lines of a head that are looked at


def first_values(head: bytes) -> list[bytes]:
    """The first values of a text, where it is such a stream."""
    if not is_event_stream(head):
        return []
    return [line[len(_DATA) :].strip() for line in head.split(b"\n")[:_SHOWN] if line.startswith(_DATA)]


def sent_values(source: Source, build: EvidenceBuilder) -> Iterator[tuple[Payload, Spot, str | None]]:
    """The value of each event, with its place and the code that taints it; a line of none is a bad line."""
    for line in lines(source):
        build.counts.lines += 1
        data = bytes(line.data)
        if data.startswith(_BESIDE) or data == _DATA + _DONE or data == _DATA + b" " + _DONE:
            continue
        value = data.removeprefix(_DATA)
        start = len(data) - len(value)
        spot = Spot(build.places.add(line=line.number, offset=line.offset + start, length=len(value)))
        decoded = decode(value)
        if not start or decoded.error is not None:
            bad_line(build, line, spot.place, f"line {line.number} is no data of an event: {decoded.error or 'a text'}")
        else:
            yield msgspec.Raw(value), spot, build.faults(decoded.faults, spot)
