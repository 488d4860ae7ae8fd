"""What is this rerun meant to do? The plan: mode, agent, changes, stand-ins for tools, and what a miss means.

A plan is data and has a digest, to which a clearance is bound: what was planned is what runs. Code is in it by the
digest of its source, never as an object.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Any

import msgspec

from forensics.core.jsonvalue import canonical


class Mode(StrEnum):
    """Where a model's words come from: the record; a model asked again, as alike as it can be; a model asked freely."""

    RECORDED = "recorded"
    DETERMINISTIC = "deterministic"
    LIVE = "live"


class OnMiss(StrEnum):
    """What happens where no recording answers: the rerun stops; or (in live mode only) the call is refused, the model
    is told so, and the result is no reproduction.
    """

    ERROR = "error"
    LIVE = "live"


class Imported(msgspec.Struct, frozen=True):
    """A module that comes along with a function: its name, and the SHA-256 of its source."""

    module: str
    source_sha256: str


class Code(msgspec.Struct, frozen=True, omit_defaults=True):
    """A function that the user handed in: `module:function`, the SHA-256 of the module's source, and the modules that
    come along out of the same folders by import statements.
    """

    target: str
    source_sha256: str
    imports: tuple[Imported, ...] = ()


class Stub(msgspec.Struct, frozen=True):
    """What stands in for a tool's results: one value for every call or, with `each`, one for each call in order."""

    tool: str
    values: tuple[Any, ...]
    each: bool = False


class Override(msgspec.Struct, frozen=True):
    """A function that stands in for a tool, inside the cell."""

    tool: str
    code: Code


class Modifications(msgspec.Struct, frozen=True, kw_only=True):
    """What is changed of the recorded run: its system prompt, its input, settings of its model by name, and values of
    its state by JSON Pointer, which needs a fork: `/messages` are those that its model has been shown by then.
    """

    prompt: str | None = None
    input: Any = None
    settings: dict[str, Any] = {}
    state: dict[str, Any] = {}

    def names(self) -> tuple[str, ...]:
        """What is changed, in words of the command line."""
        told = [name for name in ("prompt", "input") if getattr(self, name) is not None]
        return (*told, *(f"settings.{name}" for name in self.settings), *(f"state{pointer}" for pointer in self.state))


class Minted(msgspec.Struct, frozen=True):
    """What the clock and chance of the run answer: first these, in order, and then values made from the seed."""

    times: tuple[float, ...] = ()
    randoms: tuple[float, ...] = ()
    ids: tuple[str, ...] = ()
    seed: int = 0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a rerun is meant to do.

    `agent` is None for the blueprint, the loop that is rebuilt from the trace alone. `overrides` and `stubs` stand in
    for tools, and `execute` names the tools whose handed-in function may really run as the policy allows it. `fork` is
    the step up to which history is replayed before the changes count, and `endpoint` and `provider` say where a
    model is asked and in which wire format.
    """

    mode: Mode = Mode.RECORDED
    agent: Code | None = None
    paths: tuple[str, ...] = ()
    overrides: tuple[Override, ...] = ()
    stubs: tuple[Stub, ...] = ()
    execute: tuple[str, ...] = ()
    modifications: Modifications = Modifications()
    on_miss: OnMiss = OnMiss.ERROR
    fork: int | None = None
    endpoint: str | None = None
    provider: str | None = None
    minted: Minted = Minted()

    @property
    def digest(self) -> str:
        """The SHA-256 of the plan. `paths` say where code is found and not what it is; its digests do that."""
        told = msgspec.to_builtins(msgspec.structs.replace(self, paths=()))
        return hashlib.sha256(canonical(told)).hexdigest()

    @property
    def code(self) -> tuple[Code, ...]:
        """The code that was handed in: the agent, and what stands in for tools."""
        return (*(() if self.agent is None else (self.agent,)), *(one.code for one in self.overrides))

    @property
    def executes(self) -> bool:
        """Whether a tool is really run, which needs the wall."""
        return bool(self.overrides)

    def changes(self) -> tuple[str, ...]:
        """Everything that makes this rerun another run than the recorded one, in words; () for a plain rerun."""
        stands_in = (*(f"tool {one.tool}" for one in self.overrides), *(f"stub {one.tool}" for one in self.stubs))
        return (*self.modifications.names(), *stands_in)
