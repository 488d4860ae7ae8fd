"""May this trace be rerun, and if not, why? A verdict is a list of reasons; only the empty list can be cleared."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from forensics.core.evidence import Locator
from forensics.core.policy import BasePolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Level(StrEnum):
    """The most that any rerun of the trace may be, with what the policy file knows."""

    STATIC = "static"
    INJECT = "inject"
    DYNAMIC = "dynamic"


class Reason(msgspec.Struct, frozen=True):
    """One reason to refuse: a code of the contract, where it stands, and a sentence."""

    code: str
    message: str
    step: int | None = None
    tool: str | None = None
    locator: Locator | None = None


class Weighed(Protocol):
    """A reason, of an analysis or of a document."""

    @property
    def code(self) -> str:
        """Its code."""

    @property
    def step(self) -> int | None:
        """Where it stands."""


R = TypeVar("R", bound=Weighed)

# The known harms first: what is only unknown is no less a reason to refuse, and says less to a person.
_HARM = {effect: rank for rank, effect in enumerate(("irreversible", "repeating", "overwriting", "unknown", "none"))}


def deciding(injecting: Sequence[R], asked: Sequence[R], effect_at: Callable[[int], str | None]) -> R:
    """The reason that says most, of those under `inject` and of those under the policy that was asked for: what refuses
    even an injecting rerun, then the call that does the most harm, and what is only not vouched for last. `effect_at`
    gives the effect of the call that was asked for in a step (None: there is none).
    """

    def weight(reason: R) -> tuple[bool, int]:
        effect = None if reason.step is None else effect_at(reason.step)
        return reason.code == "unvouched", len(_HARM) if effect is None else _HARM[effect]

    return min(injecting or asked, key=weight)


class Verdict(msgspec.Struct, frozen=True):
    """The reasons under both policies. Strict refuses whatever inject refuses, so its reasons include them."""

    trace: str
    policy: BasePolicy
    strict: tuple[Reason, ...]
    inject: tuple[Reason, ...]
    digests: tuple[str, ...] = ()

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The reasons under the policy that was asked for."""
        return self.strict if self.policy is BasePolicy.STRICT else self.inject

    @property
    def cleared(self) -> bool:
        """Whether the policy that was asked for has no reason to refuse."""
        return not self.reasons

    @property
    def level(self) -> Level:
        """The most that a rerun may be: dynamic if strict clears, else inject if inject does, else static."""
        if not self.strict:
            return Level.DYNAMIC
        return Level.STATIC if self.inject else Level.INJECT

    def clear(self) -> Clearance | None:
        """Exchange an empty list of reasons for a clearance; None where there is any reason."""
        return None if self.reasons else Clearance(_SEAL, self)


_SEAL: Any = object()


class Clearance:
    """The sealed permission that a rerun takes. Made only by `Verdict.clear()`; bound to the digests of evidence,
    rules, policy and, once it is made for one, plan (the idea of fickling's loader: what was checked is what runs).
    """

    __slots__ = ("_plan", "_verdict")

    def __init__(self, seal: object, verdict: Verdict, plan: str | None = None) -> None:
        if seal is not _SEAL or verdict.reasons:
            message = "a clearance is made by Verdict.clear() and from no other place"
            raise TypeError(message)
        object.__setattr__(self, "_verdict", verdict)
        object.__setattr__(self, "_plan", plan)

    def for_plan(self, digest: str) -> Clearance:
        """The same permission for the plan of that digest, and for no other."""
        return Clearance(_SEAL, self._verdict, digest)

    def __setattr__(self, name: str, value: object) -> None:
        message = "a clearance can't be changed"
        raise AttributeError(message)

    @property
    def trace(self) -> str:
        """The id of the trace that was cleared."""
        return self._verdict.trace

    @property
    def policy(self) -> BasePolicy:
        """The policy under which it was cleared."""
        return self._verdict.policy

    @property
    def digests(self) -> tuple[str, ...]:
        """SHA-256 digests, in the order evidence, rules, policy and, once it is made for one, plan."""
        return self._verdict.digests if self._plan is None else (*self._verdict.digests, self._plan)

    _verdict: Verdict
    _plan: str | None
