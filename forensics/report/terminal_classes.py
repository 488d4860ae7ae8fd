"""How does a classification read? Like an argument: the class, what speaks for it and against, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.terminal_effects import LEGEND, mark
from forensics.report.terminal_evidence import place
from forensics.report.terminal_page import Span, name, plural, short

if TYPE_CHECKING:
    from forensics.report.documents import (
        BasisRow,
        Classed,
        ClassificationDocument,
        ClassifiedCall,
        ClassifiedTool,
    )
    from forensics.report.terminal_page import Page

_RESTS = {
    "operator": "your policy file",
    "declaration": "a declaration of a server that the policy trusts",
    "proof": "a proof from the arguments",
    "pack": "a shipped rule about this exact tool",
    "words": "words alone: nobody vouched for it",
    "none": "nothing",
}


def classification(page: Page, document: ClassificationDocument) -> None:
    """Lay out every tool and every call of a classification."""
    for tool in document.tools:
        _one(page, tool, _title(tool))
    for index, call in enumerate(document.calls):
        _one(page, call, f"call {index}: {name(call.tool)}")
    page.blank()
    page.line(Span(LEGEND, "dim"))
    counted = [plural(len(document.tools), "tool")] if document.tools or not document.calls else []
    if document.calls:
        counted.append(plural(len(document.calls), "call"))
    page.line(f"{', '.join(counted)}; policy {name(document.policy.name)}, rules {document.rules.digest[:19]}")


def _title(tool: ClassifiedTool) -> str:
    return name(tool.name) + ("" if tool.server is None else f" of {name(tool.server)}")


def _one(page: Page, row: ClassifiedTool | ClassifiedCall, title: str) -> None:
    page.blank()
    page.line(Span(f"{mark(row.labels)} {' and '.join(row.labels)}", row.class_), f": {title}", rest="    ")
    if page.detail < 0:
        return
    scope = "" if row.scope in ("none", "unknown") else f", scope {row.scope}"
    page.line(
        f"effect {row.effect}, result {row.result}{scope}; rests on {_RESTS[row.rests_on]}", first="  ", rest="    "
    )
    for piece in row.basis:
        _piece(page, row, piece)
    for missing in row.missing:
        page.field("missing", missing, column=12)


def _piece(page: Page, row: Classed, piece: BasisRow) -> None:
    says = [f"{axis} {said}" for axis, said in (("effect", piece.effect), ("result", piece.result)) if said is not None]
    rule = f" [{piece.rule}]" if piece.rule else ""
    at = f" at {place(piece.locator)}" if piece.locator is not None and page.detail > 0 else ""
    page.field(
        _side(row, piece),
        f"{piece.source} ({piece.tier}): {short(piece.says, 400)} -> {', '.join(says) or 'nothing'}",
        Span(f"{rule}{at}", "dim"),
        column=12,
    )


def _side(row: Classed, piece: BasisRow) -> str:
    """Whether a piece speaks for the class that was given, against it, or weighs nothing."""
    if not piece.weighs:
        return "no weight"
    effect = piece.effect is not None and (piece.effect == "none") != (row.effect == "none")
    result = piece.result is not None and piece.result != row.result
    return "against" if effect or (result and piece.effect is None) else "for"
