"""Is it told whether a call that a JSON-RPC server answered by an error was run?"""

from __future__ import annotations

from typing import Any

import pytest

from forensics.core.rpc_errors import RpcEnd, answered, error_in


def error(code: int, message: str = "it went wrong", **more: Any) -> dict[str, Any]:
    return {"code": code, "message": message, **more}


def tool_error(text: str) -> dict[str, Any]:
    return {"content": [{"type": "image"}, {"type": "text", "text": text}], "isError": True}


@pytest.mark.parametrize(
    ("told", "end"),
    [
        # the server could not read the request, or has no such thing: nothing ran
        (error(-32700), RpcEnd.REFUSED),
        (error(-32600), RpcEnd.REFUSED),
        (error(-32601, "Method not found"), RpcEnd.REFUSED),
        (error(-32602, "Unknown tool: x"), RpcEnd.REFUSED),
        (error(-32602, "Bad arguments", data={"path": "/id"}), RpcEnd.REFUSED),
        (error(-32042), RpcEnd.REFUSED),
        (error(-32001, "Session not found"), RpcEnd.REFUSED),
        (tool_error("MCP error -32602: Input validation error"), RpcEnd.REFUSED),
        # it met an error of its own, or the answer got lost
        (error(-32603, "Internal error"), RpcEnd.OPEN),
        (error(-32603, "Session not found by the job"), RpcEnd.OPEN),
        (error(-32000, "Connection closed"), RpcEnd.OPEN),
        (error(-32001, "Request timed out"), RpcEnd.OPEN),
        (error(-32602, "the connection was reset"), RpcEnd.OPEN),
        (tool_error("gateway time-out"), RpcEnd.OPEN),
        (tool_error("MCP error -32603: it broke"), RpcEnd.OPEN),
        # it says that it failed, and no more
        (error(-32002, "Resource not found"), RpcEnd.FAILED),
        (error(-32099), RpcEnd.FAILED),
        (tool_error("no such item"), RpcEnd.FAILED),
        (tool_error("the log says: MCP error -32602"), RpcEnd.FAILED),
        ({"isError": True}, RpcEnd.FAILED),
        ({"isError": True, "content": "no list"}, RpcEnd.FAILED),
    ],
)
def test_an_error_says_whether_the_call_ran(told: dict[str, Any], end: RpcEnd) -> None:
    for value in (told, {"jsonrpc": "2.0", "id": 1, "result" if "isError" in told else "error": told}):
        found = error_in(value)
        assert found is not None
        assert found.end is end
    if "isError" not in told:
        assert (found := error_in({"error": told})) is not None
        assert found.end is end


@pytest.mark.parametrize(
    "value",
    [
        None,
        "MCP error -32602: a text",
        [error(-32602)],
        {},
        {"isError": False, "content": []},
        {"isError": "true"},
        error(404),
        error(11000, "duplicate key"),
        {"code": -32602},
        {"code": True, "message": "x"},
        {"code": "-32602", "message": "x"},
        {"code": -32602, "message": 5},
        {"error": error(-32602), "rows": []},  # a result that has an error among other things
        {"jsonrpc": "2.0", "id": 1, "result": {"items": []}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "error": error(-32602)},
    ],
)
def test_anything_else_is_no_error_of_the_protocol(value: object) -> None:
    assert error_in(value) is None


def test_a_response_is_what_it_answers() -> None:
    assert answered({"jsonrpc": "2.0", "id": "a", "result": {"id": 7}}) == {"id": 7}
    assert answered({"jsonrpc": "2.0", "id": "a", "error": error(-32602)}) == {"error": error(-32602)}
    for value in ({"result": 1}, {"jsonrpc": "2.0", "method": "x", "result": 1}, {"jsonrpc": "2.0"}, [1], "a", None):
        assert answered(value) == value
