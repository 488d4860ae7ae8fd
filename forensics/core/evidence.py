"""Where does a fact stand? Evidence (an input artefact), locators into it, and gaps in it."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Severity(StrEnum):
    """How much a finding matters, from a remark to an incident."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 for info up to 4 for critical: what `--fail-on` compares."""
        return _RANKS[self]


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}


class Basis(StrEnum):
    """How a statement is known: an id in the record says so, the format's rule says so, or values were matched."""

    RECORDED = "recorded"
    DERIVED = "derived"
    INFERRED = "inferred"


class Locator(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One place in the evidence. Lines count from 1, offsets (bytes) from 0; `pointer` is a JSON Pointer (RFC 6901)
    inside the record, and passes through a JSON text held in a string as if the text were a value.
    """

    evidence: int = -1
    line: int | None = None
    offset: int | None = None
    length: int | None = None
    member: str | None = None
    table: str | None = None
    row: int | str | None = None
    pointer: str | None = None


class Evidence(msgspec.Struct, frozen=True):
    """One input artefact, never written to; identified by SHA-256 and size (bytes). `name` is a file name, no path."""

    index: int
    name: str
    sha256: str
    size: int
    format: str = ""
    dialect: str | None = None
    compression: str | None = None
    member_sha256: str | None = None


class Gap(msgspec.Struct, frozen=True):
    """Something that could not be read or is missing. `hides` says that a call, a result or a turn may stand there:
    such a gap refuses every rerun (CONTRACT: what refuses). `trace` is None when it cannot be told whose it is.
    """

    code: str
    message: str
    locator: Locator | None = None
    trace: str | None = None
    hides: bool = True
    basis: Basis = Basis.RECORDED
    severity: Severity | None = None
