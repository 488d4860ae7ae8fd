"""What does a worker do? It audits the places of one batch, each for itself, by the rules and the policy it was told.

A worker may be another process or another machine: it is given names and digests, loads rules and policy itself, and
refuses to judge where they are not those by which all others judge.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from forensics import __version__
from forensics.api import Options, examine_by, exit_code, judges
from forensics.core.evidence import Severity
from forensics.corpus.result import SHAPE, Result, result_of
from forensics.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

Place = tuple[str, str]
"""Where an evidence stands, and its name in documents."""

Unit = tuple[Place, ...]
"""What is audited together: mostly one place; several where they tell of one run."""


class Terms(msgspec.Struct, frozen=True):
    """By what is judged: the options, and the digests of rules, policy and program that all workers must have. The
    digest of a policy is that of its text, so its entries that are over (`expired`) count beside it: a clearance that
    rested on one is given anew, or no more.
    """

    options: Options
    fail_on: Severity
    rules: str
    policy: str
    expired: tuple[str, ...] = ()
    program: str = __version__

    @property
    def digest(self) -> str:
        """One digest for all that a result depends on beside the evidence."""
        limits = msgspec.json.encode(self.options.limits, order="sorted").decode()
        shown = f"{self.options.input_format} {self.options.redact}"
        told = (self.rules, self.policy, *self.expired, self.program, f"{SHAPE}", shown, limits, str(self.fail_on))
        return hashlib.sha256("\n".join(told).encode()).hexdigest()


def terms_of(options: Options, fail_on: Severity) -> Terms:
    """The terms that these options come to here. Raises RuleError for a broken rule pack or policy."""
    by = judges(options)
    dated = msgspec.structs.replace(options, as_of=options.date())
    return Terms(dated, fail_on, by.rules.digest, by.policy.digest, by.policy.expired)


def audit_batch(units: Sequence[Unit], terms: Terms) -> list[Result]:
    """The result of each unit, in their order.

    Raises ConfigurationError where this worker has other rules, another policy or another version.
    """
    by = judges(terms.options)
    here = (by.rules.digest, by.policy.digest, __version__)
    if here != (terms.rules, terms.policy, terms.program):
        message = "a worker has other rules, another policy or another version than the one that asks it"
        raise ConfigurationError(message, hint="install the same version and files on every machine")
    out = []
    for unit in units:
        examination = examine_by(unit, terms.options, by)
        traces = (analysis.trace for analysis in examination.analyses)
        out.append(result_of(examination.audit(), traces, exit_code(examination, terms.fail_on)))
    return out
