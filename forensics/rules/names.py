"""What does the name of a tool say about its effect?

A plain write word vetoes wherever it stands. A word that is also a noun (`release`, `order`, `comment`) vetoes unless a
reading verb governs it (`get_release`, `order_list`). With no veto, a reading verb says that the tool only reads. The
words are data (rules/words); this module only knows positions.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from forensics.core.late import late
from forensics.rules.memory import keep
from forensics.rules.words import Hit, Lexicon, hit, phrase_pattern, split_words, third_person

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME_LIMIT = 512
"""Longer names (characters) are read up to here, and never as a reading name."""

_REMEMBERED = 16384
_NUMBER = late(r"(?<![^\W_])[0-9]+(?![^\W_])")
"""A number that is a word of its own."""

_NAMESPACE = late(r"[./:]|__")
_PLURAL_LEAST = 4


class NameReader:
    """Reads names with the word rules of a rule set."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._write = lexicon.words("write")
        self._acts = lexicon.words("verb_or_noun")
        self._things = lexicon.words("noun_or_verb")
        self._get = lexicon.words("read_plain")
        self._ask = lexicon.words("read_plain", "read_sure")
        self._read = lexicon.words("read", "read_plain", "read_sure")
        self._nouns = lexicon.words("read_noun")
        self._plurals = lexicon.words("read_plural")
        self._fillers = lexicon.words("filler")
        self._joiners = lexicon.words("joiner")
        self._results = lexicon.phrases("names_result")
        self._knows_numbers = lexicon.holds(_NUMBER)
        self._known: dict[str, tuple[Hit, ...]] = {}

    def read(self, name: str) -> tuple[Hit, ...]:
        """Every veto, or, with none, the reading word (nothing when neither is there); and what the result is. Names
        that differ in numbers alone are read once, unless a list of words has numbers.
        """
        if len(name) > NAME_LIMIT or self._knows_numbers:
            return self._read_words(name)
        alike = _NUMBER.sub("0", name)
        known = self._known.get(alike)
        if known is None:
            known = self._read_words(alike)
            keep(self._known, alike, known, _REMEMBERED)
        return known

    def _read_words(self, name: str) -> tuple[Hit, ...]:
        head = name[:NAME_LIMIT]
        words, own = split_words(head), split_words(_NAMESPACE.split(head)[-1])
        spaces = words[: len(words) - len(own)]
        vetoes = [*self._space_vetoes(spaces, asked=own[:1] != () and own[0] in self._ask)]
        vetoes += [veto for clause in self._clauses(own) for veto in self._vetoes(clause)]
        results = self._result_hits(" ".join(words))
        legible = len(name) <= NAME_LIMIT and all(word.isascii() for word in words)
        return (*vetoes, *results) if vetoes or not legible else (*self._reading(words), *results)

    def _result_hits(self, text: str) -> tuple[Hit, ...]:
        near = (rule for rule in self._results if any(phrase in text for phrase in rule.words))
        found = ((rule, phrase_pattern(rule.words).search(text)) for rule in near)
        return tuple(hit(rule, match.group()) for rule, match in found if match is not None)

    def _space_vetoes(self, words: tuple[str, ...], *, asked: bool) -> Iterator[Hit]:
        """Before the last separator stands what the tool is about: only a plain write word counts there, or an act
        that no asking verb follows (`run.query`).
        """
        for word in words:
            rule = self._write.get(word) or (None if asked else self._acts.get(word))
            if rule is not None:
                yield hit(rule, word)

    def _clauses(self, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Cut at `and`, `or`, `then`: what governs one part does not govern the next (`get_and_post`)."""
        start = 0
        for index, word in enumerate(words):
            if word in self._joiners:
                yield words[start:index]
                start = index + 1
        yield words[start:]

    def _vetoes(self, words: tuple[str, ...]) -> tuple[Hit, ...]:
        acts = tuple(
            hit(self._write.get(word) or self._acts[word], word)
            for index, word in enumerate(words)
            if word in self._write or (word in self._acts and not self._governs_act(words, index))
        )
        return acts or tuple(self._thing_vetoes(words))

    def _governs_act(self, words: tuple[str, ...], index: int) -> bool:
        """`get` and its like wherever they stand, another asking verb before the act; a reading verb that may be a noun
        itself only inside a longer name, since the last word of a name is often its verb (`view_export`).
        """
        if not self._get.keys().isdisjoint(words) or not self._ask.keys().isdisjoint(words[:index]):
            return True
        inside = index < len(words) - 1
        return inside and not self._read.keys().isdisjoint(words[1:index])

    def _thing_vetoes(self, words: tuple[str, ...]) -> Iterator[Hit]:
        """A thing is taken for an act only where no asking verb is in the name and no reading verb before it."""
        if not self._ask.keys().isdisjoint(words):
            return
        for word in words:
            if word in self._read:
                return
            if word in self._things:
                yield hit(self._things[word], word)

    def _reading(self, words: tuple[str, ...]) -> tuple[Hit, ...]:
        for word in words:
            if word in self._read:
                return (hit(self._read[word], word),)
        while len(words) > 1 and words[-1] in self._fillers:
            words = words[:-1]
        if words and words[-1] in self._nouns:
            return (hit(self._nouns[words[-1]], words[-1]),)
        return self._plural(words[-1]) if words else ()

    @cached_property
    def _third(self) -> frozenset[str]:
        """The verbs that write, in the third person."""
        return frozenset(map(third_person, (*self._write, *self._acts)))

    def _plural(self, word: str) -> tuple[Hit, ...]:
        """A bare plural; a verb in the third person is none, nor is a word such as `status`, `access` or `analysis`."""
        if len(word) < _PLURAL_LEAST or word in self._third or word.endswith(("ss", "us", "is")):
            return ()
        return next(((hit(rule, word),) for ending, rule in self._plurals.items() if word.endswith(ending)), ())
