"""On which evidence does it rest, what of people is in it, and what must a person add? The last parts of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.html.parts import facts, folded, places, row, section, share, statement, table, unread
from forensics.report.html.words import named, steps
from forensics.report.incident.statements import WITH_AGENT
from forensics.report.markup import Markup, el, join, quoted

if TYPE_CHECKING:
    from forensics.report.documents import EvidenceRow
    from forensics.report.incident.documents import Blank, Obligation, ReportDocument

_INPUTS = ("Evidence", "Read", "Format", "Bytes", "SHA-256")
_SECRETS = ("Kind", "Fingerprint", "Steps", "Where")
_DUTIES = ("Source", "Duty", "Evidence here", "In these parts", "What a person must add", "As of")
_LINES = 5  # to copy; more are folded up
_HERE = {"evidence": "evidence for it", "partly": "in part", "not_in_a_trace": "not in a trace"}


def custody(document: ReportDocument) -> Markup:
    """The inputs with their digests, and how anybody checks them."""
    part = document.custody
    return section(
        "custody",
        "The evidence and how to check it",
        el("p", statement(part.unchanged)),
        table("Inputs", _INPUTS, map(_input, part.inputs)),
        el("h3", "To check"),
        *(el("pre", line) for line in part.check[:_LINES]),
        folded("The other inputs", *(el("pre", line) for line in part.check[_LINES:])) if part.check[_LINES:] else None,
        facts(
            ("Program", f"{document.tool.name} {document.tool.version}"),
            ("Policy", join(quoted(named(document.policy.name)), f" {document.policy.digest}")),
            *(("Warning", quoted(warning)) for warning in document.policy.warnings[:_LINES]),
            ("Rules", document.rules.digest),
        ),
    )


def _input(one: EvidenceRow) -> Markup:
    wrong = None if one.error is None else el("div", quoted(f"{one.error.code}: {one.error.message}; {one.error.hint}"))
    own = None if one.member_sha256 is None else el("div", f"this file: {one.member_sha256}")
    return row(
        _INPUTS,
        quoted(named(one.name)),
        join(one.coverage or one.status, wrong),
        " ".join(filter(None, (one.format, one.dialect and f"({named(one.dialect)})", one.compression))),
        f"{one.size:,}",
        el("code", one.sha256, own),
    )


def privacy(document: ReportDocument) -> Markup:
    """What of secrets and people is in the trace, and what was left out."""
    part = document.privacy
    rows = (
        row(
            _SECRETS,
            one.kind,
            el("code", one.fingerprint),
            join(*steps(one.steps)),
            places(one.locators, document.custody.inputs),
        )
        for one in part.secrets
    )
    budget = document.contents.budget
    level = f"{document.contents.level}" + (f", at most {budget:,} characters a text" if budget else "")
    redacted = ", secrets redacted" if document.contents.redacted else ""
    return section(
        "privacy",
        "Secrets and personal data",
        el("p", statement(part.statement)),
        unread(document),
        el("p", f"Texts: {level}{redacted}; {share(part.withheld)}."),
        table("Secrets", _SECRETS, rows) if part.secrets else None,
    )


def blanks(document: ReportDocument) -> Markup:
    """What no trace shows, to be filled in."""
    note = "No trace shows this. What you type here stands on the screen and on a print of it; the file keeps nothing."
    head = document.header
    said = (("case", "Case id", head.case_id), ("author", "Author", head.author), ("version", "Version", head.version))
    own = [_field(f"blank-{name}", question, None, value) for name, question, value in said]
    return section(
        "blanks",
        "To be filled in by a person",
        el("p", note, class_="quiet"),
        el("div", *own, *map(_blank, document.blanks), class_="blanks"),
    )


def _blank(one: Blank) -> Markup:
    return _field(f"blank-{one.name}", one.question, one.asked_by, one.value)


def _field(name: str, question: str, asked_by: str | None, value: str | None) -> Markup:
    asked = None if asked_by is None else el("span", f" {asked_by}", class_="quiet small")
    if value is not None:
        return el("div", el("strong", question), asked, el("div", quoted(value)))
    field = el("textarea", id=name, rows=2, placeholder="blank", autocomplete="off")
    return el("div", el("label", question, asked, for_=name), field)


def obligations(document: ReportDocument) -> Markup:
    """For which duties the report is evidence, and what is missing for each."""
    rows = [_duty(one) for one in document.obligations]
    note = "This report is evidence for these duties. It never says that one of them is met: a person says that."
    return section(
        "obligations",
        "Duties for which this is evidence",
        el("p", note),
        folded(f"{len(rows)} duties", table("Duties", _DUTIES, rows)),
    )


def _duty(one: Obligation) -> Markup:
    parts = (join(", " if number else None, el("a", part, href=f"#{part}")) for number, part in enumerate(one.parts))
    name = join(one.source, el("div", one.reference))
    return row(_DUTIES, name, one.needs, _HERE.get(one.here, one.here), join(*parts), one.also_needed, one.as_of)


def regression(document: ReportDocument) -> Markup:
    """How the run is kept as a test."""
    part = document.regression
    return section(
        "regression",
        "Kept as a test",
        el("p", "Saved case: ", "none yet" if part.case_id is None else quoted(part.case_id)),
        *(el("pre", line) for line in part.commands),
        el("p", WITH_AGENT) if part.with_agent else None,
        *(el("pre", line) for line in part.with_agent),
    )
