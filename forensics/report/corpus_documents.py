"""Which fields has an audited corpus? The sums over all its traces, and the rows that stand in files beside them."""

from __future__ import annotations

import msgspec

from forensics.report.documents import Digest, Document, EvidenceRow, FindingRow, PolicyName, Program

CORPUS = "forensics/corpus/v2"


class Tally(Document, frozen=True):
    """How many of something: in how many places (files), and how many traces, calls or findings."""

    name: str
    count: int
    files: int


class CorpusToolRow(msgspec.Struct, frozen=True, kw_only=True, rename={"class_": "class"}):
    """One tool, as it was classified: with another class or another footing it is another row."""

    name: str
    server: str | None
    class_: str
    rests_on: str
    calls: int
    traces: int
    refused: int


class CorpusFindingRow(Document, frozen=True):
    """How often one code was found at one severity, and in how many files."""

    code: str
    severity: str
    count: int
    files: int


class CorpusCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What was read. `together` files tell of a run that another file tells of too, and were compared with that one;
    `apart` ones were not, since too many tell of it. `trusted` ones were not read in this run: their size and time, or
    what their store calls their version, were those of an earlier one, and that was to be trusted.
    """

    files: int
    bytes: int
    read: int
    partial: int
    refused: int
    records: int
    traces: int
    cleared: int
    steps: int
    calls: int
    findings: int
    together: int
    apart: int
    trusted: int


class CorpusDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The audit of a corpus in sums. `files` and `findings` name the files beside it that hold the rows: one JSON
    object a line, in the order of the places.
    """

    schema: str
    tool: Program
    policy: PolicyName
    rules: Digest
    exit_code: int
    counts: CorpusCounts
    levels: list[Tally]
    formats: list[Tally]
    reasons: list[Tally]
    errors: list[Tally]
    tools: list[CorpusToolRow]
    findings: list[CorpusFindingRow]
    rows: list[str]
    found: list[str]


# the rows -------------------------------------------------------------------------------------------------------------


class CorpusBasis(Document, frozen=True):
    """One piece of evidence that decides an axis of a tool: its kind, a sentence, and the rule, if one said it."""

    source: str
    says: str
    rule: str | None = None


class CorpusTool(msgspec.Struct, frozen=True, kw_only=True, rename={"class_": "class"}):
    """One tool of one trace: its class, what that rests on, how often it was called, and which reasons to refuse name
    it. `basis` holds the first pieces of evidence that decide its effect or its result.
    """

    name: str
    server: str | None
    class_: str
    labels: list[str]
    effect: str
    result: str
    scope: str
    rests_on: str
    basis: list[CorpusBasis]
    calls: int
    reasons: list[str]


class CorpusHandles(msgspec.Struct, frozen=True, kw_only=True):
    """Where the values of one kind that one tool brought into a trace went: how many there are, and how many of them
    stand in a later argument, model output, final answer or prompt (recorded), or were shown to a turn that may have
    branched on them (inferred). `into_tools` are the tools whose arguments hold one.
    """

    tool: str
    kind: str
    number: int
    in_argument: int
    in_model_output: int
    in_final_answer: int
    in_prompt: int
    shown: int
    into_tools: list[str]


class CorpusTrace(msgspec.Struct, frozen=True, kw_only=True):
    """One trace with its verdict. `evidence` counts within the line; `reasons` are the codes, each once; `started` and
    `ended` are the first and the last time that a step of it records.
    """

    id: str
    evidence: int
    format: str
    steps: int
    calls: int
    started: str | None
    ended: str | None
    level: str
    cleared: bool
    reasons: list[str]
    tools: list[CorpusTool]
    handles: list[CorpusHandles]


class CorpusFile(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `files-*.jsonl`: a file, or the files that tell of one run, with what was read and found in it."""

    files: list[str]
    status: str
    exit_code: int
    evidence: list[EvidenceRow]
    traces: list[CorpusTrace]
    findings: int


class CorpusFinding(FindingRow, frozen=True, kw_only=True):
    """One line of `findings-*.jsonl`: a finding with the files of its line."""

    files: list[str]


CORPUS_DOCUMENTS: dict[str, type[msgspec.Struct]] = {
    "corpus": CorpusDocument,
    "corpus-file": CorpusFile,
    "corpus-finding": CorpusFinding,
}
