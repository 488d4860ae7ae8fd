"""How do evidence and analyses become a report? Part by part, in the order of the document, without a clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.evidence import Severity
from forensics.core.jsonvalue import spell_surrogates
from forensics.report.incident.approvals import oversight
from forensics.report.incident.baseline import Earlier
from forensics.report.incident.causes import causes
from forensics.report.incident.content import Level, content_for
from forensics.report.incident.documents import REPORT, Header, ReportDocument, ReportTrace
from forensics.report.incident.effects import effects
from forensics.report.incident.findings import findings
from forensics.report.incident.happened import happened, span_of
from forensics.report.incident.keeping import custody, privacy, regression, replay_log
from forensics.report.incident.line_numbers import LineNumbers
from forensics.report.incident.material import Material
from forensics.report.incident.obligations import blanks, obligations
from forensics.report.incident.quality import quality
from forensics.report.incident.suppressions import InForce
from forensics.report.incident.timeline import drawings, timeline
from forensics.report.incident.tools import tools
from forensics.report.incident.verdicts import verdict_box
from forensics.report.terminal_page import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.core.policy import Policy
    from forensics.report.compose import Examined


class ReportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wants of a report: its title, case id and author (None: a blank), how much of the texts, from which
    severity on a finding counts, an earlier report to compare with, the suppressions in force, and whether secret
    values are shown by their names only.
    """

    title: str | None = None
    case_id: str | None = None
    author: str | None = None
    content: Level = Level.PREVIEW
    fail_on: Severity = Severity.HIGH
    baseline: Earlier | None = None
    suppressions: InForce | None = None
    redacted: bool = True

    @property
    def texts(self) -> tuple[str, ...]:
        """What people wrote in their own words for this report."""
        of = self.suppressions.texts if self.suppressions is not None else ()
        return tuple(text for text in (self.title, self.case_id, self.author, *of) if text is not None)


def report_document(
    examined: Sequence[Examined], policy: Policy, rules_digest: str, exit_code: int, options: ReportOptions
) -> ReportDocument:
    """The report on these evidences. `exit_code` is that of an audit of the same (CONTRACT: exit codes)."""
    steps = sum(len(analysis.trace) for one in examined for analysis in one.analyses)
    content = content_for(options.content, steps)
    material = Material(examined, policy, rules_digest, content)
    found = findings(material, options.fail_on, options.baseline, options.suppressions)
    drawn = drawings(material)
    time = timeline(material, drawn, found.rows)
    acted = effects(material)
    verdict = verdict_box(material, exit_code)
    document = ReportDocument(
        schema=REPORT,
        tool=material.audit.tool,
        policy=material.audit.policy,
        rules=material.audit.rules,
        contents=content.row(redacted=options.redacted),
        traces=[_trace(material, index) for index in range(len(material.traces))],
        header=_header(material, options),
        verdict=verdict,
        happened=happened(material, acted.rows, found.rows, verdict),
        effects=acted,
        timeline=time,
        causes=causes(material, drawn, found.rows),
        findings=found,
        tools=tools(material),
        oversight=oversight(material, found.rows),
        quality=quality(material, found.rows),
        replay=replay_log(material),
        custody=custody(material.audit.evidence),
        privacy=privacy(material, time.events, found.rows, redacted=options.redacted),
        obligations=obligations(),
        blanks=blanks(),
        regression=regression(material),
    )
    return _with_lines(examined, document)


def _with_lines(examined: Sequence[Examined], document: ReportDocument) -> ReportDocument:
    """The same with the line of each step, effect and finding, also where the format has none."""
    steps = [*(event.locator for event in document.timeline.events), *(row.locator for row in document.effects.rows)]
    lines = LineNumbers(examined, [*steps, *(at for row in document.findings.rows for at in row.locators)])
    replace = msgspec.structs.replace
    events = [replace(event, locator=lines.at(event.locator)) for event in document.timeline.events]
    acts = [replace(row, locator=lines.at(row.locator)) for row in document.effects.rows]
    found = [replace(row, locators=[lines.at(at) for at in row.locators]) for row in document.findings.rows]
    return replace(
        document,
        timeline=replace(document.timeline, events=events),
        effects=replace(document.effects, rows=acts),
        findings=replace(document.findings, rows=found),
    )


def _trace(material: Material, index: int) -> ReportTrace:
    trace = material.traces[index]
    started, ended = span_of(material.analyses[index])
    return ReportTrace(
        index=index,
        id=trace.id,
        evidence=trace.evidence,
        format=trace.format,
        agents=trace.agents,
        steps=trace.steps,
        first_step=trace.first_step,
        calls=len(trace.executions),
        started=started,
        ended=ended,
        rerun_of=None if trace.rerun_of is None else trace.rerun_of.trace,
        also_in=trace.also_in,
    )


def _header(material: Material, options: ReportOptions) -> Header:
    return Header(
        title=_spelled(options.title) or _title(material),
        case_id=_spelled(options.case_id),
        author=_spelled(options.author),
        version=None,
        status=None,
    )


def _spelled(text: str | None) -> str | None:
    return None if text is None else spell_surrogates(text)


def _title(material: Material) -> str:
    names = [short(row.name, 80) for row in material.audit.evidence]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"Incident report: {names[0] if names else 'no evidence'}{more}"
