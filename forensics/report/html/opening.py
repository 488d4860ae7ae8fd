"""What does a reader see first? Which report this is, the verdict, what decides it, and what happened."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from forensics.report.html.parts import (
    BRIEF,
    FULL,
    at,
    beyond,
    brief_row,
    brief_table,
    facts,
    folded,
    place,
    row,
    section,
    share,
    statement,
    table,
)
from forensics.report.html.words import AGAIN, Inspecting, command, named, step, tool
from forensics.report.incident.statements import COMMANDS
from forensics.report.markup import Markup, el, join, quoted
from forensics.report.terminal_effects import HIDING
from forensics.report.terminal_page import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.report.documents import Place, ReasonRow
    from forensics.report.incident.documents import (
        Decider,
        EffectRow,
        ReportDocument,
        ReportFinding,
        TraceVerdict,
        VerdictBox,
    )
    from forensics.report.markup import Child

_HARM = tuple(AGAIN)
_ACTS = 6  # told in the box; the table of effects has all
_MORE = "What is missing or not read may act too."
_LOUD = ("critical", "high")
_FOUND = 4
_NAMES = 3
_FURTHER = ("Run", "Verdict", "Level", "Decided by")
_RUNS = ("Run", "Verdict", "Level", "Decided by", "Under strict", "Under inject")


def header(document: ReportDocument) -> Markup:
    """Which report this is, with blanks for what a person has to say."""
    head, inputs = document.header, document.custody.inputs
    more = f" and {len(inputs) - _NAMES:,} more" if len(inputs) > _NAMES else ""
    names = ", ".join(named(one.name) for one in inputs[:_NAMES])
    said = ("case", head.case_id), ("author", head.author), ("version", head.version), ("status", head.status)
    blanks = [join(" ", name.capitalize(), ": ", quoted(value) if value else _to_fill()) for name, value in said]
    written = f"Written by forensics {document.tool.version}."
    return el(
        "header",
        el("h1", quoted(head.title)),
        el("p", "Evidence: ", quoted(names), more, f". {written} {COMMANDS}", class_="quiet"),
        el("div", *(el("span", blank, class_="stated") for blank in blanks), class_="small"),
    )


def _to_fill() -> Markup:
    return el("a", "to be filled in", href="#blanks")


# verdict -------------------------------------------------------------------------------------------------------------


def main_trace(document: ReportDocument) -> int | None:
    """The trace that a reader wants first: refused before cleared, an original before a rerun of one."""
    rerun = {trace.index for trace in document.traces if trace.rerun_of is not None}
    found = sorted(document.verdict.traces, key=lambda one: (one.trace in rerun, one.cleared, one.trace))
    return found[0].trace if found else None


def verdict(document: ReportDocument) -> Markup:
    """The box that answers: may it be run again, what decides that, what would happen, and where is it proved?"""
    box, main = document.verdict, main_trace(document)
    of = next((one for one in box.traces if one.trace == main), None)
    look = "cleared" if box.traces and all(one.cleared for one in box.traces) else "refused"
    return section(
        "verdict",
        "Verdict: may it be run again?",
        el(
            "div",
            *_said(box, of),
            facts(
                *(_decided(document, of) if of is not None else ()),
                ("Read", f"{share(box.coverage)}; {share(box.cleared)}"),
                ("Exit code", f"{box.exit_code} of forensics audit on this evidence"),
            ),
            el("p", el("a", "What these words mean", href="#words"), class_="small"),
            class_=f"verdict {look}",
        ),
        _reasons(of) if of is not None and len(box.traces) == 1 else _runs(document),
    )


def _said(box: VerdictBox, of: TraceVerdict | None) -> Iterator[Markup]:
    """The verdict in a few words, then what it means."""
    if of is None or len(box.traces) > 1:
        yield el("p", box.statement.text, class_="word")
        yield el("p", "" if of is None else of.statement.text)
        return
    word, _, meaning = of.statement.text.partition(": ")
    yield el("p", word, class_="word")
    yield el("p", meaning[:1].upper() + meaning[1:])


def _decided(document: ReportDocument, of: TraceVerdict) -> Iterator[tuple[str, Child]]:
    """What a reader asks about the run that comes first."""
    trace, by = document.traces[of.trace], of.decided_by
    if len(document.traces) > 1:
        yield "The run", join(quoted(named(trace.id)), " in ", quoted(_evidence_of(document, of.trace)))
    if by is not None:
        yield "Decided by", join(_at(by.step), quoted(by.message), " ", el("code", by.code))
    yield "If it ran again", _again(document, of)
    yield "Stands out", _loud(document)
    if by is not None and by.locator is not None:
        yield "Proved at", _proved(document, of, by)
    yield "What to do", _to_do(document, of)


def _to_do(document: ReportDocument, of: TraceVerdict) -> Child:
    """The advice and, where a rerun is possible, the command for this evidence."""
    row = document.custody.inputs[document.traces[of.trace].evidence]
    shown = command("forensics", "replay", row.name, "--policy", "inject") if row.member_sha256 is None else None
    if of.cleared or of.level != "inject" or shown is None:
        return of.advice or None
    return join(of.advice, " For this evidence: ", el("code", shown))


def _proved(document: ReportDocument, of: TraceVerdict, by: Decider) -> Markup:
    """Where the call was asked for and, if it has a result, where that stands: the proof that it was made."""
    inputs, events = document.custody.inputs, document.timeline.events
    asked = join(place(cast("Place", by.locator), inputs), _shown_by(document, of.trace, by.step))
    call = next((one for one in events if one.index == by.step and one.trace == of.trace), None)
    result = None if call is None or call.result is None else events[call.result]
    if result is None:
        return asked
    answered = join(place(result.locator, inputs), _shown_by(document, of.trace, result.index))
    return el("ul", el("li", "asked for: ", asked), el("li", "its result: ", answered))


def _shown_by(document: ReportDocument, trace: int, index: int | None) -> Markup | None:
    shows = inspecting(document, trace)
    return None if shows is None or index is None else join("; to see it: ", el("code", shows.step(index)))


def inspecting(document: ReportDocument, trace: int) -> Inspecting | None:
    """The command that shows a step of a trace, and the number by which steps are less where its evidence stands alone.

    None for a file in an archive, which has no name of its own, and where the name is no plain text.
    """
    evidence = document.traces[trace].evidence
    row = document.custody.inputs[evidence]
    line = command("forensics", "inspect", row.name) if row.member_sha256 is None else None
    before = min(one.first_step for one in document.traces if one.evidence == evidence)
    return None if line is None else Inspecting(line, before)


def _at(index: int | None) -> Markup | None:
    return None if index is None else join(step(index), ": ")


def _evidence_of(document: ReportDocument, index: int) -> str:
    return named(document.custody.inputs[document.traces[index].evidence].name)


def _again(document: ReportDocument, of: TraceVerdict) -> Markup | None:
    """What each act of the run would do once more, the worst first; the same on the same thing stands once."""
    hidden = any(reason.code == HIDING for reason in of.inject)
    groups: dict[tuple[str, str, str], list[EffectRow]] = {}
    for effect in document.effects.rows:
        if effect.trace == of.trace:
            on = "" if effect.target is None else effect.target.value
            groups.setdefault((effect.effect, effect.tool, on), []).append(effect)
    if not groups:
        known = "No call of it is known or feared to change anything"
        return join(f"{known}, as far as it was read. {_MORE}" if hidden else f"{known}.")
    found = sorted(groups.values(), key=lambda group: (_HARM.index(group[0].effect), group[0].step))
    told = [el("li", *_act(group)) for group in found[:_ACTS]]
    more = el("li", f"and {len(found) - _ACTS:,} more, in the table of effects") if len(found) > _ACTS else None
    return el("ul", *told, more, el("li", _MORE) if hidden else None)


def _act(group: Sequence[EffectRow]) -> Iterator[Markup | str]:
    first = group[0]
    yield tool(first.tool)
    if first.target is not None:
        yield join(" on ", quoted(named(first.target.value)))
    yield f" {AGAIN[first.effect]}"
    yield f", {len(group):,} times" if len(group) > 1 else ""
    yield at([one.step for one in group]) or ""


def _loud(document: ReportDocument) -> Markup:
    """The loudest findings, which a reader must not have to look for."""
    found = [one for one in document.findings.rows if one.severity in _LOUD and one.suppressed is None]
    if not found:
        rest = len(document.findings.rows)
        return el("span", f"no finding is high or critical, of {plural(rest, 'finding')} in what was read")
    more = f"and {len(found) - _FOUND:,} more high findings" if len(found) > _FOUND else None
    return el("ul", *map(_finding, found[:_FOUND]), None if more is None else el("li", more))


def _finding(one: ReportFinding) -> Markup:
    return el("li", quoted(one.message), " ", el("a", one.code, href=f"#f{one.index}"), at(one.steps))


# every run -----------------------------------------------------------------------------------------------------------


def _runs(document: ReportDocument) -> Markup | None:
    if not document.verdict.traces:
        return None
    found = document.verdict.traces
    return join(
        table("The verdict on each run", _RUNS, (_run(document, one) for one in found[:FULL])),
        brief_table("Further runs", _FURTHER, found[FULL:], partial(_further, document)),
    )


def _further(document: ReportDocument, one: TraceVerdict) -> Markup:
    name = join(quoted(named(document.traces[one.trace].id)), " in ", quoted(_evidence_of(document, one.trace)))
    by = None if one.decided_by is None else join(_at(one.decided_by.step), el("code", one.decided_by.code))
    return brief_row(name, _word(one), one.level, by)


def _word(one: TraceVerdict) -> str:
    return f"{'cleared' if one.cleared else 'refused'} under {one.policy}"


def _run(document: ReportDocument, one: TraceVerdict) -> Markup:
    trace, by = document.traces[one.trace], one.decided_by
    again = None if trace.rerun_of is None else join(", a rerun of ", quoted(named(trace.rerun_of)))
    return row(
        _RUNS,
        join(quoted(named(trace.id)), " in ", quoted(_evidence_of(document, one.trace)), again),
        _word(one),
        one.level,
        None if by is None else join(_at(by.step), quoted(by.message)),
        _folded_reasons(one.strict),
        _folded_reasons(one.inject),
    )


def _folded_reasons(reasons: Sequence[ReasonRow]) -> Markup:
    return folded(plural(len(reasons), "reason"), _reason_list(reasons)) if reasons else join("none: it clears")


def _reasons(one: TraceVerdict) -> Markup | None:
    if not one.strict and not one.inject:
        return None
    strict = f"{len(one.strict):,} reasons to refuse under strict, {len(one.inject):,} under inject"
    return folded(
        strict, el("h3", "Under strict"), _reason_list(one.strict), el("h3", "Under inject"), _reason_list(one.inject)
    )


def _reason_list(reasons: Sequence[ReasonRow]) -> Markup:
    if not reasons:
        return join("none: it clears")
    shown = (el("li", _at(one.step), el("code", one.code), " ", quoted(one.message)) for one in reasons[:BRIEF])
    return join(el("ul", *shown), beyond(len(reasons), "reasons"))


# what happened -------------------------------------------------------------------------------------------------------


def happened(document: ReportDocument) -> Markup:
    """The story in at most ten sentences."""
    told = el("ol", *(el("li", statement(one, rule=False)) for one in document.happened))
    return section("happened", "What happened", told)
