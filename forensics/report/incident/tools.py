"""What is each tool, what does that rest on, and who decided it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.report.incident.content import Level
from forensics.report.incident.documents import ReportTool
from forensics.report.incident.effects import UNKNOWN_RULE
from forensics.report.incident.statements import derived, inferred
from forensics.report.terminal_page import short

if TYPE_CHECKING:
    from forensics.report.documents import BasisRow, ToolRow
    from forensics.report.incident.documents import Statement
    from forensics.report.incident.material import Material

_DECIDED = {
    "operator": "the operator's policy file",
    "declaration": "the declaration of a server that the policy trusts",
    "proof": "a proof from the arguments",
    "pack": "a shipped rule about this tool",
    "words": "its own words (name, description, schema), which nobody vouched for",
    "none": "nothing, so the worst is assumed",
}
_QUOTING = ("arguments", "behaviour", "description", "result", "schema")  # may quote a text of the trace
_ONLY_WORDS = ["a tool may do something else than its words say; an entry in the policy file would settle it"]


def tools(material: Material) -> list[ReportTool]:
    """The part of a report about tools, trace by trace."""
    return [_row(material, index, tool) for index, trace in enumerate(material.traces) for tool in trace.tools]


def _row(material: Material, index: int, tool: ToolRow) -> ReportTool:
    return ReportTool(
        trace=index,
        name=tool.name,
        server=tool.server,
        calls=tool.calls,
        class_=tool.class_,
        labels=tool.labels,
        effect=tool.effect,
        result=tool.result,
        scope=tool.scope,
        rests_on=tool.rests_on,
        statement=_statement(tool),
        basis=[_basis(piece, material) for piece in tool.basis],
        missing=tool.missing,
    )


def _statement(tool: ToolRow) -> Statement:
    text = (
        f"{short(tool.name, 80)} is {tool.class_}: effect {tool.effect}, result {tool.result}. "
        f"Its effect rests on {_DECIDED[tool.rests_on]}."
    )
    spoke = [piece.rule or piece.source for piece in tool.basis if piece.effect == tool.effect and piece.weighs]
    rule = ", ".join(dict.fromkeys(spoke)) or UNKNOWN_RULE
    places = [piece.locator for piece in tool.basis if piece.locator is not None][:1]
    if tool.rests_on == "words":
        return inferred(text, rule, _ONLY_WORDS, locators=places)
    return derived(text, rule, locators=places)


def _basis(piece: BasisRow, material: Material) -> BasisRow:
    """A piece of evidence; what it says may quote a value, which stays out of a report without content."""
    if material.content.level is not Level.NONE or piece.source not in _QUOTING:
        return piece
    return msgspec.structs.replace(piece, says=f"what the rule {piece.rule or piece.source} says")
