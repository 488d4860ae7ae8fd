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
_SENTENCE = re.compile(r"[.!?](?=\s|$)|\n|\s[-\u2013\u2014*]+\s|[\u2022|]")
_CLAUSE = re.compile(r"[;:,()\[\]{}*`<>|\"\u2013\u2014]+")
_NAMESPACE = re.compile(r"[./:]|__")
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
        self.verbish = self.roles.get("verb_or_noun", {})
        self.nounish = self.roles.get("noun_or_verb", {})
        self.read = self.roles.get("read", {})
        self.read_noun = self.roles.get("read_noun", {})
        self.fillers = self.roles.get("filler", {})
        self.made = self.roles.get("result_opening", {})
        self.plurals = self.roles.get("read_plural", {})
        self.opening = self.roles.get("read_opening", {})
        self.joiners = self.roles.get("joiner", {})
        self.negations = self.roles.get("negation", {})
        self.lead_in = phrase_pattern(tuple(self.roles.get("lead_in", {"": None})))
        said = {**self.nounish, **self.verbish, **self.write}
        self.base = {word: rule for word, rule in said.items() if rule.where != "names"}
        self.third = {third_person(word): rule for word, rule in self.base.items()}
        self.acts = frozenset(map(third_person, (*self.write, *self.verbish)))
        self.sure_third = {third_person(w): r for w, r in self.write.items() if r.where != "names"}

    def name(self, name: str) -> tuple[Hit, ...]:
        """What the name says: every veto, or, with none, the reading word (nothing when neither is there)."""
        words = split_words(name[:_NAME_LIMIT])
        own = split_words(_NAMESPACE.split(name[:_NAME_LIMIT])[-1])
        spaces = words[: len(words) - len(own)]
        found = list(self._space_vetoes(spaces, bool(own) and own[0] in _SURE))
        found += [hit for clause in self._name_clauses(own) for hit in self._name_vetoes(clause)]
        results = self._phrase_hits("names_result", " ".join(words))
        if found or not all(word.isascii() for word in words) or len(name) > _NAME_LIMIT:
            return (*found, *results)
        return (*self._name_reading(words), *results)

    def _space_vetoes(self, words: tuple[str, ...], asked: bool) -> Iterator[Hit]:
        """Before the last separator stands what the tool is about: only a plain write word counts there, or an act
        (`run.query`) that no plain asking verb follows."""
        for word in words:
            rule = self.write.get(word) or (None if asked else self.verbish.get(word))
            if rule is not None:
                yield _hit(rule, word)

    def _name_clauses(self, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        start = 0
        for index, word in enumerate(words):
            if word in self.joiners:
                yield words[start:index]
                start = index + 1
        yield words[start:]

    def _name_vetoes(self, words: tuple[str, ...]) -> Iterator[Hit]:
        """A word that may be a noun is one where a reading verb governs it: `get` and its like wherever they stand,
        other plain asking verbs before an act, any reading verb beside a thing. The last word is taken for a verb when
        only a word that may itself be a noun governs it (`view_publish`)."""
        asked_at = next((index for index, word in enumerate(words) if word in self.read), len(words))
        sure_at = next((index for index, word in enumerate(words) if word in _SURE), len(words))
        plain = not _PLAIN.isdisjoint(words)
        acts = [
            _hit(self.write.get(word) or self.verbish[word], word)
            for index, word in enumerate(words)
            if word in self.write
            or (word in self.verbish and not (plain or sure_at < index or (0 < asked_at < index < len(words) - 1)))
        ]
        asked = plain or sure_at < len(words)
        things = [(index, word) for index, word in enumerate(words) if word in self.nounish]
        yield from acts
        if not acts:
            yield from (_hit(self.nounish[w], w) for index, w in things if not (asked or asked_at < index))

    def _name_reading(self, words: tuple[str, ...]) -> tuple[Hit, ...]:
        for word in words:
            if word in self.read:
                return (_hit(self.read[word], word),)
        while len(words) > 1 and words[-1] in self.fillers:
            words = words[:-1]
        if words and words[-1] in self.read_noun:
            return (_hit(self.read_noun[words[-1]], words[-1]),)
        return self._plural(words[-1]) if words else ()

    def _plural(self, word: str) -> tuple[Hit, ...]:
        """A bare plural; a verb in the third person and words such as `status` and `access` are none."""
        if len(word) < 4 or word in self.acts or word.endswith(("ss", "us", "is")):
            return ()
        return next(((_hit(rule, word),) for end, rule in self.plurals.items() if word.endswith(end)), ())

    def description(self, text: str) -> tuple[Hit, ...]:
        """What the description says: every veto, or, with none, its reading opening; and what it says of the result."""
        lower = " ".join(text[:_DESCRIPTION_LIMIT].replace("\u2019", "'").lower().split())
        results = self._phrase_hits("result_phrase", lower)
        sentences = [tuple(self._clauses(sentence)) for sentence in _SENTENCE.split(lower)]
        sentences = [sentence for sentence in sentences if sentence]
        if sentences and (made := self.made.get(sentences[0][0][0])) is not None:
            results = (*results, _hit(made, sentences[0][0][0]))
        vetoes = [*self._phrase_vetoes(lower), *self._sentence_vetoes(sentences)]
        vetoes = list({hit.rule.id: hit for hit in reversed(vetoes)}.values())[::-1]
        return (*vetoes, *results) if vetoes else (*self._opening(sentences), *results)

    def _phrase_hits(self, role: str, text: str) -> tuple[Hit, ...]:
        found = ((rule, pattern.search(text)) for pattern, rule in self.phrases if rule.role == role)
        return tuple(_hit(rule, match.group()) for rule, match in found if match is not None)

    def _phrase_vetoes(self, lower: str) -> Iterator[Hit]:
        for pattern, rule in self.phrases:
            for match in pattern.finditer(lower) if rule.role == "write_phrase" else ():
                if not self._denied(tuple(_WORD.findall(lower[max(0, match.start() - 60) : match.start()]))):
                    yield _hit(rule, match.group())
                    break

    def _denied(self, before: tuple[str, ...]) -> bool:
        return any(word in self.negations or word.endswith("n't") for word in before[-4:])

    def _clauses(self, sentence: str) -> Iterator[tuple[str, ...]]:
        rest = sentence.lstrip(_DRESS)
        while (match := self.lead_in.match(rest)) is not None and match.end() > 0:
            rest = rest[match.end() :].lstrip(_DRESS)
        for part in _CLAUSE.split(rest):
            words = tuple(_WORD.findall(part))
            if words:
                yield words

    def _sentence_vetoes(self, sentences: list[tuple[tuple[str, ...], ...]]) -> Iterator[Hit]:
        for number, sentence in enumerate(sentences):
            third = sentence[0][0].endswith("s")
            for place, clause in enumerate(sentence):
                if number == 0 and place == 0 and (rule := self._verb(clause[0], self.base, self.third)) is not None:
                    yield _hit(rule, clause[0])
                yield from self._statements(clause, third, number > 0 and place == 0)

    def _statements(self, clause: tuple[str, ...], third: bool, opens: bool) -> Iterator[Hit]:
        """Verbs that say what the tool does: opening a sentence in the third person, after a subject, or joined to the
        sentence's verb in the same form and followed by an object (`and deletes the page`)."""
        for index, word in enumerate(clause):
            before = clause[max(0, index - 4) : index]
            after = clause[index + 1] if index + 1 < len(clause) else ""
            rule = self._statement(word, before, after, third, opens and index == 0)
            if rule is not None and not self._denied(before):
                yield _hit(rule, word)

    def _statement(
        self, word: str, before: tuple[str, ...], after: str, third: bool, opens: bool
    ) -> WordRule | None:
        if before and before[-1] in _SUBJECTS:
            return self.sure_third.get(word) or (self.third.get(word) if after in _OBJECTS else None)
        if opens:
            return self.sure_third.get(word) if after not in _COPULAS else None
        joined = not before or before[-1] in self.joiners
        if joined and after in _OBJECTS:
            return self.third.get(word) if third else self.base.get(word)
        return None

    def _verb(self, word: str, *forms: dict[str, WordRule]) -> WordRule | None:
        return next((form[word] for form in forms if word in form), None)

    def _opening(self, sentences: list[tuple[tuple[str, ...], ...]]) -> tuple[Hit, ...]:
        """The reading verb that opens one of the first two sentences; an adverb may stand before it."""
        for sentence in sentences[:2]:
            words = sentence[0]
            word = words[1] if len(words) > 1 and words[0].endswith("ly") else words[0]
            if word in self.opening:
                return (_hit(self.opening[word], word),)
        return ()


_PLAIN = frozenset({"get", "gets", "retrieve", "describe"})
_SURE = frozenset({"get", "gets", "fetch", "retrieve", "describe", "find", "lookup", "has", "is", "list", "read", "search"})
_SUBJECTS = frozenset({"it", "this", "tool", "also", "function", "command", "automatically", "then", "additionally"})
_COPULAS = frozenset({"is", "are", "was", "were", "can", "may", "will", "of", "for", "in", "must", "should", "and", "or", "from"})
_OBJECTS = frozenset(
    {"a", "an", "the", "it", "them", "this", "that", "these", "all", "any", "each", "every", "new", "its", "your", "their",
     "one", "him", "her", "everything"}
)
_DRESS = " :,.-*_`'\"#()[]<>!|\u2014\u2013"


def _hit(rule: WordRule, word: str) -> Hit:
    effect = Effect[rule.effect.name] if rule.effect is not None else None
    result = Stability[rule.result.name] if rule.result is not None else None
    scope = Scope(rule.scope.value) if rule.scope is not None else None
    return Hit(rule, word, effect, result, scope)


def phrase_pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern that finds any of these phrases (lower case), not inside a longer word."""
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    return re.compile(r"(?<![a-z])(?:" + "|".join(re.escape(p) for p in longest_first) + r")(?![a-z])")
