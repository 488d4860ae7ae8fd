"""Which records of a plain log are told at once, by their keys and their kind, and of which steps are they?

A record is of a usual shape where its keys and its kind leave but questions that its values answer (`asks`); every
other record is told by itself. Both ways go by the tables of `plain_records`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import TYPE_CHECKING

import msgspec

from forensics.core.trace import StepKind
from forensics.formats.shared.fields import Fields, text
from forensics.formats.shared.messages.draft import UNSETTLED
from forensics.formats.shared.plain_records import (
    DENIED,
    FAILED,
    LONGEST_TYPE,
    NULL,
    STEP_KINDS,
    Plan,
    Plans,
    is_said_with_a_call,
    kind_of,
    may_be_calls,
    names_arguments,
)
from forensics.formats.shared.wholeness import any_arguments_damaged, any_result_damaged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.core.trace import Payload

Names = tuple[str, ...]
"""Fields of one role, of which the first that says something counts."""

_SHAPES = 4096
_ABSENT = msgspec.Raw(b"")
_TRUE = msgspec.Raw(b"true")
_write = msgspec.json.Encoder().encode
_texts = msgspec.json.Decoder(list[str]).decode


class Group:
    """Records of one shape, in columns."""

    def __init__(self, records: Sequence[Fields]) -> None:
        self.records = records
        self._keys = tuple(records[0])
        self._together: dict[Names, list[int]] = {(): [0] * len(records)}
        self._columns = dict(zip(self._keys, zip(*map(dict.values, records), strict=True), strict=True))

    def column(self, name: str) -> Sequence[Payload]:
        """That field of each record."""
        return self._columns[name]

    def positions(self, name: str) -> list[int]:
        """Where in its record that field of each stands, where nothing is written between the fields but commas."""
        keys = self._keys[: self._keys.index(name)]
        written = len("{") + sum(len(_write(key)) + len(":") for key in (*keys, name)) + len(",") * len(keys)
        return [written + before for before in self._before(keys)]

    def _before(self, keys: Names) -> list[int]:
        """How long these fields of each record are together, which are its first ones."""
        found = self._together.get(keys)
        if found is None:
            *others, last = keys
            pairs = zip(self._before(tuple(others)), self._columns[last], strict=True)
            found = self._together[keys] = [before + len(one) for before, one in pairs]
        return found

    def payloads(self, names: Names) -> Sequence[Payload | None]:
        """The first of these fields that is not null, of each record."""
        if not names:
            return [None] * len(self.records)
        first = self._columns[names[0]]
        if NULL not in first:
            return first
        return [next((one[name] for name in names if one[name] != NULL), None) for one in self.records]

    def said(self, names: Names) -> list[Payload]:
        """The same, without those that say nothing."""
        return [payload for payload in self.payloads(names) if payload is not None]

    def texts(self, names: Names) -> list[str]:
        """The text of the first of these fields that holds one, of each record; else ""."""
        if not names:
            return [""] * len(self.records)
        try:
            return _texts(b"[" + b",".join(self._columns[names[0]]) + b"]")
        except (msgspec.DecodeError, UnicodeDecodeError):
            return [text(one, *names) for one in self.records]

    def holders(self, names: Names) -> list[Payload]:
        """The objects and lists in these fields."""
        found: list[Payload] = []
        for name in names:
            column = self._columns[name]
            joined = b"".join(column)
            if b"{" in joined or b"[" in joined:
                found.extend(payload for payload in column if bytes(memoryview(payload)[:1]) in (b"{", b"["))
        return found


class Part(msgspec.Struct, frozen=True, gc=False):
    """One step of a record: its kind, and the fields in which its name, its id and what it says may stand; `own_ids`
    are those of an id where there is none in `ids`.
    """

    kind: StepKind
    names: Names = ()
    ids: Names = ()
    own_ids: Names = ()
    says: Names = ()


class Shape(msgspec.Struct, frozen=True, gc=False, eq=False):
    """Of which steps the records with some keys and kind are, and what has to hold for their values (`asks`)."""

    parts: tuple[Part, ...]
    asks: tuple[Callable[[Plan, Group], bool], ...]
    plan: Plan

    def holds(self, group: Group) -> bool:
        """Whether nothing more is to be said of any of these records."""
        return all(asks(self.plan, group) for asks in self.asks)


BY_ITSELF = Shape((), (), {})
"""That of each record that is told by itself."""


# which shapes are usual ----------------------------------------------------------------------------------------------


def _says_no_parts(plan: Plan, group: Group) -> bool:
    return not group.holders(plan["model_body"])


def _words_are_whole(plan: Plan, group: Group) -> bool:
    return not any_result_damaged(group.said(plan["model_text"]))


def _hides_no_call(plan: Plan, group: Group) -> bool:
    return not any(map(may_be_calls, group.holders(plan["unread"])))


def _names_its_tools(plan: Plan, group: Group) -> bool:
    return None not in group.payloads(plan["model_tool"])


def _arguments_are_whole(plan: Plan, group: Group) -> bool:
    return not any_arguments_damaged(group.said(plan["arguments"]))


def _results_are_whole(plan: Plan, group: Group) -> bool:
    return not any_result_damaged(group.said(plan["result"]))


def _ended_well(plan: Plan, group: Group) -> bool:
    """Whether none says that its call failed, was denied, or may still take effect."""
    said = {word.lower() for word in set(group.texts(plan["status"]))}
    failed = any(_TRUE in group.column(name) for name in plan["failed"]) or group.said(plan["error"])
    return not failed and said.isdisjoint(_ENDED_OTHERWISE)


def _speaks(plan: Plan, group: Group) -> bool:
    return None not in group.payloads(plan["said"])


def _speaks_in_words(plan: Plan, group: Group) -> bool:
    return _speaks(plan, group) and not group.holders(plan["content"])


_ENDED_OTHERWISE = FAILED | DENIED | UNSETTLED
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
_ASKS: dict[str, tuple[Callable[[Plan, Group], bool], ...]] = {
    "model": (_says_no_parts, _words_are_whole, _hides_no_call),
    "asking": (_says_no_parts, _words_are_whole, _hides_no_call, _names_its_tools, _arguments_are_whole),
    "call": (_arguments_are_whole,),
    "result": (_ended_well, _results_are_whole),
    "user": (_speaks_in_words,),
    "system": (_speaks_in_words,),
    "error": (_speaks,),
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
        shown = Part(StepKind.TOOL_RESULT, plan["result_tool"], plan["result_id"], plan["own_id"], plan["result"])
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


class Shapes:
    """The shapes of a log's records, of which it has a handful."""

    def __init__(self, plans: Plans) -> None:
        self._plans = plans
        self._known: dict[tuple[tuple[str, ...], bytes, bytes], Shape] = {}

    def of(self, records: Sequence[Fields]) -> list[Shape]:
        """The shape of each record."""
        types, kinds = (map(dict.get, records, repeat(name), repeat(_ABSENT)) for name in ("type", "kind"))
        keys = list(zip(map(tuple, records), map(bytes, types), map(bytes, kinds), strict=True))
        known = map(self._known.get, keys)
        return [shape or self._learn(key, one) for shape, key, one in zip(known, keys, records, strict=True)]

    def _learn(self, key: tuple[tuple[str, ...], bytes, bytes], record: Fields) -> Shape:
        names, *told = key
        if max(len(names), *map(len, told)) > LONGEST_TYPE:
            return BY_ITSELF
        if len(self._known) >= _SHAPES:
            self._known.clear()
        shape = self._known[key] = _shape(kind_of(record), self._plans.of(record)) if record else BY_ITSELF
        return shape
