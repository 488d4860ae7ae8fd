"""What took effect, what led to it, and what are the tools? Three parts of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.html.parts import (
    FULL,
    brief_row,
    brief_table,
    facts,
    folded,
    place,
    row,
    section,
    statement,
    table,
    unread,
)
from forensics.report.html.words import AGAIN, fit, known, named, step, steps, tool
from forensics.report.markup import Markup, el, join, quoted
from forensics.report.terminal_effects import mark, moment
from forensics.report.terminal_page import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.report.documents import BasisRow, EvidenceRow
    from forensics.report.incident.documents import Cause, EffectRow, ReportDocument, ReportTool, Statement

_EFFECTS = ("Step", "What", "With", "Returned", "Outcome", "If it ran again", "Where")
_FURTHER = ("Step", "What", "Outcome", "If it ran again", "How often")
_ROOM = 600  # bytes of one text: all of it stands with its step, as far as the page has room
_BRIEF = ("Tool", "Signs", "Class", "Effect", "Result", "Rests on")
_BASIS = ("Source", "What it says", "Effect", "Result", "Trust", "Rule", "Where")


# effects -------------------------------------------------------------------------------------------------------------


def effects(document: ReportDocument) -> Markup:
    """Each call that changed something, or may have."""
    part = document.effects
    rows = _apart(part.rows)
    acted, others = ([one for one in rows if one.came_to_nothing is nothing] for nothing in (False, True))
    counted = [one for one in part.by_outcome if one.count]
    return section(
        "effects",
        "What took effect",
        el("p", statement(part.statement)),
        unread(document),
        None
        if not part.rows
        else el("p", "Outcomes: ", ", ".join(f"{one.count:,} {one.what}" for one in counted), "."),
        table("Effects", _EFFECTS, (_effect(document, one) for one in acted[:FULL])) if acted else None,
        brief_table("Further effects", _FURTHER, acted[FULL:], _further),
        table("Denied or failed", _EFFECTS, (_effect(document, one) for one in others[:FULL])) if others else None,
        brief_table("Further calls denied or failed", _FURTHER, others[FULL:], _further),
    )


def _apart(rows: Sequence[EffectRow]) -> list[EffectRow]:
    """The rows of a table: calls with equal arguments stand together where they ended alike and gave nothing."""
    first = {one.step: one for one in rows}
    return [
        one for one in rows if one.step == one.alike[0] or one.handles or one.outcome != first[one.alike[0]].outcome
    ]


def _further(one: EffectRow) -> Markup:
    what = named(one.tool) if one.target is None else f"{named(one.tool)} on {named(one.target.value)}"
    return brief_row(join(*steps([one.step])), what, one.outcome, AGAIN[one.effect], plural(one.times, "time"))


def _effect(document: ReportDocument, one: EffectRow) -> Markup:
    room = None if document.contents.level == "full" else _ROOM
    return row(
        _EFFECTS,
        join(*steps([one.step])),
        join(tool(one.tool), *_target(one), el("div", moment(one.at), class_="quiet")),
        None if one.arguments is None else el("code", quoted(fit(one.arguments, room))),
        join(None if one.result is None else el("code", quoted(fit(one.result, room))), *_minted(one)),
        join(one.outcome, f" ({one.absence})" if one.absence else None, " ", known(one.outcome_basis), _approved(one)),
        join(
            AGAIN[one.effect],
            *_often(one),
            el("div", f"rests on {one.rests_on}: {', '.join(one.rules)}", class_="quiet"),
        ),
        el("span", place(one.locator, document.custody.inputs), class_="where"),
    )


def _approved(one: EffectRow) -> Markup:
    said = join("approved in ", *steps(one.approvals)) if one.approvals else "no recorded approval"
    return el("div", said, class_="quiet")


def _target(one: EffectRow) -> Iterator[Markup]:
    if one.target is not None:
        yield join(" on ", quoted(named(one.target.value)), " ", known(one.target.basis))


def _minted(one: EffectRow) -> Iterator[Markup]:
    if one.handles:
        yield el("div", "minted ", *(join(tool(value), " ") for value in one.handles[:6]))


def _often(one: EffectRow) -> Iterator[Markup]:
    if one.times > 1:
        more = f" and {one.times - len(one.alike):,} more" if one.times > len(one.alike) else ""
        found = steps(one.alike, len(one.alike))
        yield el("div", f"{one.times:,} times with these arguments: steps ", *found, more)


# causes --------------------------------------------------------------------------------------------------------------


def causes(document: ReportDocument) -> Markup | None:
    """What led to the step that is asked about first, and what it led to."""
    if not document.causes:
        return None
    first, *others = document.causes
    several = len(document.traces) > 1
    rest = [folded(f"The same for step {one.step}, in run {_run(document, one)}", *_cause(one)) for one in others]
    of = join(" of run ", quoted(_run(document, first))) if several else None
    return section("causes", "Why it came to that", el("h3", step(first.step), of), *_cause(first), *rest)


def _run(document: ReportDocument, one: Cause) -> str:
    return named(document.traces[one.trace].id)


def _cause(one: Cause) -> Iterator[Markup]:
    yield el("p", f"This step is asked about first because {one.why_this_step}.")
    yield el("h4", f"What led to it: {one.before.count:,} of {one.before.of:,} other steps of the run")
    yield _chain(one.led_to_it)
    yield el("h4", f"What it led to: {one.after.count:,} of {one.after.of:,} other steps of the run")
    yield _chain(one.it_led_to)


def _chain(found: Sequence[Statement]) -> Markup:
    return el("ol", *(el("li", statement(one, rule=False)) for one in found)) if found else el("p", "nothing recorded")


# tools ---------------------------------------------------------------------------------------------------------------


def tools(document: ReportDocument) -> Markup:
    """Each tool with its class and what that rests on; the same in several runs stands once."""
    alike: dict[object, list[ReportTool]] = {}
    for one in document.tools:
        alike.setdefault(_likeness(one), []).append(one)
    called = [found for found in alike.values() if any(one.calls for one in found)]
    offered = [found[0] for found in alike.values() if not any(one.calls for one in found)]
    note = "What a class rests on: operator and declaration are vouched for, proof was derived from the call's own "
    more = "arguments, words are the tool's own name and description, which nobody vouched for. ! side-effecting, "
    signs = "# handle-returning, = idempotent, ~ volatile."
    return section(
        "tools",
        "The tools and what their class rests on",
        el("p", note, more, signs, class_="quiet small"),
        *(_tool(document, found) for found in called[:FULL]),
        brief_table("Further tools that were called", _BRIEF, [found[0] for found in called[FULL:]], _brief),
        brief_table("Tools that were offered and never called", _BRIEF, offered, _brief),
    )


def _brief(one: ReportTool) -> Markup:
    return brief_row(tool(one.name), mark(one.labels), one.class_, one.effect, one.result, one.rests_on)


def _likeness(one: ReportTool) -> object:
    return one.name, one.server, one.class_, one.effect, one.result, one.rests_on


def _tool(document: ReportDocument, found: list[ReportTool]) -> Markup:
    one, calls = found[0], sum(tool.calls for tool in found)
    marks = mark(one.labels)
    runs = f" in {len(found):,} runs" if len(found) > 1 else ""
    called = f"called {plural(calls, 'time')}{runs}"
    return el(
        "details",
        el(
            "summary",
            tool(one.name),
            f" {marks} ",
            el("span", one.class_, class_=f"chip {one.class_}"),
            f" effect {one.effect}, result {one.result}, rests on {one.rests_on}; {called}",
        ),
        el("p", statement(one.statement)),
        facts(
            ("Server", None if one.server is None else quoted(named(one.server))),
            ("Reaches", one.scope),
            ("Missing evidence", "; ".join(one.missing) or None),
        ),
        table(f"Evidence about {named(one.name)}", _BASIS, _basis(_pieces(found), document.custody.inputs)),
        class_="tool",
    )


def _pieces(found: Iterable[ReportTool]) -> Iterable[BasisRow]:
    """The evidence of all these tools, each piece once."""
    return {
        (piece.source, piece.says, piece.rule): piece for tool in reversed(list(found)) for piece in tool.basis
    }.values()


def _basis(pieces: Iterable[BasisRow], evidence: list[EvidenceRow]) -> Iterator[Markup]:
    for piece in pieces:
        yield row(
            _BASIS,
            piece.source,
            join(quoted(piece.says), None if piece.weighs else " (a claim without weight: it would lower)"),
            piece.effect,
            piece.result,
            piece.tier,
            piece.rule,
            None if piece.locator is None else el("span", place(piece.locator, evidence), class_="where"),
        )
