"""What is to be said of the content of a reading, and which of its values are not to be shown?"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.content.identifiers import unsafe_identifiers
from forensics.analysis.content.scan import scan
from forensics.core.jsonvalue import canonical, value_of
from forensics.core.secrets import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from forensics.core.reading import Reading


def look_through(reading: Reading, data: memoryview, find: Callable[[bytes, int], int]) -> Reading:
    """The reading with the findings about its content, and with the names of its secret values. `data` are the plain
    bytes of the evidence, and `find(needle, start)` searches them.
    """
    noted, complete = scan(reading, data, find)
    key = key_of(chain(noted.values, _told(reading))) if noted.any_secret else b""
    secrets = noted.secrets(key, complete=complete)
    own = list(reading.findings)
    for trace, one in noted.findings(secrets):
        (own if trace is None else trace.findings).append(one)
    return msgspec.structs.replace(look_at_names(reading), findings=tuple(own), secrets=secrets)


def look_at_names(reading: Reading) -> Reading:
    """The reading with the findings about the names in it alone; nobody has looked for what its values hold."""
    for trace in reading.traces:
        trace.findings.extend(unsafe_identifiers(trace))
    return reading


def _told(reading: Reading) -> Iterator[bytes]:
    """What every step says, and when to the nanosecond, which no document shows."""
    for trace in reading.traces:
        for at, payload in zip(trace.at, trace.payload, strict=True):
            yield b"%d " % at + (b"" if payload is None else canonical(value_of(payload)))
