"""Which tool rules are asked together, and what can they see?

Rules about a tool are asked once a tool, before any call is looked at; rules about arguments or results once a call.
Rules of different stages can't silence one another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.rules.model import ToolRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.rules.packfile import PlacedRule

TOOL_MEMBERS = frozenset(
    {"tool", "server", "description", "http", "hints", "replay_class", "tool_type", "input_schema", "output_schema"}
)
"""What is known of a tool before any call."""

STAGES: dict[str, frozenset[str]] = {
    "tool": TOOL_MEMBERS,
    "arguments": TOOL_MEMBERS | {"arguments"},
    "result": TOOL_MEMBERS | {"arguments", "result"},
}
"""The stages, and the members of the subject that stand in each."""


def stage_of(rule: ToolRule) -> str:
    """The stage in which a rule is asked."""
    return rule.source if rule.source in STAGES else "tool"


def tool_rules(rules: Iterable[PlacedRule]) -> list[tuple[PlacedRule, ToolRule]]:
    """The tool rules among these."""
    return [(placed, placed.rule) for placed in rules if isinstance(placed.rule, ToolRule)]


def stage_mates(rules: Sequence[PlacedRule]) -> Iterator[tuple[PlacedRule, ToolRule, ToolRule]]:
    """Every (place of a rule, the rule, another rule that is asked beside it)."""
    found = tool_rules(rules)
    for placed, rule in found:
        for other_placed, other in found:
            if other_placed is not placed and stage_of(other) == stage_of(rule):
                yield placed, rule, other
