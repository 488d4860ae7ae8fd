"""Which errors can this library raise, and what does each carry?

One tree, drawn here in full (the style of httpx):

    ForensicsError                      code, message, hint, locator
    ├── EvidenceError                   the evidence could not be read
    │   ├── UnknownFormatError          nothing recognises it
    │   ├── AmbiguousFormatError        two readers claim it alike
    │   ├── UnsupportedVersionError     known format, unknown generation
    │   ├── CorruptEvidenceError        known format, broken beyond reading
    │   └── LimitExceededError          a limit of docs/reference/limits.md
    ├── RuleError                       a rule pack or policy file: path:line:col
    ├── ReplayRefused                   a rerun was asked for and refused
    │   ├── NonReplayableTraceError     carries the verdict
    │   ├── IncompleteBlueprintError    the trace does not hold enough to rebuild its agent
    │   ├── MissingModelOutputError     recorded mode, and what the model said is not recorded
    │   ├── StaleClearanceError         evidence, rules, policy or plan changed since the clearance
    │   ├── PausedRunError              the run waits for a person, and a rerun can hold no pause
    │   └── IsolationUnavailableError   the plan needs a cell that this machine can't build
    ├── ReplayFault                     a rerun began and could not go on
    │   ├── InjectionMissError          nothing recorded answers a request
    │   ├── ResultMismatchError         what a tool really returned is not what is recorded
    │   ├── ReplayTimeoutError          the agent did not end in its time
    │   └── CellFaultError              the agent's side of the cell broke the rules of its channel
    ├── EngineUnavailableError          nobody is there, or able, to do the work
    ├── ReportError                     an output that can't be written where it was asked for
    └── ConfigurationError              options and forensics.toml
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.core.evidence import Locator
    from forensics.core.verdict import Verdict


class ForensicsError(Exception):
    """The root of every error that this library raises on purpose.

    `code` is stable and machine readable, `hint` says what to do next, `locator` says where it stands (or None).
    """

    code = "error"

    def __init__(
        self, message: str, *, hint: str = "", locator: Locator | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.locator = locator
        self.code = code or type(self).code


class EvidenceError(ForensicsError):
    """The evidence could not be read."""

    code = "evidence_unreadable"


class UnknownFormatError(EvidenceError):
    """No reader recognises the evidence."""

    code = "format_unknown"


class AmbiguousFormatError(EvidenceError):
    """Two readers recognise the evidence equally well."""

    code = "format_ambiguous"


class UnsupportedVersionError(EvidenceError):
    """The format is known and this generation of it is not."""

    code = "version_unsupported"


class CorruptEvidenceError(EvidenceError):
    """The format is known and the bytes are broken beyond reading."""

    code = "evidence_corrupt"


class LimitExceededError(EvidenceError):
    """The evidence exceeds a documented limit."""

    code = "limit_exceeded"


class RuleError(ForensicsError):
    """A rule pack or a policy file is wrong; `faults` holds every fault as `path:line:col: text`."""

    code = "rule_invalid"

    def __init__(self, message: str, *, hint: str = "", faults: Sequence[str] = ()) -> None:
        super().__init__(message, hint=hint)
        self.faults = tuple(faults)


class ReplayRefused(ForensicsError):
    """A rerun was asked for and refused."""

    code = "replay_refused"


class NonReplayableTraceError(ReplayRefused):
    """The trace may not be rerun under the policy; `verdict` holds every reason."""

    code = "trace_not_replayable"

    def __init__(self, message: str, verdict: Verdict, *, hint: str = "", locator: Locator | None = None) -> None:
        super().__init__(message, hint=hint, locator=locator)
        self.verdict = verdict


class ReportError(ForensicsError):
    """An output was asked for in a place where it can't be, or may not be, written."""

    code = "output_unwritable"


class IncompleteBlueprintError(ReplayRefused):
    """The trace does not hold enough to rebuild the agent; `missing` says what, and `locator` where it would stand."""

    code = "incomplete_blueprint"

    def __init__(
        self, message: str, missing: Sequence[str] = (), *, hint: str = "", locator: Locator | None = None
    ) -> None:
        super().__init__(message, hint=hint, locator=locator)
        self.missing = tuple(missing)


class MissingModelOutputError(ReplayRefused):
    """Recorded mode needs what the model said, and the trace does not hold it (all of it)."""

    code = "model_output_missing"


class StaleClearanceError(ReplayRefused):
    """A byte of evidence, rules, policy or plan changed between clearing and running; the message says of which."""

    code = "stale_clearance"


class PausedRunError(ReplayRefused):
    """The run paused for a person. A rerun has no checkpointer and holds no pause; the hint says how to get past it."""

    code = "run_paused"


class IsolationUnavailableError(ReplayRefused):
    """The plan needs a cell that this machine can't build; the message says what is missing."""

    code = "isolation_unavailable"


class ReplayFault(ForensicsError):
    """A rerun began and could not go on."""

    code = "replay_fault"


class InjectionMissError(ReplayFault):
    """Nothing recorded answers a request: the rerun stops before anything is asked."""

    code = "replay_miss"


class ResultMismatchError(ReplayFault):
    """A tool was really run, and what it returned is not what is recorded."""

    code = "result_mismatch"


class ReplayTimeoutError(ReplayFault):
    """The agent did not end in its time."""

    code = "replay_timeout"


class CellFaultError(ReplayFault):
    """The agent's side of the cell sent what is no message, sent too much, or takes nothing any more."""

    code = "cell_fault"


class EngineUnavailableError(ForensicsError):
    """Nobody does the work of a corpus: the address does not answer, no worker is there, or none can do it."""

    code = "engine_unavailable"


class ConfigurationError(ForensicsError):
    """An option or a configuration file is wrong."""

    code = "configuration_invalid"
