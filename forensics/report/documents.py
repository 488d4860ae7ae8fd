"""Which fields does each document have? The published shapes of CONTRACT.md as frozen types; the JSON Schemas come
from them, so a document and its schema can't part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

AUDIT = "forensics/audit/v1"
INSPECTION = "forensics/inspection/v1"
CLASSIFICATION = "forensics/classification/v1"
FORMATS = "forensics/formats/v1"
POLICY_CHECK = "forensics/policy-check/v1"
GRAPH = "forensics/graph/v1"
EXPLANATION = "forensics/explanation/v1"
MATCHING = "forensics/matching/v1"
COMPARISON = "forensics/comparison/v1"


class Document(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """The base of every part of a document: fields that hold their default are left out."""


class Place(Document, frozen=True):
    """A locator: where a fact stands in the evidence."""

    evidence: int
    line: int | None = None
    offset: int | None = None
    length: int | None = None
    member: str | None = None
    table: str | None = None
    row: int | str | None = None
    pointer: str | None = None


class Program(Document, frozen=True):
    """The program that wrote the document."""

    name: str
    version: str


class PolicyName(Document, frozen=True):
    """The policy in force; `as_of` is there only when one of its entries carries a date. `warnings` name entries that
    contradict each other, and those that vouch for every tool.
    """

    name: str
    digest: str
    base: str
    as_of: str | None = None
    expired: list[str] = []
    warnings: list[str] = []


class Digest(Document, frozen=True):
    """A digest, `sha256:` and hexadecimal digits."""

    digest: str


class Fault(Document, frozen=True):
    """What is wrong with an evidence, and what to do."""

    code: str
    message: str
    hint: str


class EvidenceRow(Document, frozen=True):
    """One evidence: `status` is read, partial or refused; `coverage` says how much of it was read. Of a file in an
    archive, `sha256` and `size` are those of the archive, and `member_sha256` is its own.
    """

    name: str
    sha256: str
    size: int
    status: str
    format: str | None = None
    dialect: str | None = None
    compression: str | None = None
    member_sha256: str | None = None
    coverage: str | None = None
    error: Fault | None = None


class CountsRow(msgspec.Struct, frozen=True, kw_only=True):
    """What was read; every field always stands there (CONTRACT: numbers)."""

    lines: int
    records: int
    bad_lines: list[int]
    duplicate_records: int
    recovered_records: int
    traces: int
    spans: int
    roots: int
    model_calls: int
    branches: int
    tool_calls: int
    tool_results: int
    paired: int
    unanswered: list[str]
    orphan_results: list[str]
    missing_spans: list[str]
    secrets: int | None
    personal_data: int | None
    input_tokens: int
    output_tokens: int


class BasisRow(Document, frozen=True):
    """One piece of evidence for a class: its kind, its tier, a sentence, and what it says of each axis."""

    source: str
    tier: str
    says: str
    effect: str | None = None
    result: str | None = None
    scope: str | None = None
    rule: str | None = None
    locator: Place | None = None
    weighs: bool = True


class Classed(msgspec.Struct, frozen=True, kw_only=True, rename={"class_": "class"}):
    """The class of a tool or call with its axes and what it rests on."""

    class_: str
    labels: list[str]
    effect: str
    result: str
    scope: str
    rests_on: str
    basis: list[BasisRow]
    missing: list[str] = []


class ToolRow(Classed, frozen=True, kw_only=True, rename={"class_": "class"}, omit_defaults=True):
    """One tool of a trace, offered or called."""

    name: str
    calls: int
    server: str | None = None


class CallRow(msgspec.Struct, frozen=True, rename={"class_": "class"}, gc=False):
    """One call occurrence. `id` is the recorded id (`id#n` where it names several calls) or the occurrence."""

    step: int
    result_step: int | None
    id: str
    occurrence: str
    tool: str
    agent: str
    at: str | None
    arguments: Any
    result_preview: str | None
    outcome: str
    absence: str | None
    effect: str
    result: str
    class_: str
    decision: str
    pairing: str
    agreement: str | None
    added: list[str]
    minted: list[str]
    boundary: str
    blocks: list[str]


class MintedAt(Document, frozen=True):
    """The result that minted a value."""

    step: int
    pointer: str
    tool: str


class UseRow(msgspec.Struct, frozen=True, kw_only=True, rename={"written": "as"}, omit_defaults=True, gc=False):
    """One later place of a value."""

    step: int
    role: str
    written: str
    pointer: str | None = None
    echo: bool = False
    basis: str = "recorded"


class HandleRow(msgspec.Struct, frozen=True, gc=False):
    """A value that a call brought into the trace, and its way from there."""

    value: str
    kind: str
    minted: MintedAt
    uses: list[UseRow]


class ReasonRow(Document, frozen=True):
    """One reason to refuse."""

    code: str
    message: str
    step: int | None = None
    tool: str | None = None
    locator: Place | None = None


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """What one policy says."""

    cleared: bool
    reasons: list[ReasonRow]


class Rulings(msgspec.Struct, frozen=True, kw_only=True):
    """What both policies say."""

    strict: Ruling
    inject: Ruling


class VerdictRow(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict under the policy that was asked for, and under both."""

    level: str
    policy: str
    cleared: bool
    reasons: list[ReasonRow]
    advice: str
    policies: Rulings


class RepeatRow(Document, frozen=True):
    """What a rerun did with one call."""

    step: int
    tool: str
    did: str
    executed: bool
    result: str = ""
    original: str = ""


class RerunOf(Document, frozen=True):
    """The run that this trace repeats, and how that is known."""

    trace: str
    basis: str
    did: list[RepeatRow]


class TraceRow(Document, frozen=True):
    """One agent run. `calls` has each call that was asked for once; what a branch executed once more stands in
    `executed_again`. `also_in` names other evidences that tell of the same run and were
    compared with it. `did_nothing` are the steps of the calls with an effect, or that may have one, that count as
    answered, and of which the result says that they failed or that it was done already (derived). `unproved` are those
    that count as repeating for no other reason than that nothing proves that the text that they run only reads.
    """

    id: str
    evidence: int
    agents: list[str]
    format: str
    steps: int
    first_step: int
    tools: list[ToolRow]
    calls: Sequence[CallRow]
    handles: Sequence[HandleRow]
    verdict: VerdictRow
    rerun_of: RerunOf | None = None
    executed_again: list[CallRow] = []
    also_in: list[str] = []
    did_nothing: list[int] = []
    unproved: list[int] = []

    @property
    def executions(self) -> Sequence[CallRow]:
        """Every call, in the order of the steps, those executed again included."""
        if not self.executed_again:
            return self.calls
        return sorted([*self.calls, *self.executed_again], key=lambda call: call.step)


class FindingRow(Document, frozen=True):
    """One finding, with at least one step or locator."""

    code: str
    severity: str
    confidence: str
    basis: str
    message: str
    steps: list[int]
    locators: list[Place]
    tags: list[str]
    trace: str | None = None


class AuditDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The pre-replay safety audit of one or more evidences. `not_looked_for` are the codes that it can't tell anything
    of, because it was asked not to look (`--no-content`); then the counts of secrets are null.
    """

    schema: str
    tool: Program
    policy: PolicyName
    rules: Digest
    evidence: list[EvidenceRow]
    counts: CountsRow
    traces: list[TraceRow]
    findings: list[FindingRow]
    not_looked_for: list[str] | msgspec.UnsetType = msgspec.UNSET


class StepRow(msgspec.Struct, frozen=True, kw_only=True, rename={"class_": "class"}, omit_defaults=True):
    """One step: what it is, where it stands, what it says. `bytes` (only for a step that was asked for by number) is
    the head of what stands in the evidence, as text; length (bytes) and digest are those of the whole.
    """

    index: int
    trace: str
    kind: str
    agent: str = ""
    name: str = ""
    at: str | None = None
    locator: Place
    parents: list[int]
    text: str | None = None
    value: Any = None
    occurrence: str | None = None
    call: int | None = None
    result: int | None = None
    class_: str | None = None
    decision: str | None = None
    bytes: str | None = None
    bytes_length: int | None = None
    bytes_sha256: str | None = None


class PromptRow(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt of a tuple: a digest over everything that the model had been shown, and its last words."""

    digest: str
    preview: str


class TupleRow(msgspec.Struct, frozen=True, kw_only=True):
    """The unit of static inspection: prompt, model output, call, result."""

    index: int
    trace: str
    occurrence: str
    prompt: PromptRow
    output: str | None
    call: Any
    result: Any


class InspectionDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The static tuple inspection: the head of an audit, then every step and every tuple."""

    schema: str
    tool: Program
    policy: PolicyName
    rules: Digest
    evidence: list[EvidenceRow]
    counts: CountsRow
    traces: list[TraceRow]
    findings: list[FindingRow]
    steps: list[StepRow]
    tuples: list[TupleRow]


class ChangeRow(msgspec.Struct, frozen=True, kw_only=True, rename={"class_": "class"}):
    """What would have to be different, and what would then be said."""

    what: str
    class_: str
    effect: str
    result: str
    rests_on: str


class ArgumentRow(msgspec.Struct, frozen=True, kw_only=True, rename={"speaks_for": "for"}):
    """The evidence as an argument: places in `basis`, what is missing, and what would change the answer. A piece
    without weight is a claim that would lower and that nobody trusts.
    """

    speaks_for: list[int]
    against: list[int]
    without_weight: list[int]
    decided: list[int]
    missing: list[str]
    changes: list[ChangeRow]
    sandbox: bool


class ClassifiedTool(Classed, frozen=True, kw_only=True, rename={"class_": "class"}, omit_defaults=True):
    """One tool of an inventory."""

    name: str
    argument: ArgumentRow
    server: str | None = None


class ClassifiedCall(Classed, frozen=True, kw_only=True, rename={"class_": "class"}, omit_defaults=True):
    """One call of a list of calls."""

    tool: str
    argument: ArgumentRow
    server: str | None = None


class ClassificationDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The class of each tool or call, with its evidence."""

    schema: str
    tool: Program
    policy: PolicyName
    rules: Digest
    tools: list[ClassifiedTool]
    calls: list[ClassifiedCall]


class FormatRow(msgspec.Struct, frozen=True, kw_only=True):
    """One format that is read: how it is told, what it carries, what it lacks, what a rerun from it would miss."""

    name: str
    about: str
    carries: str
    lacks: str
    rerun_misses: str
    records_calls: bool


class FormatsDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What is read."""

    schema: str
    formats: list[FormatRow]


class PolicyEntryRow(Document, frozen=True):
    """One entry of a policy file as it was checked: `state` is in force, expired or unused, and `hint` then names the
    tool that was most likely meant; of its `changes`, what stands before the arrow would be without this entry alone.
    """

    what: str
    state: str
    hint: str = ""
    because: str = ""
    by: str = ""
    expires: str | None = None
    line: int | None = None
    changes: list[str] = []


class PolicyCheckDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy file says, and what each entry would change for an evidence. With an evidence, `changes` is what
    the whole file changes beside the shipped policy that it extends, and `refused` which traces it still refuses.
    """

    schema: str
    policy: PolicyName
    entries: list[PolicyEntryRow]
    changes: list[str] | msgspec.UnsetType = msgspec.UNSET
    refused: list[str] | msgspec.UnsetType = msgspec.UNSET


class GraphTraceRow(Document, frozen=True):
    """The trace that a graph or an explanation is about; `steps` counts all of them."""

    id: str
    evidence: int
    format: str
    first_step: int
    steps: int
    rerun_of: str | None = None


class GraphStepRow(Document, frozen=True, kw_only=True, rename={"class_": "class"}):
    """One step as a node. `class` and `labels` stand with calls, `says` (its first words) in explanations."""

    index: int
    kind: str
    name: str = ""
    agent: str = ""
    at: str | None = None
    locator: Place
    occurrence: str | None = None
    class_: str | None = None
    labels: list[str] = []
    outcome: str | None = None
    says: str | None = None


class GraphValueRow(Document, frozen=True, rename={"written": "as"}):
    """A value that an edge of kind `value` carries, and how it stands in the target (as a use of the audit does)."""

    value: str
    kind: str
    role: str
    written: str
    pointer: str | None = None
    echo: bool = False


class GraphEdgeRow(Document, frozen=True):
    """One edge, from the step of the cause to the step of its consequence."""

    source: int
    target: int
    kind: str
    basis: str
    values: list[GraphValueRow] = []


class SliceRow(Document, frozen=True):
    """Which part of the graph this is: what led to a step, what it led to, or both; at most `depth` edges away."""

    step: int
    back: bool
    forward: bool
    depth: int | None = None


class GraphDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The causal graph of one trace, whole (`slice` is null) or in part. Edges go by source, target and kind."""

    schema: str
    tool: Program
    policy: PolicyName
    rules: Digest
    evidence: list[EvidenceRow]
    trace: GraphTraceRow
    slice: SliceRow | None
    steps: list[GraphStepRow]
    edges: list[GraphEdgeRow]


class ReachRow(msgspec.Struct, frozen=True, kw_only=True):
    """One direction of an explanation. `direct` are the edges that touch the step; `further` reaches every other step
    of the slice once, nearest first. `steps` counts the slice, `more` what `further` leaves out.
    """

    steps: int
    direct: list[GraphEdgeRow]
    further: list[GraphEdgeRow]
    more: int


class ExplanationDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Why a step happened and what it led to; `steps` are the others that an edge names. An edge of kind `value` whose
    values have the role `branch` says that a turn was shown them and may rest on them; the graph has no such edge.
    """

    schema: str
    tool: Program
    policy: PolicyName
    rules: Digest
    evidence: list[EvidenceRow]
    trace: GraphTraceRow
    step: GraphStepRow
    steps: list[GraphStepRow]
    why: ReachRow
    led_to: ReachRow


class NearRow(Document, frozen=True):
    """A recording near a request that was not served: why it does not answer, and the first place where they differ
    with both values, shortened (`left` is the recorded one; none where nothing stands there).
    """

    recorded: int
    because: str
    locator: Place | None = None
    step: int | None = None
    pointer: str | None = None
    left: str | None = None
    right: str | None = None


class MatchedRow(msgspec.Struct, frozen=True, kw_only=True):
    """One request with what it is served. `id` is that of a call, `recorded` counts recordings from 0, `rung` is bytes,
    equal or normalised, and `set_aside` holds the places that differ and were passed over.
    """

    index: int
    kind: str
    lane: str | None
    id: str | None
    asked: Any
    status: str
    served: Any
    recorded: int | None
    recorded_step: int | None
    rung: str | None
    set_aside: list[str]
    because: str | None
    nearest: list[NearRow]
    locator: Place | None


class MatchingCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many recordings and requests there are, and what became of them."""

    recordings: int
    unused: int
    requests: int
    served: int
    not_reached: int


class MatchingDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What each request would be served. `result` is served (all of them), miss or ambiguous; `stopped_at` is the
    request that was not served. The first evidence is the recording, the second the requests.
    """

    schema: str
    tool: Program
    evidence: list[EvidenceRow]
    trace: str | None
    result: str
    stopped_at: int | None
    counts: MatchingCounts
    requests: list[MatchedRow]
    findings: list[FindingRow]


class DivergenceRow(msgspec.Struct, frozen=True, kw_only=True):
    """One difference. `index` is the step of the left run, or where it would stand there; `kind` is input,
    model_output, arguments, result, outcome, output, missing, extra or order; `cause` is input_difference,
    model_difference, tool_difference, agent_difference, generated_id_differs, masked_failure or handle_changed, and
    `because` says more of it. `left` and `right` are both sides at `pointer`, as short JSON texts; null where nothing
    stands. `explained_by` is the position in `divergences` of the cause behind it; null where no earlier difference
    explains it.
    """

    index: int
    left: str | None
    right: str | None
    kind: str
    pointer: str | None
    cause: str
    what: str
    because: str | None
    lane: str | None
    occurrence: str | None
    left_step: int | None
    right_step: int | None
    left_locator: Place | None
    right_locator: Place | None
    explained_by: int | None


class RenamedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A handle that has another value in the right run, and the steps that mint both."""

    left: str
    right: str
    kind: str
    tool: str
    left_step: int
    right_step: int


class UntoldRow(msgspec.Struct, frozen=True, kw_only=True):
    """Something that could not be compared, and why."""

    what: str
    why: str
    left_step: int | None
    right_step: int | None


class ComparedTrace(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two runs: the trace, its format and how many steps and calls it has."""

    id: str
    format: str
    steps: int
    calls: int


class ComparedTraces(msgspec.Struct, frozen=True, kw_only=True):
    """The two runs."""

    left: ComparedTrace
    right: ComparedTrace


class ComparisonDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Where two runs part. `result` is the first that holds of identical, equivalent, equal_modulo_handles, diverged
    and not_comparable; `events_compared` counts the turns, calls and inputs that stand side by side. Steps are those of
    each run by itself, from 0, as `inspect --trace` counts them; `side_by_side` has those that belong together as pairs
    (left, right), null where one run has nothing. The first evidence is that of the left run.
    """

    schema: str
    tool: Program
    policy: PolicyName
    rules: Digest
    evidence: list[EvidenceRow]
    traces: ComparedTraces
    result: str
    first_divergence: DivergenceRow | None
    divergences: list[DivergenceRow]
    handles: list[RenamedRow]
    not_compared: list[UntoldRow]
    events_compared: int
    side_by_side: list[tuple[int | None, int | None]]
    findings: list[FindingRow]


DOCUMENTS: dict[str, type[msgspec.Struct]] = {
    "audit": AuditDocument,
    "inspection": InspectionDocument,
    "classification": ClassificationDocument,
    "formats": FormatsDocument,
    "policy-check": PolicyCheckDocument,
    "graph": GraphDocument,
    "explanation": ExplanationDocument,
    "matching": MatchingDocument,
    "comparison": ComparisonDocument,
}
