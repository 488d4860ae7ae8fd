"""Is a recorded text what a tool returned, or only the name of the object that held it? A recorder that writes `str` of
a stream, a generator or an object without a spelling of its own keeps an address in a process that is gone.

The spellings are those of CPython's `object.__repr__` and of generators, coroutines and functions, and of ECMAScript's
`Object.prototype.toString`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from forensics.core.jsonvalue import decode
from forensics.core.late import late
from forensics.core.trace import Absence

if TYPE_CHECKING:
    from collections.abc import Iterable

    import msgspec

_OBJECT = late(
    r"<(?:[^<>]|<\w{1,20}>){1,300} at 0x[0-9a-fA-F]{4,16}(?: \[[^<>\[\]]{0,60}\])?>|\[object [A-Z]\w{0,60}\]"
)
_STREAM = late(r"generator|stream|iterator|iterable|\bmap object|\bfilter object|\bzip object", re.IGNORECASE)
_ENDS = (b'>"', b']"')
_HINTS = (b" at 0x", b"[object ")
_LONGEST = 600  # bytes of a payload that may be such a name


def object_named(payload: msgspec.Raw) -> Absence | None:
    """Why what a payload stands for is not in it, where it only names an object; None where it holds a value."""
    if len(payload) > _LONGEST or not may_name_an_object((bytes(payload),)):
        return None
    value = decode(payload).value
    if not isinstance(value, str) or _OBJECT.fullmatch(value) is None:
        return None
    return Absence.STREAMED if _STREAM.search(value) else Absence.NOT_CAPTURED


def may_name_an_object(payloads: Iterable[bytes]) -> bool:
    """Whether one of these payloads may be one that only names an object."""
    short = [one for one in payloads if one.endswith(_ENDS) and len(one) <= _LONGEST]
    return any(hint in one for one in short for hint in _HINTS)
