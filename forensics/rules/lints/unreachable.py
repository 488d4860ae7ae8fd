"""Is there anything about which a rule, or a part of it, could ever speak?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from forensics.core.pointers import pointer_tokens
from forensics.rules.conditions import key_words
from forensics.rules.descriptions import DRESS
from forensics.rules.implication import can_hold, pointers
from forensics.rules.lints.complaint import Complaint, complaint
from forensics.rules.lints.parts import conditions_of
from forensics.rules.lints.stages import STAGES, stage_of
from forensics.rules.model import ToolRule, WordRule
from forensics.rules.words import split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from forensics.rules.lints.parts import PlacedCondition
    from forensics.rules.packfile import PlacedRule

_DESCRIPTION_WORD = re.compile(r"[a-z][a-z']*")
_NAMES_ONLY = frozenset({"read", "read_sure", "read_plain", "read_noun", "filler"})
_DESCRIPTIONS_ONLY = frozenset({"read_opening", "read_answer", "negation", "advice", "result_opening"})


class Unreachable:
    """A condition contradicts itself or looks where nothing stands, or a word is spelled as no text is ever split."""

    name: ClassVar[str] = "unreachable"
    about: ClassVar[str] = "A rule, or a part of it, can never speak."

    def complaints(self, rules: Sequence[PlacedRule]) -> Iterator[Complaint]:
        """One complaint for each condition, place, word and refined rule that is out of reach."""
        stages = {placed.rule.id: stage_of(placed.rule) for placed in rules if isinstance(placed.rule, ToolRule)}
        for placed in rules:
            if isinstance(placed.rule, ToolRule):
                yield from self._tool(placed, placed.rule, stages)
            elif isinstance(placed.rule, WordRule):
                yield from self._word(placed, placed.rule)

    def _tool(self, placed: PlacedRule, rule: ToolRule, stages: dict[str, str]) -> Iterator[Complaint]:
        if not can_hold(rule.when):
            yield complaint(self, placed, f"rule {rule.id!r}: its conditions contradict each other", "when")
        for found in conditions_of(rule):
            yield from self._condition(placed, rule, found)
        for index, other in enumerate(rule.refines):
            if stages.get(other, "tool") != stage_of(rule):
                text = f"rule {rule.id!r} can't refine {other!r}, which is asked about something else"
                yield complaint(self, placed, text, "refines", index)

    def _condition(self, placed: PlacedRule, rule: ToolRule, found: PlacedCondition) -> Iterator[Complaint]:
        path, condition, _ = found
        for pointer in pointers(condition):
            if _first(pointer) not in STAGES[stage_of(rule)]:
                text = f"rule {rule.id!r}: nothing stands at {pointer!r} when a rule of source {rule.source} is asked"
                yield complaint(self, placed, text, *path, "at")
        for test, can_be in _SPELLINGS.items():
            for index, word in enumerate(getattr(condition, test)):
                if not can_be(word):
                    text = f"rule {rule.id!r}: no text is ever split into {word!r}"
                    yield complaint(self, placed, text, *path, test, index)

    def _word(self, placed: PlacedRule, rule: WordRule) -> Iterator[Complaint]:
        can_be = _spelling_of(rule)
        for index, word in enumerate(rule.words):
            if not can_be(word):
                text = f"rule {rule.id!r}: no text of its role holds {word!r} as a word of its own"
                yield complaint(self, placed, text, "words", index)


def _first(pointer: str) -> str:
    return pointer_tokens(pointer)[0] if pointer.startswith("/") else pointer


def _is_name_word(word: str) -> bool:
    return split_words(word) == (word,)


def _is_description_word(word: str) -> bool:
    return _DESCRIPTION_WORD.fullmatch(word) is not None


def _is_denial(word: str) -> bool:
    return _is_description_word(word) or (_is_phrase(word) and not word.isascii())


def _is_word(word: str) -> bool:
    return _is_name_word(word) or _is_description_word(word)


def _is_phrase(phrase: str) -> bool:
    return phrase == " ".join(phrase.lower().split()) and "\u2019" not in phrase


def _is_lead_in(phrase: str) -> bool:
    return _is_phrase(phrase) and phrase == phrase.lstrip(DRESS)


def _is_name_phrase(phrase: str) -> bool:
    return phrase == " ".join(split_words(phrase))


_SPELLINGS: dict[str, Callable[[str], bool]] = {
    "words": _is_name_word,
    "verbs": _is_name_word,
    "phrases": _is_phrase,
    "keys": lambda key: key_words(key) != "",
}
_PHRASES: dict[str, Callable[[str], bool]] = {
    "negation": _is_denial,
    "lead_in": _is_lead_in,
    "write_phrase": _is_phrase,
    "harmless_phrase": _is_phrase,
    "result_phrase": _is_phrase,
    "names_result": _is_name_phrase,
    "read_plural": str.islower,
}


def _spelling_of(rule: WordRule) -> Callable[[str], bool]:
    if rule.role in _PHRASES:
        return _PHRASES[rule.role]
    if rule.role in _NAMES_ONLY or rule.where == "names":
        return _is_name_word
    return _is_description_word if rule.role in _DESCRIPTIONS_ONLY or rule.where == "descriptions" else _is_word
