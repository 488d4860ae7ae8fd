"""What does an HTTP request ask for? Its method, address, body and the headers that choose something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forensics.core.jsonvalue import Decoded, canonical, decode
from forensics.formats.shared.cassettes.recorded_http import exchange_of
from forensics.formats.shared.cassettes.walk import asks_a_model
from forensics.formats.shared.fields import fields_of
from forensics.replay.recordings import HTTP, MODEL, TOOL, Request

if TYPE_CHECKING:
    from forensics.core.evidence import Locator
    from forensics.formats.shared.cassettes.recorded_http import Exchange

_NAMES = (
    "range if-match if-none-match if-modified-since if-unmodified-since if-range prefer soapaction x-amz-target "
    "x-http-method x-http-method-override x-method-override"
)
_CHOOSING = frozenset(_NAMES.split())
"""Headers that choose what is asked or done; all others say who asks, when, and how it is sent."""

_WRAPPED = frozenset({"string", "text", "base64_string", "encoding"})
"""How cassettes wrap the text of a body."""


def is_http(value: object) -> bool:
    """Whether a value is an HTTP request as cassettes hold them."""
    if not isinstance(value, dict) or not isinstance(value.get("method"), str):
        return False
    return isinstance(value.get("uri"), str) or isinstance(value.get("url"), str)


def http_request(value: dict[str, Any], locator: Locator, **more: Any) -> Request:
    """A request as a cassette holds it: `{method, uri, headers?, body?}`; its body may also stand as plain JSON."""
    held = value.get("body")
    if not isinstance(held, (str, dict)) or (isinstance(held, dict) and not _WRAPPED & held.keys()):
        value = {**value, "parsed_body": held}
    exchange = exchange_of({"request": value})
    assert exchange is not None  # noqa: S101 - it has a request
    return http_forms(exchange, value, locator, **more)[0]


def http_forms(exchange: Exchange, value: dict[str, Any], locator: Locator, **more: Any) -> tuple[Request, ...]:
    """The request of an exchange and, where its body asks a model or calls a tool of an MCP server, that as well."""
    data = exchange.request.data or b""
    said = exchange.request.json() if data else None
    decoded = Decoded(None) if said is None else decode(said)
    doubt = more.pop("doubt", "") or exchange.request.doubt
    if any(fault.code == "duplicate_key" for fault in decoded.faults):
        doubt = doubt or "its body can be read in two ways: a key stands twice"
    drawn, body = _without_id(decoded.value)
    headers = _headers(value.get("headers"))
    choosing = {name: held for name, held in sorted(headers.items()) if name in _CHOOSING}
    beside = {f"/headers/{name}": held for name, held in headers.items() if name not in _CHOOSING}
    more = {**more, "recorded_id": more.get("recorded_id") or drawn, "doubt": doubt, "locator": locator}
    first = Request(
        kind=HTTP,
        value={
            "method": exchange.method,
            "uri": exchange.uri,
            **({"headers": choosing} if choosing else {}),
            "body": body,
        },
        spelled=canonical([exchange.method, exchange.uri]) + data,
        beside={**beside, **({} if drawn is None else {"/body/id": drawn})},
        **more,
    )
    return (first, *_inner(body, bytes(said or b""), more))


def _inner(body: Any, spelled: bytes, more: dict[str, Any]) -> tuple[Request, ...]:
    """What the body asks for, whoever carries it."""
    if not isinstance(body, dict):
        return ()
    if asks_a_model(fields_of(spelled)):
        return (Request(kind=MODEL, value=body, spelled=spelled, **more),)
    called = body.get("params")
    if body.get("method") == "tools/call" and isinstance(called, dict) and isinstance(called.get("name"), str):
        value = {"tool": called["name"], "arguments": called.get("arguments", {})}
        return (Request(kind=TOOL, value=value, **more),)
    return ()


def _without_id(body: Any) -> tuple[str | None, Any]:
    """The id of a JSON-RPC request, which its client counts up, and the request without it."""
    if not isinstance(body, dict) or "jsonrpc" not in body or "method" not in body or "id" not in body:
        return None, body
    return str(body["id"]), {name: held for name, held in body.items() if name != "id"}


def _headers(held: Any) -> dict[str, str]:
    """Headers by their names in lower case: an object with texts or lists of texts, or HAR's list of pairs."""
    if isinstance(held, list):
        held = {str(one.get("name")): one.get("value") for one in held if isinstance(one, dict)}
    if not isinstance(held, dict):
        return {}
    return {str(name).lower(): _joined(value) for name, value in held.items()}


def _joined(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
