"""Does a rule speak about what says nothing?

A rule is asked about things that carry no sign of anything: a tool named `item`, arguments that are empty or hold a
plain word, a plain word as a value. Whatever speaks there speaks nearly everywhere.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from forensics.rules.conditions import compile_condition
from forensics.rules.lints.axes import GRAMMAR_ROLES
from forensics.rules.lints.complaint import Complaint, complaint
from forensics.rules.lints.parts import conditions_of
from forensics.rules.lints.stages import STAGES, stage_of
from forensics.rules.model import Condition, ShapeRule, ToolRule, WordRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from forensics.rules.packfile import PlacedRule, Rule

_SCHEMA = {"type": "object", "properties": {"a": {"type": "string", "description": "A thing."}}}
_PLAIN_TOOLS: tuple[Mapping[str, object], ...] = (
    {"tool": "item", "server": None, "description": None, "http": None, "hints": {}, "input_schema": None},
    {"tool": "alpha_item", "server": "alpha", "description": "An item.", "http": None, "hints": {}},
    {"tool": "item", "server": "alpha", "hints": {"title": "Item"}, "input_schema": _SCHEMA, "output_schema": _SCHEMA},
)
_PLAIN_VALUES: tuple[object, ...] = (None, "", {}, {"a": "item"}, {"a": 1, "b": None}, "item")
_PLAIN_TEXTS = ("item", "Item", "a", "true", "plain words", "plain-words", "plain_words", "Berlin", "12", "3.14")
_FUNCTION_WORDS = frozenset(
    {"a", "an", "the", "of", "to", "in", "on", "at", "for", "with", "by", "from", "as", "it", "its", "this", "that"}
    | {"and", "or", "not", "no"}
)
_TESTS = ("keys", "in_", "words", "phrases", "verbs")
_SHORTEST_WORD, _SHORTEST_PHRASE = 2, 3


class TooWide:
    """A rule speaks about a tool, call, result or value that carries no sign of anything."""

    name: ClassVar[str] = "too-wide"
    about: ClassVar[str] = "A rule speaks about what carries no sign of anything."

    def complaints(self, rules: Sequence[PlacedRule]) -> Iterator[Complaint]:
        """One complaint a rule, condition, word or pattern."""
        for placed in rules:
            if isinstance(placed.rule, ToolRule):
                yield from self._tool(placed, placed.rule)
            elif isinstance(placed.rule, WordRule):
                yield from self._word(placed, placed.rule)
            elif (value := _plain_value(placed.rule)) is not None:
                yield complaint(self, placed, f"rule {placed.rule.id!r} takes {value!r} for opaque", "pattern")

    def _tool(self, placed: PlacedRule, rule: ToolRule) -> Iterator[Complaint]:
        nowhere = [path for path, condition, _ in conditions_of(rule) if _tests_nowhere(condition)]
        if nowhere:
            for path in nowhere:
                yield complaint(self, placed, f"rule {rule.id!r}: a condition tests no place (`at`)", *path)
        elif rule.source == "pack" and (rule.when.tool is None or not rule.when.tool.strip("*?")):
            yield complaint(self, placed, f"rule {rule.id!r} is about an exact tool and names none", "when")
        elif any(map(compile_condition(rule.when), _plain_subjects(stage_of(rule)))):
            yield complaint(self, placed, f"rule {rule.id!r} speaks about what carries no sign of anything", "when")

    def _word(self, placed: PlacedRule, rule: WordRule) -> Iterator[Complaint]:
        if rule.role in GRAMMAR_ROLES or rule.role == "read_plural":
            return
        shortest = _SHORTEST_PHRASE if "phrase" in rule.role else _SHORTEST_WORD
        for index, word in enumerate(rule.words):
            if len(word.strip()) < shortest or word in _FUNCTION_WORDS:
                yield complaint(self, placed, f"rule {rule.id!r}: {word!r} stands in every text", "words", index)


def _tests_nowhere(condition: Condition) -> bool:
    """Value tests without a place are not asked, and an empty condition holds for everything."""
    if condition.at is not None:
        return False
    asked = any((condition.tool, condition.server, condition.all, condition.any, condition.not_))
    tests = condition.present is not None or condition.matches is not None or condition.equals is not _UNSET
    return tests or any(getattr(condition, test) for test in _TESTS) or not asked


_UNSET = Condition().equals


def _plain_subjects(stage: str) -> Iterator[Mapping[str, object]]:
    for tool in _PLAIN_TOOLS:
        if stage == "tool":
            yield tool
            continue
        values = [value for value in _PLAIN_VALUES if isinstance(value, dict) or stage == "arguments"]
        yield from ({**tool, **dict.fromkeys(STAGES[stage] - STAGES["tool"], value)} for value in values)


def _plain_value(rule: Rule) -> str | None:
    if not isinstance(rule, ShapeRule) or rule.pattern is None or rule.kind is None or rule.only_under == "id_key":
        return None
    return next((text for text in _PLAIN_TEXTS if re.fullmatch(rule.pattern, text, re.ASCII)), None)
