"""Which fields do a regression case and a run of cases have? `forensics case` writes them.

A case is one line of a JSONL file. `input`, `expected_output`, `expected_trajectory` and `expected_tool_calls` have the
names and shapes that evaluate() of FastAIAgent reads in a row of a dataset, and `trace_id`, `source_trace_id`,
`fixed_trace_id`, `fork_step` and `modifications` those of its paper trail; the rest is ours.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from forensics.report.documents import Program

CASE = "forensics/case/v1"
CASE_RUN = "forensics/case-run/v1"


class ExpectedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call as evaluate() compares it."""

    name: str
    arguments: Any


class ExpectedTuple(msgspec.Struct, frozen=True, kw_only=True):
    """One tuple that a rerun must show again: the digest and the last words of its prompt, what the model said with the
    call, and the call with its result. `outcome` is that of the document `inspection`.
    """

    occurrence: str
    prompt_sha256: str
    prompt: str
    said: str | None
    tool: str
    arguments: Any
    outcome: str
    result: Any


class CaseSource(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence that answers the rerun, known by its digest, and the trace in it. `name` is looked for beside the
    case file and where `--evidence` says; it is never a path.
    """

    name: str
    sha256: str
    size: int
    format: str
    trace: str


class StubRow(msgspec.Struct, frozen=True, kw_only=True):
    """Values that stand in for a tool's results; `each` says that they are one a call."""

    tool: str
    values: Annotated[list[Any], msgspec.Meta(min_length=1)]
    each: bool


class CaseDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A rerun kept as a regression case. `changes` is what the rerun changes of the recorded run (prompt, input,
    settings, state), `modifications` the whole trail of changes since the first run, for a person. `agent` says what
    ran (`blueprint` or `callable`) and never which code: that comes from whoever runs the case, as that of `overrides`
    (the tools that code stands in for). `redacted` says that secrets stand in it by kind and fingerprint alone. The
    digests are those of policy, rules and plan when it was saved.
    """

    schema: str
    name: str
    input: Any
    expected_output: Any
    expected_trajectory: list[str]
    expected_tool_calls: list[ExpectedCall]
    expected_tuples: list[ExpectedTuple]
    trace_id: str
    source_trace_id: str
    fixed_trace_id: str
    fork_step: int | None
    modifications: dict[str, Any]
    changes: dict[str, Any]
    source: CaseSource
    agent: str
    stubs: list[StubRow]
    overrides: list[str]
    redacted: bool
    policy: str
    policy_digest: str
    rules_digest: str
    plan_sha256: str


class CaseDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which a rerun is not what the case expects. `what` is input, output, prompt, said, arguments, outcome,
    result, missing or extra (a call), or the code of what stopped or refused the rerun; `expected` and `got` are short
    JSON texts at `pointer`, null where nothing stands.
    """

    what: str
    occurrence: str | None
    tool: str | None
    pointer: str | None
    expected: str | None
    got: str | None
    message: str


class CaseRow(msgspec.Struct, frozen=True, kw_only=True):
    """One case: `result` is passed, failed (it ran and differs), refused (it did not run) or untold (its evidence was
    not found, or is not what was saved). `known` says that it was so in the baseline; `isolation` is the level of the
    cell.
    """

    name: str
    line: int
    result: str
    known: bool
    calls: int
    isolation: str | None
    differences: list[CaseDifference]


class CaseCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many cases ended how; `regressions` are those that did not pass and are not known."""

    cases: int
    passed: int
    failed: int
    refused: int
    untold: int
    regressions: int


class CaseRunDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A run of regression cases. `result` is passed, failed (a regression) or untold; `mended` names cases that did not
    pass in the baseline and do now, `gone` those that the baseline has and the file has not.
    """

    schema: str
    tool: Program
    result: str
    agent: str
    counts: CaseCounts
    cases: list[CaseRow]
    mended: list[str]
    gone: list[str]


CASE_DOCUMENTS: dict[str, type[msgspec.Struct]] = {"case": CaseDocument, "case-run": CaseRunDocument}
