"""What took effect, when, and what led to it? The parts of a ticket about acts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.sanitise import markdown_text
from forensics.report.incident.markdown.words import cell, more, said, share, table, where
from forensics.report.terminal_effects import moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.report.incident.documents import EffectRow, Event, Timeline
    from forensics.report.incident.markdown.words import Ticket

_STEPS = 6  # of calls alike
_USES = 12
_CHAINS = 10  # rows that a chain counts as


def effects(ticket: Ticket) -> Iterator[str]:
    """What took effect."""
    document = ticket.document
    part = document.effects
    yield from ("## Effects", "", said(part.statement), "")
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
    acted = [row for row in part.rows if not row.came_to_nothing]
    if acted:
        yield from table(ticket.most, head, (_effect(ticket, row) for row in acted), len(acted))
    others = [row for row in part.rows if row.came_to_nothing]
    if others:
        yield from ("### Denied or failed", "")
        yield from table(ticket.most, head, (_effect(ticket, row) for row in others), len(others))


def _effect(ticket: Ticket, row: EffectRow) -> tuple[str, ...]:
    given = ", ".join(row.handles) or row.result
    return (
        str(row.step),
        moment(row.at),
        cell(row.tool),
        ticket.quoted(None if row.target is None else row.target.value),
        ticket.quoted(row.arguments),
        ticket.quoted(given),
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


def _told(part: Timeline) -> Sequence[Event]:
    """The steps that a timeline shows."""
    return [event for event in part.events if event.call is not None or event.findings or event.deciding] or part.events


def withheld(ticket: Ticket) -> int:
    """How many of the report's texts are left out of a timeline or cut, in the report or here."""
    part = ticket.document.timeline
    whole = [event for event in _told(part)[: ticket.most] if event.size and event.said is not None]
    shown = sum(not (ticket.cuts(event.said or "") or (event.said or "").endswith("…")) for event in whole)
    return sum(event.size > 0 for event in part.events) - shown


def timeline(ticket: Ticket) -> Iterator[str]:
    """What came after what: calls, results and what findings name."""
    document = ticket.document
    part = document.timeline
    events = _told(part)
    yield from ("## Timeline", "")
    yield f"{share(part.timed)}. {len(events)} of {len(part.events)} steps are shown: calls, results and findings."
    yield from ("Times are as recorded, in UTC; no clock is adjusted. The order is causal.", "")
    head = ("step", "time (UTC)", "kind", "name", "says", "place")
    yield from table(ticket.most, head, (_event(ticket, event) for event in events), len(events))
    if part.threads:
        yield from (f"Values on their way, {len(part.threads[: ticket.most])} of {len(part.threads)}:", "")
        for thread in part.threads[: ticket.most]:
            uses = [f"{use.role.replace('_', ' ')} {use.step} ({use.basis})" for use in thread.uses[:_USES]]
            uses += ["…"] if len(thread.uses) > _USES else []
            verb = "read" if thread.kind == "reference" else "minted"
            minted = f"{cell(thread.value)} {verb} in step {thread.minted} by {cell(thread.tool)}"
            yield f"- {minted}: {', '.join(uses) or 'not used later'}"
        yield ""


def _event(ticket: Ticket, event: Event) -> tuple[str, ...]:
    return (
        f"**{event.index}**" if event.deciding else str(event.index),
        moment(event.at),
        event.kind.replace("_", " "),
        cell(event.name),
        ticket.quoted(event.said),
        where(ticket.document, event.locator),
    )


def causes(ticket: Ticket) -> Iterator[str]:
    """What led to the step that is asked about first."""
    document = ticket.document
    yield from ("## Causes", "")
    if not document.causes:
        cleared = document.verdict.cleared
        whole = cleared.count == cleared.of and not document.findings.rows
        yield from (f"No step stands out{': nothing was refused, found or changed' if whole else ''}.", "")
    most = max(1, ticket.most // _CHAINS)
    for cause in document.causes[:most]:
        yield from (f"### Step {cause.step} of {cell(document.traces[cause.trace].id)}", "")
        yield from (f"Chosen because {markdown_text(cause.why_this_step)}.", "")
        for title, part, rows in (
            ("What led to it", cause.before, cause.led_to_it),
            ("What it led to", cause.after, cause.it_led_to),
        ):
            yield from (f"{title} ({share(part)}):", "")
            yield from (f"- {said(one)}" for one in rows[: ticket.most])
            yield ""
    yield from more(most, len(document.causes))
