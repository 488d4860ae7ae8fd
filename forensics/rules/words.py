"""Which words does a text hold, and what does a list of words in a rule pack mean?

The parts that reading a name (`names`) and reading a description (`descriptions`) share: splitting, inflection,
phrases, and the hit that a word rule makes.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from forensics.core.classes import Effect, Scope, Stability
from forensics.core.late import late
from forensics.rules.model import Role, WordRule

if TYPE_CHECKING:
    from collections.abc import Iterator

_CAMEL = late(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])(?![A-Z]s(?![a-z]))|(?<=[0-9])(?=[a-z]{4})")
_LETTERS = late(r"[a-z]+")
_SEPARATORS = late(r"[\W_]+")

TEXT_LIMIT = 8192
"""A text is read up to here (characters)."""


class Hit(msgspec.Struct, frozen=True, gc=False):
    """One rule that spoke, and the word or phrase that made it speak."""

    rule: WordRule
    word: str
    effect: Effect | None
    result: Stability | None
    scope: Scope | None

    def __hash__(self) -> int:
        return hash((self.rule.id, self.word))


def hit(rule: WordRule, word: str) -> Hit:
    """The rule's values in the vocabulary of the core."""
    effect = Effect[rule.effect.name] if rule.effect is not None else None
    result = Stability[rule.result.name] if rule.result is not None else None
    scope = Scope(rule.scope.value) if rule.scope is not None else None
    return Hit(rule, word, effect, result, scope)


@lru_cache(maxsize=65536)
def split_words(name: str) -> tuple[str, ...]:
    """The words of an identifier in lower case: `mcp__jira.getIssueURL` is mcp, jira, get, issue, url.

    A digit ends a word where a word of some length follows it, so that `user2delete` hides no verb.
    """
    return tuple(word.lower() for part in _SEPARATORS.split(name) if part for word in _CAMEL.split(part))


def third_person(verb: str) -> str:
    """The form after *it*: sends, copies, pushes."""
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


_PAST = {
    "send": "sent",
    "resend": "sent",
    "write": "written",
    "rewrite": "rewritten",
    "overwrite": "overwritten",
    "pay": "paid",
}
_PAST |= {
    "sell": "sold",
    "buy": "bought",
    "withdraw": "withdrawn",
    "undo": "undone",
    "redo": "redone",
    "forget": "forgotten",
}
_PAST |= {"set": "set", "reset": "reset", "unset": "unset", "swap": "swapped", "freeze": "frozen", "cast": "cast"}
_PAST["hide"] = "hidden"
_PAST |= {"begin": "begun", "shred": "shredded", "rebuild": "rebuilt", "mv": "moved", "rm": "removed", "cp": "copied"}


def gerund(verb: str) -> str:
    """The form after *by*: sending, creating, dropping."""
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    return _doubled(verb) + "ing"


def participle(verb: str) -> str:
    """The form after *is*: sent, created, copied, dropped."""
    if verb in _PAST:
        return _PAST[verb]
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ied"
    return _doubled(verb) + "ed"


_SHORT = late(r"(?:[^aeiou]*|re|un|over)[^aeiou]+[aeiou][^aeiouwxy]|[^aeiou]*[aeiou][bdgmnprt]")
_STRESSED_LAST = frozenset(
    {"commit", "submit", "permit", "admit", "omit", "refer", "transfer", "cancel", "reset", "begin"}
)


def _doubled(verb: str) -> str:
    """A last consonant stands twice after one short vowel that is stressed."""
    return verb + verb[-1] if verb in _STRESSED_LAST or _SHORT.fullmatch(verb) else verb


@lru_cache(maxsize=1024)
def phrase_pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern that finds any of these phrases (lower case), not inside a longer word; of none, it finds nothing. It
    is compiled when it is asked.
    """
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    any_of = "|".join(map(re.escape, longest_first)) if phrases else "(?!)"
    return late(rf"(?<![a-z])(?:{any_of})(?![a-z])")


class Lexicon:
    """The word rules of all packs by role. Of two rules that list the same word in one role, the later pack's wins."""

    def __init__(self, rules: tuple[WordRule, ...]) -> None:
        self._roles: dict[str, dict[str, WordRule]] = {}
        for rule in rules:
            self._roles.setdefault(rule.role, {}).update(dict.fromkeys(rule.words, rule))

    def words(self, *roles: Role) -> dict[str, WordRule]:
        """Every word of these roles and its rule; a word of several roles belongs to the last."""
        return {word: rule for role in roles for word, rule in self._roles.get(role, {}).items()}

    def holds(self, pattern: re.Pattern[str]) -> bool:
        """Whether any word of any role has a part that the pattern, which reaches over no end of line, finds."""
        return pattern.search("\n".join(word for by_word in self._roles.values() for word in by_word)) is not None

    def phrases(self, role: Role) -> tuple[WordRule, ...]:
        """Each rule of a role that lists phrases."""
        return tuple({rule.id: rule for rule in self.words(role).values()}.values())


class _Phrase(msgspec.Struct, frozen=True):
    """A phrase, the words in it, and where its first letter stands."""

    text: str
    rule: WordRule
    words: frozenset[str]
    letter: int


class Phrases:
    """Finds the phrases of all rules of a role in a text. Each is filed under its longest word of the letters a to z: a
    text without that word is not searched for it. A phrase of other letters is looked for where a text has any.
    """

    def __init__(self, lexicon: Lexicon, role: Role) -> None:
        self._by_word: dict[str, list[_Phrase]] = {}
        self._foreign: list[_Phrase] = []
        for text, rule in lexicon.words(role).items():
            words, letter = _LETTERS.findall(text), _LETTERS.search(text)
            if letter is not None:
                phrase = _Phrase(text, rule, frozenset(words), letter.start())
                self._by_word.setdefault(max(words, key=len), []).append(phrase)
            else:
                self._foreign.append(_Phrase(text, rule, frozenset(), 0))
        self._longest = frozenset(self._by_word)

    def find(self, lower: str, there: frozenset[str]) -> list[tuple[WordRule, str, int]]:
        """(rule, phrase, where it begins) of every phrase, in the order of the text; of one rule the longest first.
        `there` holds the text's runs of letters.
        """
        phrases = [p for word in self._longest & there for p in self._by_word[word] if p.words <= there]
        if self._foreign and not lower.isascii():
            phrases += self._foreign
        if not phrases:
            return []
        found = [
            (start + phrase.letter, -len(phrase.text), phrase.text, phrase.rule, start)
            for phrase in phrases
            for start in _occurrences(phrase.text, lower)
        ]
        return [(rule, text, start) for _, _, text, rule, start in sorted(found, key=_place)]


def lowered(text: str) -> str:
    """What is read of a text, in lower case."""
    return text[:TEXT_LIMIT].lower()


def _place(found: tuple[int, int, str, WordRule, int]) -> tuple[int, int, str]:
    return found[:3]


@lru_cache(maxsize=16)
def letter_runs(lower: str) -> frozenset[str]:
    """The runs of the letters a to z of a text; those of a phrase that stands in it are among them."""
    return frozenset(_LETTERS.findall(lower))


def _occurrences(phrase: str, lower: str) -> Iterator[int]:
    """Where a phrase begins that is no part of longer words."""
    letter_first = "a" <= phrase[0] <= "z"
    start = lower.find(phrase)
    while start >= 0:
        joined = letter_first and start > 0 and "a" <= lower[start - 1] <= "z"
        if not joined and _ends_there(lower, start + len(phrase)):
            yield start
        start = lower.find(phrase, start + 1)


def _ends_there(lower: str, end: int) -> bool:
    """Whether a phrase that ends here is no part of a longer word."""
    return end >= len(lower) or not "a" <= lower[end] <= "z"
