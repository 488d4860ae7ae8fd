"""Which records of a plain log are told at once, by their keys and their kind, and of which steps are they?

A record is of a usual shape where its keys and its kind leave but questions that its values answer (`asks`); every
other record is told by itself. Both ways go by the tables of `plain_records`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import TYPE_CHECKING

import msgspec

from forensics.core.trace import Outcome, StepKind
from forensics.core.tuples import outcome_said
from forensics.formats.shared.fields import is_like_calls
from forensics.formats.shared.groups import Alike, Group, Names
from forensics.formats.shared.plain_records import (
    LONGEST_TYPE,
    STEP_KINDS,
    Plan,
    Plans,
    ending,
    is_said_with_a_call,
    kind_of,
    names_arguments,
)
from forensics.formats.shared.wholeness import damaged_arguments, damaged_results

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forensics.core.trace import Payload
    from forensics.formats.shared.fields import Fields

_SHAPES = 4096


class Part(msgspec.Struct, frozen=True, gc=False):
    """One step of a record: its kind, and the fields in which its name, its id and what it says may stand; `own_ids`
    are those of an id where there is none in `ids`.
    """

    kind: StepKind
    names: Names = ()
    ids: Names = ()
    own_ids: Names = ()
    says: Names = ()


Asks = Callable[[Plan, Group], list[int]]
"""A question to the records of a shape: of which of them more is to be said than a stretch of events can."""


class Shape(msgspec.Struct, frozen=True, gc=False, eq=False):
    """Of which steps the records with some keys and kind are, and what their values are asked for."""

    parts: tuple[Part, ...]
    asks: tuple[Asks, ...]
    plan: Plan

    def odd(self, group: Group) -> set[int]:
        """Which of these records have to be told by themselves."""
        return {row for asks in self.asks for row in asks(self.plan, group)}

    def outcomes(self, group: Group) -> list[Outcome]:
        """The outcome that each of these records tells, if they are results."""
        plan = self.plan
        if not any(plan[role] for role in ("status", "error", "failed", "went_well", "exit_code")):
            return [Outcome.RECORDED] * len(group.records)
        told = zip(group.records, group.texts(plan["status"]), group.payloads(plan["error"]), strict=True)
        return [_outcome(plan, fields, status.lower(), error) for fields, status, error in told]


def _outcome(plan: Plan, fields: Fields, status: str, error: Payload | None) -> Outcome:
    return outcome_said(**ending(plan, fields, status, error))


BY_ITSELF = Shape((), (), {})
"""That of each record that is told by itself."""


# which shapes are usual ----------------------------------------------------------------------------------------------


def _in_parts(plan: Plan, group: Group) -> list[int]:
    return group.holding(plan["model_body"])


def _words_lost(plan: Plan, group: Group) -> list[int]:
    return damaged_results(group.payloads(plan["model_text"]))


def _hides_a_call(plan: Plan, group: Group) -> list[int]:
    held = group.holding(plan["unread"])
    return [row for row in held if any(is_like_calls(group.records[row][name]) for name in plan["unread"])]


def _names_no_tool(plan: Plan, group: Group) -> list[int]:
    return _silent(group.payloads(plan["model_tool"]))


def _arguments_lost(plan: Plan, group: Group) -> list[int]:
    return damaged_arguments(group.payloads(plan["arguments"]))


def _result_lost(plan: Plan, group: Group) -> list[int]:
    return damaged_results(group.payloads(plan["result"] + plan["error"]))


def _says_nothing(plan: Plan, group: Group) -> list[int]:
    return _silent(group.payloads(plan["said"]))


def _speaks_in_parts(plan: Plan, group: Group) -> list[int]:
    return group.holding(plan["content"])


def _silent(payloads: Sequence[Payload | None]) -> list[int]:
    return [row for row, payload in enumerate(payloads) if payload is None] if None in payloads else []


_ODD_ROLES = {
    "model": ("flags", "model_calls", "finish", "status", "function", "server", "disposition"),
    "call": ("flags", "model_calls", "function", "server", "disposition"),
    "result": ("flags", "disposition"),
    "user": (),
    "system": (),
    "error": (),
}
"""By kind, the roles of fields about which more is to be said than a stretch of events can: such a record is told by
itself. So is each of another kind.
"""
_ASKS: dict[str, tuple[Asks, ...]] = {
    "model": (_in_parts, _words_lost, _hides_a_call),
    "asking": (_in_parts, _words_lost, _hides_a_call, _names_no_tool, _arguments_lost),
    "call": (_arguments_lost,),
    "result": (_result_lost,),
    "user": (_says_nothing, _speaks_in_parts),
    "system": (_says_nothing, _speaks_in_parts),
    "error": (_says_nothing,),
}


def _parts(kind: str, plan: Plan) -> tuple[Part, ...]:
    """The steps of a record of that kind; none where it has none that a stretch can hold."""
    turn = Part(StepKind.MODEL, plan["model"], says=plan["model_text"])
    call = Part(StepKind.TOOL_CALL, plan["call_tool"], plan["call_id"], says=plan["arguments"])
    if kind == "asking":
        return (turn, call)
    if kind == "model":
        return () if names_arguments(plan) else (turn,)
    if kind == "call":
        return (call,)
    if kind == "result":
        says = plan["result"] + plan["error"]
        shown = Part(StepKind.TOOL_RESULT, plan["result_tool"], plan["result_id"], plan["own_id"], says)
        return (shown,) if shown.ids or shown.own_ids else ()
    if kind != "error" and is_said_with_a_call(plan):
        return ()
    return (Part(STEP_KINDS[kind], plan["name"], says=plan["said"]),)


def _shape(kind: str, plan: Plan) -> Shape:
    if kind not in _ODD_ROLES or any(plan[role] for role in _ODD_ROLES[kind]):
        return BY_ITSELF
    kind = "asking" if kind == "model" and plan["model_tool"] else kind
    parts = _parts(kind, plan)
    return Shape(parts, _ASKS[kind], plan) if parts else BY_ITSELF


def _by_kind(group: Group) -> dict[tuple[bytes, bytes], list[int]]:
    """Which of the records have each type and kind."""
    told = [
        map(bytes, group.column(name)) if group.has(name) else repeat(b"", len(group.records))
        for name in ("type", "kind")
    ]
    found: dict[tuple[bytes, bytes], list[int]] = {}
    for row, kind in enumerate(zip(*told, strict=True)):
        found.setdefault(kind, []).append(row)
    return found


class Shapes:
    """The shapes of a log's records, of which it has a handful."""

    def __init__(self, plans: Plans) -> None:
        self._plans = plans
        self._known: dict[tuple[tuple[str, ...], bytes, bytes], Shape] = {}

    def of(self, alike: Iterable[Alike]) -> dict[Shape, Alike]:
        """These records by their shapes, but those that are told by themselves."""
        found: dict[Shape, Alike] = {}
        for places, group in alike:
            for kind, rows in _by_kind(group).items():
                key = (tuple(group.records[0]), *kind)
                shape = self._known.get(key) or self._learn(key, group.records[rows[0]])
                if len(rows) == len(places):
                    found[shape] = places, group
                elif shape is not BY_ITSELF:
                    found[shape] = [places[row] for row in rows], group.some(rows)
        found.pop(BY_ITSELF, None)
        return found

    def _learn(self, key: tuple[tuple[str, ...], bytes, bytes], record: Fields) -> Shape:
        names, *told = key
        if max(len(names), *map(len, told)) > LONGEST_TYPE:
            return BY_ITSELF
        if len(self._known) >= _SHAPES:
            self._known.clear()
        shape = self._known[key] = _shape(kind_of(record), self._plans.of(record)) if record else BY_ITSELF
        return shape
