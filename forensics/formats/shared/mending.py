"""What can still be read of a JSON document that breaks off, or is damaged in its middle? All that stands before.

A writer that was killed, a full disk or a cut download leaves a document without its end. One linear pass finds where
it stops to be JSON. The document is closed behind the last whole record before that, byte for byte as it stands, so
that every reader reads it and every locator still holds. A record that is cut is left out as a whole: half a message
would be told as another message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import decode
from forensics.core.late import late

if TYPE_CHECKING:
    import re

_RECORDS = frozenset(
    {
        "contents",
        "entries",
        "events",
        "generated_items",
        "history",
        "input",
        "interactions",
        "items",
        "log",
        "messages",
        "observations",
        "original_input",
        "runs",
        "spans",
        "steps",
        "traj",
        "trajectory",
    }
)
"""Members whose arrays hold records, one an item, in the formats that write one document."""
_LISTS = frozenset({"batch", "data", "patch", "post", "results", "samples", "simulations", "traces"})
"""Members whose arrays hold records, or what holds some."""
_PAYLOADS = frozenset(
    {
        "arguments",
        "args",
        "attributes",
        "content",
        "inputs",
        "output",
        "outputs",
        "parts",
        "result",
        "tool_calls",
        "tools",
    }
)
"""Members of a record: what they hold is its value, whatever the arrays in it are called."""
_STRING = rb'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+'
_TOKEN = late(rb"[ \t\r\n]*+(?:(" + _STRING + rb'")|([\[\]{}:,])|([^\s"\[\]{}:,]++))')
_SCALAR = late(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|NaN|-?Infinity")
_UNFINISHED = late(rb"[ \t\r\n]*+(?:" + _STRING + rb'(?:\\(?:u[0-9a-fA-F]{0,3})?)?|[^\s"\[\]{}:,]*+)')
_CLOSES = {b"}": b"{", b"]": b"["}
_CLOSER = {b"{": b"}", b"[": b"]"}


class Mended(msgspec.Struct, frozen=True):
    """The readable beginning of a document, as JSON: its first `kept` bytes are those of the evidence, and `why` says
    what ends it there.
    """

    text: bytes
    kept: int
    why: str


def mend(body: memoryview, start: int = 0) -> Mended | None:
    """The document up to its last whole record; None where none is whole. `start` is where it begins in the evidence,
    whose offsets `why` names.
    """
    if bytes(body[:64]).lstrip()[:1] not in _CLOSER:
        return None
    data, bad_byte = _before_bad_bytes(bytes(body))
    scan = _Scan(data)
    scan.run()
    text = scan.readable()
    if text is None or decode(text).error is not None:
        return None
    return Mended(text, scan.end, _why(scan.stops, len(data), bad_byte, start))


def _before_bad_bytes(data: bytes) -> tuple[bytes, int]:
    """The bytes before the first that is not UTF-8, and where that one is (-1: none)."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return data[: error.start], error.start
    return data, -1


def _why(stops: int, size: int, bad_byte: int, start: int) -> str:
    if stops < size:
        return f"stops to be JSON at byte {start + stops}"
    return "breaks off" if bad_byte < 0 else f"stops to be UTF-8 at byte {start + bad_byte}"


class _Open(msgspec.Struct):
    """An object or array that is not closed yet: how it opens, the member that holds it, the offset behind its last
    whole member or item (behind its bracket, where there is none), how many those are, whether a whole list of records
    stands among them or in one of them, and the key that waits.
    """

    mark: bytes
    name: str
    end: int
    whole: int = 0
    holds: bool = False
    key: str = ""


class _Scan:
    """One pass over the tokens of a document, up to the first that JSON does not allow there."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._open: list[_Open] = []
        self._waits_for = "value"
        self.holds = False
        self._done = 0
        self.stops = 0
        self.end = 0

    def run(self) -> None:
        """Go as far as the text is JSON."""
        while (token := _TOKEN.match(self._data, self._at)) and self._take(token):
            self._at = token.end()
        goes_on = not self._done and _UNFINISHED.fullmatch(self._data, self._at)
        self.stops = len(self._data) if goes_on else self._at

    def readable(self) -> bytes | None:
        """The text up to the last whole record, closed; None where none is whole."""
        if self._done:
            self.end = self._done
            return self._data[: self.end] if self.holds else None
        level = self._level()
        if level is None:
            return None
        self.end = self._open[level].end
        closers = (_CLOSER[one.mark] for one in reversed(self._open[: level + 1]))
        return self._data[: self.end] + b"".join(closers)

    def _level(self) -> int | None:
        """Which of the open values is cut: the outermost list of records, where it or what names it has something
        whole; else the innermost value that holds a whole one; else a list that holds other values.
        """
        above = self._above_payloads()
        arrays = [n for n, one in enumerate(above) if one.mark == b"["]
        named = next((n for n in arrays if above[n].name in _RECORDS), len(above))
        if named < len(above) and (above[named].whole or above[named - 1].whole):
            return named
        holding = [n for n, one in enumerate(above[:named]) if one.holds]
        if holding:
            return holding[-1]
        return next((n for n in arrays if above[n].whole and (n == 0 or above[n].name in _LISTS)), None)

    def _above_payloads(self) -> list[_Open]:
        within = next((n for n, one in enumerate(self._open) if n and one.name in _PAYLOADS), len(self._open))
        return self._open[:within]

    # tokens ------------------------------------------------------------------------------------------------------

    def _take(self, token: re.Match[bytes]) -> bool:
        """Take one token; False where JSON has none such here."""
        text, mark, scalar = token.groups()
        if self._done:
            return False
        if mark is None:
            if scalar is not None and (_SCALAR.fullmatch(scalar) is None or token.end() == len(self._data)):
                return False
            return self._key(text) if self._waits_for in ("key", "key or end") else self._value(token.end())
        if mark in b"{[":
            return self._opens(mark, token.end())
        if mark in b"}]":
            return self._closes(mark, token.end())
        return self._goes_on(mark)

    def _key(self, text: bytes | None) -> bool:
        if text is None:
            return False
        self._open[-1].key = text[1:-1].decode("utf-8", "replace")
        self._waits_for = "colon"
        return True

    def _value(self, end: int) -> bool:
        if self._waits_for not in ("value", "value or end"):
            return False
        self._is_there(end)
        return True

    def _is_there(self, end: int) -> None:
        """A whole value ends here."""
        if not self._open:
            self._done = end
            return
        self._open[-1].end = end
        self._open[-1].whole += 1
        self._waits_for = "comma or end"

    def _opens(self, mark: bytes, end: int) -> bool:
        if self._waits_for not in ("value", "value or end"):
            return False
        self._open.append(_Open(mark, self._open[-1].key if self._open else "", end))
        self._waits_for = "key or end" if mark == b"{" else "value or end"
        return True

    def _closes(self, mark: bytes, end: int) -> bool:
        if not self._waits_for.endswith("end") or not self._open or self._open[-1].mark != _CLOSES[mark]:
            return False
        one = self._open[-1]
        if one.mark == b"[" and one.whole and (one.name in _RECORDS or len(self._open) == 1):
            one.holds = one.holds or len(self._above_payloads()) == len(self._open)
        self._open.pop()
        above = self._open[-1] if self._open else self
        above.holds = above.holds or one.holds
        self._is_there(end)
        return True

    def _goes_on(self, mark: bytes) -> bool:
        if mark == b":":
            waited, self._waits_for = self._waits_for, "value"
            return waited == "colon"
        waited, self._waits_for = self._waits_for, "key" if self._open and self._open[-1].mark == b"{" else "value"
        return waited == "comma or end"
