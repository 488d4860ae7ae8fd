"""What does a pipeline's test view show of a report? JUnit XML: one suite a trace, one test a finding, and its verdict.

A finding that counts is a failure, a suppressed or known one is skipped with the reason; a refused rerun is a test that
was skipped, and evidence that could not be read is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from forensics.core.sanitise import one_line, xml_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.report.documents import EvidenceRow
    from forensics.report.incident.documents import ReportDocument, ReportFinding

_LINE = 300
_SKIPPED, _FAILED, _ERROR = "skipped", "failure", "error"


def junit_xml(document: ReportDocument) -> bytes:
    """The report as JUnit XML."""
    root = Element("testsuites", name="forensics")
    _suite(root, "evidence", [_of_evidence(row) for row in document.custody.inputs])
    for trace in document.traces:
        cases = [_of_verdict(document, trace.index)]
        cases += [_of_finding(f) for f in document.findings.rows if f.trace == trace.index]
        _suite(root, f"trace {trace.id}", cases)
    others = [_of_finding(f) for f in document.findings.rows if f.trace is None]
    if others:
        _suite(root, "findings about the evidence", others)
    for kind, plural in ((_FAILED, "failures"), (_ERROR, "errors"), (_SKIPPED, "skipped")):
        root.set(plural, str(len(root.findall(f".//{kind}"))))
    root.set("tests", str(len(root.findall(".//testcase"))))
    indent(root, " ")
    data: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _suite(root: Element, name: str, cases: Sequence[Element]) -> None:
    suite = SubElement(root, "testsuite", name=xml_text(one_line(name, _LINE)), tests=str(len(cases)))
    suite.extend(cases)
    for kind, plural in ((_FAILED, "failures"), (_ERROR, "errors"), (_SKIPPED, "skipped")):
        suite.set(plural, str(len(suite.findall(f"./testcase/{kind}"))))


def _case(name: str, of: str, kind: str | None = None, message: str = "", more: str = "") -> Element:
    case = Element("testcase", name=xml_text(one_line(name, _LINE)), classname=xml_text(one_line(of, _LINE)))
    if kind is not None:
        ended = SubElement(case, kind, message=xml_text(one_line(message, _LINE)))
        if kind != _SKIPPED:
            ended.set("type", xml_text(of))
        ended.text = xml_text(more) or None
    elif more:
        SubElement(case, "system-out").text = xml_text(more)
    return case


def _of_evidence(row: EvidenceRow) -> Element:
    if row.error is not None:
        more = f"{row.error.code}: {row.error.message}; {row.error.hint}"
        return _case(f"read {row.name}", "evidence", _ERROR, row.error.message, more)
    return _case(f"read {row.name}", "evidence", more=f"sha256 {row.sha256}, {row.size} bytes, {row.coverage or ''}")


def _of_verdict(document: ReportDocument, trace: int) -> Element:
    verdict = document.verdict.traces[trace]
    reasons = verdict.strict if verdict.policy == "strict" else verdict.inject
    told = [f"{one.code}{_at(one.step)}: {one.message}" for one in reasons]
    name = f"may be rerun under {verdict.policy}"
    if verdict.cleared:
        return _case(name, "verdict", more=verdict.statement.text)
    return _case(name, "verdict", _SKIPPED, verdict.statement.text, "\n".join(told))


def _at(step: int | None) -> str:
    return "" if step is None else f" (step {step})"


def _of_finding(finding: ReportFinding) -> Element:
    name = f"{finding.code} [{finding.fingerprint}]"
    steps = f" (steps {', '.join(map(str, finding.steps))})" if finding.steps else ""
    more = f"{finding.severity}, {finding.basis}: {finding.message}{steps}"
    if finding.suppressed is not None:
        held = finding.suppressed
        return _case(name, finding.code, _SKIPPED, f"suppressed until {held.until} by {held.by}: {held.because}", more)
    if finding.counts:
        return _case(name, finding.code, _FAILED, finding.message, more)
    if finding.new is False:
        return _case(name, finding.code, _SKIPPED, "known: the baseline has it", more)
    return _case(name, finding.code, more=more)
