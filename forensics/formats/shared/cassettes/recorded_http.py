"""Which HTTP requests and responses does a cassette hold, whatever library recorded it?

VCR.py in YAML and JSON, its users' own serialisers (`parsed_body`, an HTTPX stub), Ruby's VCR, go-vcr, and HAR (as
Polly and browsers write it): one table of names. Bodies are given as the bytes that went over the wire once content
encodings are undone, within limits.
"""

from __future__ import annotations

import base64
import binascii
import email.utils
import re
import zlib
from datetime import UTC, timedelta
from typing import Any

import msgspec

from forensics.core.jsonvalue import raw
from forensics.core.limits import limits
from forensics.core.trace import NOWHERE
from forensics.formats.shared.messages.streams import Streamed, is_event_stream, read_binary, read_events

LISTS = ("interactions", "http_interactions")
HAR = ("log", "entries")
_GZIP = b"\x1f\x8b"
_PACKED = "H4sI"  # base64 of gzip's first bytes
_FRAMED = b"AAA"  # base64 of the length with which a frame begins
_ANY_ZLIB = 47  # zlib's number for a zlib or a gzip header
_RAW_DEFLATE = -15
_FAILED = 400
_STATUS = re.compile(r"\s*(\d{3})\b")
_BINARY_STREAM = "application/vnd.amazon.eventstream"
_STREAM = "text/event-stream"
_MICROSECOND = timedelta(microseconds=1)


class Body(msgspec.Struct, frozen=True):
    """One body: its bytes (None: not recorded), where it stands in its exchange, and why it can't be read (""; it can).
    `streamed` is the answer that it holds in pieces.
    """

    data: bytes | None = None
    pointer: str = ""
    doubt: str = ""
    streamed: Streamed | None = None

    def json(self) -> msgspec.Raw | None:
        """The body as one JSON text: the answer put together, the body itself, or its text as a JSON string."""
        if self.streamed is not None:
            return raw(self.streamed.body)
        if self.data is None:
            return None
        if self.data.lstrip()[:1] in (b"{", b"["):
            return msgspec.Raw(self.data.strip())
        return raw(self.data.decode("utf-8", "backslashreplace"))


class Exchange(msgspec.Struct, frozen=True):
    """One request with its response; `status` is 0 where no response is recorded, `at` when it was answered."""

    method: str
    uri: str
    request: Body
    response: Body
    status: int
    at: int = NOWHERE

    @property
    def failed(self) -> bool:
        """Whether the response says that the request failed."""
        return self.status >= _FAILED


def exchange_of(value: object) -> Exchange | None:
    """An interaction of a cassette as an exchange; None where it is none."""
    if not isinstance(value, dict):
        return None
    asked, told = value.get("request"), value.get("response")
    if not isinstance(asked, dict):
        return None
    answer = told if isinstance(told, dict) else {}
    return Exchange(
        method=_word(asked, "method").upper(),
        uri=_word(asked, "uri", "url"),
        request=_body(asked, "/request"),
        response=_body(answer, "/response"),
        status=_status(answer),
        at=_at(answer),
    )


def _word(fields: dict[str, Any], *names: str) -> str:
    return next((fields[name] for name in names if isinstance(fields.get(name), str)), "")


def _status(answer: dict[str, Any]) -> int:
    """The status: an object with a code, a number, or `200 OK`."""
    for name in ("status", "status_code", "code"):
        value = answer.get(name)
        value = value.get("code") if isinstance(value, dict) else value
        if isinstance(value, int):
            return value
        found = _STATUS.match(value) if isinstance(value, str) else None
        if found:
            return int(found.group(1))
    return 0


def _at(answer: dict[str, Any]) -> int:
    """When the server says that it answered, in nanoseconds."""
    try:
        moment = email.utils.parsedate_to_datetime(_header(answer, "date"))
    except (ValueError, TypeError, OverflowError, IndexError):
        return NOWHERE
    gone = moment.astimezone(UTC) - _EPOCH
    at = gone // _MICROSECOND * 1000
    return at if at >= 0 else NOWHERE


_EPOCH = email.utils.parsedate_to_datetime("Thu, 01 Jan 1970 00:00:00 +0000")


def _header(fields: dict[str, Any], name: str) -> str:
    """A header, however its name is spelled and its values are held."""
    headers = fields.get("headers")
    if isinstance(headers, list):  # HAR
        named = (one for one in headers if isinstance(one, dict))
        headers = {str(one.get("name")): one.get("value") for one in named}
    if not isinstance(headers, dict):
        return ""
    value = next((v for k, v in headers.items() if str(k).lower() == name), "")
    value = value[0] if isinstance(value, list) and value else value
    return value if isinstance(value, str) else ""


# bodies --------------------------------------------------------------------------------------------------------------


def _body(fields: dict[str, Any], pointer: str) -> Body:
    """The body of one side, by the first of the names that a library gives it."""
    if fields.get("parsed_body") is not None:
        return Body(bytes(raw(fields["parsed_body"])), f"{pointer}/parsed_body")
    for name in ("body", "content", "postData"):
        if fields.get(name) is not None:
            data, below, doubt = _bytes(fields[name])
            return _plain(fields, data, f"{pointer}/{name}{below}", doubt)
    return Body(None, pointer)


def _bytes(held: object) -> tuple[bytes | None, str, str]:
    """The bytes that a value holds, the pointer to them, and why they can't be had."""
    if isinstance(held, str):
        return _unpacked_text(held) or held.encode("utf-8", "backslashreplace"), "", ""
    if isinstance(held, dict):
        return _held_bytes(held)
    return None, "", "a body that is no text"


def _unpacked_text(held: str) -> bytes | None:
    """The bytes of a text that is base64 of a gzip stream, as a binary value is kept in JSON and YAML."""
    return _from_base64(held, "")[0] if held.startswith(_PACKED) else None


def _held_bytes(held: dict[str, Any]) -> tuple[bytes | None, str, str]:
    """The bytes in an object that says how they are written."""
    packed = "text" if held.get("encoding") == "base64" else "base64_string"
    if isinstance(held.get(packed), str):
        return _from_base64(held[packed], f"/{packed}")
    name = next((name for name in ("string", "text") if name in held), "")
    if held.get(name) is None:
        return None, "", "" if name or not held.get("size", held) else "a body whose text is not recorded"
    data, _, doubt = _bytes(held[name])
    return data, f"/{name}", doubt


def _from_base64(said: str, pointer: str) -> tuple[bytes | None, str, str]:
    try:
        return base64.b64decode("".join(said.split()), validate=True), pointer, ""
    except (binascii.Error, ValueError):
        return None, pointer, "a body that is no base64"


def _plain(fields: dict[str, Any], data: bytes | None, pointer: str, doubt: str) -> Body:
    """The body with its content encodings undone, and a streamed one put together."""
    if data is None or doubt:
        return Body(None, pointer, doubt)
    data, doubt = _decoded(data, _header(fields, "content-encoding").lower())
    if doubt:
        return Body(None, pointer, doubt)
    kind = _header(fields, "content-type").lower()
    if kind.startswith(_BINARY_STREAM):
        frames = _from_base64(data.decode("ascii", "replace"), "")[0] if data.startswith(_FRAMED) else None
        return Body(data, pointer, "", read_binary(frames or data))
    if is_event_stream(data) or (kind.startswith(_STREAM) and not data.lstrip().startswith(b"{")):
        return Body(data, pointer, "", read_events(data))
    return Body(data, pointer)


def _decoded(data: bytes, encodings: str) -> tuple[bytes, str]:
    """What the body says, and why that can't be read. Many libraries record a body decoded, and keep the header."""
    if data.startswith(_GZIP):
        return _inflated(data, _ANY_ZLIB)
    if not data or data[:1] in b'{["d:' or "identity" in encodings or not encodings:
        return data, ""
    if "deflate" in encodings:
        found, doubt = _inflated(data, _ANY_ZLIB)
        return _inflated(data, _RAW_DEFLATE) if doubt else (found, doubt)
    if _is_text(data):
        return data, ""
    return data, f"a body in the content encoding {encodings[:40]}, which is not undone"


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _inflated(data: bytes, window: int) -> tuple[bytes, str]:
    bounds = limits()
    limit = min(bounds.unpacked, max(bounds.ratio_floor, len(data) * bounds.ratio))
    stream = zlib.decompressobj(window)
    try:
        found = stream.decompress(data, limit)
    except zlib.error:
        return b"", "a compressed body that is broken"
    if stream.eof:
        return found, ""
    cut = stream.unconsumed_tail or len(found) >= limit
    return found, f"a body that unpacks to more than {limit} bytes" if cut else "a compressed body that breaks off"
