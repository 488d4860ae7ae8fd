"""Makes pager.mcp.jsonl and pager.mcp-2026.jsonl: the pager incident's tools behind an MCP server, called over stdio.

The client's transport is tapped: each JSON-RPC message is written as a line, in an envelope that says who sent it. The
first log is of the protocol that begins with `initialize`, the second of the one that has no sessions (2026-07-28).
`pager_mcp.py serve` is the server.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from files import target
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.server import MCPServer
from mcp.types import Implementation, ToolAnnotations
from scenarios import Scenario, Tool, pager

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from mcp.client import Transport
    from mcp.shared.message import SessionMessage

SERVE = "serve"
LOGS = {"pager.mcp.jsonl": "legacy", "pager.mcp-2026.jsonl": "2026-07-28"}


class Tap:
    """A stream of the transport that logs what passes through it: the SDK needs no more of one than these methods."""

    def __init__(self, stream: Any, sender: str, log: Path) -> None:
        self.stream = stream
        self.sender = sender
        self.log = log

    def note(self, item: SessionMessage) -> SessionMessage:
        """Log one message as it goes over the wire, and hand it on."""
        message = item.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
        with self.log.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps({"from": self.sender, "message": message}) + "\n")
        return item

    async def send(self, item: SessionMessage) -> None:
        """What the client writes."""
        await self.stream.send(self.note(item))

    async def receive(self) -> SessionMessage:
        """What the client reads."""
        return self.note(await self.stream.receive())

    async def __anext__(self) -> SessionMessage:
        """The same, message by message."""
        return self.note(await self.stream.__anext__())

    def __aiter__(self) -> Self:
        return self

    async def __aenter__(self) -> Self:
        await self.stream.__aenter__()
        return self

    async def __aexit__(self, *exception: object) -> bool | None:
        return bool(await self.stream.__aexit__(*exception))

    async def aclose(self) -> None:
        """Close the stream below."""
        await self.stream.aclose()


@asynccontextmanager
async def tapped(log: Path) -> AsyncIterator[tuple[Any, Any]]:
    """The stdio transport to this script's own server, both directions logged."""
    async with stdio_client(StdioServerParameters(command=sys.executable, args=[__file__, SERVE])) as (read, write):
        yield Tap(read, "server", log), Tap(write, "client", log)


def hints(tool: Tool) -> ToolAnnotations:
    """The author's claim in MCP's words."""
    return ToolAnnotations(read_only_hint=tool.replay_class == "read_only", open_world_hint=False)


def server(scenario: Scenario) -> MCPServer:
    """An MCP server that offers the scenario's tools."""
    offered = MCPServer(scenario.agent, version="1.0.0")
    for tool in scenario.tools:
        offered.add_tool(tool.run, name=tool.name, description=tool.description, annotations=hints(tool))
    return offered


async def record(scenario: Scenario, name: str, mode: str) -> None:
    """List the tools, then make the calls that the scenario's model asks for."""
    transport: Transport = tapped(target(name))
    async with Client(
        transport, mode=mode, client_info=Implementation(name="oncall-client", version="1.0.0")
    ) as client:
        await client.list_tools()
        for turn in scenario.turns:
            for tool, arguments in turn.calls:
                await client.call_tool(tool, arguments)


def main() -> None:
    """Serve, or write both logs."""
    if sys.argv[1:] == [SERVE]:
        server(pager()).run("stdio")
        return
    for name, mode in LOGS.items():
        asyncio.run(record(pager(), name, mode))


if __name__ == "__main__":
    main()
