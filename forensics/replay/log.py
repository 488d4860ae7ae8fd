"""What happened in a rerun, in order? Every message, turn and call, and what became of each: the log that all that is
said of a rerun is taken from.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

from forensics.core.trace import StepKind
from forensics.replay.ports import ModelAnswer
from forensics.replay.sameness import Agreement


class Disposition(StrEnum):
    """What happened to one call (CONTRACT)."""

    INJECTED = "injected"
    NORMALISED = "normalised"
    EXECUTED = "executed"
    OVERRIDDEN = "overridden"
    REFUSED = "refused"
    MISSED = "missed"


class Told(msgspec.Struct, frozen=True):
    """Something that a model was shown beside results, or that the agent was given."""

    kind: StepKind
    agent: str
    value: Any


class Earlier(msgspec.Struct, frozen=True):
    """A rebuilt agent was shown what its model said before the run, or what a call returned: a step of the recorded
    trace, what it says, the calls that it asks for (name, arguments, id), and of a result the tool and the call's id.
    """

    step: int
    kind: StepKind
    agent: str
    value: Any
    calls: tuple[tuple[str, Any, str | None], ...] = ()
    tool: str = ""
    call_id: str | None = None


class Turned(msgspec.Struct, frozen=True, kw_only=True):
    """A model answered. `step` is that of the recorded turn (None: it was asked live), `new` says how many messages
    were new in its request (None: it named none).
    """

    agent: str
    answer: ModelAnswer
    step: int | None
    new: int | None = None


class Called(msgspec.Struct, frozen=True, kw_only=True):
    """A call and what became of it. `row` is the recorded call that it was matched with, `turn` and `index` say which
    turn of the rerun asked for it (-1: none); `value` is what the agent was given, `shown` the message of it, and
    `returned` what a function that stood in for the tool returned.
    """

    tool: str
    arguments: Any
    disposition: Disposition
    turn: int
    index: int
    agent: str = ""
    call_id: str | None = None
    row: int | None = None
    value: Any = None
    shown: Any = None
    failed: bool = False
    agreement: Agreement | None = None
    returned: Any = None
    mapped: tuple[str, ...] = ()


class GuardedBy(msgspec.Struct, frozen=True):
    """A guardrail decided: whether it let something pass, and whether it ran `again` or its recorded decision was given
    (of the recorded step).
    """

    name: str
    agent: str
    passed: bool
    again: bool
    step: int | None


class Minted(msgspec.Struct, frozen=True):
    """A value of the run's own making was given: what (time, random, id), the value, and whether the plan holds it."""

    what: str
    value: Any
    planned: bool


Entry: TypeAlias = Told | Earlier | Turned | Called | GuardedBy | Minted
