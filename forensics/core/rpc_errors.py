"""What does the error that a JSON-RPC server answered say of the call: was it refused before it ran, did it fail, or is
it open whether it took effect?

A server that could not read a request, or has no such method or tool, ran nothing. One that met an error of its own, or
of which the answer got lost, may have. An error that a tool itself reports (`isError` of the Model Context Protocol) is
the tool's word that it failed. (JSON-RPC 2.0, section 5.1; MCP, Tools: Error Handling.)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import StrEnum

import msgspec

from forensics.core.late import late


class RpcEnd(StrEnum):
    """How a call ended that was answered by an error."""

    REFUSED = "refused"
    FAILED = "failed"
    OPEN = "open"


_BY_CODE = {
    -32700: RpcEnd.REFUSED,  # parse error
    -32600: RpcEnd.REFUSED,  # invalid request
    -32601: RpcEnd.REFUSED,  # method not found
    -32602: RpcEnd.REFUSED,  # invalid params; an unknown tool is one
    -32603: RpcEnd.OPEN,  # internal error
    -32000: RpcEnd.OPEN,  # connection closed
    -32001: RpcEnd.OPEN,  # request timed out
    -32042: RpcEnd.REFUSED,  # a person has to go to an address first
}
_LEAST, _MOST = -32768, -32000  # the codes that JSON-RPC keeps for itself; others are those of other protocols
_HEAD = 400  # characters of an error in which it says what it is
_LOST = late(r"\b(?:time[d -]*out|(?:connection|stream) (?:was )?(?:closed|reset|lost))\b", re.IGNORECASE)
_OF_THE_SERVER = frozenset({-32000, -32001})  # some servers give these to what they did not take on
_NEVER_RAN = late(r"session not found|header mismatch|unsupported protocol", re.IGNORECASE)
_QUOTED = late(r"(?:MCP|JSON-?RPC) error (-\d{4,6})\b")
"""How the code stands in the text of a result: a client's library, or a server's, made a text of the error."""


class RpcError(msgspec.Struct, frozen=True):
    """An error as it was answered: its code (None where it has none), and the beginning of its text."""

    code: int | None
    text: str

    @property
    def end(self) -> RpcEnd:
        """What it says of the call. What is lost is open, whatever the code; a code that nobody knows is a failure."""
        if _LOST.search(self.text):
            return RpcEnd.OPEN
        if self.code in _OF_THE_SERVER and _NEVER_RAN.search(self.text):
            return RpcEnd.REFUSED
        return RpcEnd.FAILED if self.code is None else _BY_CODE.get(self.code, RpcEnd.FAILED)


def rpc_error(code: object, text: str) -> RpcError:
    """An error of this code and text; a text that quotes a code has that one."""
    quoted = _QUOTED.match(text)
    if quoted is not None:
        return RpcError(int(quoted.group(1)), text[:_HEAD])
    return RpcError(code if isinstance(code, int) and not isinstance(code, bool) else None, text[:_HEAD])


def answered(value: object) -> object:
    """The result, or the error, in a JSON-RPC response; any other value as it is."""
    if isinstance(value, Mapping) and "jsonrpc" in value and "method" not in value:
        return value.get("result", value) if "error" not in value else {"error": value["error"]}
    return value


def may_be_an_error(members: Collection[str]) -> bool:
    """Whether an object with these members could be an error by `error_in`."""
    return not _OF_ERRORS.isdisjoint(members) or ("code" in members and "message" in members)


_OF_ERRORS = frozenset({"jsonrpc", "error", "isError"})


def error_in(value: object) -> RpcError | None:
    """The error that a result is: a JSON-RPC error, a response with one, or a result that a tool marked as one."""
    told = answered(value)
    if not isinstance(told, Mapping):
        return None
    error = told.get("error") if told.keys() <= {"error", "id", "jsonrpc"} else told
    if isinstance(error, Mapping) and isinstance(error.get("message"), str) and _is_a_code(error.get("code")):
        return rpc_error(error["code"], error["message"])
    return rpc_error(None, _text_of(told)) if told.get("isError") is True else None


def _is_a_code(code: object) -> bool:
    return isinstance(code, int) and not isinstance(code, bool) and _LEAST <= code <= _MOST


def _text_of(result: Mapping[object, object]) -> str:
    """The first text of a result."""
    content = result.get("content")
    parts = content if isinstance(content, (list, tuple)) else ()
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return next((text for text in texts if isinstance(text, str)), "")
