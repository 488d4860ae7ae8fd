"""How does an explanation read? The step, why it happened, and what it led to: one sentence a line, values first."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from forensics.report.terminal_effects import mark, moment
from forensics.report.terminal_evidence import place
from forensics.report.terminal_page import Span, name, plural, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.report.documents import (
        ExplanationDocument,
        GraphEdgeRow,
        GraphStepRow,
        GraphValueRow,
        ReachRow,
    )
    from forensics.report.terminal_page import Page, Part

_DIRECT, _FURTHER, _VERBOSE = 12, 15, 200  # lines of one group, of the rest, and of both with -v
_SAID, _VALUE = 70, 60  # characters
_LISTED = 3  # values in one line
_COLUMN = 16


class _Kind(NamedTuple):
    """How an edge is told: the labels of its group, backwards and forwards, and what it says of its two steps."""

    back: str
    forward: str
    says: str


_KINDS = {
    "value": _Kind("values from", "values to", "{value} went from {source} to {target}"),
    "branch": _Kind("may rest on", "may decide", ""),
    "requests": _Kind("asked by", "asked for", "{source} asked for {target}"),
    "returns": _Kind("returned by", "returned", "{source} returned {target}"),
    "feeds": _Kind("fed by", "shown to", "{source} was shown to {target}"),
    "handoff": _Kind("handed by", "handed to", "{source} handed over to {target}"),
    "retry": _Kind("retry of", "retried by", "{target} repeats {source}"),
    "link": _Kind("linked from", "linked to", "{source} is linked to {target}"),
    "parent": _Kind("inside", "holds", "{target} stands inside {source}"),
    "next": _Kind("follows", "followed by", "{target} comes after {source}"),
}
_ROLES = {
    "argument": "argument",
    "prompt": "prompt",
    "model_output": "model output",
    "final_answer": "final answer",
}


def explanation(page: Page, document: ExplanationDocument) -> None:
    """Lay out an explanation."""
    _head(page, document)
    told = _Told(document)
    _direction(page, told, document.why, "Why it happened", back=True)
    _direction(page, told, document.led_to, "What it led to", back=False)
    if page.detail >= 0:
        _basis(page, document)


def _head(page: Page, document: ExplanationDocument) -> None:
    step, trace = document.step, document.trace
    page.line(Span(f"Step {step.index}", "title"), f": {step.kind} {name(step.name) if step.name else ''}", rest="  ")
    rerun = "" if trace.rerun_of is None else f", a rerun of {name(trace.rerun_of)}"
    page.field("trace", f"{name(trace.id)} in {name(document.evidence[trace.evidence].name)}{rerun}")
    if step.agent:
        page.field("agent", name(step.agent))
    if step.at is not None:
        page.field("at", moment(step.at))
    page.field("stands at", place(step.locator))
    if step.occurrence is not None:
        ended = f", {step.outcome}" if step.outcome else ""
        page.field("call", f"[{step.occurrence}]{ended}")
    if step.class_ is not None:
        page.field("class", f"{mark(step.labels)} ", Span(" and ".join(step.labels), step.class_))
    if step.says:
        page.field("says", Span(short(step.says, 200), "quote"))


def _basis(page: Page, document: ExplanationDocument) -> None:
    evidence = document.evidence[document.trace.evidence]
    page.title("Evidence")
    page.line(f"{name(evidence.name)}: {evidence.format}, {evidence.coverage}", first="  ", rest="    ")
    page.line(Span(f"sha256 {evidence.sha256}", "dim"), first="    ")
    words = "recorded: an id says so; derived: the rule of the format; inferred: values were matched"
    page.line(Span(words, "dim"), first="  ", rest="    ")


class _Told:
    """The steps of a document in words: with kind and name the first time, then by number."""

    def __init__(self, document: ExplanationDocument) -> None:
        self.it = document.step.index
        self.steps: dict[int, GraphStepRow] = {row.index: row for row in document.steps}

    def whole(self, step: int) -> str:
        """`step 7, tool_result pager.trigger`, or `this step`."""
        if step == self.it:
            return "this step"
        row = self.steps[step]
        return f"step {step}, {row.kind}{' ' + name(row.name) if row.name else ''},"

    def brief(self, step: int) -> str:
        """`step 7`, or `this step`."""
        return "this step" if step == self.it else f"step {step}"

    def said(self, step: int) -> Part:
        """The first words of a step."""
        row = self.steps.get(step)
        return Span(f": {short(row.says, _SAID)}" if row is not None and row.says else ".", "quote")


def _direction(page: Page, told: _Told, reach: ReachRow, title: str, *, back: bool) -> None:
    page.title(f"{title}: {plural(reach.steps, 'step')} in all" if reach.steps else title)
    if not reach.direct:
        page.line("nothing in the record" if back else "nothing that the record shows", first="  ")
        return
    most = _VERBOSE if page.detail > 0 else _DIRECT
    for kind, group in groupby(_told_once(reach.direct), key=_kind):
        _group(page, told, list(group), _KINDS[kind].back if back else _KINDS[kind].forward, most)
    if page.detail >= 0 and reach.further:
        _rest(page, told, reach, back=back)


def _kind(edge: GraphEdgeRow) -> str:
    """The kind; `branch` where a turn was only shown the values."""
    return "branch" if edge.values and edge.values[0].role == "branch" else edge.kind


def _told_once(edges: Sequence[GraphEdgeRow]) -> list[GraphEdgeRow]:
    """Without the sequence between steps that something else joins."""
    joined = {(edge.source, edge.target) for edge in edges if edge.kind != "next"}
    return [edge for edge in edges if edge.kind != "next" or (edge.source, edge.target) not in joined]


def _group(page: Page, told: _Told, edges: Sequence[GraphEdgeRow], label: str, most: int) -> None:
    """The edges of one kind: the label stands before the first."""
    lines = [line for edge in edges for line in _sentences(told, edge)]
    for number, line in enumerate(lines[:most]):
        page.field("" if number else label, *line, column=_COLUMN)
    page.more(len(lines) - most, indent=_COLUMN)


def _sentences(told: _Told, edge: GraphEdgeRow) -> list[list[Part]]:
    if _kind(edge) == "branch":
        return [_of_branch(told, edge)]
    if edge.values:
        return [_of_value(told, edge, value) for value in edge.values]
    far = edge.source if edge.target == told.it else edge.target
    words = _KINDS[edge.kind].says.format(
        source=told.whole(edge.source), target=told.whole(edge.target), value="a value"
    )
    return [[f"{words.rstrip(',')} ({edge.basis})", told.said(far)]]


def _of_value(told: _Told, edge: GraphEdgeRow, value: GraphValueRow) -> list[Part]:
    came = Span(name(value.value, _VALUE), "handle")
    source, target = told.whole(edge.source), told.whole(edge.target).rstrip(",")
    written = "" if value.written == "verbatim" else f", as {value.written}"
    where = "echo" if value.echo else _ROLES.get(value.role, value.role)
    pointer = f" {short(value.pointer, 60)}" if value.pointer else ""
    return [came, f" of {source} stands in the {where}{pointer} of {target}{written} ({edge.basis})."]


def _of_branch(told: _Told, edge: GraphEdgeRow) -> list[Part]:
    source, target = told.whole(edge.source), told.whole(edge.target).rstrip(",")
    many = len(edge.values) > 1
    words = f" of {source} {'were' if many else 'was'} shown to {target}, which may rest on {'them' if many else 'it'}"
    return [Span(_values(edge), "handle"), f"{words} ({edge.basis})."]


def _values(edge: GraphEdgeRow) -> str:
    more = f" and {len(edge.values) - _LISTED} more" if len(edge.values) > _LISTED else ""
    return ", ".join(name(value.value, _VALUE) for value in edge.values[:_LISTED]) + more


def _rest(page: Page, told: _Told, reach: ReachRow, *, back: bool) -> None:
    page.line(Span("further back" if back else "further on", "title"), Span(", nearest first", "dim"), first="  ")
    most = _VERBOSE if page.detail > 0 else _FURTHER
    for edge in reach.further[:most]:
        page.line(*_further(told, edge, back=back), first="    ", rest="      ")
    page.more(len(reach.further) - most + reach.more, indent=4)


def _further(told: _Told, edge: GraphEdgeRow, *, back: bool) -> list[Part]:
    """The step that is new in full, the one that was named before by its number."""
    new = edge.source if back else edge.target
    source = told.whole(edge.source) if back else told.brief(edge.source)
    target = told.brief(edge.target) if back else told.whole(edge.target)
    words = _KINDS[edge.kind].says.format(source=source, target=target, value=_values(edge))
    return [f"{words.rstrip(',')} ({edge.basis})", told.said(new)]
