"""What goes into the ticket? The report in Markdown, the verdict first, in a size that a ticket takes.

A text of the trace stands in a code span or a table's code cell, where nothing is markup, a link or a mention.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.sanitise import markdown_cell, markdown_code, markdown_text
from forensics.report.terminal_effects import moment
from forensics.report.terminal_page import plural, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from forensics.report.documents import EvidenceRow, Place
    from forensics.report.incident.documents import (
        Blank,
        EffectRow,
        Event,
        Obligation,
        ReportDocument,
        ReportFinding,
        Share,
        Statement,
        TraceVerdict,
    )

ROWS = 40  # of a table: a ticket of GitHub holds 65,536 characters
_CELL, _LINE, _STEPS = 100, 300, 6
_BLANK = "_(to be filled in)_"
_LEVEL = {
    "static": "static only: nothing of it may be run again",
    "inject": "inject only: results come from the record, no tool runs",
    "dynamic": "dynamic: its tools may run again",
}
_HERE = {"evidence": "evidence", "partly": "partly", "not_in_a_trace": "not in a trace"}

Lines = "Iterator[str]"


def markdown(document: ReportDocument) -> bytes:
    """The report as Markdown (CommonMark with tables), in UTF-8."""
    parts = [part(document) for part in _PARTS]
    return ("\n".join(line for part in parts for line in part).rstrip("\n") + "\n").encode("utf-8")


# how things are written ----------------------------------------------------------------------------------------------


def _said(one: Statement) -> str:
    """A statement with how it is known."""
    steps = f", {_steps(one.steps)}" if one.steps else ""
    rule = f" by {markdown_code(short(one.rule, 100))}" if one.rule else ""
    other = f" Or: {markdown_text('; '.join(one.alternatives))}." if one.alternatives else ""
    return f"{markdown_text(short(one.text, 600))} ({one.basis}{rule}{steps}){other}"


def _steps(steps: Sequence[int]) -> str:
    shown = ", ".join(map(str, steps[:12]))
    return f"step{'s' if len(steps) > 1 else ''} {shown}{' …' if len(steps) > 12 else ''}"  # noqa: PLR2004 - a line's worth


def _share(one: Share) -> str:
    return f"{one.count} of {one.of} {one.what}"


def _cell(text: str | None, limit: int = _CELL) -> str:
    return "" if not text else markdown_cell(short(text, limit))


def _blank(value: str | None) -> str:
    return _BLANK if value is None else markdown_text(short(value, _LINE))


def _where(document: ReportDocument, at: Place) -> str:
    """`FILE line 7 byte 123+45 /pointer`."""
    parts = [document.custody.inputs[at.evidence].name]
    parts += [] if at.line is None else [f"line {at.line}"]
    parts += [] if at.member is None else [f"member {at.member}"]
    parts += [] if at.table is None else [f"{at.table} row {at.row}"]
    parts += [] if at.offset is None else [f"byte {at.offset}+{at.length or 0}"]
    return _cell(" ".join([*parts, at.pointer or ""]).rstrip())


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], count: int) -> Iterator[str]:
    """A table of the first rows, and how many more there are."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for number, row in enumerate(rows):
        if number == ROWS:
            break
        yield f"| {' | '.join(row)} |"
    yield ""
    if count > ROWS:
        yield from (f"… and {count - ROWS} more of {count}; the JSON and CSV reports have all.", "")


# 1 to 4 --------------------------------------------------------------------------------------------------------------


def _header(document: ReportDocument) -> Iterator[str]:
    head = document.header
    yield from (f"# {markdown_text(short(head.title, 200))}", "")
    yield f"- case: {_blank(head.case_id)}"
    yield f"- author: {_blank(head.author)}"
    yield f"- version: {_blank(head.version)}"
    yield f"- status (initial, updated, final): {_blank(head.status)}"
    level = document.contents.level
    budget = f", at most {document.contents.budget} characters of a text" if level == "preview" else ""
    yield f"- content: {level}{budget}; secrets {'are redacted' if document.contents.redacted else 'are not redacted'}"
    yield from (f"- written by {document.tool.name} {document.tool.version}", "")


def _verdict(document: ReportDocument) -> Iterator[str]:
    box = document.verdict
    yield from ("## Verdict", "", _said(box.statement), "")
    yield f"- {_share(box.cleared)}; {_share(box.coverage)}; exit code of the audit: {box.exit_code}"
    for one in box.traces[:ROWS]:
        yield from _of_trace(document, one)
    if len(box.traces) > ROWS:
        yield f"- … and {len(box.traces) - ROWS} more of {len(box.traces)} traces"
    yield ""


def _of_trace(document: ReportDocument, one: TraceVerdict) -> Iterator[str]:
    word = "cleared" if one.cleared else "refused"
    yield f"- {_cell(document.traces[one.trace].id)}: {word} under {one.policy}; {_LEVEL[one.level]}"
    decider = one.decided_by
    if decider is not None:
        at = "" if decider.step is None else f"step {decider.step}, "
        more = f" (and {plural(decider.more, 'more reason')})" if decider.more else ""
        yield f"  - decided by {at}`{decider.code}`: {markdown_text(short(decider.message, _LINE))}{more}"
        if decider.returned:
            yield f"  - it returned {markdown_code(decider.returned)}"
        yield f"  - to do: {markdown_text(one.advice)}"


def _happened(document: ReportDocument) -> Iterator[str]:
    yield from ("## What happened", "")
    yield from (f"{number}. {_said(one)}" for number, one in enumerate(document.happened, 1))
    yield ""


def _effects(document: ReportDocument) -> Iterator[str]:
    part = document.effects
    yield from ("## Effects", "", _said(part.statement), "")
    yield from (", ".join(f"{one.count} of {one.of} {one.what}" for one in part.by_outcome) + ".", "")
    head = (
        "step",
        "time (UTC)",
        "tool",
        "on (inferred)",
        "arguments",
        "gave",
        "outcome",
        "effect",
        "approved",
        "alike",
    )
    if part.rows:
        yield from _table(head, (_effect(row) for row in part.rows), len(part.rows))


def _effect(row: EffectRow) -> tuple[str, ...]:
    given = ", ".join(row.handles) or row.result
    return (
        str(row.step),
        moment(row.at),
        _cell(row.tool),
        _cell(None if row.target is None else row.target.value),
        _cell(row.arguments),
        _cell(given),
        f"{row.outcome} ({row.outcome_basis})" + (f", {row.absence}" if row.absence else ""),
        f"{row.effect}, rests on {row.rests_on}",
        ", ".join(f"step {step}" for step in row.approvals) or "no record",
        _often(row),
    )


def _often(row: EffectRow) -> str:
    if row.times == 1:
        return "once"
    more = " …" if row.times > _STEPS else ""
    return f"{row.times} (steps {', '.join(map(str, row.alike[:_STEPS]))}{more})"


# 5 to 8 --------------------------------------------------------------------------------------------------------------


def _timeline(document: ReportDocument) -> Iterator[str]:
    part = document.timeline
    told = [event for event in part.events if event.call is not None or event.findings or event.deciding]
    events = told or part.events
    yield from ("## Timeline", "")
    yield f"{_share(part.timed)}. {len(events)} of {len(part.events)} steps are shown: calls, results and findings."
    yield from ("Times are as recorded, in UTC; no clock is adjusted. The order is causal.", "")
    head = ("step", "time (UTC)", "kind", "name", "says", "place")
    yield from _table(head, (_event(document, event) for event in events), len(events))
    if part.threads:
        yield from (f"Values on their way, {len(part.threads[:ROWS])} of {len(part.threads)}:", "")
        for thread in part.threads[:ROWS]:
            uses = [f"{use.role.replace('_', ' ')} {use.step} ({use.basis})" for use in thread.uses[:12]]
            verb = "read" if thread.kind == "reference" else "minted"
            minted = f"{_cell(thread.value)} {verb} in step {thread.minted} by {_cell(thread.tool)}"
            yield f"- {minted}: {', '.join(uses) or 'not used later'}"
        yield ""


def _event(document: ReportDocument, event: Event) -> tuple[str, ...]:
    return (
        f"**{event.index}**" if event.deciding else str(event.index),
        moment(event.at),
        event.kind.replace("_", " "),
        _cell(event.name),
        _cell(event.said),
        _where(document, event.locator),
    )


def _causes(document: ReportDocument) -> Iterator[str]:
    yield from ("## Causes", "")
    if not document.causes:
        yield from ("No step stands out: nothing was refused, found or changed.", "")
    for cause in document.causes:
        yield from (f"### Step {cause.step} of {_cell(document.traces[cause.trace].id)}", "")
        yield from (f"Chosen because {markdown_text(cause.why_this_step)}.", "")
        for title, share, rows in (
            ("What led to it", cause.before, cause.led_to_it),
            ("What it led to", cause.after, cause.it_led_to),
        ):
            yield from (f"{title} ({_share(share)}):", "")
            yield from (f"- {_said(one)}" for one in rows[:ROWS])
            yield ""


def _findings(document: ReportDocument) -> Iterator[str]:
    part = document.findings
    yield from ("## Findings", "")
    yield from (", ".join(f"{one.count} of {one.of} {one.what}" for one in part.by_severity) + ".", "")
    if part.baseline is not None:
        base = part.baseline
        new = f"{base.new.count} of {base.new.of} findings are new since the baseline"
        yield from (f"{new}; {len(base.gone)} of the baseline's are gone.", "")
        yield from (f"- baseline: {markdown_code(base.digest)}", "")
    if part.suppressions is not None:
        held = part.suppressions
        yield f"{_share(held.covered)} as of {held.as_of} ({markdown_code(held.digest)})."
        yield from (f"- expired: {markdown_text(one)}" for one in held.expired)
        yield from (f"- covers nothing: {markdown_text(one)}" for one in held.unused)
        yield ""
    head = ("severity", "code", "what", "known", "steps", "place", "state")
    if part.rows:
        yield from _table(head, (_finding(document, row) for row in part.rows), len(part.rows))
    for rule in part.rules:
        yield f"- `{rule.code}` ({plural(rule.findings, 'finding')}): {rule.means}"
        yield f"  - it does not prove: {rule.does_not_prove}"
        yield f"  - to do: {rule.do}"
        if rule.tags:
            yield f"  - belongs to: {'; '.join(rule.tags)}"
    yield ""


def _finding(document: ReportDocument, row: ReportFinding) -> tuple[str, ...]:
    held = row.suppressed
    state = "" if held is None else f"suppressed until {held.until} by {held.by}: {held.because}"
    new = "" if row.new is None else "new" if row.new else "known"
    return (
        row.severity,
        f"`{row.code}`",
        _cell(row.message, 200),
        f"{row.basis}, confidence {row.confidence}",
        ", ".join(map(str, row.steps[:8])),
        _where(document, row.locators[0]) if row.locators else "",
        _cell(state, 200) or new,
    )


def _tools(document: ReportDocument) -> Iterator[str]:
    yield from ("## Tools", "")
    head = ("tool", "calls", "class", "effect", "result", "rests on", "known", "rules")
    rows = sorted(document.tools, key=lambda tool: not tool.calls)
    table = (
        (
            _cell(tool.name + (f" of {tool.server}" if tool.server else "")),
            str(tool.calls),
            tool.class_,
            tool.effect,
            tool.result,
            tool.rests_on,
            tool.statement.basis,
            _cell(tool.statement.rule),
        )
        for tool in rows
    )
    yield from _table(head, table, len(rows))


# 9 to 13 -------------------------------------------------------------------------------------------------------------


def _oversight(document: ReportDocument) -> Iterator[str]:
    part = document.oversight
    yield from ("## Oversight", "", _said(part.statement), "")
    head = ("approval", "decided", "asked", "decided at", "calls", "shown", "ran", "note")
    rows = (
        (
            _cell(row.name),
            row.decided,
            ", ".join(map(str, row.requests[:8])),
            ", ".join(map(str, row.decisions[:8])),
            ", ".join(map(str, row.calls[:8])),
            _cell(row.shown),
            _cell(row.executed),
            _cell(row.note),
        )
        for row in part.approvals
    )
    if part.approvals:
        yield from _table(head, rows, len(part.approvals))


def _quality(document: ReportDocument) -> Iterator[str]:
    part = document.quality
    yield from ("## Data quality", "", f"{_share(part.records)}. {_said(part.statement)}", "")
    yield from (f"- {_share(one)}" for one in part.completeness)
    yield ""
    rows = (
        (
            f"`{row.code}`",
            str(row.count),
            "yes" if row.hides else "no",
            row.severity,
            row.basis,
            _where(document, row.locators[0]) if row.locators else "",
        )
        for row in part.rows
    )
    if part.rows:
        yield from _table(("what", "how often", "may hide a call", "severity", "known", "first"), rows, len(part.rows))


def _replay(document: ReportDocument) -> Iterator[str]:
    part = document.replay
    yield from ("## Replay log", "", _said(part.statement), "")
    for rerun in part.recorded[:ROWS]:
        yield f"- {_cell(document.traces[rerun.trace].id)} is a rerun of {_cell(rerun.of)} ({rerun.basis})"
        yield from (f"  - step {one.step}: {_cell(one.tool)} {_cell(one.did)}" for one in rerun.calls[:ROWS])
    yield ""


def _custody(document: ReportDocument) -> Iterator[str]:
    part = document.custody
    yield from ("## Evidence and custody", "", _said(part.unchanged), "")
    head = ("evidence", "size", "format", "read", "SHA-256")
    yield from _table(head, (_input(row) for row in part.inputs), len(part.inputs))
    yield f"- policy {markdown_code(document.policy.name)} {markdown_code(document.policy.digest)}"
    for expired in document.policy.expired:
        yield f"  - expired as of {document.policy.as_of}: {markdown_code(expired)}"
    yield f"- rules {markdown_code(document.rules.digest)}"
    yield from ("- check: the SHA-256 of each file as it was handed over, by any other program", "")


def _input(row: EvidenceRow) -> tuple[str, ...]:
    read = row.coverage or (f"not read: {row.error.code}" if row.error else row.status)
    return (_cell(row.name), f"{row.size} bytes", row.format or "", read, f"`{row.sha256}`" if row.sha256 else "")


def _privacy(document: ReportDocument) -> Iterator[str]:
    part = document.privacy
    yield from ("## Privacy", "", _said(part.statement), "")
    yield from (f"- {_share(part.searched)}", f"- {_share(part.withheld)}")
    for one in part.secrets[:ROWS]:
        at = _steps(one.steps) if one.steps else "no step shows it"
        yield f"- {one.group} {_cell(one.kind)} {_cell(one.fingerprint)}: {at}"
    yield ""


# 14 to 16 ------------------------------------------------------------------------------------------------------------


def _obligations(document: ReportDocument) -> Iterator[str]:
    yield from (
        "## Evidence for duties",
        "",
        "What this report is evidence for; whether a duty is met, people judge.",
        "",
    )
    head = ("source", "asks for", "here", "in the parts", "also needed", "as of")
    rows = (_obligation(one) for one in document.obligations)
    yield from _table(head, rows, len(document.obligations))


def _obligation(one: Obligation) -> tuple[str, ...]:
    return (
        f"{one.source}, {one.reference}",
        one.needs,
        _HERE[one.here],
        ", ".join(one.parts),
        one.also_needed,
        one.as_of,
    )


def _blanks(document: ReportDocument) -> Iterator[str]:
    yield from ("## To be filled in by people", "", "No trace shows these.", "")
    yield from (_question(one) for one in document.blanks)
    yield ""


def _question(one: Blank) -> str:
    return f"- [ ] {one.question} ({one.asked_by}): {_blank(one.value)}"


def _regression(document: ReportDocument) -> Iterator[str]:
    part = document.regression
    yield from ("## Regression", "", f"- saved case: {_blank(part.case_id)}")
    yield from (f"- {markdown_code(command)}" for command in part.commands)
    yield ""


_PARTS: tuple[Callable[[ReportDocument], Iterator[str]], ...] = (
    _header,
    _verdict,
    _happened,
    _effects,
    _timeline,
    _causes,
    _findings,
    _tools,
    _oversight,
    _quality,
    _replay,
    _custody,
    _privacy,
    _obligations,
    _blanks,
    _regression,
)
