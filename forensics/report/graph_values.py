"""How are values drawn on their way? Apart from all other edges, in tracks to the right of the lanes, with labels.

Values that one step minted and that reach the same steps go together. A way takes the first track that is free in all
its rows; what finds none has its labels and no line, so that a drawing stays readable however many values there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from forensics.report.graph_words import listed

if TYPE_CHECKING:
    from forensics.report.documents import GraphDocument
    from forensics.report.graph_layout import Layout

TRACKS = 14
LABELS = 4  # in one row
_REFERENCE = "reference"
_USES = 6  # steps named in one label


class Way(NamedTuple):
    """Values that went together: the step that minted them, the steps that hold them, the track (None: no line)."""

    mint: int
    uses: tuple[int, ...]
    values: tuple[str, ...]
    minted: bool
    track: int | None = None


def ways(document: GraphDocument, layout: Layout) -> list[Way]:
    """Every way: those of minted values choose a track first, then those of references."""
    found = sorted(_together(document), key=lambda way: (not way.minted, way.mint, way.uses))
    taken = [0] * TRACKS  # the rows in which a track is taken, one bit a row
    return [way._replace(track=_take(taken, _rows(way, layout))) for way in found]


def _together(document: GraphDocument) -> list[Way]:
    """By value its uses, then by mint and uses the values."""
    uses: dict[tuple[int, str, bool], list[int]] = {}
    for edge in document.edges:
        for row in edge.values:
            uses.setdefault((edge.source, row.value, row.kind != _REFERENCE), []).append(edge.target)
    groups: dict[tuple[int, tuple[int, ...], bool], list[str]] = {}
    for (mint, value, minted), steps in uses.items():
        groups.setdefault((mint, tuple(dict.fromkeys(steps)), minted), []).append(value)
    return [Way(mint, steps, tuple(values), minted) for (mint, steps, minted), values in groups.items()]


def _rows(way: Way, layout: Layout) -> int:
    rows = [layout.cells[step].row for step in (way.mint, *way.uses)]
    return ((1 << (max(rows) - min(rows) + 1)) - 1) << min(rows)


def _take(taken: list[int], rows: int) -> int | None:
    for track, busy in enumerate(taken):
        if not busy & rows:
            taken[track] |= rows
            return track
    return None


class Label(NamedTuple):
    """One line beside a row: whether a minted value is told of, and the words."""

    minted: bool
    words: str


def labels(found: list[Way], layout: Layout) -> dict[int, list[Label]]:
    """By row, what stands beside it: `7 to 8, 9: pg_8812` where values are minted, `9 from 7: pg_8812` where used."""
    told: dict[int, list[tuple[int, Label]]] = {}
    for way in found:
        words = listed(way.values)
        uses = ", ".join(map(str, way.uses[:_USES])) + (" …" if len(way.uses) > _USES else "")
        _tell(told, layout, way.mint, Label(way.minted, f"{way.mint} to {uses}: {words}"))
        for use in way.uses:
            _tell(told, layout, use, Label(way.minted, f"{use} from {way.mint}: {words}"))
    return {row: _shown(rows) for row, rows in told.items()}


def _tell(told: dict[int, list[tuple[int, Label]]], layout: Layout, step: int, label: Label) -> None:
    told.setdefault(layout.cells[step].row, []).append((step, label))


def _shown(rows: list[tuple[int, Label]]) -> list[Label]:
    """Those of minted values first; then as many as a row has room for."""
    ordered = [label for _, label in sorted(rows, key=lambda row: (not row[1].minted, row[0]))]
    if len(ordered) <= LABELS:
        return ordered
    return [*ordered[: LABELS - 1], Label(minted=False, words=f"… {len(ordered) - LABELS + 1} more")]
