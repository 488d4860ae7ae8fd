"""What does a worker do? It audits the places of one batch, each for itself, by the rules and the policy it was told.

A worker may be another process or another machine. It is given names and digests, and the bytes of the rule packs and
policy files that a user added, for it may not see the disk they stand on; it loads rules and policy itself, and refuses
to judge where they are not those by which all others judge. Terms and answers travel as JSON, so that a worker of
another version can still say that it is one.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import threading
from typing import TYPE_CHECKING

import msgspec

from forensics import __version__
from forensics.api import Judges, Options, examine_by, exit_code
from forensics.core.evidence import Severity
from forensics.core.limits import Limits
from forensics.corpus.result import SHAPE, Result, result_of
from forensics.errors import ConfigurationError, ForensicsError
from forensics.report.documents import Fault
from forensics.rules.engine import rules_with
from forensics.rules.packs import extra_files
from forensics.rules.policy_file import PolicyText, policy_of, policy_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

Place = tuple[str, str]
"""Where an evidence stands, and its name in documents."""

Unit = tuple[Place, ...]
"""What is audited together: mostly one place; several where they tell of one run."""

_AT_WORK = threading.Lock()
"""Threads of one process are no faster than one of them at this work, and would take the memory of many."""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """By what is judged: the options; the digests of rules, policy and program that all workers must have; and the
    files that a user added (`packs`, as name and content, and the `texts` of the policy), from which a worker makes
    both.

    The digest of a policy is that of its text, so its entries that are over (`expired`) count beside it: a clearance
    that rested on one is given anew, or no more.
    """

    rules: str
    policy: str
    expired: tuple[str, ...]
    packs: tuple[tuple[str, bytes], ...]
    texts: tuple[PolicyText, ...]
    as_of: datetime.date
    input_format: str | None
    redact: bool
    limits: Limits
    fail_on: Severity
    program: str = __version__

    @property
    def digest(self) -> str:
        """One digest for all that a result depends on beside the evidence."""
        limits = msgspec.json.encode(self.limits, order="sorted").decode()
        shown = f"{self.input_format} {self.redact}"
        told = (self.rules, self.policy, *self.expired, self.program, f"{SHAPE}", shown, limits, str(self.fail_on))
        return hashlib.sha256("\n".join(told).encode()).hexdigest()

    def judges(self) -> Judges:
        """Rules and policy as they come to be here. Raises RuleError where a file is broken."""
        return Judges(rules_with(self.packs), policy_of(self.texts, self.as_of))

    def options(self) -> Options:
        """How to examine, beside rules and policy."""
        return Options(input_format=self.input_format, as_of=self.as_of, limits=self.limits, redact=self.redact)


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a worker says of a batch: its results, or why it refused all of it, or by which kind of error it failed."""

    results: list[Result] = []
    refused: Fault | None = None
    failed: str = ""


class FailedError(Exception):
    """A worker failed on a batch; the text is the kind of error it met."""


class _Spoken(msgspec.Struct, frozen=True):
    """What terms of any version begin with."""

    program: str


_encode = msgspec.json.Encoder().encode
_answer = msgspec.json.Decoder(Answer).decode


def terms_of(options: Options, fail_on: Severity) -> Terms:
    """The terms that these options come to here. Raises RuleError for a broken rule pack or policy."""
    packs, texts, day = tuple(extra_files(options.rules)), policy_texts(options.policy), options.date()
    by = Judges(rules_with(packs), policy_of(texts, day))
    return Terms(
        rules=by.rules.digest,
        policy=by.policy.digest,
        expired=by.policy.expired,
        packs=packs,
        texts=texts,
        as_of=day,
        input_format=options.input_format,
        redact=options.redact,
        limits=options.limits,
        fail_on=fail_on,
    )


def question(terms: Terms) -> bytes:
    """The terms as they travel."""
    return _encode(terms)


def answer(units: Sequence[Unit], asked: bytes) -> bytes:
    """What a worker does: an `Answer`, as JSON, to a batch under terms (`question`). It raises nothing but what ends a
    process, so that any other error is one of whoever carries question and answer.
    """
    try:
        with _AT_WORK:
            told = Answer(audit_batch(units, _terms(asked)))
    except ForensicsError as error:
        told = Answer(refused=Fault(code=error.code, message=error.message, hint=error.hint))
    except Exception as error:  # noqa: BLE001 - a batch that we fail on is tried in pieces, and ends no worker
        told = Answer(failed=type(error).__name__)
    return _encode(told)


def results_in(told: bytes) -> list[Result]:
    """The results in an answer. Raises ConfigurationError where the worker refused, and FailedError where it failed."""
    said = _answer(told)
    if said.refused is not None:
        raise ConfigurationError(said.refused.message, hint=said.refused.hint, code=said.refused.code)
    if said.failed:
        raise FailedError(said.failed)
    return said.results


def audit_batch(units: Sequence[Unit], terms: Terms) -> list[Result]:
    """The result of each unit, in their order.

    Raises ConfigurationError where this worker has other rules, another policy or another version.
    """
    _same_program(terms.program)
    by = _judges(terms)
    if (by.rules.digest, by.policy.digest) != (terms.rules, terms.policy):
        raise _refused("a worker has other rules or another policy than the one that asks it")
    options, out = terms.options(), []
    for unit in units:
        examination = examine_by(unit, options, by)
        traces = (analysis.trace for analysis in examination.analyses)
        out.append(result_of(examination.audit(), traces, exit_code(examination, terms.fail_on)))
    return out


@functools.lru_cache(maxsize=2)
def _terms(asked: bytes) -> Terms:
    _same_program(msgspec.json.decode(asked, type=_Spoken).program)
    return msgspec.json.decode(asked, type=Terms)


@functools.lru_cache(maxsize=2)
def _judges(terms: Terms) -> Judges:
    return terms.judges()


def _same_program(asking: str) -> None:
    if asking != __version__:
        raise _refused(f"a worker has version {__version__} of this program, and {asking} asks it")


def _refused(message: str) -> ConfigurationError:
    return ConfigurationError(message, hint="install the same version on every machine")
