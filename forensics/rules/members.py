"""Which rules hold for the members of one object? The rules about arguments or results, asked by the names of the
members that they look at.

Nearly every such rule asks about members of certain names, so a call whose arguments carry none of them costs one
lookup of its key tuple. What the rules say of the members that they do look at is remembered by the values of those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.pointers import pointer_tokens
from forensics.rules.conditions import key_words, needed_keys
from forensics.rules.memory import keep
from forensics.rules.screens import Needed, Screen, needed_matches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.rules.conditions import Predicate, Subject
    from forensics.rules.model import Condition

_REMEMBERED = 4096
_LONGEST = 512

Holding = tuple[int, ...]
"""The rules that hold, by their place in the list of rules, in order."""


class _Plan(msgspec.Struct, gc=False):
    """What has to be asked about objects with one tuple of keys: all the rules, or only the `plain` ones where `screen`
    says that the others can't hold. `keys` are the members that the rules look at, or None where one of them looks at
    more than members; `answers` remembers by the values of the members.
    """

    rules: Holding
    plain: Holding
    screen: Screen
    keys: tuple[str, ...] | None
    answers: dict[tuple[object, ...], Holding]


class MemberRules:
    """Rules about the object that stands at the subject's `member` (`arguments`, `result`)."""

    def __init__(self, member: str, conditions: Sequence[Condition], predicates: Sequence[Predicate]) -> None:
        self._member = member
        self._holds = tuple(predicates)
        self._needs = tuple(needed_keys(condition, member) for condition in conditions)
        self._sees = tuple(seen_keys(condition, member) for condition in conditions)
        self._matches = tuple(needed_matches(condition, member) for condition in conditions)
        self._plans: dict[tuple[str, ...], _Plan] = {}

    def holding(self, subject: Subject) -> Holding:
        """The rules that hold for the subject."""
        value = subject[self._member]
        keys = tuple(value) if isinstance(value, dict) else ()
        plan = self._plans.get(keys) or self._plan(keys)
        if not plan.rules:
            return ()
        if not isinstance(value, dict):
            return self._ask(plan.rules, subject)
        if not plan.plain and not plan.screen.lets_pass(value):
            return ()  # nothing that is worth remembering
        if plan.keys is None:
            return self._screened(plan, value, subject)
        return self._remembered(plan, value, [value[key] for key in plan.keys], subject)

    def _remembered(self, plan: _Plan, value: dict[str, object], values: list[object], subject: Subject) -> Holding:
        known = (*values, *map(type, values))  # true is not 1
        try:
            answer = plan.answers.get(known)
        except TypeError:  # an object or an array
            return self._screened(plan, value, subject)
        if answer is None:
            answer = self._screened(plan, value, subject)
            if not any(isinstance(value, str) and len(value) > _LONGEST for value in values):
                keep(plan.answers, known, answer, _REMEMBERED)
        return answer

    def _screened(self, plan: _Plan, value: dict[str, object], subject: Subject) -> Holding:
        return self._ask(plan.rules if plan.screen.lets_pass(value) else plan.plain, subject)

    def _ask(self, rules: Holding, subject: Subject) -> Holding:
        holds = self._holds
        return tuple([rule for rule in rules if holds[rule](subject)])

    def _plan(self, keys: tuple[str, ...]) -> _Plan:
        words = {key: key_words(key) for key in keys}
        there = frozenset(words.values())
        rules = [i for i, needed in enumerate(self._needs) if needed is None or not needed.isdisjoint(there)]
        seen = [self._sees[i] for i in rules]
        wanted = frozenset[str]().union(*(s for s in seen if s is not None))
        members = None if None in seen else tuple(key for key in keys if words[key] in wanted)
        plain = tuple(i for i in rules if self._matches[i] is None)
        needed = Needed().union(*(one for i in rules if (one := self._matches[i]) is not None))
        plan = _Plan(tuple(rules), plain, Screen(keys, needed), members, {})
        keep(self._plans, keys, plan, _REMEMBERED)
        return plan


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
