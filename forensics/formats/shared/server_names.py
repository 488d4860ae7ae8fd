"""Which MCP server does a harness write into the name of a tool?"""

from __future__ import annotations

_MCP = "mcp__"


def mcp_server(tool: str) -> str | None:
    """The server in a name or a namespace like `mcp__server__tool`."""
    if not tool.startswith(_MCP):
        return None
    return tool.removeprefix(_MCP).partition("__")[0] or None
