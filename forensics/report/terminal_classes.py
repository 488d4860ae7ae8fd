"""How does a classification read? Like an argument: the class, what speaks for it and against, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.terminal_effects import LEGEND, mark
from forensics.report.terminal_evidence import place, policy_warnings
from forensics.report.terminal_page import Span, name, plural, short

if TYPE_CHECKING:
    from forensics.report.documents import (
        BasisRow,
        ClassificationDocument,
        ClassifiedCall,
        ClassifiedTool,
    )
    from forensics.report.terminal_page import Page

    Argued = ClassifiedTool | ClassifiedCall

_COLUMN = 14
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
    page.line(Span(f"{LEGEND}   * decided", "dim"))
    policy_warnings(page, document.policy)
    counted = [plural(len(document.tools), "tool")] if document.tools or not document.calls else []
    if document.calls:
        counted.append(plural(len(document.calls), "call"))
    page.line(f"{', '.join(counted)}; policy {name(document.policy.name)}, rules {document.rules.digest[:19]}")


def _title(tool: ClassifiedTool) -> str:
    return name(tool.name) + ("" if tool.server is None else f" of {name(tool.server)}")


def _one(page: Page, row: Argued, title: str) -> None:
    page.blank()
    page.line(Span(f"{mark(row.labels)} {' and '.join(row.labels)}", row.class_), f": {title}", rest="    ")
    if page.detail < 0:
        return
    scope = (
        ""
        if row.scope in ("none", "unknown")
        else f", scope {row.scope}" + (" (a sandbox can hold it)" if row.argument.sandbox else "")
    )
    page.line(
        f"effect {row.effect}, result {row.result}{scope}; rests on {_RESTS[row.rests_on]}", first="  ", rest="    "
    )
    _pieces(page, row, "for", row.argument.speaks_for)
    _pieces(page, row, "against", row.argument.against)
    _pieces(page, row, "no weight", row.argument.without_weight)
    for missing in row.argument.missing:
        page.field("missing", missing, column=_COLUMN)
    for change in row.argument.changes:
        then = f"{change.class_}, effect {change.effect}, result {change.result}, rests on {change.rests_on}"
        page.field("change", f"if {short(change.what, 200)} -> {then}", column=_COLUMN)


def _pieces(page: Page, row: Argued, label: str, places: list[int]) -> None:
    """The pieces of one side, those that decided first and marked with a star."""
    decided = set(row.argument.decided)
    for number in sorted(places, key=lambda place: place not in decided):
        _piece(page, label, row.basis[number], decided=number in decided)


def _piece(page: Page, label: str, piece: BasisRow, *, decided: bool) -> None:
    says = [f"{axis} {said}" for axis, said in (("effect", piece.effect), ("result", piece.result)) if said is not None]
    scope = [f"scope {piece.scope}"] if piece.scope is not None and not says else []
    rule = f" [{piece.rule}]" if piece.rule else ""
    at = f" at {place(piece.locator)}" if piece.locator is not None and page.detail > 0 else ""
    page.field(
        label + (" *" if decided else ""),
        f"{piece.source} ({piece.tier}): {short(piece.says, 400)} -> {', '.join(says or scope) or 'nothing'}",
        Span(f"{rule}{at}", "dim"),
        column=_COLUMN,
    )
