"""What is one rerun made from, and what do its parts share while it runs? The recorded run, the plan, and the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from forensics.analysis.run import TraceAnalysis
from forensics.core.jsonvalue import written
from forensics.core.renaming import Renaming
from forensics.core.trace import Call
from forensics.replay import frames
from forensics.replay.guards import Guard
from forensics.replay.plan import Plan
from forensics.replay.script import Script
from forensics.replay.waiting import Waiting
from forensics.rules.engine import RuleSet

if TYPE_CHECKING:
    from forensics.replay.log import Entry
    from forensics.replay.stops import Stopped

Present: TypeAlias = Callable[[Call, Any], Any]


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What a rerun is made from: the analysis of the recorded run, the rules, the plan, the guardrails of its agent,
    and what the user said in it. With a `script` the agent is one that was rebuilt, and what stands beside its turns is
    given as recorded; `fork_turn` is the first turn at which changes count. `present` is a port of tests only: it may
    show the agent another value than the recorded one.
    """

    analysis: TraceAnalysis
    rules: RuleSet
    plan: Plan
    guards: tuple[Guard, ...] = ()
    later: tuple[Any, ...] = ()
    lane: str = ""
    fork_turn: int = 0
    script: Script | None = None
    may_execute: frozenset[int] = frozenset()
    present: Present | None = None


class Course:
    """How a rerun goes: its log, what its model waits for, the renaming learnt, and why it has ended."""

    def __init__(self, rules: RuleSet) -> None:
        self.log: list[Entry] = []
        self.waiting = Waiting()
        self.renaming = Renaming(rules.is_id_key)
        self.stopped: Stopped | None = None

    def stop(self, stopped: Stopped) -> frames.Stop:
        """End it; the first reason stays."""
        self.stopped = self.stopped or stopped
        return frames.Stop(self.stopped.message)

    def given(self) -> bytes:
        """Everything that the agent has been given so far, as one text in which values can be looked up."""
        return written(self.log)
