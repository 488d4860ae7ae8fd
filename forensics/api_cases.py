"""What does a run do, so that it can be held to it? A rerun kept as a regression case, as a verb of the library."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from forensics.api import Options, options_asked
from forensics.api_replay import Replayed, plan_asked, rerun
from forensics.core.digests import sha256_of
from forensics.core.jsonvalue import decode_embedded, spell_surrogates, strict_value, value_of
from forensics.core.sanitise import one_line
from forensics.core.trace import StepKind
from forensics.errors import ConfigurationError, EvidenceError
from forensics.replay.plan import Mode, Modifications, OnMiss, Plan
from forensics.report.case_differences import Got
from forensics.report.case_documents import CASE, CaseDocument, CaseSource, StubRow
from forensics.report.case_files import with_case
from forensics.report.cases import calls_of, tuples_of
from forensics.report.compose import Examined
from forensics.report.inspection import inspection_document
from forensics.report.outputs import write_output

if TYPE_CHECKING:
    from forensics.core.trace import Trace
    from forensics.formats.places import Where
    from forensics.report.case_documents import ExpectedTuple

BLUEPRINT, CALLABLE = "blueprint", "callable"
_SHORT = 12


class Saved(NamedTuple):
    """The rerun that was to be kept, and the case; None where it was refused or stopped, so that there is no case."""

    replayed: Replayed
    case: CaseDocument | None


def save_case(evidence: Where, options: Options | None = None, plan: Plan | None = None, name: str = "") -> Saved:
    """Rerun a run as its plan says, free of charge, and keep what it did as a case (default name: the beginning of the
    trace's id).

    Raises as `rerun` does, and ConfigurationError for a plan that asks a model: rerun that first, write it as a trace,
    and keep the trace.
    """
    options, plan = options_asked(options), plan_asked(plan)
    if plan.mode is not Mode.RECORDED or plan.on_miss is not OnMiss.ERROR:
        hint = "write that rerun as a trace (forensics replay --trace-out FILE), and save FILE as a case"
        raise ConfigurationError("a case is rerun from the record, without a model", hint=hint)
    replayed = rerun(evidence, options, plan)
    got = what_it_did(replayed)
    return Saved(replayed, None if got.stopped is not None else _case(replayed, got, name))


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
    """The copy of the evidence; None where it stands there already."""
    if to.is_file() and sha256_of(to) == case.source.sha256:
        return None
    try:
        data = evidence.read_bytes()
    except OSError as error:
        message = f"{one_line(str(evidence), 80)} can't be copied: {error.strerror}"
        raise EvidenceError(message, hint="only a file can be copied beside its case") from None
    if hashlib.sha256(data).hexdigest() != case.source.sha256:
        raise EvidenceError(f"{one_line(to.name, 60)} changed while it was rerun", code="evidence_changed")
    write_output(to, data)
    return to


# what a rerun did ----------------------------------------------------------------------------------------------------


def what_it_did(replayed: Replayed) -> Got:
    """Input, output and tuples of a rerun, and what refused, stopped or broke it; without the secrets of the record,
    unless they were asked for. A value has the same name in every rerun of one evidence.
    """
    done, prepared = replayed.rerun, replayed.prepared
    got = Got(
        input=_input(prepared.plan, prepared.analysis.trace),
        output=None if done is None else strict_value(done.output),
        tuples=_tuples(replayed),
        stopped=_ended(replayed),
        asked=replayed.kinds is None or "model" in replayed.kinds,
    )
    return prepared.shown(got)


def _input(plan: Plan, trace: Trace) -> Any:
    """What the run was given: the changed input, else what the user said first."""
    if plan.modifications.input is not None:
        return strict_value(plan.modifications.input)
    first = next(iter(trace.rows(StepKind.USER)), None)
    payload = None if first is None else trace.payload[first]
    return None if payload is None else strict_value(value_of(payload))


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
        return reasons(replayed)[0]
    if done.stopped is not None:
        return done.stopped.code, done.stopped.message
    return None if done.broke is None else ("agent_error", f"the agent raised {done.broke}")


def reasons(replayed: Replayed) -> list[tuple[str, str]]:
    """Why a rerun was refused, each as a code and a sentence: what the verdict says, then what the rerun lacks."""
    verdict = replayed.prepared.analysis.verdict
    own = () if replayed.refusal is None else replayed.refusal.reasons
    found = [*((one.code, one.message) for one in verdict.reasons), *((one.code, one.message) for one in own)]
    return replayed.prepared.shown(found) or [("replay_refused", "the rerun was refused")]


# the case ------------------------------------------------------------------------------------------------------------


def _case(replayed: Replayed, got: Got, name: str) -> CaseDocument:
    prepared = replayed.prepared
    trace, plan = prepared.analysis.trace, prepared.plan
    rerun_id = "" if replayed.rerun is None else replayed.rerun.id
    return CaseDocument(
        schema=CASE,
        name=spell_surrogates(name or trace.id[:_SHORT]),
        input=got.input,
        expected_output=got.output,
        expected_trajectory=[one.tool for one in got.tuples],
        expected_tool_calls=calls_of(got.tuples),
        expected_tuples=list(got.tuples),
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
        redacted=prepared.options.redact,
        policy=prepared.policy.name,
        policy_digest=prepared.policy.digest,
        rules_digest=prepared.rules.digest,
        plan_sha256=plan.digest,
    )


def _changes(modifications: Modifications) -> dict[str, Any]:
    """What is changed of the recorded run, and nothing else."""
    written = msgspec.to_builtins(modifications)
    return {name: strict_value(value) for name, value in written.items() if value not in (None, {})}


def _trail(trace: Trace, plan: Plan) -> dict[str, Any]:
    """How the kept run differs from the one that was recorded first: what the rerun that the trace holds had changed,
    and what this one changes. For a person; nothing is done with it.
    """
    stood_in = [*(one.tool for one in plan.stubs), *(one.tool for one in plan.overrides)]
    return {**_planned(trace), **_changes(plan.modifications), **({"stubs": stood_in} if stood_in else {})}


def _planned(trace: Trace) -> dict[str, Any]:
    """The modifications in the plan that heads a rerun written as a log; {} for any other trace."""
    if trace.rerun_of is None or not len(trace):
        return {}
    payload = trace.payload[0]
    head = None if payload is None else value_of(payload)
    text = head.get("plan") if isinstance(head, dict) else None
    decoded = decode_embedded(text) if isinstance(text, str) else None
    plan = None if decoded is None else decoded.value
    changed = plan.get("modifications") if isinstance(plan, dict) else None
    held = changed if isinstance(changed, dict) else {}
    return {name: strict_value(value) for name, value in held.items() if value not in (None, {})}
