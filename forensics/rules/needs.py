"""What must be there in a tool for a condition to hold at all?

Most rules about tools need one of a few words in the name or the description, a member of a schema, or a fact that few
tools have. A rule set files them by that, and asks only those of which a need is met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.pointers import pointer_tokens
from forensics.rules.conditions import key_words
from forensics.rules.words import letter_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from forensics.rules.model import Condition

    _NeedsAt: TypeAlias = Callable[[tuple[str, ...], Condition], "frozenset[Need] | None"]

SCHEMAS = ("input_schema", "output_schema")

Need = tuple[str, str]
"""A place and what must be there: `("tool", word of the name)`, `("description", run of letters)`, `("input_schema",
key, as words)` of the schema itself, `("input_schema/properties", key)` of its properties, `("", root)` for a member of
the subject that is there and not empty; the places of `output_schema` likewise.
"""

_RANKS = {"tool": 0, "description": 1, **{f"{schema}/properties": 1 for schema in SCHEMAS}, "": 3}
_RANK_OF_SCHEMA = 2


def needs(condition: Condition) -> frozenset[Need] | None:
    """Needs of which one must be met for the condition to hold; None when that can't be told."""
    return _needs(condition, _at)


def needed_roots(condition: Condition) -> frozenset[str] | None:
    """Members of the subject of which one must be there, and not be empty, for the condition to hold; None when that
    can't be told. Less than what it needs, and told without a look at words and keys.
    """
    found = _needs(condition, _root)
    return None if found is None else frozenset([root for _, root in found])


def _needs(condition: Condition, at: _NeedsAt) -> frozenset[Need] | None:
    found = [_own(condition, at), _of_any(condition, at), *(_needs(part, at) for part in condition.all)]
    known = [one for one in found if one is not None]
    return min(known, key=_breadth) if len(known) > 1 else known[0] if known else None


def _breadth(several: frozenset[Need]) -> tuple[int, int]:
    """How many tools will meet one of these needs, as far as their places tell."""
    return max((_RANKS.get(place, _RANK_OF_SCHEMA) for place, _ in several), default=0), len(several)


def _of_any(condition: Condition, at: _NeedsAt) -> frozenset[Need] | None:
    return _united(_needs(part, at) for part in condition.any) if condition.any else None


def _own(condition: Condition, at: _NeedsAt) -> frozenset[Need] | None:
    if condition.at is None or condition.present is False:
        return None
    if isinstance(condition.at, str):
        return at(pointer_tokens(condition.at), condition)
    return _united(at(pointer_tokens(pointer), condition) for pointer in condition.at)


def _united(parts: Iterable[frozenset[Need] | None]) -> frozenset[Need] | None:
    """All needs of parts of which one must hold, or None where one of them has none that is known."""
    known: set[Need] = set()
    for part in parts:
        if part is None:
            return None
        known |= part
    return frozenset(known)


def _at(tokens: tuple[str, ...], condition: Condition) -> frozenset[Need] | None:
    if tokens == ("tool",) and condition.words:
        return frozenset(("tool", word) for word in condition.words)
    if tokens == ("description",) and condition.phrases:
        runs = [max(letter_runs(phrase), key=lambda run: (len(run), run), default="") for phrase in condition.phrases]
        return frozenset(("description", run) for run in runs) if all(runs) else None
    if tokens[:1] and tokens[0] in SCHEMAS:
        found = _in_schema(tokens, condition)
        if found is not None:
            return found
    return _root(tokens, condition)


def _in_schema(tokens: tuple[str, ...], condition: Condition) -> frozenset[Need] | None:
    place, rest = tokens[0], tokens[1:]
    if rest[:1] == ("properties",) and (rest[1:] or condition.keys) and rest[1:2] != ("*",):
        place, rest = f"{place}/properties", rest[1:]
    if rest[:1] == ("*",) or not (rest or condition.keys):
        return None
    keys = rest[:1] or condition.keys
    return frozenset((place, key_words(key)) for key in keys)


def _root(tokens: tuple[str, ...], condition: Condition) -> frozenset[Need] | None:
    """A value test may hold for null, false and "" of the root itself, and not for what stands inside of nothing."""
    inside = bool(condition.keys) or len(tokens) > 1
    telling = condition.present or condition.words or condition.verbs or condition.phrases or condition.unseen
    return frozenset({("", tokens[0])}) if tokens and (inside or telling) else None
