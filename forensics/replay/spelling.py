"""In which one spelling are addresses and the bodies of forms compared, where the client is free to choose?"""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

_PORTS = {"http": 80, "https": 443}
_ESCAPED = re.compile("%[0-9A-Fa-f]{2}")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_BOUNDARY = re.compile(r'^\s*multipart/.*;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))', re.IGNORECASE)
_FORM = "application/x-www-form-urlencoded"


def address(text: str) -> str:
    """An address in one spelling (RFC 3986, sections 6.2.2 and 6.2.3): scheme and host in lower case, no default port,
    no fragment, escapes only where they are needed, parameters by their names. Parameters of one name keep their order,
    and the path stays as it is.
    """
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return text
    if not parts.scheme or not parts.netloc:
        return text
    user, at, host = parts.netloc.rpartition("@")
    if port is not None and port == _PORTS.get(parts.scheme.lower()):
        host = host.rpartition(":")[0]
    netloc = f"{user}{at}{host.lower()}"
    return urlunsplit((parts.scheme.lower(), netloc, _escapes(parts.path or "/"), parameters(parts.query), ""))


def parameters(query: str) -> str:
    """Parameters in the order of their names; those of one name keep theirs."""
    return "&".join(sorted(_escapes(query).split("&"), key=lambda one: one.partition("=")[0]))


def body(text: str, content_type: str) -> str:
    """A form's parameters by their names, and the parts of a multipart body between boundaries of one name: a client
    draws them anew for every request. Any other body stays as it is.
    """
    if content_type.partition(";")[0].strip().lower() == _FORM:
        return parameters(text)
    found = _BOUNDARY.match(content_type)
    if found is None:
        return text
    drawn = re.escape(found.group(1) or found.group(2))
    return re.sub(rf"(\A|\n)--{drawn}(?=--|\r?\n|\Z)", r"\1--boundary", text)


def _escapes(text: str) -> str:
    return _ESCAPED.sub(_unescaped, text)


def _unescaped(match: re.Match[str]) -> str:
    character = chr(int(match.group()[1:], 16))
    return character if character in _UNRESERVED else match.group().upper()
