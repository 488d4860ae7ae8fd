"""What does a comparison look like as a page? The causing step first, what follows from it, then both runs in full.

One file that loads and runs nothing. It is read from top to bottom with a keyboard or a screen reader as with the eyes:
two runs side by side are a list of pairs, not a table, and every colour has a word beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.comparison_view import ALONE, CAUSE, FOLLOWS, RENAMED, STATES, parted, shortened
from forensics.report.comparison_words import CAUSES, difference, result_sentence, result_word
from forensics.report.markup import Markup, el, join, page, quoted
from forensics.report.page_style import STYLE
from forensics.report.terminal_findings import where
from forensics.report.terminal_page import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forensics.report.comparison_view import Cone, Row, Side, View
    from forensics.report.documents import ComparedTrace, ComparisonDocument, DivergenceRow, EvidenceRow, FindingRow

ROWS = 5_000  # of a list or table of the page
WHOLE, HEAD = 2_000, 160  # characters of a text: where runs differ, and where they are alike
_NAMED = 50  # differences that a cone names one by one
_STYLES = {"diverged": "bad", "not_comparable": "warn"}
_TAGS = {CAUSE: "bad", FOLLOWS: "warn", ALONE: "warn", RENAMED: "good"}
_SEVERITIES = {"critical": "bad", "high": "bad", "medium": "warn"}


def comparison_html(view: View) -> bytes:
    """The page as one self-contained HTML file."""
    document = view.document
    sections = [
        _first(view),
        *(_cone(view, cone, number) for number, cone in enumerate(view.cones)),
        _handles(document),
        _not_compared(document),
        _findings(document.findings),
        _side_by_side(view),
        _evidence(document),
    ]
    kept = [one for one in sections if one is not None]
    body = (
        el("a", "Skip to the result", class_="skip", href="#main"),
        el("header", _headline(document), _contents(view)),
        el("main", *kept, id="main"),
        _footer(document),
    )
    title = f"{result_word(document)}: two runs compared"
    return page(title, STYLE, *body).html.encode("utf-8")


# the head ------------------------------------------------------------------------------------------------------------


def _headline(document: ComparisonDocument) -> Markup:
    style = _STYLES.get(document.result, "good")
    word = el("span", result_word(document), class_=f"verdict {style}")
    return join(
        el("h1", word, result_sentence(document)),
        el("dl", *_run("left", document, 0), *_run("right", document, 1), class_="facts"),
    )


def _run(side: str, document: ComparisonDocument, number: int) -> tuple[Markup, ...]:
    trace: ComparedTrace = document.traces.right if number else document.traces.left
    row = document.evidence[number]
    about = f" ({trace.format}): {plural(trace.steps, 'step')}, {plural(trace.calls, 'call')}"
    return (el("dt", f"{side} run"), el("dd", el("code", row.name), ", trace ", el("code", trace.id), about))


def _contents(view: View) -> Markup:
    document = view.document
    wanted = [
        ("first", "Where they part", document.first_divergence is not None),
        ("cone-0", "What follows from it", bool(view.cones)),
        ("handles", "Renamed handles", bool(document.handles)),
        ("not-compared", "Not compared", bool(document.not_compared)),
        ("findings", "Findings", bool(document.findings)),
        ("rows", "Both runs, side by side", bool(view.rows)),
        ("evidence", "Evidence", True),
    ]
    links = [el("li", el("a", said, href=f"#{name}")) for name, said, there in wanted if there]
    return el("nav", el("ul", *links), aria_label="On this page")


def _section(name: str, title: str, *body: Markup | str | None) -> Markup:
    return el("section", el("h2", title, id=f"{name}-title"), *body, id=name, aria_labelledby=f"{name}-title")


# the causing step and what follows -----------------------------------------------------------------------------------


def _first(view: View) -> Markup | None:
    row = view.document.first_divergence
    if row is None:
        return None
    at = view.row(0)
    return _section("first", "Where they part", _facts(row), _texts(at) if at else None)


def _facts(row: DivergenceRow) -> Markup:
    facts: list[tuple[str, Markup | str]] = [("what", quoted(difference(row)))]
    if row.pointer:
        facts.append(("at", el("code", row.pointer)))
    for side, said in (("left", row.left), ("right", row.right)):
        facts.append((side, el("code", said) if said is not None else "(nothing)"))
    facts.append(("cause", f"{row.cause}: {CAUSES[row.cause]}"))
    if row.because:
        facts.append(("because", quoted(row.because)))
    if row.lane:
        facts.append(("agent", el("code", row.lane)))
    return el("dl", *(one for label, said in facts for one in (el("dt", label), el("dd", said))), class_="facts")


def _texts(row: Row) -> Markup:
    """Both steps, what differs of them marked."""
    return el("div", *_sides(row, WHOLE, marked=True), class_="pair card")


def _cone(view: View, cone: Cone, number: int) -> Markup:
    """A cause with the differences that it may explain; the first is told above."""
    cause = view.document.divergences[cone.cause]
    title = "What follows from it" if number == 0 else f"A difference of its own, at step {cause.index} of the left run"
    shown = cone.affected[:_NAMED]
    rows = [el("li", *_difference(view, one)) for one in shown]
    more = len(cone.affected) - len(shown)
    return _section(
        f"cone-{number}",
        title,
        _facts(cause) if number else None,
        el("p", _cone_in_words(cone)),
        el("ol", *rows) if rows else None,
        el("p", f"… {more} more, marked in both runs below", class_="soft") if more else None,
    )


def _cone_in_words(cone: Cone) -> str:
    if not cone.affected:
        return "No later difference is explained by it."
    count = plural(len(cone.affected), "later difference")
    return (
        f"{count} may rest on it. That is inferred: an earlier difference can explain a later one, which is no proof."
    )


def _difference(view: View, number: int) -> tuple[Markup | str | None, ...]:
    row, at = view.document.divergences[number], view.row(number)
    said = quoted(difference(row))
    link = said if at is None else el("a", said, href=f"#row-{at.number}")
    acts = None if at is None else next((side.acts for side in (at.left, at.right) if side and side.acts), None)
    left, right = (el("code", text) if text is not None else "(nothing)" for text in (row.left, row.right))
    pointer = join(" at ", el("code", row.pointer)) if row.pointer else None
    tag = el("span", acts, class_="tag warn") if acts else None
    return (f"step {row.index}, ", link, pointer, " ", tag, el("br"), "left ", left, ", right ", right)


# tables --------------------------------------------------------------------------------------------------------------

_Cell = Markup | str | None


def _table(caption: str, head: Sequence[str], rows: Iterable[Sequence[_Cell]], count: int) -> Markup:
    body = [el("tr", el("th", first, scope="row"), *(el("td", cell) for cell in rest)) for first, *rest in rows]
    table = el(
        "table",
        el("caption", caption),
        el("thead", el("tr", *(el("th", name, scope="col") for name in head))),
        el("tbody", *body),
    )
    more = el("p", f"… {count - ROWS} more", class_="soft") if count > ROWS else None
    return join(el("div", table, class_="scroll", tabindex=0, role="region", aria_label=caption), more)


def _handles(document: ComparisonDocument) -> Markup | None:
    if not document.handles:
        return None
    rows = (
        (
            el("code", one.left),
            el("code", one.right),
            one.kind,
            el("code", one.tool),
            f"{one.left_step}, {one.right_step}",
        )
        for one in document.handles[:ROWS]
    )
    head = ("in the left run", "in the right run", "kind", "minted by", "steps")
    caption = "Values that matched results hold at the same place: another name for the same thing, no difference."
    return _section("handles", "Renamed handles", _table(caption, head, rows, len(document.handles)))


def _not_compared(document: ComparisonDocument) -> Markup | None:
    if not document.not_compared:
        return None
    rows = (
        (quoted(one.what), quoted(one.why), _number(one.left_step), _number(one.right_step))
        for one in document.not_compared[:ROWS]
    )
    caption = "What could not be compared is not the same as what does not differ."
    head = ("what", "why", "left step", "right step")
    return _section("not-compared", "Not compared", _table(caption, head, rows, len(document.not_compared)))


def _findings(findings: Sequence[FindingRow]) -> Markup | None:
    if not findings:
        return None
    rows = (
        (
            el("code", one.code),
            el("span", one.severity, class_=f"tag {_SEVERITIES.get(one.severity, '')}".strip()),
            one.basis,
            quoted(f"{one.message}{where(one)}"),
        )
        for one in findings[:ROWS]
    )
    caption = "What was found while both runs were read and compared; steps are those of the left run."
    return _section("findings", "Findings", _table(caption, ("code", "severity", "basis", "what"), rows, len(findings)))


def _number(step: int | None) -> str:
    return "" if step is None else str(step)


# both runs -----------------------------------------------------------------------------------------------------------


def _side_by_side(view: View) -> Markup | None:
    if not view.rows:
        return None
    shown = view.rows[:ROWS]
    more = len(view.rows) - len(shown)
    return _section(
        "rows",
        "Both runs, side by side",
        el("p", "In the order of the left run. Texts that are alike are shortened.", class_="soft"),
        el("ol", *(_drawn(row) for row in shown), class_="rows"),
        el("p", f"… {more} more", class_="soft") if more else None,
    )


def _drawn(row: Row) -> Markup:
    tag = _TAGS.get(row.state)
    said = None if tag is None else el("p", el("span", STATES[row.state], class_=f"tag {tag}"))
    pair = el("div", *_sides(row, WHOLE if row.differences else HEAD, marked=bool(row.differences)), class_="pair")
    return el("li", said, pair, id=f"row-{row.number}", class_=row.state)


def _sides(row: Row, limit: int, *, marked: bool) -> tuple[Markup, Markup]:
    """Both sides; `marked` shows where the texts differ."""
    left, right = (side.text if side else "" for side in (row.left, row.right))
    parts = parted(left, right) if marked and row.left and row.right else ((left, "", ""), (right, "", ""))
    return _side("left", row.left, parts[0], limit), _side("right", row.right, parts[1], limit)


def _side(name: str, side: Side | None, parts: tuple[str, str, str], limit: int) -> Markup:
    if side is None:
        return el("div", el("p", f"{name}: nothing stands here", class_="label"))
    label = el("p", f"{name}, step {side.step}: ", quoted(side.label), class_="label")
    return el("div", label, el("pre", *_cut(parts, limit)) if any(parts) else None)


def _cut(parts: tuple[str, str, str], limit: int) -> Iterable[Markup | str]:
    """The text, what differs of it marked and at most `limit` characters long, with half of that on either side."""
    head, middle, tail = parts
    if not middle:
        yield shortened(head + tail, limit)
        return
    near = limit // 2
    yield head if len(head) <= near else f"… {head[-near:]}"
    yield el("mark", shortened(middle, limit))
    yield tail if len(tail) <= near else f"{tail[:near]} …"


# the evidence --------------------------------------------------------------------------------------------------------


def _evidence(document: ComparisonDocument) -> Markup:
    sides = [(side, row) for side, row in zip(("left", "right"), document.evidence, strict=True)]
    rows = ((side, el("code", row.name), el("code", row.sha256), f"{row.size:,}", _read(row)) for side, row in sides)
    head = ("run", "name", "SHA-256", "bytes", "read")
    return _section("evidence", "Evidence", _table("What both runs were read from.", head, rows, len(sides)))


def _read(row: EvidenceRow) -> str:
    return f"{row.status} as {row.format}" + (f", {row.coverage}" if row.coverage else "")


def _footer(document: ComparisonDocument) -> Markup:
    said = (
        f"{document.tool.name} {document.tool.version}, schema {document.schema}, policy {document.policy.name} "
        f"({document.policy.digest}), rules {document.rules.digest}. Nothing was run, asked or contacted."
    )
    return el("footer", el("p", said))
