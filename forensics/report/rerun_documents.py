"""Which fields has the document of a rerun? Frozen types, as those of every document."""

from __future__ import annotations

from typing import Any

import msgspec

from forensics.report.documents import (
    ComparisonDocument,
    Digest,
    EvidenceRow,
    FindingRow,
    InspectionDocument,
    PolicyName,
    Program,
    VerdictRow,
)

RERUN = "forensics/rerun/v1"


class PlanRow(msgspec.Struct, frozen=True, kw_only=True):
    """What was planned: its digest, to which the clearance is bound, and what it says. `agent` is null for the
    blueprint rebuilt from the trace, `changes` names everything that makes it another run than the recorded one, and
    `imports` has the SHA-256 of each module that comes along with the agent or a stand-in by import statements.
    """

    digest: str
    mode: str
    agent: str | None
    agent_sha256: str | None
    imports: dict[str, str]
    on_miss: str
    fork: int | None
    execute: list[str]
    changes: list[str]
    modifications: dict[str, Any]
    stand_ins: dict[str, str]
    endpoint: str | None


class NearestRow(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded request near one that was not answered: its step, why it does not answer, and the first place (JSON
    Pointer) that differs with both sides as short JSON texts.
    """

    step: int
    because: str
    pointer: str | None
    recorded: str | None
    asked: str | None


class StopRow(msgspec.Struct, frozen=True, kw_only=True):
    """Why the rerun ended before its agent did, and what was asked there."""

    code: str
    message: str
    hint: str
    step: int | None
    asked: Any
    nearest: list[NearestRow]


class RerunCallRow(msgspec.Struct, frozen=True, kw_only=True):
    """One call of the rerun. `occurrence` is that of the recorded call that it was matched with, else its own in the
    rerun; `shown` is what the agent was given, `returned` what a stand-in returned, `renamed` the recorded handles that
    a fresh one was mapped back to; `rung` is bytes, equal or normalised, and `set_aside` what was passed over for it.
    """

    occurrence: str
    tool: str
    arguments: Any
    disposition: str
    recorded_step: int | None
    shown: Any
    failed: bool
    returned: Any
    renamed: list[str]
    rung: str | None
    set_aside: list[str]


class ModelCallRow(msgspec.Struct, frozen=True, kw_only=True):
    """One model turn of the rerun: from where it was served, and what a provider did not heed of what it was asked."""

    served: str
    agent: str
    model: str | None
    recorded_step: int | None
    text: Any
    calls: int
    usage: dict[str, int]
    ignored: list[str]


class GuardRow(msgspec.Struct, frozen=True, kw_only=True):
    """One decision of a guardrail: `ran` says whether it ran again, or its recorded decision was given."""

    name: str
    passed: bool
    ran: bool
    recorded_step: int | None


class MintedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A value that the clock or chance gave the agent; `from_record` says that the plan holds it."""

    what: str
    value: Any
    from_record: bool


class DeniedRow(msgspec.Struct, frozen=True, kw_only=True):
    """An act at which the cell ended the agent."""

    kind: str
    what: str


class CapturedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was created, changed or deleted in the cell's own view of the disk, and nowhere else."""

    path: str
    kind: str
    size: int
    sha256: str | None


class IsolationRow(msgspec.Struct, frozen=True, kw_only=True):
    """The isolation that was reached (none, process, tripwire, wall), the way in which a wall was raised (root, user,
    bubblewrap; null: there is none), and why not more. `more` counts captured changes that are not listed.
    """

    level: str
    denied: list[DeniedRow]
    captured: list[CapturedRow]
    more: int
    missing: list[str]
    way: str | None = None


class OutputRow(msgspec.Struct, frozen=True, kw_only=True):
    """What the run and the rerun said last."""

    original: Any
    new: Any


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and cost, as far as they are told; null where they are not."""

    input_tokens: int | None
    output_tokens: int | None
    cost: float | None


class UsageRow(msgspec.Struct, frozen=True, kw_only=True):
    """What the run cost, and what the rerun did."""

    original: Tokens
    new: Tokens


class UnusedRow(msgspec.Struct, frozen=True, kw_only=True):
    """Recordings that nobody asked for, as steps of the recorded run."""

    calls: list[int]
    turns: list[int]


class QuestionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One of the six questions to ask of a replay, answered from what happened in this one."""

    question: str
    answer: str
    facts: dict[str, Any]


class SixQuestions(msgspec.Struct, frozen=True, kw_only=True):
    """The six questions of whoever builds or buys replay."""

    rebuilt_from: QuestionRow
    fixed: QuestionRow
    ran: QuestionRow
    missing_turn: QuestionRow
    touched: QuestionRow
    fix_kept: QuestionRow


class PrintedRow(msgspec.Struct, frozen=True):
    """What the agent wrote to its standard output and its standard error, which nothing of the rerun reads: the
    beginning of each, and whether there was `more`.
    """

    stdout: str
    stderr: str
    more: bool


class RerunDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A rerun, or its refusal: then `calls` and `model_calls` are empty, `verdict.reasons` says why, and `inspection`
    is the static inspection of the trace. `reproduction` says that every word and result came from the record and
    nothing was changed; `compared` are the kinds of events that were compared with the recorded run.
    `agent_error_at` is the file and line in the user's own code at which the agent raised.
    """

    schema: str
    tool: Program
    policy: PolicyName
    rules: Digest
    evidence: list[EvidenceRow]
    trace: str
    rerun: str | None
    plan: PlanRow
    mode: str
    verdict: VerdictRow
    stopped: StopRow | None
    agent_error: str | None
    agent_error_at: str | None
    printed: PrintedRow
    isolation: IsolationRow
    calls: list[RerunCallRow]
    model_calls: list[ModelCallRow]
    guardrails: list[GuardRow]
    minted: list[MintedRow]
    output: OutputRow
    usage: UsageRow
    unused: UnusedRow
    reproduction: bool
    lacks: list[str]
    compared: list[str]
    comparison: ComparisonDocument | None
    six_questions: SixQuestions
    findings: list[FindingRow]
    inspection: InspectionDocument | None
