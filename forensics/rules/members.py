"""Which rules hold for the members of one object? The rules about arguments or results, asked by the names of the
members that they look at.

Nearly every such rule asks about members of certain names, so a call whose arguments carry none of them costs one
lookup of its key tuple. What the rules say of the members that they do look at is remembered by the values of those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.late import Made
from forensics.core.pointers import pointer_tokens
from forensics.rules.conditions import key_words, needed_keys, predicates
from forensics.rules.memory import keep
from forensics.rules.screens import Needed, Screen, needed_matches

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.keyed import Keyed
    from forensics.rules.conditions import Subject
    from forensics.rules.model import Condition

_REMEMBERED = 4096
_LONGEST = 512

Holding = tuple[int, ...]
"""The rules that hold, by their place in the list of rules, in order."""


class _Plan(msgspec.Struct, gc=False):
    """What has to be asked about objects with one tuple of keys: all of `rules` or, where `screen` lets an object not
    pass, only those of the plan `below`. `keys` are the members that the rules look at, or None where one of them looks
    at more than members; `answers` remembers by the values of the members.
    """

    rules: Holding
    keys: tuple[str, ...] | None
    answers: dict[tuple[object, ...], Holding]
    screen: Screen
    below: _Plan | None


class MemberRules:
    """Rules about the object that stands at the subject's `member` (`arguments`, `result`)."""

    def __init__(self, member: str, conditions: Sequence[Condition]) -> None:
        self._member = member
        self._holds = predicates(conditions)
        self._needs = tuple(needed_keys(condition, member) for condition in conditions)
        self._sees: Made[int, frozenset[str] | None] = Made(lambda place: seen_keys(conditions[place], member))
        self._matches: Made[int, Needed | None] = Made(lambda place: needed_matches(conditions[place], member))
        self._plans: dict[tuple[str, ...], _Plan] = {}

    def holding(self, subject: Subject) -> Holding:
        """The rules that hold for the subject."""
        value = subject[self._member]
        if not isinstance(value, dict):
            return self._ask(self._plan(()).rules, subject)
        plan, columns = self._plan(tuple(value)), {key: (member,) for key, member in value.items()}
        if plan.below is not None and not plan.screen.passing(columns):
            plan = plan.below
        (answer,) = _remembered(plan, columns, 1)
        return self._asked(plan, value, subject) if answer is None else answer

    def several(self, objects: Keyed, ask: Callable[[int], Holding]) -> list[Holding]:
        """The rules that hold for each of several subjects of which these are the members. Objects that have the same
        keys are screened, and looked up, together; `ask` tells what holds for that of a place that is not known yet.
        """
        found: list[Holding | None] = [None] * len(objects.values)
        for group in objects.groups:
            answers = _known_of(self._plan(group.keys), group.columns, len(group.places))
            if len(group.places) == len(found):
                found = answers
            else:
                for at, answer in zip(group.places, answers, strict=True):
                    found[at] = answer
        return [ask(at) if answer is None else answer for at, answer in enumerate(found)]

    def _asked(self, plan: _Plan, value: dict[str, object], subject: Subject) -> Holding:
        answer = self._ask(plan.rules, subject)
        members = [value[key] for key in plan.keys or ()]
        if members and not any(isinstance(one, str) and len(one) > _LONGEST for one in members):
            with suppress(TypeError):  # an object or an array, which is not remembered
                keep(plan.answers, _signature(members), answer, _REMEMBERED)
        return answer

    def _ask(self, rules: Holding, subject: Subject) -> Holding:
        holds = self._holds
        return tuple([rule for rule in rules if holds[rule](subject)])

    def _plan(self, keys: tuple[str, ...]) -> _Plan:
        plan = self._plans.get(keys)
        if plan is None:
            words = {key: key_words(key) for key in keys}
            there = frozenset(words.values())
            rules = [i for i, needed in enumerate(self._needs) if needed is None or not needed.isdisjoint(there)]
            plain = [i for i in rules if self._matches[i] is None]
            below = None if len(plain) == len(rules) else self._planned(words, plain, None)
            plan = self._planned(words, rules, below)
            keep(self._plans, keys, plan, _REMEMBERED)
        return plan

    def _planned(self, words: dict[str, str], rules: list[int], below: _Plan | None) -> _Plan:
        seen = [self._sees[i] for i in rules]
        wanted = frozenset[str]().union(*(s for s in seen if s is not None))
        members = None if None in seen else tuple(key for key in words if words[key] in wanted)
        needed = Needed().union(*(one for i in rules if below is not None and (one := self._matches[i]) is not None))
        return _Plan(tuple(rules), members, {}, Screen(words, needed), below)


Columns = Mapping[str, Sequence[Any]]
"""By key, the members of some objects."""


def _known_of(plan: _Plan, columns: Columns, count: int) -> list[Holding | None]:
    """What is known to hold for objects with the keys of that plan; None for one that has to be asked about."""
    if plan.below is None:
        return _remembered(plan, columns, count)
    passing = plan.screen.passing(columns)
    found = _remembered(plan.below, columns, count)
    some = {key: [columns[key][at] for at in passing] for key in plan.keys or ()} if passing else {}
    for at, answer in zip(passing, _remembered(plan, some, len(passing)), strict=True):
        found[at] = answer
    return found


def _remembered(plan: _Plan, columns: Columns, count: int) -> list[Holding | None]:
    """What is remembered about each of so many objects; None where nothing is."""
    if not plan.rules:
        return [()] * count
    if not plan.keys or not plan.answers or not count:
        return [None] * count
    seen = [columns[key] for key in plan.keys]
    try:
        return list(map(plan.answers.get, zip(*seen, *(map(type, column) for column in seen), strict=True)))
    except TypeError:  # an object or an array in one of them
        return [None] * count


def _signature(members: list[object]) -> tuple[object, ...]:
    """By what an answer is remembered: the values of the members, and their types, because true is not 1."""
    return (*members, *map(type, members))


def seen_keys(condition: Condition, member: str) -> frozenset[str] | None:
    """The keys (as words) of every member of the subject's `member` that a condition looks at; None where it looks at
    anything else as well. Objects that agree in these members get the same answer.
    """
    if condition.tool is not None or condition.server is not None:
        return None
    negated = () if condition.not_ is None else (condition.not_,)
    parts = [seen_keys(part, member) for part in (*condition.all, *condition.any, *negated)]
    if condition.at is not None:
        parts.append(_seen_at(condition, member))
    return None if None in parts else frozenset[str]().union(*(part for part in parts if part is not None))


def _seen_at(condition: Condition, member: str) -> frozenset[str] | None:
    keys: set[str] = set()
    for pointer in (condition.at,) if isinstance(condition.at, str) else condition.at or ():
        first, rest = pointer_tokens(pointer)[:1], pointer_tokens(pointer)[1:]
        if first != (member,) or rest[:1] == ("*",) or not (rest or condition.keys):
            return None
        keys |= {key_words(rest[0])} if rest else {key_words(key) for key in condition.keys}
    return frozenset(keys)
