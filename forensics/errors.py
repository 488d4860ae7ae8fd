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
    │   └── NonReplayableTraceError     carries the verdict
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


class ConfigurationError(ForensicsError):
    """An option or a configuration file is wrong."""

    code = "configuration_invalid"
