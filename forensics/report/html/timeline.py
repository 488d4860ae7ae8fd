"""How does a reader walk through a run? A drawing that the page's script makes, and tables that say the same
without it.

A text stands in the page once, in the tables; the script takes it from there. What is drawn stands in the page's data
as numbers into a list of words, so that five thousand steps stay far below three megabytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from forensics.report.html.lanes import drawn_lanes
from forensics.report.html.ways import values
from forensics.report.html.words import Inspecting, fit, kind, named, where
from forensics.report.markup import Markup, el, join
from forensics.report.terminal_effects import mark, moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.report.incident.documents import Edge, Event, Lane, ReportFinding, Thread

STEPS = 20_000  # of one page: a browser holds no more with ease
_CHUNK = 100  # steps of one table
_OPEN = 200  # steps: up to here every table is open
_CAUSES, _FEWER, _LONG = 12, 4, 1_000  # named in one row, and in one of a run of more than a thousand steps
_ENDS = 20_000  # of threads, drawn in one run
_LINES = "Lines: solid is recorded, dashed derived, dotted inferred. Blue is what a model turn was shown."
_SIGNS = "! side-effecting, # handle-returning, = idempotent, ~ volatile; ◆7: holds a value that step 7 brought."
_KEYS = "Keys: arrows, Page Up and Down, Home and End choose a step; Enter goes to it, Escape back; + and - zoom."
_COLUMNS = ("Step", "Time (UTC)", "What", "Who", "What it says", "Because of", "Where it stands")


class Drawing(NamedTuple):
    """One trace as it is drawn: the id of its place on the page, its parts, and the command that shows a step's bytes.
    `noted` are the findings, to which the page links; `start` is the step that is chosen first, `room`
    how many bytes each text may take, `most` how many steps are shown.
    """

    id: str
    lanes: Sequence[Lane]
    events: Sequence[Event]
    edges: Sequence[Edge]
    threads: Sequence[Thread]
    noted: Sequence[ReportFinding] = ()
    inspect: Inspecting | None = None
    start: int | None = None
    room: int | None = None
    most: int = STEPS


class _Room(NamedTuple):
    """How many bytes of a text, and how many causes, a row has room for."""

    text: int | None
    causes: int


# the page ------------------------------------------------------------------------------------------------------------


def timeline(drawing: Drawing) -> Markup:
    """The place where the script draws, and the tables."""
    place = el("div", id=drawing.id, class_="timeline", hidden=True, data_legend=_LINES, data_keys=_KEYS)
    if not drawing.events:
        return el("p", "No step was read.")
    if not drawing.most:
        return join(*_tables(drawing))
    return join(place, values(drawing.threads), el("p", _SIGNS, class_="quiet small"), *_tables(drawing))


def _tables(drawing: Drawing) -> Iterator[Markup]:
    shown = drawing.events[: drawing.most]
    because = _because(drawing)
    room = _Room(drawing.room, _CAUSES if len(shown) <= _LONG else _FEWER)
    for start in range(0, len(shown), _CHUNK):
        chunk = shown[start : start + _CHUNK]
        title = f"Steps {chunk[0].index:,} to {chunk[-1].index:,} as a table"
        yield el(
            "details",
            el("summary", title),
            el(
                "div",
                _table(chunk, because, title, room),
                class_="wide steps",
                role="region",
                tabindex=0,
                aria_label=title,
            ),
            class_="chunk" if len(shown) > _OPEN else None,
            open=len(shown) <= _OPEN,
        )
    if len(drawing.events) > drawing.most:
        more = len(drawing.events) - drawing.most
        yield el("p", f"{more:,} steps of it are not in this page; the form .json of the report has every one.")


def _table(events: Sequence[Event], because: dict[int, list[tuple[str, int]]], title: str, room: _Room) -> Markup:
    head = el("thead", el("tr", *(el("th", column, scope="col") for column in _COLUMNS)))
    rows = [_row(event, because.get(event.index, []), room) for event in events]
    return el("table", head, el("tbody", *rows), aria_label=title)


def _row(event: Event, because: list[tuple[str, int]], room: _Room) -> Markup:
    what = f"{kind(event.kind)} {event.occurrence}" if event.occurrence else kind(event.kind)
    bad = event.kind == "tool_result" and event.outcome not in (None, "recorded")
    marks = mark(event.labels)
    return el(
        "tr",
        el("th", str(event.index), scope="row"),
        el("td", moment(event.at)),
        el("td", f"{what} {event.outcome}" if bad else what),
        el("td", f"{_who(event)} {marks}" if marks else _who(event)),
        el("td", fit(event.said or "", room.text)),
        el("td", *_causes(because, room.causes)),
        el("td", where(event.locator)),
        id=f"s{event.index}",
        class_="deciding" if event.deciding else None,
    )


def _who(event: Event) -> str:
    if event.kind in ("system", "user"):
        return f"to {named(event.agent)}" if event.agent else ""
    return named(event.name or event.agent)


def _causes(because: list[tuple[str, int]], most: int) -> Iterator[Markup | str]:
    for number, (sign, source) in enumerate(because[:most]):
        yield " " if number else ""
        yield el("a", f"{sign}{source}", href=f"#s{source}")
    if len(because) > most:
        yield f" and {len(because) - most:,} more"


def _because(drawing: Drawing) -> dict[int, list[tuple[str, int]]]:
    """By step the steps that led to it; those from which it holds a value have a sign."""
    found: dict[int, dict[tuple[str, int], None]] = {}
    for thread in drawing.threads:
        for use in thread.uses:
            if use.role != "branch":
                found.setdefault(use.step, {})["◆", thread.minted] = None
    for edge in drawing.edges:
        if edge.kind not in ("next", "value"):
            found.setdefault(edge.target, {})["", edge.source] = None
    return {step: list(sources) for step, sources in found.items()}


# the script's data ---------------------------------------------------------------------------------------------------


def timeline_data(drawing: Drawing) -> dict[str, Any]:
    """What the script draws."""
    words = _Words()
    lanes, lane_of = drawn_lanes(drawing.lanes)
    shown = {event.index for event in drawing.events[: drawing.most]}
    return {
        "id": drawing.id,
        "inspect": drawing.inspect,  # null, or the command and where the numbers of steps begin
        "start": drawing.start,
        "lanes": [[lane.kind, named(lane.name) or lane.kind] for lane in lanes],
        "steps": [_step(event, lane_of[event.lane], words) for event in drawing.events[: drawing.most]],
        "edges": [
            [edge.source, edge.target, words[edge.kind], words[edge.basis]]
            for edge in drawing.edges
            if edge.kind != "value" and edge.source in shown and edge.target in shown  # threads tell of values
        ],
        "threads": [_thread(thread, words) for thread in _drawn(drawing.threads)],
        "findings": [[f.index, words[f.code], words[f.severity], f.steps] for f in drawing.noted],
        "words": words.all,
    }


def _step(event: Event, lane: int, words: _Words) -> list[int]:
    called = event.call is not None and event.kind in ("tool_call", "tool_result")
    texts = (
        event.kind,
        _who(event),
        *((event.class_, event.effect, event.outcome, event.decision) if called else 4 * ("",)),
    )
    call, result = (event.call, event.result) if called else (None, None)
    ends = (-1 if end is None else end for end in (call, result))
    return [event.index, lane, *(words[text or ""] for text in texts), *ends, int(event.deciding)]


def _drawn(threads: Iterable[Thread]) -> Iterator[Thread]:
    """The threads that the drawing has room for, those of minted values first."""
    left = _ENDS
    for thread in sorted(threads, key=lambda one: one.kind == "reference"):
        left -= 1 + len(thread.uses)
        if left < 0:
            return
        yield thread


def _thread(thread: Thread, words: _Words) -> list[Any]:
    uses = [[use.step, words[use.role], words[use.basis]] for use in thread.uses]
    return [words[named(thread.value)], words[thread.kind], thread.minted, uses]


class _Words:
    """Every word once, by its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __getitem__(self, word: str) -> int:
        return self._numbers.setdefault(word, len(self._numbers))

    @property
    def all(self) -> list[str]:
        """The words in the order of their numbers."""
        return list(self._numbers)
