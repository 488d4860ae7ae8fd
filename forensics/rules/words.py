"""What do the words of a tool's name and description say about its effect?

A name is split into words whatever its style. A write word anywhere vetoes; a word that is noun or verb (`release`,
`order`, `comment`) vetoes unless a reading verb governs it (`get_release`, `order_list`); a reading verb with no veto
says that the tool only reads. A description is read by clauses: its opening verb, then every verb in a position that
makes a statement about the tool. The word lists are data (rules/words); this module only knows positions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from forensics.core.classes import Effect, Scope, Stability
from forensics.rules.model import WordRule

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[\W_]+")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’]*")
_CLAUSE = re.compile(r"[.!?;:()\[\]{}\n—–*`<>|\"]+|,|\s-+\s")
_DESCRIPTION_LIMIT = 8192
_NAME_LIMIT = 512


class Hit(msgspec.Struct, frozen=True):
    """One rule that spoke, and the word or phrase that made it speak."""

    rule: WordRule
    word: str
    effect: Effect | None
    result: Stability | None = None
    scope: Scope | None = None


@lru_cache(maxsize=65536)
def split_words(name: str) -> tuple[str, ...]:
    """The words of an identifier in lower case: `mcp__jira.getIssueURL` is mcp, jira, get, issue, url."""
    return tuple(word.lower() for part in _SEPARATORS.split(name) if part for word in _CAMEL.split(part))


def third_person(verb: str) -> str:
    """The form after *it*: sends, copies, pushes."""
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


class Lexicon:
    """The word rules of all packs, indexed by word and role."""

    def __init__(self, rules: tuple[WordRule, ...]) -> None:
        self.roles: dict[str, dict[str, WordRule]] = {}
        self.phrases: list[tuple[re.Pattern[str], WordRule]] = []
        for rule in rules:
            if rule.role in ("write_phrase", "result_phrase", "names_result"):
                self.phrases.append((phrase_pattern(rule.words), rule))
            else:
                self.roles.setdefault(rule.role, {}).update(dict.fromkeys(rule.words, rule))
        self.write = self.roles.get("write", {})
        self.either = self.roles.get("noun_or_verb", {})
        self.read = self.roles.get("read", {})
        self.read_noun = self.roles.get("read_noun", {})
        self.opening = self.roles.get("read_opening", {})
        self.joiners = self.roles.get("joiner", {})
        self.negations = self.roles.get("negation", {})
        self.lead_in = phrase_pattern(tuple(self.roles.get("lead_in", {}))) if self.roles.get("lead_in") else None
        self.write_third = {third_person(w): r for w, r in self.write.items()}
        self.either_third = {third_person(w): r for w, r in self.either.items()}

    def name(self, name: str) -> tuple[Hit, ...]:
        """What the name says: every veto, or, with none, the reading word (nothing when neither is there)."""
        words = split_words(name[:_NAME_LIMIT])
        found = [hit for clause in self._name_clauses(words) for hit in self._name_vetoes(clause)]
        results = [_hit(r, m.group()) for p, r in self.phrases if r.role == "names_result" and (m := p.search(" ".join(words)))]
        if found or not all(word.isascii() for word in words) or len(name) > _NAME_LIMIT:
            return (*found, *results)
        return (*self._name_reading(words), *results)

    def _name_clauses(self, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        start = 0
        for index, word in enumerate(words):
            if word in self.joiners:
                yield words[start:index]
                start = index + 1
        yield words[start:]

    def _name_vetoes(self, words: tuple[str, ...]) -> Iterator[Hit]:
        governed = bool(words) and words[-1] in self.read
        for word in words:
            if word in self.write:
                yield _hit(self.write[word], word)
            elif word in self.either and not governed:
                yield _hit(self.either[word], word)
            governed = governed or word in self.read

    def _name_reading(self, words: tuple[str, ...]) -> tuple[Hit, ...]:
        for word in words:
            if word in self.read:
                return (_hit(self.read[word], word),)
        if words and words[-1] in self.read_noun:
            return (_hit(self.read_noun[words[-1]], words[-1]),)
        return ()

    def description(self, text: str) -> tuple[Hit, ...]:
        """What the description says: every veto, or, with none, its reading opening; and what it says of the result."""
        text = text[:_DESCRIPTION_LIMIT].replace("’", "'")
        clauses = [tuple(w.lower() for w in _WORD.findall(part)) for part in _CLAUSE.split(text)]
        clauses = [clause for clause in clauses if clause]
        lower = " ".join(text.lower().split())
        results = [_hit(r, m.group()) for p, r in self.phrases if r.role == "result_phrase" and (m := p.search(lower))]
        vetoes = [*self._phrase_vetoes(lower), *self._clause_vetoes(text)]
        if vetoes:
            return (*vetoes, *results)
        return (*self._opening(text), *results)

    def _phrase_vetoes(self, lower: str) -> Iterator[Hit]:
        for pattern, rule in self.phrases:
            if rule.role == "write_phrase":
                for match in pattern.finditer(lower):
                    before = lower[max(0, match.start() - 40) : match.start()].split()
                    if not self._negated(tuple(w.strip(".,;:()") for w in before)):
                        yield _hit(rule, match.group())
                        break

    def _negated(self, before: tuple[str, ...]) -> bool:
        return any(word in self.negations or word.endswith("n't") for word in before[-4:])

    def _clause_vetoes(self, text: str) -> Iterator[Hit]:
        first = True
        for clause in self._clauses(text):
            yield from self._one_clause(clause, first)
            first = False

    def _clauses(self, text: str) -> Iterator[tuple[str, ...]]:
        lower = " ".join(text.lower().split())
        if self.lead_in is not None:
            while (match := self.lead_in.match(lower)) is not None:
                lower = lower[match.end() :].lstrip(" :,.-*_`'\"")
        for part in _CLAUSE.split(lower):
            words = tuple(_WORD.findall(part))
            if words:
                yield words

    def _one_clause(self, words: tuple[str, ...], first: bool) -> Iterator[Hit]:
        if first and (words[0] in self.write or words[0] in self.either):
            yield _hit(self.write.get(words[0]) or self.either[words[0]], words[0])
        for index, word in enumerate(words):
            before = words[max(0, index - 4) : index]
            rule = self._verb_rule(word, before, first and index == 0)
            if rule is not None and not self._negated(before):
                yield _hit(rule, word)

    def _verb_rule(self, word: str, before: tuple[str, ...], opens: bool) -> WordRule | None:
        joined = bool(before) and before[-1] in self.joiners
        if word in self.write_third and (not before or joined or opens or before[-1] in _SUBJECTS):
            return self.write_third[word]
        if word in self.either_third and (opens or (bool(before) and before[-1] in _SUBJECTS)):
            return self.either_third[word]
        if word in self.write and len(before) >= 2 and joined:
            return self.write[word]
        return None

    def _opening(self, text: str) -> tuple[Hit, ...]:
        first = next(self._clauses(text), ())
        for word in first[:2]:
            if word in self.opening:
                return (_hit(self.opening[word], word),)
            if not word.endswith("ly"):
                break
        return ()


_SUBJECTS = frozenset({"it", "this", "tool", "also", "that", "which", "function", "command", "call", "automatically"})


def _hit(rule: WordRule, word: str) -> Hit:
    effect = Effect[rule.effect.name] if rule.effect is not None else None
    result = Stability[rule.result.name] if rule.result is not None else None
    scope = Scope(rule.scope.value) if rule.scope is not None else None
    return Hit(rule, word, effect, result, scope)


def phrase_pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern that finds any of these phrases (lower case), not inside a longer word."""
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    return re.compile(r"(?<![a-z])(?:" + "|".join(re.escape(p) for p in longest_first) + r")(?![a-z])")
