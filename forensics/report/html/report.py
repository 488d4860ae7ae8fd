"""How does the incident report look in a browser? The verdict and the deciding step first, the timeline, the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from forensics.report.html.acts import causes, effects, tools
from forensics.report.html.found import findings, oversight, quality, replay
from forensics.report.html.glossary import words
from forensics.report.html.keeping import blanks, custody, obligations, privacy, regression
from forensics.report.html.opening import happened, header, inspecting, main_trace, verdict
from forensics.report.html.page import page
from forensics.report.html.parts import section
from forensics.report.html.timeline import STEPS, Drawing, timeline, timeline_data
from forensics.report.html.words import named
from forensics.report.markup import Markup, el, quoted

Part = TypeVar("Part", "Event", "Lane", "Thread")

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forensics.report.incident.documents import Edge, Event, Lane, ReportDocument, ReportFinding, Thread

_ROOM = 900_000  # bytes of the texts of all steps together, as far as the least room of one allows
_LEAST_ROOM = 60
_PARTS = {
    "verdict": "Verdict",
    "happened": "What happened",
    "timeline": "Timeline",
    "effects": "Effects",
    "findings": "Findings",
    "causes": "Why",
    "tools": "Tools",
    "oversight": "Approvals",
    "quality": "Data quality",
    "replay": "Reruns",
    "custody": "Evidence",
    "privacy": "Privacy",
    "blanks": "Blanks",
    "obligations": "Duties",
    "regression": "Test",
    "words": "Words",
}


_ALL_OPEN = 100  # steps: up to here the timeline of every run is open


def report_html(document: ReportDocument) -> bytes:
    """The report as one page that needs nothing else; the same document gives the same bytes."""
    drawings = _drawings(document)
    parts = (
        verdict(document),
        happened(document),
        _timelines(document, drawings),
        effects(document),
        findings(document),
        causes(document),
        tools(document),
        oversight(document),
        quality(document),
        replay(document),
        custody(document),
        privacy(document),
        blanks(document),
        obligations(document),
        regression(document),
        words(),
    )
    return page(
        document.header.title,
        [timeline_data(one) for one in drawings if one.events and one.most],
        el("a", "To the verdict", href="#verdict", class_="skip"),
        header(document),
        _contents(document),
        el("main", *parts),
    )


def _contents(document: ReportDocument) -> Markup:
    shown = {name: title for name, title in _PARTS.items() if name != "causes" or document.causes}
    links = (el("li", el("a", title, href=f"#{name}")) for name, title in shown.items())
    return el("nav", el("ol", *links), class_="parts", aria_label="Parts of the report")


# timelines -----------------------------------------------------------------------------------------------------------


def _timelines(document: ReportDocument, drawings: Sequence[Drawing]) -> Markup:
    """The run that a reader wants first, then the others, folded up."""
    main = main_trace(document)
    if not drawings:
        return section("timeline", "Timeline", el("p", "No step was read."))
    if len(drawings) == 1:
        return section("timeline", "Timeline", timeline(drawings[0]))
    ordered = sorted(enumerate(drawings), key=lambda one: one[0] != main)
    few = len(document.timeline.events) <= _ALL_OPEN
    runs = [_run(document, index, one, is_open=few or index == main) for index, one in ordered]
    return section("timeline", "Timeline", *runs)


def _run(document: ReportDocument, index: int, drawing: Drawing, *, is_open: bool) -> Markup:
    trace = document.traces[index]
    again = f", a rerun of {named(trace.rerun_of)}" if trace.rerun_of is not None else ""
    title = el("summary", "Run ", quoted(named(trace.id)), f": {trace.steps:,} steps, {trace.calls:,} calls{again}")
    return el("details", title, timeline(drawing), class_="run", open=is_open)


def _drawings(document: ReportDocument) -> list[Drawing]:
    time, count = document.timeline, len(document.traces)
    lanes, events, threads = _by_trace(time.lanes, count), _by_trace(time.events, count), _by_trace(time.threads, count)
    edges, noted = _edges_by_trace(document), _noted_by_trace(document)
    full = document.contents.level == "full"
    room = None if full else max(_LEAST_ROOM, _ROOM // max(len(time.events), 1))
    most = _shares(document)
    return [
        Drawing(
            f"t{n}",
            lanes[n],
            events[n],
            edges[n],
            threads[n],
            noted[n],
            inspecting(document, n),
            room=room,
            most=most[n],
        )
        for n in range(count)
    ]


def _shares(document: ReportDocument) -> list[int]:
    """How many steps of each run the page shows: all, as far as it has room, the run first that is read first."""
    main, left = main_trace(document), STEPS
    shown = [0] * len(document.traces)
    for trace in sorted(document.traces, key=lambda one: one.index != main):
        shown[trace.index] = min(trace.steps, left)
        left -= shown[trace.index]
    return shown


def _by_trace(parts: Iterable[Part], count: int) -> list[list[Part]]:
    found: list[list[Part]] = [[] for _ in range(count)]
    for part in parts:
        found[part.trace].append(part)
    return found


def _edges_by_trace(document: ReportDocument) -> list[list[Edge]]:
    trace_of = {event.index: event.trace for event in document.timeline.events}
    found: list[list[Edge]] = [[] for _ in document.traces]
    for edge in document.timeline.edges:
        found[trace_of[edge.source]].append(edge)
    return found


def _noted_by_trace(document: ReportDocument) -> list[list[ReportFinding]]:
    found: list[list[ReportFinding]] = [[] for _ in document.traces]
    for one in document.findings.rows:
        if one.trace is not None and one.steps:
            found[one.trace].append(one)
    return found
