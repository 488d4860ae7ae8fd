"""What of a request may leave for a provider? Settings by an allow-list, and the tools that the agent runs itself.

A provider's own tools (web search, code interpreter, MCP connectors, computer use) act on the world where no cell holds
them, and a stored or background run goes on after the rerun has ended: both are taken out and named. What is not known
to be harmless stays here (fail closed).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

OWN_TOOLS = frozenset({None, "function", "custom"})
"""The `type` of a tool that the agent runs; every other type is run by the provider."""

OWN_CHOICES = frozenset({"auto", "any", "none", "required", "function", "tool", "custom"})


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent of a request's tools and settings, and what was taken out, in words."""

    tools: tuple[dict[str, Any], ...]
    settings: dict[str, Any]
    taken_out: tuple[str, ...] = ()


def leaving(tools: Iterable[Mapping[str, Any]], settings: Mapping[str, Any], names: Mapping[str, str]) -> Sent:
    """The part of a request that may leave. `names` are the settings a provider knows, by the names it has for them."""
    own, out = [], []
    for tool in tools:
        if tool.get("type") in OWN_TOOLS and isinstance(tool.get("name"), str):
            own.append(dict(tool))
        else:
            out.append(f"tool {tool.get('name') or tool.get('type') or 'without a name'} (the provider would run it)")
    kept: dict[str, Any] = {}
    for name, value in settings.items():
        if value is None:
            continue
        if name not in names or (name == "tool_choice" and not _own_choice(value)):
            out.append(f"setting {name}")
        else:
            kept[names[name]] = value
    return Sent(tools=tuple(own), settings=kept, taken_out=tuple(sorted(out)))


def _own_choice(choice: object) -> bool:
    kind = choice.get("type") if isinstance(choice, dict) else choice
    return kind in OWN_CHOICES
