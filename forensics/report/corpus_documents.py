"""Which fields has the document of an audited corpus? Sums over all its traces; the rows stand in files beside it."""

from __future__ import annotations

import msgspec

from forensics.report.documents import Digest, Document, PolicyName, Program

CORPUS = "forensics/corpus/v1"


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


CORPUS_DOCUMENTS = {"corpus": CorpusDocument}
