"""What was rerun, on which evidence does it all rest, what of people is in it, and how is the run kept as a test?"""

from __future__ import annotations

import re
from shlex import quote
from typing import TYPE_CHECKING

from forensics.core.secrets import CREDENTIAL, PERSONAL
from forensics.replay.plan import Code, Plan
from forensics.replay.record_enough import why_not
from forensics.report.incident.documents import (
    Custody,
    Privacy,
    RecordedRerun,
    Regression,
    RepeatedCall,
    ReplayLog,
    SecretRow,
)
from forensics.report.incident.statements import derived, share
from forensics.report.terminal_page import plural, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.report.documents import CountsRow, EvidenceRow, RepeatRow, RerunOf
    from forensics.report.incident.documents import Event, ReportFinding
    from forensics.report.incident.material import Material

_CASES, _NAME = 20, 200
_FILE, _FILE_OF_AGENTS = "cases/cases.jsonl", "cases/with-agent.jsonl"
_ANY = Code("MODULE:FUNCTION", "")
_AGENT = f"--agent {_ANY.target}"
_PLACES = 20
_SEARCH = "shapes, and names of fields (rules/secrets)"
_BY_SHAPE = "Names and postal addresses have no shape and are not told."
_NAMED = re.compile(r"(?:secret|personal):[a-z0-9-]+:(?P<fingerprint>[0-9a-f]+)")
_STATIC = "static by default: a report runs nothing, imports nothing and contacts nothing"
_STOOD = "the size and the time of change of each file after reading are those of before"


def replay_log(material: Material) -> ReplayLog:
    """The part of a report about reruns."""
    rows = [_rerun(material, index, trace.rerun_of) for index, trace in enumerate(material.traces) if trace.rerun_of]
    told = f"the evidence holds {plural(len(rows), 'rerun')} by others" if rows else "the evidence holds no rerun"
    return ReplayLog(statement=derived(f"This report ran nothing of the trace; {told}.", _STATIC), recorded=rows)


def _rerun(material: Material, index: int, rerun: RerunOf) -> RecordedRerun:
    return RecordedRerun(
        trace=index,
        of=rerun.trace,
        basis=rerun.basis,
        rule="the record names the run that it repeats, or the same calls stand at the same occurrences",
        calls=[_repeated(material, one) for one in rerun.did],
    )


def _repeated(material: Material, one: RepeatRow) -> RepeatedCall:
    content = material.content
    return RepeatedCall(
        step=one.step,
        tool=one.tool,
        did=one.did,
        executed=one.executed,
        result=content.text(one.result) or "",
        original=content.text(one.original) or "",
    )


def custody(inputs: list[EvidenceRow]) -> Custody:
    """The part of a report about the evidence itself."""
    read = sum(row.status != "refused" for row in inputs)
    unread = "" if read == len(inputs) else " Of the others only the size and the digest are known."
    text = f"{read} of {plural(len(inputs), 'input')} stood unchanged while this report was made.{unread}"
    return Custody(
        inputs=inputs,
        unchanged=derived(text, _STOOD),
        check=[f"sha256sum {short(row.name, 200)}: {row.sha256}" for row in inputs if row.sha256],
    )


def privacy(
    material: Material, events: Sequence[Event], findings: Sequence[ReportFinding], *, redacted: bool
) -> Privacy:
    """The part of a report about secrets and personal data."""
    readings = [one.reading for one in material.examined if one.reading is not None]
    inputs = [one for one in material.examined if one.declares is None]
    complete = sum(reading.secrets.complete for reading in readings)
    texts = [event for event in events if event.size]
    cut = sum(event.said is None or event.said.endswith("…") for event in texts)
    rows = [_secret(finding) for finding in findings if finding.code == "secret"]
    places = [at for row in rows for at in row.locators][:_PLACES]
    return Privacy(
        statement=derived(
            f"{_found(material.audit.counts, len(readings), redacted=redacted)}. {_BY_SHAPE}", _SEARCH, locators=places
        ),
        searched=share("inputs of which every byte was looked through", complete, len(inputs)),
        withheld=share("texts that are left out or cut", cut, len(texts)),
        secrets=rows,
    )


def _found(counts: CountsRow, read: int, *, redacted: bool) -> str:
    if counts.secrets is None:
        return "Nobody looked for credentials and personal data"
    if not read:
        return "No input could be read, so that nobody knows of credentials and personal data in it"
    found = f"{plural(counts.secrets, 'credential')} and {counts.personal_data} different pieces of personal data"
    shown = ", shown by kind and fingerprint" if redacted else ", shown as they stand (--no-redact)"
    return f"{found} were found{shown if counts.secrets or counts.personal_data else ''}"


def _secret(finding: ReportFinding) -> SecretRow:
    personal = PERSONAL in finding.tags
    named = _NAMED.search(finding.message)
    return SecretRow(
        group=PERSONAL if personal else CREDENTIAL,
        kind=finding.tags[-1] if finding.tags else "several",
        fingerprint=None if personal or named is None else named["fingerprint"],
        steps=finding.steps,
        locators=finding.locators,
    )


def regression(material: Material) -> Regression:
    """The part of a report about keeping the run as a test. A command that would be refused is not offered."""
    alone: list[str] = []
    handed: list[str] = []
    for index, (trace, analysis) in enumerate(zip(material.traces, material.analyses, strict=True)):
        if trace.verdict.level == "static":
            continue
        if why_not(analysis.trace, Plan()) is None:
            alone.append(_save(material, index, _FILE))
        elif why_not(analysis.trace, Plan(agent=_ANY)) is None:
            handed.append(_save(material, index, f"{_FILE_OF_AGENTS} {_AGENT}"))
    return Regression(
        case_id=None,
        commands=_and_run(alone, _FILE),
        with_agent=_and_run(handed, f"{_FILE_OF_AGENTS} {_AGENT}"),
    )


def _save(material: Material, index: int, to: str) -> str:
    """The command for one trace. A case has the name of its trace: where other traces have that too, one of its own."""
    trace = material.traces[index]
    file = material.audit.evidence[trace.evidence].name
    alone = material.is_only(trace.id)
    name = "" if alone else f" --name {_word(f'{short(file, _NAME - 10)}:{index}')}"
    return (
        f"forensics case save {_word(file)} --trace {_word(trace.id)}{name} --policy inject --with-evidence --to {to}"
    )


def _and_run(saves: list[str], file: str) -> list[str]:
    return [*saves[:_CASES], f"forensics case run {file}"] if saves else []


def _word(text: str) -> str:
    """A text as one word of a command line, harmless to a terminal."""
    return quote(short(text, _NAME))
