"""What can still be read of a JSON document that breaks off, or is damaged in its middle? All that stands before.

A writer that was killed, a full disk or a cut download leaves a document without its end. One linear pass finds where
it stops to be JSON. The document is closed behind the last whole record before that, byte for byte as it stands, so
that every reader reads it and every locator still holds; what follows is one gap. A record that is cut is left out as
a whole: half a message would be told as another message.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.findings import finding
from forensics.core.jsonvalue import decode
from forensics.formats.shared.lines import BOM, lines
from forensics.formats.shared.source import Source

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder

_RECORDS = frozenset(
    {
        "contents",
        "entries",
        "events",
        "history",
        "input",
        "items",
        "log",
        "messages",
        "observations",
        "runs",
        "spans",
        "steps",
        "traj",
        "trajectory",
    }
)
"""Members whose arrays hold records, one an item, in the formats that write one document."""
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
_LOOKED_AT = 32  # lines
_TOKEN = re.compile(rb'[ \t\r\n]*+(?:("(?:[^"\\\x00-\x1f]++|\\.)*+")|([\[\]{}:,])|([^\s"\[\]{}:,]++))')
_SCALAR = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|NaN|-?Infinity").fullmatch
_UNFINISHED = re.compile(rb'[ \t\r\n]*+(?:"(?:[^"\\\x00-\x1f]++|\\.)*+\\?|[^\s"\[\]{}:,]*+)').fullmatch
_CLOSES = {b"}": b"{", b"]": b"["}
_CLOSER = {b"{": b"}", b"[": b"]"}


class Recovered(msgspec.Struct, frozen=True):
    """The readable part of a damaged document as a source of its own; `end` is the offset where it ends in the
    evidence, `stops` that where the evidence stops to be JSON.
    """

    source: Source
    end: int
    stops: int


def say_broken(broken: Recovered, size: int, build: EvidenceBuilder) -> None:
    """One finding and one gap, which may hide anything, for all that stands behind the readable part."""
    left = size - broken.end
    place = build.places.add(offset=broken.end, length=left)
    why = "breaks off" if broken.stops >= size else f"stops to be JSON at byte {broken.stops}"
    message = f"the document {why}; what stands behind its last whole record, {left} bytes, is not read"
    build.gap("container_truncated", message, Spot(place))
    build.found(finding("container_truncated", message, locators=(build.places.locator(place),)))


class _Open(msgspec.Struct):
    """An object or array that is not closed yet: how it opens, the member that holds it, the offset behind its last
    whole member or item (behind its bracket, where there is none), how many those are, and the key that waits.
    """

    mark: bytes
    name: str
    end: int
    whole: int = 0
    key: str = ""


def recovered(source: Source) -> Recovered | None:
    """The readable part of a document that is damaged; None for what is whole, for a line format, and where no record
    is whole.
    """
    start = len(BOM) if bytes(source.data[:3]) == BOM else 0
    head = bytes(source.data[start : start + 64]).lstrip()[:1]
    if head not in (b"{", b"[") or _is_lines(source) or _is_whole(source.data[start:]):
        return None
    data = bytes(source.data)
    scan = _Scan(data, start)
    scan.run()
    cut = scan.readable()
    if cut is None or decode(cut[start:]).error is not None:
        return None
    return Recovered(Source(source.name, memoryview(cut), source.sha256), scan.end, scan.stops)


def _is_whole(body: memoryview) -> bool:
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return decode(body).error is None
    return True


def _is_lines(source: Source) -> bool:
    """Whether lines are JSON values of their own; a bracket alone on the first line opens a document."""
    for number, line in enumerate(islice(lines(source), _LOOKED_AT)):
        text = bytes(line.data)
        if number == 0 and text.strip() in (b"{", b"["):
            return False
        if text[:1] in (b"{", b"[") and _is_whole(line.data):
            return True
    return False


class _Scan:
    """One pass over the tokens of a document, up to the first that JSON does not allow there."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data = data
        self._at = start
        self._open: list[_Open] = []
        self._waits_for = "value"
        self._seen = False
        self._done = 0
        self.stops = start
        self.end = start

    def run(self) -> None:
        """Go as far as the text is JSON."""
        for token in _TOKEN.finditer(self._data, self._at):
            if token.start() != self._at or not self._take(token):
                break
            self._at = token.end()
        self.stops = len(self._data) if _UNFINISHED(self._data, self._at) else self._at

    def readable(self) -> bytes | None:
        """The text up to the last whole record, closed; None where none is whole."""
        if self._done:
            self.end = self._done
            return self._data[: self.end] if self._seen else None
        level = self._level()
        if level is None:
            return None
        self.end = self._open[level].end
        closers = (_CLOSER[one.mark] for one in reversed(self._open[: level + 1]))
        return self._data[: self.end] + b"".join(closers)

    def _level(self) -> int | None:
        """Which of the open values is cut: the outermost list of records; else the outermost list; else the whole."""
        above = self._above_payloads()
        arrays = [n for n, one in enumerate(above) if one.mark == b"["]
        named = next((n for n in arrays if above[n].name in _RECORDS), None)
        if named is not None and (above[named].whole or self._seen):
            return named
        filled = next((n for n in arrays if above[n].whole), None)
        if filled is not None and (filled == 0 or self._seen):
            return filled
        return 0 if self._seen and above else None

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
            if scalar is not None and (_SCALAR(scalar) is None or token.end() == len(self._data)):
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
            self._seen = self._seen or len(self._above_payloads()) == len(self._open)
        self._open.pop()
        self._is_there(end)
        return True

    def _goes_on(self, mark: bytes) -> bool:
        if mark == b":":
            waited, self._waits_for = self._waits_for, "value"
            return waited == "colon"
        waited, self._waits_for = self._waits_for, "key" if self._open and self._open[-1].mark == b"{" else "value"
        return waited == "comma or end"
