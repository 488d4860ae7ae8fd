"""Which pieces are the parts of a report made of? Sections, tables, statements with how they are known, and shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from forensics.report.html.words import known, named, steps, where
from forensics.report.markup import Markup, el, join, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from forensics.report.documents import EvidenceRow, Place
    from forensics.report.incident.documents import ReportDocument, Share, Statement
    from forensics.report.markup import Child

_T = TypeVar("_T")
_PLACES = 5  # named with one statement
FULL = 100  # rows of one table; more stand in further ones, folded up
BRIEF = 1_000  # rows that say little each


def section(name: str, title: str, *content: Child) -> Markup:
    """One part of the report, which can be named by its id."""
    return el("section", el("h2", title, id=f"{name}-title"), *content, id=name, aria_labelledby=f"{name}-title")


def table(label: str, head: Sequence[str], rows: Iterable[Markup]) -> Markup:
    """A table whose rows become cards where the screen is narrow. Beyond a hundred rows the rest is folded up."""
    all_rows = list(rows)
    return join(_table(label, head, all_rows[:FULL]), *_folded(label, head, all_rows, FULL))


def brief_table(label: str, head: Sequence[str], told: Sequence[_T], tell: Callable[[_T], Markup]) -> Markup | None:
    """A table of what a reader seldom looks for, folded up, and with a word about what is beyond a thousand rows, which
    are not made.
    """
    if not told:
        return None
    return join(*_folded(label, head, [tell(one) for one in told[:BRIEF]], 0), beyond(len(told), "rows"))


def beyond(count: int, what: str) -> Markup | None:
    """A word about those of so many that are not in the page."""
    over = count - BRIEF
    if over <= 0:
        return None
    return el("p", f"{over:,} more {what} are not in this page; the form .json of the report has every one.")


def _folded(label: str, head: Sequence[str], rows: Sequence[Markup], start: int) -> Iterator[Markup]:
    for first in range(start, len(rows), FULL):
        last = min(first + FULL, len(rows))
        title = f"{label}: {first + 1:,} to {last:,} of {len(rows):,}"
        yield el("details", el("summary", title), _table(title, head, rows[first:last]), class_="chunk")


def _table(label: str, head: Sequence[str], rows: Sequence[Markup]) -> Markup:
    heads = el("thead", el("tr", *(el("th", one, scope="col") for one in head)))
    return el("div", el("table", heads, el("tbody", *rows), class_="cards", aria_label=label), class_="wide")


def brief_row(*cells: Child, name: str | None = None) -> Markup:
    """One row of a brief table."""
    first, *rest = cells
    return el("tr", el("th", first, scope="row"), *(el("td", cell) for cell in rest), id=name)


def row(head: Sequence[str], *cells: Child, **attributes: str | None) -> Markup:
    """One row; the first cell heads it, and each says its column's name where the screen is narrow."""
    first, *rest = zip(head, cells, strict=True)
    return el(
        "tr",
        el("th", first[1], scope="row", data_label=first[0]),
        *(el("td", cell, data_label=title) for title, cell in rest),
        **attributes,
    )


def facts(*pairs: tuple[str, Child] | None) -> Markup:
    """Names and what they stand for; None is left out."""
    shown = [pair for pair in pairs if pair is not None and pair[1] is not None]
    return el("dl", *(part for name, value in shown for part in (el("dt", name), el("dd", value))), class_="facts")


def statement(one: Statement, *, rule: bool = True) -> Markup:
    """One sentence, how it is known, its steps, its rule and what else may be the case."""
    return join(
        one.text,
        " ",
        known(one.basis),
        at(one.steps),
        None if one.rule is None or not rule else el("span", f" Rule: {one.rule.rstrip('.')}.", class_="quiet small"),
        None
        if not one.alternatives
        else el("span", f" But {'; '.join(one.alternatives).rstrip('.')}.", class_="quiet small"),
    )


def at(found: Sequence[int]) -> Markup | None:
    """` (steps 6, 9)`, as links; None for none."""
    if not found:
        return None
    return el("span", " (", "step " if len(found) == 1 else "steps ", *steps(list(found)), ")", class_="small")


def share(one: Share) -> str:
    """`16 of 16 records read`."""
    return f"{one.count:,} of {one.of:,} {one.what}"


def shares(found: Iterable[Share]) -> Markup:
    """A list of shares."""
    return el("ul", *(el("li", share(one)) for one in found))


def places(found: Sequence[Place], evidence: Sequence[EvidenceRow]) -> Markup | None:
    """The first places, each with its evidence; None for none."""
    if not found:
        return None
    shown = [el("div", place(one, evidence), class_="where") for one in found[:_PLACES]]
    more = f"and {len(found) - _PLACES:,} more places" if len(found) > _PLACES else None
    return join(*shown, None if more is None else el("div", more, class_="quiet small"))


def place(one: Place, evidence: Sequence[EvidenceRow]) -> Markup:
    """One place with the name of its evidence."""
    return join(quoted(named(evidence[one.evidence].name)), ", ", where(one))


def unread(document: ReportDocument) -> Markup | None:
    """How many inputs were not read: to find nothing in them must not look clean. None where all were."""
    inputs = document.custody.inputs
    count = sum(one.status == "refused" for one in inputs)
    told = f"{count:,} of {len(inputs):,} inputs could not be read: nothing is known of them."
    return el("p", told) if count else None


def folded(title: str, *content: Child, is_open: bool = False) -> Markup:
    """Something that a reader unfolds."""
    return el("details", el("summary", title), *content, open=is_open)
