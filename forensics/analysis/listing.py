"""What does an inventory beside the evidence declare of a tool that the evidence names?

A declaration out of an inventory is a claim like one out of a trace. It joins what the trace itself declares, upward;
it never replaces it. Harnesses prefix the names of a server's tools (`mcp__server__tool`), inventories do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.classes import ClassEvidence, Effect, Source, Stability, ToolFacts
from forensics.core.jsonvalue import raw

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forensics.core.policy import Policy
    from forensics.rules.engine import RuleSet

_PREFIXES = ("mcp__{}__", "{}__", "{}.", "{}/", "{}:", "{}-", "{}_")
_FILLED = ("description", "input_schema", "output_schema", "replay_class", "tool_type", "http")


class Known(msgspec.Struct, frozen=True):
    """One tool as it is known: `facts` of the evidence, filled from the inventory; every declaration of it; and the
    tools of the inventory that it may be.
    """

    facts: ToolFacts
    declared: tuple[ToolFacts, ...]
    listed: tuple[ToolFacts, ...] = ()

    def evidence(self, rules: RuleSet, policy: Policy) -> tuple[ClassEvidence, ...]:
        """What all declarations of the tool say, each piece once. Where the inventory lists several tools of this name,
        which of them is meant can't be told, and none of their declarations lowers.
        """
        if len(self.declared) == 1:
            return rules.tool_evidence(self.declared[0], policy)
        found: dict[ClassEvidence, ClassEvidence] = {}
        for facts in self.declared:
            for piece in rules.tool_evidence(facts, policy):
                found.setdefault(msgspec.structs.replace(piece, locator=None), piece)
        several = len(self.listed) > 1
        return tuple(piece for piece in found.values() if not (several and _is_declared_to_read(piece)))


_DECLARED = frozenset({Source.DECLARATION, Source.DESCRIPTION})


def _is_declared_to_read(piece: ClassEvidence) -> bool:
    return piece.source in _DECLARED and (piece.effect is Effect.NONE or piece.result is Stability.STABLE)


class Listing:
    """The tools of an inventory, by name."""

    def __init__(self, tools: Iterable[ToolFacts] = ()) -> None:
        self._tools: dict[str, dict[bytes, ToolFacts]] = {}
        for tool in tools:
            self._tools.setdefault(tool.name, {}).setdefault(_said(tool), tool)

    def __iter__(self) -> Iterator[ToolFacts]:
        return (tool for tools in self._tools.values() for tool in tools.values())

    def known(self, facts: ToolFacts, *, declared: bool = True) -> Known:
        """A tool of the evidence with what the inventory lists of it; `declared` says that the evidence declares it,
        and does not only name it.
        """
        listed = self._of(facts.name, facts.server)
        if not listed:
            return Known(facts, (facts,))
        same = tuple(msgspec.structs.replace(t, name=facts.name, server=facts.server or t.server) for t in listed)
        if len(listed) > 1:
            return Known(facts, (facts, *same), listed)
        if not declared:
            return Known(same[0], same, listed)
        return Known(_filled(facts, same[0]), (facts, *same), listed)

    def _of(self, name: str, server: str | None) -> tuple[ToolFacts, ...]:
        """The listed tools that this name of the evidence may mean; another server's tool of the same name is none."""
        names = [name] if server is None else [name, *_without_prefix(name, server)]
        named = (tool for one in names for tool in self._tools.get(one, {}).values())
        return tuple(tool for tool in named if server is None or tool.server in (None, server))


NOTHING_LISTED = Listing()


def _said(tool: ToolFacts) -> bytes:
    """What is said of a tool, wherever it stands."""
    return bytes(raw(msgspec.structs.replace(tool, locator=None)))


def _without_prefix(name: str, server: str) -> Iterator[str]:
    for form in _PREFIXES:
        prefix = form.format(server)
        if name.startswith(prefix):
            yield name.removeprefix(prefix)


def _filled(facts: ToolFacts, listed: ToolFacts) -> ToolFacts:
    """The facts of the evidence and, where it has none, those of the inventory. What only the inventory may say (the
    server's version, its own digest) stays with the inventory.
    """
    more = {name: getattr(listed, name) for name in _FILLED if getattr(facts, name) is None}
    return msgspec.structs.replace(
        facts, **more, server=facts.server or listed.server, hints=facts.hints or listed.hints
    )
