"""What does the operator allow a rerun to do, and what does the operator know about the tools?"""

from __future__ import annotations

import datetime
from enum import StrEnum
from fnmatch import fnmatchcase

import msgspec

from forensics.core.classes import Effect, Scope, Stability


class BasePolicy(StrEnum):
    """The two shipped policies. Under both, results come from the record.

    STRICT clears only traces whose every call is idempotent, vouched for and injectable; INJECT clears every trace
    whose calls are all injectable and in which no value of the agent's own making may decide a branch.
    """

    STRICT = "strict"
    INJECT = "inject"


class TrustEntry(msgspec.Struct, frozen=True):
    """Whose own declarations count: a server by name (pinned to version and inventory digest), or a shipped pack."""

    server: str | None = None
    version: str | None = None
    tools_digest: str | None = None
    pack: str | None = None
    expires: datetime.date | None = None


class ToolEntry(msgspec.Struct, frozen=True):
    """What the operator says about one tool (glob allowed), or about its calls with certain arguments.

    `arguments` maps JSON Pointers (RFC 6901) to required values; an entry with conditions speaks of the calls that
    meet all of them and of no others. `file` and `line` say where it stands.
    """

    tool: str
    because: str
    by: str
    server: str | None = None
    arguments: dict[str, object] = {}
    effect: Effect | None = None
    result: Stability | None = None
    scope: Scope | None = None
    expires: datetime.date | None = None
    line: int | None = None
    file: str = ""


class Policy(msgspec.Struct, frozen=True):
    """A policy as it is applied. `digest` is the SHA-256 of the policy's canonical content; `expired` names the entries
    that the as-of date leaves out; `as_of` is set only when an entry carries a date.
    """

    name: str
    base: BasePolicy
    digest: str
    trust: tuple[TrustEntry, ...] = ()
    tools: tuple[ToolEntry, ...] = ()
    execute: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    as_of: datetime.date | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """What its author wrote in his own words, and which every document repeats."""
        return (self.name, *(text for entry in self.tools for text in (entry.because, entry.by)))

    def trusts_server(self, server: str | None, version: str | None = None, inventory: str | None = None) -> bool:
        """Whether this server's own declarations count. A pin to a version (a glob) or to an inventory is met only by
        the operator's own inventory (`--tools`), never by what a trace states.
        """
        return server is not None and any(
            t.server == server and _is_met(t.version, version) and (t.tools_digest in (None, inventory))
            for t in self.trust
        )

    def trusts_pack(self, pack: str) -> bool:
        """Whether this shipped pack vouches for the tools that it names exactly."""
        return any(t.pack == pack for t in self.trust)


def _is_met(pin: str | None, version: str | None) -> bool:
    return pin is None or (version is not None and fnmatchcase(version, pin))
