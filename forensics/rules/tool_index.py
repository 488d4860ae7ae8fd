"""Which rules hold for a tool? Asked of the few that may hold at all; the answers to what many tools have alike, their
declarations and their input schema, are remembered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.late import Made
from forensics.core.pointers import pointer_tokens
from forensics.rules.conditions import key_words, predicates
from forensics.rules.memory import keep
from forensics.rules.needs import needed_roots, needs
from forensics.rules.words import letter_runs, lowered, split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from forensics.rules.conditions import Predicate
    from forensics.rules.members import Holding
    from forensics.rules.model import Condition

_NAME_LIMIT = 4096
_REMEMBERED = 4096
_LONGEST_REMEMBERED = 4096  # bytes of a schema
_DECLARED = ("hints", "replay_class", "tool_type", "http")


class ToolIndex:
    """Rules about tools, filed by what they look at and by what they need of it."""

    def __init__(self, conditions: Sequence[Condition]) -> None:
        seen = [seen_roots(condition) for condition in conditions]
        holds = predicates(conditions)
        declaring = {i for i, roots in enumerate(seen) if roots <= frozenset(_DECLARED)}
        shaping = {i for i, roots in enumerate(seen) if roots == {"input_schema"}}
        self._declaring = _Rules({i: conditions[i] for i in sorted(declaring)}, holds)
        self._shaping = _Rules({i: conditions[i] for i in sorted(shaping)}, holds)
        others = {i: one for i, one in enumerate(conditions) if i not in declaring | shaping}
        self._other = _Rules(others, holds)
        self._declared: dict[tuple[object, ...], Holding] = {}
        self._shaped: dict[bytes, Holding] = {}

    def holding(self, subject: Mapping[str, Any]) -> Holding:
        """The rules that hold for the subject, by their place in the list of rules, in order."""
        found = (*self._other.holding(subject), *self._by_declarations(subject), *self._by_schema(subject))
        return tuple(sorted(found))

    def _by_declarations(self, subject: Mapping[str, Any]) -> Holding:
        http, hints = subject["http"], subject["hints"]
        known = (_flat(hints), subject["replay_class"], subject["tool_type"], _flat(http) if http else None)
        try:
            answer = self._declared.get(known)
        except TypeError:  # a hint that is an object or an array
            return self._declaring.holding(subject)
        if answer is None:
            answer = self._declaring.holding(subject)
            keep(self._declared, known, answer, _REMEMBERED)
        return answer

    def _by_schema(self, subject: Mapping[str, Any]) -> Holding:
        try:
            known = msgspec.json.encode(subject["input_schema"])
        except (UnicodeEncodeError, OverflowError, RecursionError):  # what JSON can't hold, such as a lone surrogate
            return self._shaping.holding(subject)
        answer = self._shaped.get(known)
        if answer is None:
            answer = self._shaping.holding(subject)
            if len(known) <= _LONGEST_REMEMBERED:
                keep(self._shaped, known, answer, _REMEMBERED)
        return answer


class _Rules:
    """Some rules by their number. They are filed once for each set of members that tools have: the audit of a log, of
    whose tools the names are all that is known, asks nothing about the rules that look at a schema.
    """

    def __init__(self, rules: Mapping[int, Condition], holds: Made[int, Predicate]) -> None:
        self._rules = rules
        self._holds = holds
        self._needed = {number: needed_roots(condition) for number, condition in rules.items()}
        self._roots = frozenset[str]().union(*(roots for roots in self._needed.values() if roots is not None))
        self._filed: Made[frozenset[str], _Filed] = Made(self._file)

    def holding(self, subject: Mapping[str, Any]) -> Holding:
        """The rules that hold, in no order."""
        there = frozenset([root for root in self._roots if subject.get(root)])
        holds = self._holds
        return tuple([number for number in self._filed[there].asked(subject) if holds[number](subject)])

    def _file(self, there: frozenset[str]) -> _Filed:
        """The rules that may hold for a tool that has these members."""
        may_hold = (number for number, roots in self._needed.items() if roots is None or not roots.isdisjoint(there))
        return _Filed({number: self._rules[number] for number in may_hold})


class _Filed:
    """Rules by their number, filed by what they need."""

    def __init__(self, rules: Mapping[int, Condition]) -> None:
        self._always: list[int] = []
        by_need: dict[str, dict[str, list[int]]] = {}
        for number, condition in rules.items():
            needed = needs(condition)
            if needed is None:
                self._always.append(number)
            for place, what in needed or ():
                by_need.setdefault(place, {}).setdefault(what, []).append(number)
        places = [(*place.partition("/")[::2], by_what) for place, by_what in by_need.items()]
        self._needed = [(root, inner, frozenset(by_what), by_what) for root, inner, by_what in places]

    def asked(self, subject: Mapping[str, Any]) -> set[int]:
        """The rules of which a need is met, or of which none is known."""
        asked = set(self._always)
        for root, inner, needed, by_what in self._needed:
            value = subject[root] if root else subject
            if value:
                for what in needed.intersection(_there(root, inner, value)):
                    asked.update(by_what[what])
        return asked


def seen_roots(condition: Condition) -> frozenset[str]:
    """The members of the subject that a condition looks at; "" stands for the subject itself."""
    pointers = (condition.at,) if isinstance(condition.at, str) else condition.at or ()
    seen = {next(iter(pointer_tokens(pointer)), "") for pointer in pointers}
    seen |= {root for root in ("tool", "server") if getattr(condition, root) is not None}
    negated = () if condition.not_ is None else (condition.not_,)
    return frozenset(seen).union(*map(seen_roots, (*condition.all, *condition.any, *negated)))


def _flat(said: dict[str, object]) -> tuple[object, ...]:
    """An object that can be looked up, with the types of its values: true is not 1."""
    return (*said.items(), *map(type, said.values()))


def _there(root: str, inner: str, value: Any) -> Iterable[str]:
    """What of the needs at this place a tool can meet, with what it has there."""
    if root == "tool":
        return split_words(value[:_NAME_LIMIT])
    if root == "description":
        return letter_runs(lowered(value))
    if not root:
        return [root for root, value in value.items() if value]
    return _keys(value.get(inner) if inner else value)


def _keys(members: object) -> list[str]:
    """The keys of an object, or the texts of a list, which a condition on keys takes likewise."""
    return [key_words(key) for key in members if isinstance(key, str)] if isinstance(members, (dict, list)) else []
