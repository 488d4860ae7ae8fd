"""Does a run still do what it did when it was kept as a case? Cases as verbs of the library: keep one, run a file.

A case is rerun free of charge: its model's words and every result come from the record, and a miss stops. The agent's
code comes from whoever calls, never from the case; its evidence is known by digest, and looked for by name beside the
file of cases and where the caller says.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import msgspec

from forensics.api import Options
from forensics.api_replay import Replayed, rerun
from forensics.core.jsonvalue import decode_embedded, spell_surrogates, strict_value, value_of
from forensics.core.sanitise import one_line
from forensics.core.trace import StepKind
from forensics.errors import ConfigurationError, EvidenceError, IsolationUnavailableError, ReplayRefused
from forensics.replay.code import code_of, search_paths
from forensics.replay.plan import Code, Mode, Modifications, OnMiss, Override, Plan, Stub
from forensics.report.case_differences import Got, case_differences, told
from forensics.report.case_documents import (
    CASE,
    CaseDifference,
    CaseDocument,
    CaseRow,
    CaseRunDocument,
    CaseSource,
    StubRow,
)
from forensics.report.case_files import read_cases, sha256_of, with_case
from forensics.report.cases import FAILED, PASSED, REFUSED, UNTOLD, calls_of, case_run_document, tuples_of
from forensics.report.compose import Examined
from forensics.report.inspection import inspection_document
from forensics.report.outputs import write_output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.core.trace import Trace
    from forensics.formats.places import Where
    from forensics.report.case_documents import ExpectedTuple
    from forensics.report.case_files import Kept

BLUEPRINT, CALLABLE = "blueprint", "callable"
_SHIPPED = frozenset({"strict", "inject"})
_SHORT = 12
_ENDS = {PASSED: 0, FAILED: 1, UNTOLD: 3}


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of cases needs beside the cases: the agent's code and that of stand-ins for tools (None, (): the
    blueprint of each trace), the folders in which code lies, where evidence is looked for beside the file of cases, and
    how it is read. A policy of the options stands over the one that a case was saved under.
    """

    agent: Code | None = None
    overrides: tuple[Override, ...] = ()
    paths: tuple[str, ...] = ()
    evidence: tuple[Path, ...] = ()
    options: Options = Options()


class Saved(NamedTuple):
    """The rerun that was to be kept, and the case; None where it was refused or stopped, so that there is no case."""

    replayed: Replayed
    case: CaseDocument | None


# keeping -------------------------------------------------------------------------------------------------------------


def save_case(evidence: Where, options: Options | None = None, plan: Plan | None = None, name: str = "") -> Saved:
    """Rerun a run as its plan says, free of charge, and keep what it did as a case (default name: the beginning of the
    trace's id).

    Raises as `rerun` does, and ConfigurationError for a plan that asks a model: rerun that first, write it as a trace,
    and keep the trace.
    """
    options, plan = options or Options(), plan or Plan()
    if plan.mode is not Mode.RECORDED or plan.on_miss is not OnMiss.ERROR:
        hint = "write that rerun as a trace (forensics replay --trace-out FILE), and save FILE as a case"
        raise ConfigurationError("a case is rerun from the record, without a model", hint=hint)
    replayed = rerun(evidence, options, plan)
    if _ended(replayed) is not None:
        return Saved(replayed, None)
    return Saved(replayed, _case(replayed, name))


def keep_case(case: CaseDocument, to: Path, evidence: Path | None = None, *, force: bool = False) -> list[Path]:
    """Add a case to a file, or put it in the place of the one of its name with `force`; with `evidence` its file is
    copied beside it. Returns what was written.

    Raises ConfigurationError where the name is taken or the file holds anything else, and ReportError where a file
    can't be written; a copy never replaces another file.
    """
    before = to.read_bytes() if to.is_file() else b""
    data = with_case(before, case, one_line(to.name, 80), replace=force)
    copied = None if evidence is None else _copied(case, to.parent / Path(case.source.name).name, evidence)
    write_output(to, data, force=True)
    return [to] if copied is None else [to, copied]


def _copied(case: CaseDocument, to: Path, evidence: Path) -> Path | None:
    if to.is_file() and sha256_of(to) == case.source.sha256:
        return None
    data = evidence.read_bytes()
    if hashlib.sha256(data).hexdigest() != case.source.sha256:
        raise EvidenceError(f"{one_line(to.name, 60)} changed while it was rerun", code="evidence_changed")
    write_output(to, data)
    return to


def _case(replayed: Replayed, name: str) -> CaseDocument:
    prepared, done = replayed.prepared, replayed.rerun
    trace, plan = prepared.analysis.trace, prepared.plan
    rerun_id = "" if done is None else done.id
    tuples = _tuples(replayed)
    return CaseDocument(
        schema=CASE,
        name=spell_surrogates(name or trace.id[:_SHORT]),
        input=_input(plan, trace),
        expected_output=None if done is None else strict_value(done.output),
        expected_trajectory=[one.tool for one in tuples],
        expected_tool_calls=calls_of(tuples),
        expected_tuples=list(tuples),
        trace_id=rerun_id,
        source_trace_id=spell_surrogates(trace.rerun_of or trace.id),
        fixed_trace_id=rerun_id,
        fork_step=plan.fork,
        modifications=_trail(trace, plan),
        changes=_changes(plan.modifications),
        source=CaseSource(
            name=prepared.examined.name,
            sha256=prepared.examined.sha256,
            size=prepared.examined.size,
            format=trace.format,
            trace=spell_surrogates(trace.id),
        ),
        agent=BLUEPRINT if plan.agent is None else CALLABLE,
        stubs=[StubRow(tool=one.tool, values=strict_value(list(one.values)), each=one.each) for one in plan.stubs],
        overrides=[one.tool for one in plan.overrides],
        policy=prepared.policy.name,
        policy_digest=prepared.policy.digest,
        rules_digest=prepared.rules.digest,
        plan_sha256=plan.digest,
    )


def _input(plan: Plan, trace: Trace) -> Any:
    """What the run was given: the changed input, else what the user said first."""
    if plan.modifications.input is not None:
        return strict_value(plan.modifications.input)
    first = next(iter(trace.rows(StepKind.USER)), None)
    payload = None if first is None else trace.payload[first]
    return None if payload is None else strict_value(value_of(payload))


def _changes(modifications: Modifications) -> dict[str, Any]:
    """What is changed of the recorded run, and nothing else."""
    written = msgspec.to_builtins(modifications)
    return {name: strict_value(value) for name, value in written.items() if value not in (None, {})}


def _trail(trace: Trace, plan: Plan) -> dict[str, Any]:
    """How the kept run differs from the one that was recorded first: what the rerun that the trace holds had changed,
    and what this one changes. For a person; nothing is done with it.
    """
    return {**_plan_in(trace), **_changes(plan.modifications), **({"stubs": s} if (s := _stubbed(plan)) else {})}


def _stubbed(plan: Plan) -> list[str]:
    return [*(one.tool for one in plan.stubs), *(one.tool for one in plan.overrides)]


def _plan_in(trace: Trace) -> dict[str, Any]:
    """The modifications in the plan that heads a rerun written as a log; {} for any other trace."""
    if trace.rerun_of is None or not len(trace) or trace.kind[0] != StepKind.OTHER:
        return {}
    payload = trace.payload[0]
    head = None if payload is None else value_of(payload)
    text = head.get("plan") if isinstance(head, dict) else None
    decoded = decode_embedded(text) if isinstance(text, str) else None
    plan = decoded.value if decoded is not None else None
    changed = plan.get("modifications") if isinstance(plan, dict) else None
    return (
        {name: value for name, value in changed.items() if value not in (None, {})} if isinstance(changed, dict) else {}
    )


# code that the caller hands in ---------------------------------------------------------------------------------------


class HandedIn(TypedDict):
    """The parts of a `Setup` that are code."""

    agent: Code | None
    overrides: tuple[Override, ...]
    paths: tuple[str, ...]


def handed_in(agent: str | None, tools: Sequence[str] = (), paths: Sequence[str] = ()) -> HandedIn:
    """The code behind `module:function` (the agent) and `name=module:function` (stand-ins for tools), looked for in
    these folders (default: the working folder). Raises ConfigurationError for what is not there; nothing is imported.
    """
    folders = search_paths(paths)
    pairs = [tool.partition("=") for tool in tools]
    wrong = next((tool for tool, (name, _, target) in zip(tools, pairs, strict=True) if not name or not target), None)
    if wrong is not None:
        raise ConfigurationError(f"{one_line(wrong, 80)!r} is not NAME=MODULE:FUNCTION")
    overrides = tuple(Override(name, code_of(target, folders)) for name, _, target in pairs)
    code = None if agent is None else code_of(agent, folders)
    return HandedIn(agent=code, overrides=overrides, paths=folders if code or overrides else ())


# running -------------------------------------------------------------------------------------------------------------


def run_cases(path: Path, setup: Setup | None = None, baseline: CaseRunDocument | None = None) -> CaseRunDocument:
    """Rerun every case of a file. Against a baseline (the document of an earlier run) only what is new fails.

    Raises ConfigurationError for a file that holds anything but cases.
    """
    setup = setup or Setup()
    rows = [run_case(one, path.parent, setup) for one in read_cases(path)]
    agent = BLUEPRINT if setup.agent is None else f"{setup.agent.target} (sha256 {setup.agent.source_sha256[:_SHORT]})"
    return case_run_document(rows, agent, baseline)


def cases_exit_code(document: CaseRunDocument) -> int:
    """0 where nothing is a regression, 1 where a case fails or is refused, 3 where that could not be told."""
    return _ENDS[document.result]


def run_case(kept: Kept, folder: Path, setup: Setup) -> CaseRow:
    """Rerun one case; `folder` is that of its file."""
    try:
        return _run(kept, _found(kept.case.source, folder, setup.evidence), setup)
    except (EvidenceError, ConfigurationError, IsolationUnavailableError) as error:
        return _row(kept, UNTOLD, told(error.code, f"{error.message}{f' ({error.hint})' if error.hint else ''}"))
    except ReplayRefused as error:
        return _row(kept, REFUSED, told(error.code, error.message))


def _run(kept: Kept, evidence: Path, setup: Setup) -> CaseRow:
    case = kept.case
    replayed = rerun(evidence, _options(case, setup.options), _plan(case, setup))
    if replayed.rerun is None:
        return _row(kept, REFUSED, *(told(*one) for one in _reasons(replayed)))
    done = replayed.rerun
    got = Got(
        input=_input(replayed.prepared.plan, replayed.prepared.analysis.trace),
        output=strict_value(done.output),
        tuples=_tuples(replayed),
        stopped=_ended(replayed),
        asked=replayed.kinds is None or "model" in replayed.kinds,
    )
    differences = case_differences(case, got)
    row = _row(kept, FAILED if differences else PASSED, *differences)
    return msgspec.structs.replace(row, calls=len(done.calls), isolation=done.isolation.level.value)


def _row(kept: Kept, result: str, *differences: CaseDifference) -> CaseRow:
    return CaseRow(
        name=kept.case.name,
        line=kept.line,
        result=result,
        known=False,
        calls=0,
        isolation=None,
        differences=list(differences),
    )


def _found(source: CaseSource, folder: Path, places: tuple[Path, ...]) -> Path:
    """The file with the bytes of the case's evidence. Its name alone is looked for, in these folders; a path that a
    case might hold leads nowhere.
    """
    name = Path(source.name).name
    tried = [place / name if place.is_dir() else place for place in (*places, folder) if name or not place.is_dir()]
    there = [path for path in tried if path.is_file()]
    for path in there:
        if sha256_of(path) == source.sha256:
            return path
    shown = one_line(name, 60)
    if there:
        message = f"{shown} is not the evidence that the case was saved from: its SHA-256 is another one"
        raise EvidenceError(message, code="evidence_changed")
    message = f"the evidence {shown} of the case is not beside it"
    raise EvidenceError(message, hint="--evidence says where it lies", code="evidence_missing")


def _options(case: CaseDocument, options: Options) -> Options:
    """How the evidence is read and judged: by the caller's policy, else by the shipped one of that name."""
    if options.policy is None and case.policy not in _SHIPPED:
        message = f"the case was saved under the policy {one_line(case.policy, 60)}, which is no shipped one"
        raise ConfigurationError(message, hint="name its file with --policy", code="policy_missing")
    policy = case.policy if options.policy is None else options.policy
    return msgspec.structs.replace(options, policy=policy, trace=case.source.trace)


def _plan(case: CaseDocument, setup: Setup) -> Plan:
    given = {one.tool for one in setup.overrides}
    missing = [tool for tool in case.overrides if tool not in given]
    if missing:
        named = one_line(missing[0], 60)
        message = f"the case was saved with code of yours in the place of {named}, which a case never names"
        hint = f"hand it in again: --tool {named}=MODULE:FUNCTION"
        raise ConfigurationError(message, hint=hint, code="code_missing")
    if case.agent == CALLABLE and setup.agent is None:
        message = "the case was saved with an agent of yours, which a case never names"
        raise ConfigurationError(message, hint="name it with --agent MODULE:FUNCTION", code="code_missing")
    try:
        changes = msgspec.convert(case.changes, Modifications)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"the changes of the case: {one_line(str(error), 200)}", code="case_invalid") from None
    return Plan(
        agent=setup.agent,
        paths=setup.paths,
        overrides=tuple(one for one in setup.overrides if one.tool in case.overrides),
        stubs=tuple(Stub(one.tool, tuple(one.values), one.each) for one in case.stubs),
        modifications=changes,
        fork=case.fork_step,
    )


# what a rerun did ----------------------------------------------------------------------------------------------------


def _tuples(replayed: Replayed) -> tuple[ExpectedTuple, ...]:
    """The tuples of the rerun, as an inspection of its trace tells them."""
    done, analysis, prepared = replayed.rerun, replayed.analysis, replayed.prepared
    if done is None or analysis is None:
        return ()
    examined = Examined("rerun", "", 0, done.reading, (analysis,))
    return tuples_of(inspection_document([examined], prepared.policy, prepared.rules.digest))


def _ended(replayed: Replayed) -> tuple[str, str] | None:
    """What ended the rerun before its agent did, as a code and a sentence; None where nothing did."""
    done = replayed.rerun
    if done is None:
        return next(iter(_reasons(replayed)), ("replay_refused", "the rerun was refused"))
    if done.stopped is not None:
        return done.stopped.code, done.stopped.message
    return None if done.broke is None else ("agent_error", f"the agent raised {done.broke}")


def _reasons(replayed: Replayed) -> list[tuple[str, str]]:
    """Why a rerun was refused: what the verdict says, and what the rerun itself lacks."""
    verdict = replayed.prepared.analysis.verdict
    own = () if replayed.refusal is None else replayed.refusal.reasons
    return [*((one.code, one.message) for one in verdict.reasons), *((one.code, one.message) for one in own)]
