"""What does a JSON document that breaks off, or is damaged, still say? All that stands before the damage, as a document
of its own: the text up to the last value that is whole, and the brackets that were open there.

One pass over the text, of constant work a token; nothing is guessed and no value is changed.
"""

from __future__ import annotations

import json
import re

import msgspec

from forensics.core.limits import limits

_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]|[^\s{}\[\],:"]++', re.DOTALL)
_SCALAR = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|NaN|-?Infinity")
_CLOSERS = {b"{": b"}", b"[": b"]"}
_OPENERS = frozenset(_CLOSERS)


class Mended(msgspec.Struct, frozen=True):
    """The readable beginning of a document, as JSON: its first `kept` bytes are those of the evidence. `code` and
    `message` say what stands there that ends it.
    """

    text: bytes
    kept: int
    code: str
    message: str


def mend(data: memoryview) -> Mended | None:
    """The document that stands before the damage; None where not even its first bracket does."""
    body, bad_byte = _text_before_bad_bytes(data)
    scan, text = _scanned(body)
    fault = _first_fault(text)
    if fault >= 0:  # inside a token: an escape or a control character that JSON does not allow
        scan, text = _scanned(body[:fault])
        scan.broken, scan.stopped = True, fault
    if not scan.safe_depth:
        return None
    code, message = _cause(scan, bad_byte, len(data))
    return Mended(text, scan.safe, code, message)


def _scanned(body: bytes) -> tuple[_Scan, bytes]:
    scan = _Scan(body)
    scan.run()
    return scan, body[: scan.safe] + b"".join(reversed(scan.closers[: scan.safe_depth]))


def _first_fault(text: bytes) -> int:
    """The byte at which a text is no JSON, or -1."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return len(error.doc[: error.pos].encode("utf-8", "surrogatepass"))
    except ValueError:  # a number of too many digits is a number
        return -1
    return -1


def _text_before_bad_bytes(data: memoryview) -> tuple[bytes, int]:
    """The bytes before the first that is not UTF-8, and where that one is (-1: none)."""
    body = bytes(data)
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        return body[: error.start], error.start
    return body, -1


def _cause(scan: _Scan, bad_byte: int, size: int) -> tuple[str, str]:
    if scan.too_deep:
        return "nesting_limit", f"nested more than {limits().nesting} deep at byte {scan.stopped}"
    if bad_byte >= 0 and not scan.broken:
        return "encoding", f"not UTF-8 at byte {bad_byte}"
    if scan.broken:
        return "malformed_line", f"no JSON at byte {scan.stopped}"
    return "container_truncated", f"the text breaks off at byte {size}"


class _Scan:
    """A walk over the tokens. `safe` is the end of the last value that is whole, inside `safe_depth` open brackets,
    whose closing ones are the first of `closers`.
    """

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.closers: list[bytes] = []
        self.expects_key: list[bool] = []
        self.safe = 0
        self.safe_depth = 0
        self.stopped = len(body)
        self.broken = False
        self.deepest = limits().nesting
        self.too_deep = False
        self._after = b""

    def run(self) -> None:
        """Walk until the text ends or is no JSON."""
        for token in _TOKEN.finditer(self.body):
            if not self._take(token.group(), token.end()):
                self.stopped = token.start()
                return

    def _take(self, token: bytes, end: int) -> bool:
        """Take one token; False where the walk ends at it."""
        mark = token[:1]
        if mark in _OPENERS:
            return self._open(mark, end)
        if mark in b"}]":
            return self._close(mark, end)
        if mark == b":":
            return self._colon()
        if mark == b",":
            return self._comma()
        return self._value(token, end)

    def _open(self, mark: bytes, end: int) -> bool:
        if not self._may_begin_value() or (not self.closers and self.safe):
            return self._breaks()
        if len(self.closers) >= self.deepest:
            self.too_deep = True
            return False
        self.closers.append(_CLOSERS[mark])
        self.expects_key.append(mark == b"{")
        self._is_safe(end)
        self._after = mark
        return True

    def _close(self, mark: bytes, end: int) -> bool:
        if not self.closers or self.closers[-1] != mark or self._after in (b",", b":", b"key"):
            return self._breaks()
        if len(self.closers) == 1:  # the document is whole: what follows it is the damage
            self._after = b"end"
            return True
        self.closers.pop()
        self.expects_key.pop()
        self._ended(end)
        return True

    def _colon(self) -> bool:
        if self._after != b"key":
            return self._breaks()
        self.expects_key[-1] = False
        self._after = b":"
        return True

    def _comma(self) -> bool:
        if not self.closers or self._after != b"value":
            return self._breaks()
        self.expects_key[-1] = self.closers[-1] == b"}"
        self._after = b","
        return True

    def _value(self, token: bytes, end: int) -> bool:
        if not self.closers or self._after not in (b"{", b"[", b",", b":"):
            return self._breaks()
        if token[:1] == b'"':
            return self._string(token, end)
        if end == len(self.body):  # a number or word that touches the end may go on
            return False
        if self.expects_key[-1] or not _SCALAR.fullmatch(token):
            return self._breaks()
        self._ended(end)
        return True

    def _string(self, token: bytes, end: int) -> bool:
        if not _is_closed(token):
            return False
        if self.expects_key[-1]:
            self._after = b"key"
        else:
            self._ended(end)
        return True

    def _may_begin_value(self) -> bool:
        return not self.closers or (self._after in (b"[", b",", b":") and not self.expects_key[-1])

    def _ended(self, end: int) -> None:
        self._is_safe(end)
        self._after = b"value"

    def _is_safe(self, end: int) -> None:
        self.safe, self.safe_depth = end, len(self.closers)

    def _breaks(self) -> bool:
        self.broken = True
        return False


def _is_closed(token: bytes) -> bool:
    r"""Whether a string token has its closing quote: a last quote that no odd run of backslashes escapes."""
    if len(token) < 2 or token[-1:] != b'"':  # noqa: PLR2004 - two quotes
        return False
    stem = token[:-1]
    return (len(stem) - len(stem.rstrip(b"\\"))) % 2 == 0
