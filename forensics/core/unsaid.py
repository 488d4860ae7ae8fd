"""Is a recorded text what a tool returned, or only the name of the object that held it? A recorder that writes `str` of
a stream, a generator, a method that nobody called or an object without a spelling of its own keeps an address in a
process that is gone. A list or an object that holds nothing but such names says no more.

The spellings are those of CPython's `object.__repr__` and of its generators, functions, methods, tasks, futures and
files, of `unittest.mock`, of ECMAScript's `Object.prototype.toString`, and of Node's `util.inspect`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from forensics.core.agreement import only_text
from forensics.core.jsonvalue import decode, unfold
from forensics.core.late import late
from forensics.core.trace import Absence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import msgspec

_STATE = r"(?: \[[^<>\[\]]{0,60}\]|: [\w=]{1,40}| state=\w{1,20}(?: (?:returned|raised) \w{1,60})?)?"
_INNER = r"<(?:[^<>\n]|<[^<>\n]{0,100}>){0,300}>"
_NAMES = (
    rf"<(?:[^<>]|<\w{{1,20}}>){{1,300}} at 0x[0-9a-fA-F]{{4,16}}{_STATE}>",
    r"<bound method [\w.<>]{1,200} of <[^<>]{1,300}>>",
    rf"<\w{{0,40}}(?:Task|Future) (?:pending|cancell(?:ed|ing))\b(?:[^<>\n]|{_INNER}){{0,300}}>",
    r"<\w{0,40}Mock(?: name='[^'<>]{1,200}')?(?: spec='[^'<>]{1,100}')? id='\d{1,20}'>",
    r"<_io\.\w{1,40} name=[^<>]{1,300}>",
    r"\[object [A-Z]\w{0,60}\]",
    r"Promise \{ <pending> \}",
    r"\[(?:Async)?(?:Generator)?Function(?:: [\w$.]{1,100}| \(anonymous\))\]",
    r"Object \[(?:Async)?Generator\] \{\}",
)
_NAME = f"(?:{'|'.join(_NAMES)})"
_KEY = r"(?:(?:'[^'\\]{1,100}'|\d{1,20}): )?"
_NAMED = late(rf"{_NAME}|[\[({{]{_KEY}{_NAME}(?:, {_KEY}{_NAME})*,?[\])}}]")
_STREAM = late(r"generator|stream|iterator|iterable|\bmap object|\bfilter object|\bzip object|<_io\.", re.IGNORECASE)
_ENDS = (b'>"', b']"', b'}"', b')"', rb'\u003e"', b"]", b"}")
_HINTS = (
    b" at 0x", b"bound method ", b"Task pending", b"Task cancel", b"Future pending", b"Future cancel", b"Mock ",
    b"_io.", b"[object ", b"Promise {", b"Function: ", b"Function (", b"Generator] {}",
)  # fmt: skip
_LONGEST = 4096  # bytes of a payload that may be such a name, or some


def object_named(payload: msgspec.Raw) -> Absence | None:
    """Why what a payload stands for is not in it, where it only names objects; None where it holds a value."""
    if len(payload) > _LONGEST or not may_name_an_object((bytes(payload),)):
        return None
    named = list(_leaves(decode(payload).value))
    if not named or any(not isinstance(one, str) or _NAMED.fullmatch(one) is None for one in named):
        return None
    return Absence.STREAMED if any(_STREAM.search(str(one)) for one in named) else Absence.NOT_CAPTURED


def _leaves(value: object) -> Iterator[object]:
    """What a value holds that is neither an object, a list nor nothing. Of a message, that is its text."""
    todo = [value]
    while todo:
        held = unfold(todo.pop())
        said = only_text(held) if isinstance(held, list) else None
        if said is not None:
            yield said
        elif isinstance(held, (dict, list)) and held:
            todo.extend(held.values() if isinstance(held, dict) else held)
        elif held is not None:
            yield held


def may_name_an_object(payloads: Iterable[bytes]) -> bool:
    """Whether one of these payloads may be one that only names an object."""
    short = b"\n".join([one for one in payloads if len(one) <= _LONGEST and one.endswith(_ENDS)])
    return any(hint in short for hint in _HINTS)
