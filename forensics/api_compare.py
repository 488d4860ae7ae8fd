"""Where do two runs part, and why? The comparison as a verb of the library: two evidences, one outcome."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

import msgspec

from forensics.analysis.run import TraceAnalysis, analyse_trace
from forensics.api import Options, one_evidence, one_trace, options_asked, read, without_cycle_collection
from forensics.compare.comparison import Comparison, Result, compare
from forensics.core.expected import expected
from forensics.core.limits import under
from forensics.core.policy import Policy
from forensics.core.sanitise import one_line
from forensics.errors import ConfigurationError
from forensics.formats.places import names_of
from forensics.formats.shared.source import STDIN
from forensics.report.comparison import comparison_document
from forensics.report.compose import Examined
from forensics.report.inspection import inspection_document
from forensics.report.redaction import redactor_of
from forensics.rules.engine import RuleSet, load_rules
from forensics.rules.policy_file import load_policy

if TYPE_CHECKING:
    from forensics.core.reading import Reading
    from forensics.formats.places import Where
    from forensics.report.documents import ComparisonDocument, InspectionDocument

D = TypeVar("D")
ALIKE, PARTED, UNTOLD = 0, 1, 3
_LISTED = 20
_ENDS = {Result.DIVERGED: PARTED, Result.NOT_COMPARABLE: UNTOLD}


class Compared(msgspec.Struct, frozen=True):
    """A comparison with what it rests on: both evidences, the run of each, the policy and the rules."""

    comparison: Comparison
    evidence: tuple[Examined, Examined]
    analyses: tuple[TraceAnalysis, TraceAnalysis]
    policy: Policy
    rules: RuleSet
    redact: bool = True

    def document(self) -> ComparisonDocument:
        """The comparison document."""
        digest = self.rules.digest
        return self._shown(comparison_document(self.comparison, self.evidence, self.analyses, self.policy, digest))

    def inspections(self) -> tuple[InspectionDocument, InspectionDocument]:
        """The static inspection of each run by itself: what every step says, for whoever draws both."""
        left, right = (
            self._shown(inspection_document([_of_one(one, analysis)], self.policy, self.rules.digest))
            for one, analysis in zip(self.evidence, self.analyses, strict=True)
        )
        return left, right

    def _shown(self, document: D) -> D:
        """The document without secrets, unless they were asked for; a value of both runs has one name."""
        if not self.redact:
            return document
        texts = (*self.policy.texts, *(one.name for one in self.evidence))
        return redactor_of((one.reading for one in self.evidence), written=texts).document(document)


def _of_one(examined: Examined, analysis: TraceAnalysis) -> Examined:
    """The evidence with that run alone."""
    reading = None if examined.reading is None else msgspec.structs.replace(examined.reading, traces=(analysis.trace,))
    return msgspec.structs.replace(examined, reading=reading, analyses=(analysis,))


class Other(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for the second run alone: which trace of its evidence it is, and the format that it is read as."""

    trace: str | None = None
    input_format: str | None = None


def compare_runs(left: Where, right: Where, options: Options | None = None, other: Other | None = None) -> Compared:
    """Compare two runs; nothing is run, asked or contacted. `options` choose the trace and the format of the left one.

    Raises EvidenceError for what can't be read, RuleError for a broken rule pack or policy, and ConfigurationError
    where it is not clear which trace is meant.
    """
    options = options_asked(options)
    other = Other() if other is None else expected(other, "other", Other)
    if str(left) == STDIN and str(right) == STDIN:
        message = "both runs can't come from standard input"
        raise ConfigurationError(message, hint="name one of them as a file")
    names = names_of(left, right)
    rules = load_rules(options.rules)
    policy = load_policy(options.policy, options.date())
    with (
        without_cycle_collection(),
        under(options.limits),
        one_evidence(left, names[0]) as one,
        one_evidence(right, names[1]) as second,
    ):
        readings = read(one, 0, options.input_format), read(second, 1, other.input_format)
        analyses = (
            _analysis(readings[0], options.trace, "--trace", rules, policy),
            _analysis(readings[1], other.trace, "--trace-b", rules, policy),
        )
        one.check_unchanged()
        second.check_unchanged()
        if os.path.realpath(str(left)) == os.path.realpath(str(right)) and other.trace is None:
            _check_two_runs(readings[1], *(analysis.trace.id for analysis in analyses))
        comparison = compare(*analyses, rules)
        evidence = tuple(
            Examined(source.name, source.sha256, source.size, reading)
            for source, reading in zip((one, second), readings, strict=True)
        )
    return Compared(comparison, (evidence[0], evidence[1]), analyses, policy, rules, options.redact)


def _check_two_runs(there: Reading, left: str, right: str) -> None:
    """Raise ConfigurationError where a run would be set beside itself, unasked, though its file holds others."""
    others = [trace.id for trace in there.traces if trace.id != right]
    if left == right and others:
        message = f"both sides are the run {one_line(left, 80)} of {there.evidence.name}, which holds others too"
        listed = ", ".join(one_line(one, 80) for one in others[:_LISTED])
        raise ConfigurationError(message, hint=f"choose the other one with --trace-b ID: {listed}")


def compare_exit_code(result: Result) -> int:
    """The result decides alone: 0 for runs that are alike, 1 where they diverge, 3 where that can't be told."""
    return _ENDS.get(result, ALIKE)


def _analysis(reading: Reading, wanted: str | None, option: str, rules: RuleSet, policy: Policy) -> TraceAnalysis:
    return analyse_trace(one_trace(reading, wanted, option), rules, policy)
