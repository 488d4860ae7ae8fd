"""What is wrong with the shape of a trace? Spans that stand twice, parents that are missing, clocks that contradict."""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import TYPE_CHECKING

from forensics.core.again import several_times
from forensics.core.evidence import Basis
from forensics.core.findings import finding
from forensics.core.sanitise import one_line
from forensics.core.trace import NOWHERE
from forensics.formats.shared.span_names import Role
from forensics.formats.shared.span_order import NO_PARENT, sorted_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.core.build import TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.span_cast import Cast
    from forensics.formats.shared.span_order import Tree
    from forensics.formats.shared.span_rows import TraceSpans
    from forensics.formats.shared.spans import Attributes, Span

_LOCATORS = 100  # of one finding; its message says how many spans there are


def note(builder: TraceBuilder, code: str, message: str, spans: Sequence[Span]) -> None:
    """A finding about spans, with their places."""
    places = builder.trace.places
    locators = tuple(places.locator(s.place, s.pointer) for s in spans[:_LOCATORS])
    builder.note(finding(code, message, locators=locators, basis=Basis.DERIVED))


def distinct(spans: TraceSpans, builder: TraceBuilder, build: EvidenceBuilder) -> TraceSpans:
    """One span an id. What was exported twice is one span; two stories under one id are a gap."""
    again = several_times(len(spans), spans.ids)
    several = [row for row, span_id in enumerate(spans.ids()) if not span_id or span_id in again]
    if not several:
        return spans
    row_of = dict(zip(map(id, told := spans.rows_of(several)), several, strict=True))
    kept = list(map(row_of.__getitem__, map(id, _told_once(told, builder, build))))
    others = sorted(set(range(len(spans))).difference(several))
    return spans.picked([*kept, *others])


def _told_once(spans: list[Span], builder: TraceBuilder, build: EvidenceBuilder) -> list[Span]:
    """The same of spans that share their ids with others, or have none."""
    kept: dict[str, Span] = {}
    for span in sorted_by(spans, "id", "start", "end", "name", "place", "pointer"):
        first = kept.setdefault(span.id or f"no id {len(kept)}", span)
        if first is span:
            continue
        if _says_the_same(first, span):
            build.counts.duplicate_records += 1
            note(builder, "duplicate_record", f"the span {one_line(span.id, 40)} stands twice", [first, span])
        else:
            message = f"two different spans carry the id {one_line(span.id, 40)}"
            note(builder, "duplicate_record_id", message, [first, span])
            builder.gap("duplicate_record_id", message, span.spot)
    return list(kept.values())


def _says_the_same(one: Span, other: Span) -> bool:
    if any(getattr(one, field) != getattr(other, field) for field in _IDENTITY):
        return False
    return _attributes(one) == _attributes(other) and _events(one) == _events(other)


def _attributes(span: Span) -> dict[str, bytes]:
    return dict(zip(span.names, map(bytes, span.values), strict=True))


def _events(span: Span) -> list[tuple[str, Attributes]]:
    return [(event.name, event.attributes) for event in span.events]


_IDENTITY = ("name", "parent", "start", "end", "failed", "status_message")


def check_structure(cast: Cast, builder: TraceBuilder) -> None:
    """Say what is missing from the tree or contradicts itself in it."""
    _check_links(cast.tree, builder)
    _check_clocks(cast, builder)
    _check_ties(cast, builder)


def _check_links(tree: Tree, builder: TraceBuilder) -> None:
    for parent, orphans in tree.missing.items():
        found = tree.spans.several(orphans[:_LOCATORS])
        which = "a span hangs" if len(orphans) == 1 else f"{len(orphans)} spans hang"
        message = f"{which} under the span {one_line(parent, 40)}, which is not in the evidence"
        note(builder, "orphan_span", message, found)
        builder.gap("orphan_span", message, found[0].spot)
    for row in tree.cyclic:
        span = tree.spans[row]
        message = f"the parent links of the span {one_line(span.id, 40)} lead back to it"
        note(builder, "cycle", message, [span])
        builder.gap("cycle", message, span.spot)
    if len(tree.roots) > 1:
        message = f"the trace has {len(tree.roots)} spans that name no parent"
        note(builder, "multiple_roots", message, tree.spans.several(tree.roots[:_LOCATORS]))


def _check_clocks(cast: Cast, builder: TraceBuilder) -> None:
    clocks, spans, parents = cast.clocks, cast.spans, cast.tree.parent
    starts, ends = spans.starts, spans.ends
    around = (starts[above] if above != NO_PARENT else NOWHERE for above in parents)
    times = enumerate(zip(around, starts, ends, strict=True))
    for row in [row for row, (before, start, end) in times if start < before or end < start]:
        span, above = spans[row], parents[row]
        if above != NO_PARENT and clocks.runs_backwards(spans[above], span):
            message = f"the span {one_line(span.name, 60)} starts before its parent {one_line(spans[above].name, 60)}"
            note(builder, "causality_violation", message, [span, spans[above]])
        if clocks.ends_first(span):
            message = f"the span {one_line(span.name, 60)} ends before it starts"
            note(builder, "negative_duration", message, [span])


def check_asked_first(cast: Cast, turn: int, tool: int, builder: TraceBuilder) -> None:
    """A tool can't start before the model turn that asked for it."""
    asked, ran = cast.spans[turn], cast.spans[tool]
    if cast.clocks.runs_backwards(asked, ran):
        message = f"the span {one_line(ran.name, 60)} starts before the model turn that asked for it"
        note(builder, "causality_violation", message, [ran, asked])


def _check_ties(cast: Cast, builder: TraceBuilder) -> None:
    """Sibling tools that started at the same tick: told in the order of the request, they may have run in parallel."""
    starts = cast.spans.starts
    rows = array("i", (row for row in cast.rows(Role.TOOL) if starts[row] >= 0))
    if all(starts[row] < starts[after] for row, after in pairwise(rows)):  # they stand in the order of their starts
        return
    started: dict[tuple[int, int], list[int]] = {}
    for row in rows:
        started.setdefault((cast.tree.parent[row], starts[row]), []).append(row)
    tied = [row for rows in started.values() if len(rows) > 1 for row in rows]
    if tied:
        spans = cast.spans.several(tied[:_LOCATORS])
        named = ", ".join(one_line(s.name, 40) for s in spans[:4])
        message = (
            f"{len(tied)} tool spans start at the same tick as another ({named}): the order is that of the request"
        )
        note(builder, "time_tie", message, spans)
