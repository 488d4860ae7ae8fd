"""Does one condition hold wherever another one does, and can a condition hold at all?

Both answers come from the structure alone. `implies` is sound and not complete: where it says yes, it is so; where it
says no, it may still be so. `can_hold` likewise: only its no is certain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.rules.conditions import holds_value, key_words, same_json
from forensics.rules.model import Condition

if TYPE_CHECKING:
    from collections.abc import Iterator

_TESTS = ("present", "equals", "in_", "matches", "words", "phrases", "verbs", "unseen")


def implies(given: Condition, then: Condition) -> bool:
    """Whether `then` holds wherever `given` does, as far as their structure tells."""
    known = tuple(conjuncts(given))
    return all(_follows(known, part) for part in conjuncts(then))


def can_hold(condition: Condition) -> bool:
    """False where the parts of a condition contradict each other."""
    parts = tuple(conjuncts(condition))
    if any(part.not_ is not None and _follows(parts, part.not_) for part in parts):
        return False
    if any(not _value_can_hold(part) for part in parts if part.at is not None):
        return False
    if any(part.any and not any(map(can_hold, part.any)) for part in parts):
        return False
    return not any(_exclude(one, other) for index, one in enumerate(parts) for other in parts[:index])


def conjuncts(condition: Condition) -> Iterator[Condition]:
    """The conditions of one kind each (a tool, a server, a value, an `any`, a `not`) that must all hold."""
    if condition.tool is not None:
        yield Condition(tool=condition.tool)
    if condition.server is not None:
        yield Condition(server=condition.server)
    if condition.at is not None:
        yield msgspec.structs.replace(condition, all=(), any=(), not_=None, tool=None, server=None)
    for part in condition.all:
        yield from conjuncts(part)
    if condition.any:
        yield Condition(any=condition.any)
    if condition.not_ is not None:
        yield Condition(not_=condition.not_)


def _follows(known: tuple[Condition, ...], then: Condition) -> bool:
    parts = tuple(conjuncts(then))
    if len(parts) != 1:
        return all(_follows(known, part) for part in parts)
    (part,) = parts
    if any(one.any and all(implies(branch, part) for branch in one.any) for one in known):
        return True
    if part.any:
        return any(_follows(known, branch) for branch in part.any)
    return any(_one_implies(one, part) for one in known)


def _one_implies(one: Condition, part: Condition) -> bool:
    if part.not_ is not None:
        return one.not_ is not None and implies(part.not_, one.not_)
    if part.at is not None:
        return one.at is not None and _looks_where(one, part) and _tests_imply(one, part)
    if part.tool is not None:
        return one.tool is not None and part.tool in ("*", one.tool)
    return one.server is not None and part.server in ("*", one.server)


def _looks_where(one: Condition, part: Condition) -> bool:
    """Whether every value that `one` may be about is among those that `part` may be about."""
    there, named = set(map(key_words, one.keys)), set(map(key_words, part.keys))
    same_kind = bool(there) is bool(named)
    return same_kind and there <= named and set(pointers(one)) <= set(pointers(part))


def pointers(condition: Condition) -> tuple[str, ...]:
    """The places that a condition looks at; one of them is enough."""
    return (condition.at,) if isinstance(condition.at, str) else condition.at or ()


def _tests_imply(one: Condition, part: Condition) -> bool:
    """Whether every test of `part` is passed by every value that passes those of `one`."""
    if one.present is False or part.present is False:
        return one.present is False and part.present is False and not _other_tests(part)
    exact = allowed(one)
    if exact is not None:
        return all(holds_value(part, value) for value in exact)
    return all(_test_implied(one, part, test) for test in _TESTS if _has(part, test))


def _test_implied(one: Condition, part: Condition, test: str) -> bool:
    if test == "present":
        return bool(one.present or one.words or one.verbs or one.phrases or one.unseen)
    if test == "words":
        return bool(one.words or one.verbs) and {*(one.words or one.verbs)} <= {*part.words}
    if test in ("verbs", "phrases"):
        return bool(getattr(one, test)) and {*getattr(one, test)} <= {*getattr(part, test)}
    return test in ("matches", "unseen") and getattr(one, test) == getattr(part, test)


def _other_tests(condition: Condition) -> bool:
    return any(_has(condition, test) for test in _TESTS if test != "present")


def _has(condition: Condition, test: str) -> bool:
    value = getattr(condition, test)
    return value is not msgspec.UNSET if test == "equals" else value is not None and value != ()


def allowed(condition: Condition) -> tuple[object, ...] | None:
    """The only values that `equals` and `in` let through, or None where neither is there."""
    if condition.equals is not msgspec.UNSET:
        return (condition.equals,)
    return condition.in_ or None


def _value_can_hold(condition: Condition) -> bool:
    exact = allowed(condition)
    if exact is not None:
        return any(holds_value(condition, value) for value in exact)
    return condition.present is not False or not (
        condition.words or condition.verbs or condition.phrases or condition.unseen
    )


def _exclude(one: Condition, other: Condition) -> bool:
    """Whether two tests of the same single value let no value through together."""
    mine, others = allowed(one), allowed(other)
    if mine is None or others is None or len(pointers(one)) != 1 or pointers(one) != pointers(other):
        return False
    if one.keys or other.keys or "*" in pointers(one)[0]:
        return False
    return not any(same_json(left, right) for left in mine for right in others)
