"""Which fields does a report have? Its sixteen parts (docs/reference/report.md) as frozen types, each said with how it
is known.

A statement is recorded (an id or a field of the evidence says so), derived (a rule says so, which it names) or inferred
(values were matched, and it names another explanation). A number says of how many. What no trace can show is a blank.
"""

from __future__ import annotations

import msgspec

from forensics.report.documents import (
    BasisRow,
    CountsRow,
    Digest,
    EvidenceRow,
    Place,
    PolicyName,
    Program,
    ReasonRow,
)

REPORT = "forensics/report/v1"


class Share(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`count` of `of`, and what is counted."""

    what: str
    count: int
    of: int


class Statement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One sentence and how it is known. Derived and inferred ones name the `rule` behind them; inferred ones at least
    one other explanation. `steps` and `locators` are the evidence.
    """

    text: str
    basis: str
    steps: list[int] = []
    locators: list[Place] = []
    rule: str | None = None
    alternatives: list[str] = []


class Contents(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much of the trace's own text the report holds: `none`, `preview` (`budget` characters a text) or `full`
    (budget null), and whether secrets were redacted in it.
    """

    level: str
    budget: int | None
    redacted: bool


# 1. header -----------------------------------------------------------------------------------------------------------


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """Which report this is. Null is a blank that a person fills in; the report's own digest and the time at which it
    was written stand in the manifest of a bundle, never in the report.
    """

    title: str
    case_id: str | None
    author: str | None
    version: str | None
    status: str | None


# 2. verdict ----------------------------------------------------------------------------------------------------------


class Decider(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What decides a refusal: the reason that says most, in words, and where it stands."""

    code: str
    message: str
    step: int | None = None
    tool: str | None = None
    locator: Place | None = None
    returned: str | None = None
    handles: list[str] = []
    more: int = 0


class TraceVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What may be done again with one trace. `level` is static (nothing may be rerun), inject (results come from the
    record) or dynamic (its tools may run again).
    """

    trace: int
    level: str
    policy: str
    cleared: bool
    statement: Statement
    decided_by: Decider | None
    strict: list[ReasonRow]
    inject: list[ReasonRow]
    advice: str


class VerdictBox(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict over everything. `exit_code` is the one with which `forensics audit` ends on the same evidence."""

    statement: Statement
    exit_code: int
    cleared: Share
    coverage: Share
    traces: list[TraceVerdict]


# 4. effects ----------------------------------------------------------------------------------------------------------


class Target(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The argument that most likely names what was acted on: inferred from the argument's name."""

    value: str
    pointer: str
    basis: str = "inferred"


class EffectRow(msgspec.Struct, frozen=True, kw_only=True, rename={"class_": "class"}):
    """One call that changed something, or may have. `outcome` is confirmed (the result holds what the call made, or
    says that it was done), answered (any other result), failed, denied or unknown; `times` counts the calls
    of this trace with the same tool, arguments and outcome, itself included, and `alike` are the steps of the first 20.
    """

    trace: int
    step: int
    result_step: int | None
    at: str | None
    tool: str
    agent: str
    target: Target | None
    arguments: str | None
    result: str | None
    handles: list[str]
    outcome: str
    outcome_basis: str
    absence: str | None
    effect: str
    class_: str
    rests_on: str
    rules: list[str]
    approvals: list[int]
    times: int
    alike: list[int]
    locator: Place

    @property
    def came_to_nothing(self) -> bool:
        """Whether the call was denied or failed, as its record or its result says."""
        return self.outcome in {"denied", "failed"}


class Effects(msgspec.Struct, frozen=True, kw_only=True):
    """What took effect, as far as the record tells."""

    calls: Share
    by_outcome: list[Share]
    statement: Statement
    rows: list[EffectRow]


# 5. timeline ---------------------------------------------------------------------------------------------------------


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """Whose steps stand in one line: `kind` is people, agent, model or tool. Lanes go by trace, then as they begin."""

    index: int
    trace: int
    kind: str
    name: str
    steps: int


class Event(msgspec.Struct, frozen=True, kw_only=True, rename={"class_": "class"}, omit_defaults=True, gc=False):
    """One step. `at` is the recorded time in UTC: of a call when it began or, where that is not told, when it was asked
    for, of its result when it ended. No clock is adjusted, the order is causal. `call_id` is the recorded id of the
    call, `call` and `result` are its steps; `said` is the text as far as the budget goes, `size` all its bytes.
    """

    index: int
    trace: int
    lane: int
    kind: str
    locator: Place
    name: str = ""
    agent: str = ""
    at: str | None = None
    occurrence: str | None = None
    call_id: str | None = None
    call: int | None = None
    result: int | None = None
    class_: str | None = None
    labels: list[str] = []
    effect: str | None = None
    outcome: str | None = None
    decision: str | None = None
    said: str | None = None
    size: int = 0
    findings: list[int] = []
    deciding: bool = False


class Edge(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One step led to another: why, and how that is known."""

    source: int
    target: int
    kind: str
    basis: str


class ThreadUse(msgspec.Struct, frozen=True, kw_only=True, rename={"written": "as"}, omit_defaults=True, gc=False):
    """One later place of a value."""

    step: int
    role: str
    written: str
    basis: str
    pointer: str | None = None
    echo: bool = False


class Thread(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A value that a call brought into the trace, from where it was minted (or, of a reference, read) to each use."""

    index: int
    trace: int
    value: str
    kind: str
    minted: int
    pointer: str
    tool: str
    uses: list[ThreadUse]


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """Every step in causal order, what led to what, and the way of each value. `edges` leaves out mere sequence where
    something else joins the two steps, and everything of a trace beyond 50,000 steps.
    """

    timed: Share
    edged: Share
    lanes: list[Lane]
    events: list[Event]
    edges: list[Edge]
    threads: list[Thread]


# 6. cause ------------------------------------------------------------------------------------------------------------


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """What led to the step that a reader asks about first, and what it led to: the edges nearest first, of `before` and
    `after` steps of the slices.
    """

    trace: int
    step: int
    why_this_step: str
    before: Share
    after: Share
    led_to_it: list[Statement]
    it_led_to: list[Statement]


# 7. findings ---------------------------------------------------------------------------------------------------------


class Suppressed(msgspec.Struct, frozen=True, kw_only=True):
    """Why a finding does not count, who says so, and until when (null: for ever)."""

    because: str
    by: str
    until: str


class ReportFinding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One finding. `fingerprint` is the same whenever the same fact is found in the same trace, wherever it stands;
    `new` says whether the baseline has it not (null: no baseline), `counts` whether it makes `--fail-on` end with 1.
    `alternatives` are other explanations.
    """

    index: int
    code: str
    severity: str
    confidence: str
    basis: str
    message: str
    fingerprint: str
    steps: list[int]
    locators: list[Place]
    tags: list[str] = []
    trace: int | None = None
    alternatives: list[str] = []
    counts: bool = False
    new: bool | None = None
    suppressed: Suppressed | None = None


class FindingRule(msgspec.Struct, frozen=True, kw_only=True):
    """The rule behind a code: what it means, why it matters, what it does not prove, what to do, and to which entries
    of lists of risks it belongs.
    """

    code: str
    group: str
    severity: str
    means: str
    matters: str
    does_not_prove: str
    do: str
    tags: list[str]
    findings: int


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The other report that this one is compared with: its digest, and how the findings of both lie."""

    digest: str
    new: Share
    gone: list[str]
    gone_codes: list[str]


class Suppressions(msgspec.Struct, frozen=True, kw_only=True):
    """The suppressions in force: how many findings they cover, and which entries are over or cover nothing."""

    digest: str
    as_of: str
    covered: Share
    expired: list[str]
    unused: list[str]


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """Every finding, by severity, then as the audit lists them, and the rules behind their codes. `counting` are those
    of the severity `fail_on` or above that nobody suppressed and that no baseline has.
    """

    by_severity: list[Share]
    fail_on: str
    counting: Share
    rows: list[ReportFinding]
    rules: list[FindingRule]
    baseline: Baseline | None
    suppressions: Suppressions | None


# 8. tools ------------------------------------------------------------------------------------------------------------


class ReportTool(msgspec.Struct, frozen=True, kw_only=True, rename={"class_": "class"}):
    """One tool of one trace with its class, what that rests on, and who decided."""

    trace: int
    name: str
    server: str | None
    calls: int
    class_: str
    labels: list[str]
    effect: str
    result: str
    scope: str
    rests_on: str
    statement: Statement
    basis: list[BasisRow]
    missing: list[str]


# 9. oversight --------------------------------------------------------------------------------------------------------


class ApprovalRow(msgspec.Struct, frozen=True, kw_only=True):
    """One approval: the steps that asked, decided and ran under it, what was shown and what ran."""

    trace: int
    name: str
    requests: list[int]
    decisions: list[int]
    decided: str
    note: str
    calls: list[int]
    shown: str | None
    executed: str | None
    basis: str
    findings: list[int]


class Oversight(msgspec.Struct, frozen=True, kw_only=True):
    """Who approved what; never whether that was meaningful."""

    effects_with_approval: Share
    statement: Statement
    approvals: list[ApprovalRow]


# 10. data quality ----------------------------------------------------------------------------------------------------


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of damage or oddity of the evidence: how often, whether a call may hide in it, and where first."""

    code: str
    means: str
    count: int
    hides: bool
    basis: str
    severity: str
    locators: list[Place]


class DataQuality(msgspec.Struct, frozen=True, kw_only=True):
    """How far the record carries. `completeness` has, over the calls, the six facts that PCI DSS 10.2.2 asks of a
    record: who, what, when, how it ended, from where, on what.
    """

    records: Share
    counts: CountsRow
    completeness: list[Share]
    rows: list[Quality]
    statement: Statement


# 11. replay log ------------------------------------------------------------------------------------------------------


class RepeatedCall(msgspec.Struct, frozen=True, kw_only=True):
    """What a rerun that the evidence holds did with one call."""

    step: int
    tool: str
    did: str
    executed: bool
    result: str
    original: str


class RecordedRerun(msgspec.Struct, frozen=True, kw_only=True):
    """A rerun that the evidence holds."""

    trace: int
    of: str
    basis: str
    rule: str
    calls: list[RepeatedCall]


class ReplayLog(msgspec.Struct, frozen=True, kw_only=True):
    """What was run again: by this program for this report (nothing, ever), and by others as the evidence tells."""

    statement: Statement
    recorded: list[RecordedRerun]


# 12. custody ---------------------------------------------------------------------------------------------------------


class Custody(msgspec.Struct, frozen=True, kw_only=True):
    """Which evidence this rests on and how anybody can check it."""

    inputs: list[EvidenceRow]
    unchanged: Statement
    check: list[str]


# 13. privacy ---------------------------------------------------------------------------------------------------------


class SecretRow(msgspec.Struct, frozen=True, kw_only=True):
    """One credential, or all personal data of one kind: the group (credential or personal), the kind, the keyed
    fingerprint of the one value (null where there are more), and where it stands; never the value.
    """

    group: str
    kind: str
    fingerprint: str | None
    steps: list[int]
    locators: list[Place]


class Privacy(msgspec.Struct, frozen=True, kw_only=True):
    """What of the people and secrets in the trace this report holds. `searched` counts the inputs of which every byte
    was looked through.
    """

    statement: Statement
    searched: Share
    withheld: Share
    secrets: list[SecretRow]


# 14. obligations -----------------------------------------------------------------------------------------------------


class Obligation(msgspec.Struct, frozen=True, kw_only=True):
    """One duty of a source: `here` is evidence, partly or not_in_a_trace, `parts` where the evidence for it stands in
    this report, and `also_needed` what a person must add. It is never said that a duty is met.
    """

    source: str
    reference: str
    needs: str
    here: str
    parts: list[str]
    also_needed: str
    as_of: str


# 15. blanks ----------------------------------------------------------------------------------------------------------


class Blank(msgspec.Struct, frozen=True, kw_only=True):
    """Something that no trace shows and that a person fills in. `value` is always null here."""

    name: str
    question: str
    asked_by: str
    value: str | None


# 16. regression ------------------------------------------------------------------------------------------------------


class Regression(msgspec.Struct, frozen=True, kw_only=True):
    """How this run is kept as a test: the id of the saved case (a blank until there is one) and the commands, which run
    as they stand; `with_agent` are those for a trace that does not hold its agent, whose code is to be named in place
    of `MODULE:FUNCTION`. There are none for a trace of which nothing may be rerun.
    """

    case_id: str | None
    commands: list[str]
    with_agent: list[str] = []


# the whole -----------------------------------------------------------------------------------------------------------


class ReportTrace(msgspec.Struct, frozen=True, kw_only=True):
    """One run; everywhere else it is named by its `index`."""

    index: int
    id: str
    evidence: int
    format: str
    agents: list[str]
    steps: int
    first_step: int
    calls: int
    started: str | None
    ended: str | None
    rerun_of: str | None
    also_in: list[str]


class ReportDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The incident report: sixteen parts behind a head. The renderers see nothing else."""

    schema: str
    tool: Program
    policy: PolicyName
    rules: Digest
    contents: Contents
    traces: list[ReportTrace]
    header: Header
    verdict: VerdictBox
    happened: list[Statement]
    effects: Effects
    timeline: Timeline
    causes: list[Cause]
    findings: Findings
    tools: list[ReportTool]
    oversight: Oversight
    quality: DataQuality
    replay: ReplayLog
    custody: Custody
    privacy: Privacy
    obligations: list[Obligation]
    blanks: list[Blank]
    regression: Regression
