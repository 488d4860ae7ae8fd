"""How is the causal graph drawn? As one SVG that is text safe, has no script and refers to nothing outside itself.

It is readable on light and on dark ground: a `style` inside it holds the colours of both. The line styles follow the
basis, the colours the kind of edge; every box and line says in its `title` what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.graph_document import check_limit
from forensics.report.graph_layout import BOX, GAP, TOP, Layout
from forensics.report.graph_routes import Route, routes, value_height, value_stub
from forensics.report.graph_values import labels, ways
from forensics.report.graph_words import LEGEND, listed, named, plain, step_words, title, xml
from forensics.report.terminal_page import cells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.report.documents import GraphDocument, GraphStepRow
    from forensics.report.graph_values import Label, Way

LIMIT = 2_000  # steps: beyond it a browser draws slowly and nobody reads
_CELL = 6.65  # pixels of one cell in the font of the boxes, a fixed-width one of 11 pixels
_SMALL = 6.05  # the same in the font of the labels, of 10 pixels
_PADDING = 8
_TRACK, _LABELS = 9, 330  # widths of a track and of the column of labels
_NARROWEST = 640
_DASHES = {"derived": "6 4", "inferred": "1.5 3.5"}
_COLOURS = {  # selector: property, on light and on dark ground
    ".ground": ("fill", "#ffffff", "#16181d"),
    "text": ("fill", "#1d2129", "#e6e8ec"),
    ".quiet": ("fill", "#5c6370", "#9aa3b2"),
    ".lane": ("fill", "#f6f7f9", "#1c1f26"),
    ".box": ("fill", "#ffffff", "#262a33"),
    ".line": ("stroke", "#4a5160", "#aab2c0"),
    ".feeds": ("stroke", "#2463b5", "#7db1f5"),
    ".value": ("stroke", "#9b1fb5", "#dd8bf0"),
    ".reference": ("stroke", "#a89bb0", "#7d7387"),
    ".retry": ("stroke", "#c2410c", "#fb9a64"),
    ".next": ("stroke", "#b3b9c4", "#565d6b"),
    ".head-line": ("fill", "#4a5160", "#aab2c0"),
    ".head-feeds": ("fill", "#2463b5", "#7db1f5"),
    ".head-value": ("fill", "#9b1fb5", "#dd8bf0"),
    ".head-reference": ("fill", "#a89bb0", "#7d7387"),
    ".head-retry": ("fill", "#c2410c", "#fb9a64"),
    ".head-next": ("fill", "#b3b9c4", "#565d6b"),
    ".told": ("fill", "#7d1892", "#dd8bf0"),
    ".side-effecting": ("fill", "#fbd9d4", "#5b241d"),
    ".handle-returning": ("fill", "#ecd9fa", "#482263"),
    ".idempotent": ("fill", "#d9efd9", "#1f4225"),
    ".model": ("fill", "#dfe9f8", "#22344f"),
}
_KINDS = ("line", "feeds", "value", "reference", "retry", "next")


def svg(document: GraphDocument) -> str:
    """The graph as SVG. Raises LimitExceededError beyond 2,000 steps."""
    check_limit(len(document.steps), LIMIT, "an SVG", "steps", whole=document.slice is None)
    around = None if document.slice is None else document.slice.step
    layout = Layout(document)
    found = ways(document, layout)
    beside = layout.right + 16 + _TRACK * (1 + max((way.track for way in found if way.track is not None), default=0))
    width = max(_NARROWEST, beside + _LABELS if found else layout.right)
    parts = [
        _head(document, width, layout.bottom + GAP),
        *_stretches(layout),
        *(_line(route) for route in routes(document, layout)),
        *(part for way in found for part in _way(way, layout)),
        *(_box(step, layout, sliced=step.index == around) for step in document.steps),
        *_labels(labels(found, layout), beside),
        "</svg>\n",
    ]
    return "\n".join(parts)


# head ----------------------------------------------------------------------------------------------------------------


def _head(document: GraphDocument, width: int, height: int) -> str:
    said = xml(title(document))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img">\n<title>Causal graph: {said}</title>\n<style>{_style()}</style>\n<defs>{_heads()}</defs>\n'
        f'<rect class="ground" width="{width}" height="{height}"/>\n'
        f'<text class="title" x="16" y="26">{said}</text>\n{_legend()}'
    )


def _style() -> str:
    rules = [
        'text{font:11px ui-monospace,"DejaVu Sans Mono",monospace;white-space:pre;unicode-bidi:isolate}',
        ".title{font-size:14px;font-weight:bold}.strong{font-weight:bold}.small{font-size:10px}",
        ".box{stroke-width:1}.sliced{stroke-width:3}.edge{fill:none;stroke-width:1.4}.value{stroke-width:1.6}",
        *(f".{basis}{{stroke-dasharray:{dashes}}}" for basis, dashes in _DASHES.items()),
        ".inferred{stroke-linecap:round}g:hover>.edge{stroke-width:3.5}",
    ]
    return "".join([*rules, *_ground(0), "@media(prefers-color-scheme:dark){", *_ground(1), "}"])


def _ground(dark: int) -> Iterator[str]:
    for selector, (what, *colours) in _COLOURS.items():
        yield f"{selector}{{{what}:{colours[dark]}}}"
    yield f".box{{stroke:{_COLOURS['.line'][1 + dark]}}}"


def _heads() -> str:
    """One arrow head for each colour of line."""
    return "".join(
        f'<marker id="to-{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path class="head-{kind}" d="M0 0L8 4L0 8z"/></marker>'
        for kind in _KINDS
    )


def _legend() -> str:
    lines = (
        ("line recorded", "recorded"),
        ("line derived", "derived"),
        ("line inferred", "inferred"),
        ("feeds derived", "shown to a turn"),
        ("value inferred", "a minted value"),
        ("reference inferred", "another value"),
        ("retry inferred", "retry"),
    )
    parts, x = [], 16
    for classes, words in lines:
        parts.append(f'<path class="edge {classes}" d="M{x} 46h26"/>' + _quiet(x + 32, 50, words))
        x += 32 + round(len(words) * _CELL) + 20
    marks = "   ".join(f"{sign} {word}" for sign, word in LEGEND.items())
    parts.append(_quiet(16, 70, f"calls: {marks}"))
    parts.append(_quiet(16, 88, "time goes down; a call and its result stand beside their turn"))
    return "\n".join(parts)


def _quiet(x: int, y: int, words: str) -> str:
    return f'<text class="quiet" x="{x}" y="{y}">{xml(words)}</text>'


# lanes and boxes -----------------------------------------------------------------------------------------------------


def _stretches(layout: Layout) -> Iterator[str]:
    """A ground for each stretch of a lane, with its agent's name above the first box."""
    for one in layout.stretches:
        lane = layout.lanes[one.lane]
        x, wide = lane.x + 6, lane.right - lane.x + 16
        y = TOP + one.first * (BOX + GAP) - 26
        height = (one.last - one.first + 1) * (BOX + GAP) + 42
        yield f'<rect class="lane" x="{x}" y="{y}" width="{wide}" height="{height}" rx="6"/>'
        more = f" and {one.others} more agents" if one.others else ""
        words = (f"agent {named(one.agent)}" if one.agent else "the agent") + more
        yield _quiet(x + 20, y + 20, _fit(words, wide - 20, _CELL))


def _box(step: GraphStepRow, layout: Layout, *, sliced: bool) -> str:
    box = layout.boxes[step.index]
    head, name = step_words(step)
    colour = (step.class_ or step.kind) + (" sliced" if sliced else "")
    ended = f" {step.outcome}" if step.kind == "tool_result" and step.outcome not in (None, "recorded") else ""
    room, x = box.width - 2 * _PADDING, box.x + _PADDING
    named_so = f'<text x="{x}" y="{box.y + 28}">{xml(_fit(name, room, _CELL))}</text>' if name else ""
    return (
        f"<g><title>{xml(_about(step))}</title>"
        f'<rect class="box {colour}" x="{box.x}" y="{box.y}" width="{box.width}" height="{BOX}" rx="4"/>'
        f'<text class="strong" x="{x}" y="{box.y + (14 if name else 21)}">{xml(_fit(head + ended, room, _CELL))}</text>'
        f"{named_so}</g>"
    )


def _about(step: GraphStepRow) -> str:
    parts = [
        f"step {step.index}, {step.kind}",
        named(step.name, 200),
        f"agent {named(step.agent)}" if step.agent else "",
        " and ".join(step.labels),
        step.outcome or "",
        plain(step.at or "", 40),
    ]
    return "; ".join(part for part in parts if part)


def _fit(text: str, width: float, cell: float) -> str:
    """As much of a text as fits into a width in pixels."""
    room = int(width / cell)
    if cells(text) <= room:
        return text
    kept = text[: max(room - 1, 0)]
    while cells(kept) >= room and kept:
        kept = kept[:-1]
    return f"{kept}…"


# lines ---------------------------------------------------------------------------------------------------------------


def _line(route: Route) -> str:
    colour = route.kind if route.kind in _KINDS else "line"
    shown = ", ".join(f"{source} to {target}" for source, target in route.edges[:12])
    more = f" and {len(route.edges) - 12} more" if len(route.edges) > 12 else ""  # noqa: PLR2004 - a line's worth
    words = f"{route.kind}, {route.basis}: {shown}{more}"
    return _path(f"{colour} {route.basis}", colour, route.path, words)


def _path(classes: str, head: str, path: str, words: str) -> str:
    end = f' marker-end="url(#to-{head})"' if head else ""
    return f'<g><title>{xml(words)}</title><path class="edge {classes}" d="{path}"{end}/></g>'


def _way(way: Way, layout: Layout) -> Iterator[str]:
    """The track of some values, a line to it and one from it to each use."""
    if way.track is None:
        return
    colour = "value" if way.minted else "reference"
    x = layout.right + 8 + way.track * _TRACK
    words = f"value, inferred: {listed(way.values)} of step {way.mint}"
    heights = [value_height(step, layout, mints=step == way.mint) for step in (way.mint, *way.uses)]
    trunk = f"{value_stub(way.mint, x, layout, mints=True)}M{x} {min(heights)}V{max(heights)}"
    yield _path(f"{colour} inferred", "", trunk, words)
    for use in way.uses:
        yield _path(f"{colour} inferred", colour, value_stub(use, x, layout, mints=False), f"{words} in step {use}")


def _labels(told: dict[int, list[Label]], x: int) -> Iterator[str]:
    for row, rows in told.items():
        middle = TOP + row * (BOX + GAP) + GAP + BOX // 2
        y = middle + 4 - 6 * (len(rows) - 1)
        for line, label in enumerate(rows):
            look = "told" if label.minted else "quiet"
            words = xml(_fit(label.words, _LABELS - 16, _SMALL))
            yield f'<text class="small {look}" x="{x}" y="{y + 12 * line}">{words}</text>'
