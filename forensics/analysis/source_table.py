"""How is a tool told in Python source, and what do the calls in its body do? Reads `rules/source/python.yaml`."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import msgspec

from forensics.rules.conditions import glob
from forensics.rules.model import EffectName, ResultName, ScopeName
from forensics.rules.shipped import shipped_folder
from forensics.rules.yaml_strict import load_strict, rule_error


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of what the table may hold: unknown keys are faults."""


class CallRule(_Strict, frozen=True):
    """Calls that do one kind of thing. Of two rules with names that match, the first speaks.

    `given` and `positions` limit the rule to calls with one of these keywords or so many positional arguments; `text`
    to calls whose first argument is not proven, by a parser of that language, to read only.
    """

    id: str
    because: str
    names: tuple[str, ...]
    says: str
    effect: EffectName | None = None
    result: ResultName | None = None
    scope: ScopeName | None = None
    given: frozenset[str] = frozenset()
    positions: int | None = None
    text: Literal["sql"] | None = None

    def matches(self, name: str) -> bool:
        """Whether the dotted name of a call is one of these."""
        return any(glob(pattern)(name) for pattern in self.names)


class SourceTable(_Strict, frozen=True):
    """The words by which frameworks register tools, and the rules about calls.

    `decorators`, `bases` and `factories` are last words of dotted names in lower case; `methods` those methods of a
    tool class that run it; `lists` keywords and names of lists that hold tools.
    """

    schema: Literal["forensics/python-source/v1"]
    decorators: frozenset[str]
    bases: frozenset[str]
    methods: tuple[str, ...]
    lists: frozenset[str]
    factories: frozenset[str]
    calls: tuple[CallRule, ...]


@lru_cache(maxsize=1)
def source_table() -> SourceTable:
    """The table. Raises RuleError."""
    where = "rules/source/python.yaml"
    data = (shipped_folder() / "source" / "python.yaml").read_bytes()
    try:
        return msgspec.convert(load_strict(data, where).value, SourceTable)
    except msgspec.ValidationError as error:
        raise rule_error([f"{where}:1:1: {error}"]) from None


@lru_cache(maxsize=4096)
def rules_for(name: str) -> tuple[CallRule, ...]:
    """The rules that a dotted name matches, in their order."""
    return tuple(rule for rule in source_table().calls if rule.matches(name))
