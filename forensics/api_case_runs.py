"""Does a run still do what it did when it was kept as a case? The run of a file of cases, as a verb of the library.

A case is rerun free of charge: its model's words and every result come from the record, and a miss stops. The agent's
code comes from whoever calls, never from the case; its evidence is known by digest, and looked for by name beside the
file of cases and where the caller says.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import msgspec

from forensics.api import Options
from forensics.api_cases import BLUEPRINT, CALLABLE, reasons, what_it_did
from forensics.api_replay import rerun
from forensics.core.digests import sha256_of
from forensics.core.sanitise import one_line
from forensics.errors import ConfigurationError, EvidenceError, IsolationUnavailableError, ReplayRefused
from forensics.replay.code import code_of, search_paths
from forensics.replay.plan import Code, Modifications, Override, Plan, Stub
from forensics.report.case_differences import case_differences, told
from forensics.report.case_documents import CaseDifference, CaseDocument, CaseRow, CaseRunDocument, CaseSource
from forensics.report.case_files import read_cases
from forensics.report.cases import FAILED, PASSED, REFUSED, UNTOLD, case_run_document
from forensics.rules.policy_file import SHIPPED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.report.case_files import Kept

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
    replayed = rerun(evidence, _options(kept.case, setup.options), _plan(kept.case, setup))
    done = replayed.rerun
    if done is None:
        return _row(kept, REFUSED, *(told(*one) for one in reasons(replayed)))
    differences = case_differences(kept.case, what_it_did(replayed))
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


# what a case is run with ---------------------------------------------------------------------------------------------


def _found(source: CaseSource, folder: Path, places: tuple[Path, ...]) -> Path:
    """The file with the bytes of the case's evidence. Its name alone is looked for, in these folders; a path that a
    case might hold leads nowhere.
    """
    name = Path(source.name).name
    tried = [place / name if place.is_dir() else place for place in (*places, folder)]
    there = [path for path in tried if _is_file(path)]
    for path in there:
        if sha256_of(path) == source.sha256:
            return path
    shown = one_line(name, 60)
    if there:
        message = f"{shown} is not the evidence that the case was saved from: its SHA-256 is another one"
        raise EvidenceError(message, code="evidence_changed")
    message = f"the evidence {shown} of the case is not beside it"
    raise EvidenceError(message, hint="--evidence says where it lies", code="evidence_missing")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # no name of a file: too long, say
        return False


def _options(case: CaseDocument, options: Options) -> Options:
    """How the evidence is read and judged: by the caller's policy, else by the shipped one of that name."""
    if options.policy is None and case.policy not in SHIPPED:
        message = f"the case was saved under the policy {one_line(case.policy, 60)}, which is no shipped one"
        raise ConfigurationError(message, hint="name its file with --policy", code="policy_missing")
    policy = case.policy if options.policy is None else options.policy
    return msgspec.structs.replace(options, policy=policy, trace=case.source.trace, redact=case.redacted)


def _plan(case: CaseDocument, setup: Setup) -> Plan:
    """The plan of a case. Raises ConfigurationError where code that it needs was not handed in."""
    missing = [tool for tool in case.overrides if tool not in {one.tool for one in setup.overrides}]
    if missing:
        named = one_line(missing[0], 60)
        message = f"the case was saved with code of yours in the place of {named}, which a case never names"
        hint = f"hand it in again: --tool {named}=MODULE:FUNCTION"
        raise ConfigurationError(message, hint=hint, code="code_missing")
    if case.agent == CALLABLE and setup.agent is None:
        message = "the case was saved with an agent of yours, which a case never names"
        raise ConfigurationError(message, hint="name it with --agent MODULE:FUNCTION", code="code_missing")
    return Plan(
        agent=setup.agent,
        paths=setup.paths,
        overrides=tuple(one for one in setup.overrides if one.tool in case.overrides),
        stubs=tuple(Stub(one.tool, tuple(one.values), one.each) for one in case.stubs),
        modifications=_modifications(case),
        fork=case.fork_step,
    )


def _modifications(case: CaseDocument) -> Modifications:
    try:
        return msgspec.convert(case.changes, Modifications)
    except msgspec.ValidationError as error:
        message = f"the changes of the case: {one_line(str(error), 200)}"
        raise ConfigurationError(message, code="case_invalid") from None
