"""Which fields has the report on a corpus? What stands in the way of its runs, ranked, with how much was read."""

from __future__ import annotations

import msgspec

from forensics.report.corpus_documents import CorpusBasis, CorpusCounts, Tally
from forensics.report.documents import Digest, Document, PolicyName, Program

CORPUS_REPORT = "forensics/corpus-report/v1"


class UnreadRow(Document, frozen=True):
    """An evidence that could not be read, and why."""

    name: str
    code: str
    message: str


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """How much of the corpus was read. `errors` are all reasons why not, `unread` the first evidences with theirs."""

    evidences: int
    read: int
    partial: int
    refused: int
    errors: list[Tally]
    unread: list[UnreadRow]


class FormatVerdicts(msgspec.Struct, frozen=True, kw_only=True):
    """The traces of one format by their level."""

    name: str
    traces: int
    dynamic: int
    inject: int
    static: int


class ReasonTally(msgspec.Struct, frozen=True, kw_only=True):
    """How many traces one reason refuses, and the tools that it names most."""

    code: str
    traces: int
    tools: list[Tally]


class BlockingTool(msgspec.Struct, frozen=True, kw_only=True, rename={"class_": "class"}):
    """A tool that reasons to refuse name: in how many traces, in how many of them it is the only thing in the way, and
    on which pieces of evidence its class rests most often.
    """

    name: str
    server: str | None
    class_: str
    effect: str
    result: str
    scope: str
    rests_on: str
    traces: int
    alone: int
    calls: int
    reasons: list[Tally]
    basis: list[CorpusBasis]


class HandleWays(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one kind that one tool brought: in how many traces, how many there are, how many were held by a
    later argument, model output, final answer or prompt (recorded) or shown to a turn that may have branched on them
    (inferred), and into whose arguments they went. `carried` traces hold one later on.
    """

    tool: str
    kind: str
    traces: int
    carried: int
    number: int
    in_argument: int
    in_model_output: int
    in_final_answer: int
    in_prompt: int
    shown: int
    into_tools: list[Tally]


class FindingTally(Document, frozen=True):
    """How often one code was found at one severity, and one of those findings."""

    code: str
    severity: str
    count: int
    files: int
    example: str
    example_file: str


class PeriodRow(msgspec.Struct, frozen=True, kw_only=True):
    """The traces that began in one day, week, month or year, by their level, and their findings of high severity."""

    start: str
    traces: int
    cleared: int
    dynamic: int
    inject: int
    static: int
    high: int


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """The traces over time, by the first time that each records: `undated` ones record none. Periods in which none
    began stand there too.
    """

    unit: str
    dated: int
    undated: int
    periods: list[PeriodRow]


class CorpusReportDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The report on an audited corpus. `tools` are all that are named by a reason, those first that are named in most
    traces; `handles` are values that calls minted, `references` values that they found.
    """

    schema: str
    tool: Program
    policy: PolicyName
    rules: Digest
    title: str
    counts: CorpusCounts
    coverage: Coverage
    levels: list[Tally]
    formats: list[FormatVerdicts]
    reasons: list[ReasonTally]
    tools: list[BlockingTool]
    handles: list[HandleWays]
    references: list[HandleWays]
    findings: list[FindingTally]
    trend: Trend


CORPUS_REPORT_DOCUMENTS: dict[str, type[msgspec.Struct]] = {"corpus-report": CorpusReportDocument}
