"""How are numbers drawn on a page that runs nothing? As bars and columns of SVG beside a table that says the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.markup import Markup, el

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_TALL = 100  # units of a drawing, which is stretched to its place
_WIDEST = 8.0  # of a column


def bar(count: int, of: int, look: str = "") -> Markup:
    """A bar that is filled by `count` of `of`; the number stands beside it, so nobody has to read the bar."""
    width = round(_TALL * count / of, 2) if of else 0
    return _drawing("share", 1, el("rect", width=str(width), height="1", class_=look or None))


def stacked(parts: Mapping[str, int]) -> Markup:
    """One bar of several parts, each in the look of its name."""
    whole = max(sum(parts.values()), 1)
    drawn, at = [], 0.0
    for name, count in parts.items():
        width = _TALL * count / whole
        drawn.append(el("rect", x=_number(at), width=_number(width), height="1", class_=name))
        at += width
    return _drawing("share whole", 1, *drawn)


def columns(rows: Sequence[Mapping[str, int]]) -> Markup:
    """A column a row, of its parts one upon the other; the tallest is as high as the drawing."""
    most = max((sum(row.values()) for row in rows), default=0) or 1
    wide = _TALL / max(len(rows), 1)
    drawn = [rect for number, row in enumerate(rows) for rect in _column(number * wide, wide, row, most)]
    return _drawing("columns", _TALL, *drawn)


def legend(names: Mapping[str, str]) -> Markup:
    """What each look means."""
    rows = (
        el("li", _drawing("", 1, el("rect", width=str(_TALL), height="1", class_=name)), said)
        for name, said in names.items()
    )
    return el("ul", *rows, class_="legend")


def _column(left: float, wide: float, row: Mapping[str, int], most: int) -> Iterable[Markup]:
    top, width = float(_TALL), min(wide * 0.8, _WIDEST)
    left += (wide - width) / 2
    for name, count in row.items():
        if count:
            height = _TALL * count / most
            top -= height
            box = {"x": _number(left), "y": _number(top), "width": _number(width)}
            yield el("rect", **box, height=_number(height), class_=name)


def _drawing(look: str, tall: int, *drawn: Markup) -> Markup:
    """A drawing for the eyes alone: whatever it says stands in words beside it."""
    box = f"0 0 {_TALL} {tall}"
    return el("svg", *drawn, class_=look or None, viewBox=box, preserveAspectRatio="none", aria_hidden="true")


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
