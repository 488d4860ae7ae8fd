"""What does a comparison say in a ticket? The causing step first, in Markdown that no text of a trace can add to.

Every text out of a run stands in a code span or a fenced block, where nothing is markup, a link or a mention.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.sanitise import markdown_block, markdown_cell, markdown_code
from forensics.report.comparison_view import ALIKE, STATES, shortened
from forensics.report.comparison_words import CAUSES, difference, result_sentence, result_word
from forensics.report.terminal_findings import where
from forensics.report.terminal_page import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.report.comparison_view import Cone, Side, View
    from forensics.report.documents import ComparisonDocument, DivergenceRow

ROWS = 200  # of a list or table: a ticket holds 65,536 characters
_NEAR = 2  # rows shown before and after one that differs
_WHOLE, _HEAD = 1_000, 120


def comparison_markdown(view: View) -> bytes:
    """The ticket in Markdown (CommonMark with tables)."""
    document = view.document
    parts = [
        _head(document),
        _first(view),
        *(_cone(view, cone, number) for number, cone in enumerate(view.cones)),
        _handles(document),
        _not_compared(document),
        _findings(document),
        _side_by_side(view),
        _evidence(document),
    ]
    return ("\n".join(line for part in parts for line in part).rstrip("\n") + "\n").encode("utf-8")


def _head(document: ComparisonDocument) -> Iterator[str]:
    yield f"# {result_word(document)}{result_sentence(document)}"
    yield ""
    for number, side in enumerate(("left", "right")):
        trace = document.traces.right if number else document.traces.left
        counts = f"{plural(trace.steps, 'step')}, {plural(trace.calls, 'call')}"
        name = markdown_code(document.evidence[number].name)
        yield f"- {side} run: {name}, trace {markdown_code(trace.id)} ({trace.format}): {counts}"
    yield ""


def _first(view: View) -> Iterator[str]:
    row = view.document.first_divergence
    if row is None:
        return
    yield from ("## Where they part", "")
    yield from _facts(row)
    at = view.row(0)
    for name, side in (("left", at.left), ("right", at.right)) if at else ():
        yield from _whole(name, side)


def _facts(row: DivergenceRow) -> Iterator[str]:
    yield f"- what: {markdown_code(difference(row))}"
    if row.pointer:
        yield f"- at: {markdown_code(row.pointer)}"
    for side, said in (("left", row.left), ("right", row.right)):
        yield f"- {side}: {_said(said)}"
    yield f"- cause: `{row.cause}`: {CAUSES[row.cause]}"
    if row.because:
        yield f"- because: {markdown_code(row.because)}"
    if row.lane:
        yield f"- agent: {markdown_code(row.lane)}"
    yield ""


def _said(text: str | None) -> str:
    return "(nothing)" if text is None else markdown_code(text)


def _whole(name: str, side: Side | None) -> Iterator[str]:
    if side is None:
        yield from (f"{name}: nothing stands here", "")
        return
    yield from (f"{name}, step {side.step}: {markdown_code(side.label)}", "")
    if side.text:
        yield markdown_block(shortened(side.text, _WHOLE))


def _cone(view: View, cone: Cone, number: int) -> Iterator[str]:
    cause = view.document.divergences[cone.cause]
    title = "What follows from it" if number == 0 else f"A difference of its own, at step {cause.index} of the left run"
    yield from (f"## {title}", "")
    if number:
        yield from _facts(cause)
    if not cone.affected:
        yield from ("No later difference is explained by it.", "")
        return
    yield f"{plural(len(cone.affected), 'later difference')} may rest on it (inferred):"
    yield ""
    for one in cone.affected[:ROWS]:
        row = view.document.divergences[one]
        at = f" at {markdown_code(row.pointer)}" if row.pointer else ""
        yield f"- step {row.index}, {markdown_code(difference(row))}{at}"
        yield f"  - left {_said(row.left)}, right {_said(row.right)}"
    yield from _more(len(cone.affected))


def _handles(document: ComparisonDocument) -> Iterator[str]:
    rows = (
        (
            *map(markdown_cell, (one.left, one.right)),
            one.kind,
            markdown_cell(one.tool),
            f"{one.left_step}, {one.right_step}",
        )
        for one in document.handles[:ROWS]
    )
    head = ("in the left run", "in the right run", "kind", "minted by", "steps")
    yield from _table("Renamed handles", head, rows, len(document.handles))


def _not_compared(document: ComparisonDocument) -> Iterator[str]:
    rows = ((markdown_cell(one.what), markdown_cell(one.why)) for one in document.not_compared[:ROWS])
    yield from _table("Not compared", ("what", "why"), rows, len(document.not_compared))


def _findings(document: ComparisonDocument) -> Iterator[str]:
    rows = (
        (f"`{one.code}`", one.severity, one.basis, markdown_cell(f"{one.message}{where(one)}"))
        for one in document.findings[:ROWS]
    )
    yield from _table("Findings", ("code", "severity", "basis", "what"), rows, len(document.findings))


def _side_by_side(view: View) -> Iterator[str]:
    """The rows that differ, with what stands around them."""
    near = sorted({n for row in view.rows if row.state != ALIKE for n in _around(row.number, len(view.rows))})
    rows = [view.rows[number] for number in near]
    cells = ((_cell(row.left), _cell(row.right), STATES[row.state]) for row in rows[:ROWS])
    title = f"Both runs, where they are not alike ({len(rows)} of {plural(len(view.rows), 'row')})"
    yield from _table(title, ("left", "right", "how"), cells, len(rows))


def _around(number: int, count: int) -> range:
    return range(max(number - _NEAR, 0), min(number + _NEAR + 1, count))


def _cell(side: Side | None) -> str:
    if side is None:
        return "(nothing)"
    said = side.text[:_HEAD] + (" …" if len(side.text) > _HEAD else "")
    return f"step {side.step}, {markdown_cell(side.label)}" + (f": {markdown_cell(said)}" if said else "")


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], count: int) -> Iterator[str]:
    """A table of cells that are Markdown already."""
    if not count:
        return
    yield from (f"## {title}", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}")
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield from _more(count)


def _more(count: int) -> Iterator[str]:
    if count > ROWS:
        yield from ("", f"… {count - ROWS} more")
    yield ""


def _evidence(document: ComparisonDocument) -> Iterator[str]:
    yield from ("## Evidence", "")
    for side, row in zip(("left", "right"), document.evidence, strict=True):
        covered = f", {row.coverage}" if row.coverage else ""
        read = f"{row.size:,} bytes, {row.status} as {row.format}{covered}"
        yield f"- {side}: {markdown_code(row.name)}, SHA-256 `{row.sha256}`, {read}"
    digests = (
        f"policy {markdown_code(document.policy.name)} (`{document.policy.digest}`), rules `{document.rules.digest}`"
    )
    yield f"- {document.tool.name} {document.tool.version}, schema `{document.schema}`, {digests}"
