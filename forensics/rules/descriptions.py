"""What does the description of a tool say about its effect and its result?

Descriptions are written for models, full of advice ("use this when you want to create ..."), so a verb counts only
where it makes a statement about the tool: opening the text, opening a sentence in the third person, after a subject
("it creates"), joined to such a verb in the same form and followed by an object ("and deletes the page"), added to it
("creating it if there is none", "by charging the card"), or in the passive of a clause of its own ("old files are
purged"). What is denied ("does not modify") is not done. The words are data (rules/words); the grammar stands here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.late import late
from forensics.rules.memory import keep
from forensics.rules.words import (
    TEXT_LIMIT,
    Hit,
    Lexicon,
    Phrases,
    gerund,
    hit,
    letter_runs,
    lowered,
    participle,
    phrase_pattern,
    third_person,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from forensics.rules.model import WordRule

Clause = tuple[str, ...]
Sentence = tuple[Clause, ...]

_WORD = late(r"[a-z][a-z']*")
_SENTENCE = late(
    r"[.!?\u2022|*\u2013\u2014-](?:(?<=[.!?])(?= |$)|(?<=[\u2022|])|(?<= [*\u2013\u2014-])[*\u2013\u2014-]* )"
)
"""Where a sentence ends, in a text whose only white space is single spaces: a stop, a bullet, a dash that stands alone.
The class of what begins such an end stands first and holds no space: the search passes over all the rest.
"""

_CLAUSE = late(r"[;:,()\[\]{}*`<>\"\u2013\u2014]+")
DRESS = " :,.-*_`'\"#()[]<>!|\u2014\u2013"
"""What may stand around the words of a sentence without being one."""
_DENIAL_REACH = 4
_STRANGE_SHARE = 20  # one letter of so many
_FEW_STRANGE = 2  # a name or a borrowed word
_PHRASE_REACH = 60
_REMEMBERED = 4096
_LONGEST_REMEMBERED = 256
_SUBJECTS = frozenset({"it", "this", "tool", "also", "function", "command", "automatically", "then", "additionally"})
_PAIR = 2  # a verb and what joins the next one to it
_COPULAS = frozenset(
    {"is", "are", "was", "were", "can", "may", "will", "of", "for", "in", "must", "should", "and", "or", "from"}
)
_OBJECTS = frozenset(
    {"a", "an", "the", "it", "them", "this", "that", "these", "all", "any", "each", "every", "new", "its", "your"}
    | {"their", "one", "him", "her", "everything"}
)
_ITS_OBJECTS = frozenset({"a", "an", "the", "it", "them", "its", "your", "their", "him", "her"})
_ADDING = frozenset({"by", "after", "while", "thereby", "then", "also"})
_PASSIVE = frozenset({"is", "are", "be", "gets", "being"})
_FINITE = frozenset({"is", "are", "was", "can", "may", "might", "will", "must", "should", "could"})
_RELATIVE = frozenset(
    {
        "that",
        "who",
        "whose",
        "whether",
        "if",
        "when",
        "where",
        "once",
        "until",
        "unless",
        "while",
        "what",
        "how",
        "since",
    }
    | {"before", "after", "as", "because", "whenever", "to", "must", "should", "can", "could", "may", "might"}
)
_ENDS_PASSIVE = frozenset(
    {
        "",
        "afterwards",
        "afterward",
        "meanwhile",
        "too",
        "again",
        "from",
        "to",
        "in",
        "into",
        "by",
        "for",
        "with",
        "and",
        "or",
        "once",
        "when",
    }
    | {"if", "on", "at", "after", "before", "first", "then", "unless", "so", "but"}
)
_USES = frozenset({"use", "uses", "using"})
_TOWARDS = frozenset({"to", "into", "onto", "from"})
_ITSELF = frozenset(
    {"tool", "tools", "endpoint", "function", "api", "method", "command", "parameter", "option", "field"}
)


class DescriptionReader:
    """Reads descriptions with the word rules of a rule set."""

    def __init__(self, lexicon: Lexicon) -> None:
        verbs = lexicon.words("noun_or_verb", "verb_or_noun", "write")
        plain = lexicon.words("write")
        acts = lexicon.words("verb_or_noun", "write")
        self._base = {word: rule for word, rule in verbs.items() if rule.where != "names"}
        self._third = {third_person(word): rule for word, rule in self._base.items()}
        self._plain_third = {third_person(w): rule for w, rule in plain.items() if rule.where != "names"}
        self._plain = {word: rule for word, rule in plain.items() if rule.where != "names"}
        self._told = {word: rule for word, rule in self._plain_third.items() if not rule.proof}
        self._gerunds = {gerund(w): rule for w, rule in plain.items() if rule.where != "names"}
        self._acting = {gerund(word): rule for word, rule in self._base.items()}
        self._participles = {
            participle(word): rule for word, rule in acts.items() if rule.where != "names" and not rule.proof
        }
        self._stating = frozenset((*self._base, *self._third, *self._plain_third, *self._acting))
        self._opening = lexicon.words("read_opening", "read_answer")
        self._asking_verbs = lexicon.words("read", "read_plain", "read_sure")
        self._sure = lexicon.words("read_plain", "read_sure")
        self._joiners = lexicon.words("joiner")
        self._denials = lexicon.words("negation")
        self._advice = lexicon.words("negation", "advice")
        self._lead_in = phrase_pattern(tuple(lexicon.words("lead_in")))
        self._write_phrases = Phrases(lexicon, "write_phrase")
        self._harmless = Phrases(lexicon, "harmless_phrase")
        self._other_denials = tuple(word for word in self._denials if not word.isascii())
        self._result_phrases = Phrases(lexicon, "result_phrase")
        self._made = lexicon.words("result_opening")
        self._sentences: dict[str, Sentence] = {}
        self._said: dict[tuple[Sentence, bool], tuple[Hit, ...]] = {}

    def read(self, text: str) -> tuple[Hit, ...]:
        """Every veto (one for each rule), or, with none, the reading opening; and what it says of the result."""
        plain = lowered(text)
        lower = " ".join(plain.replace("\u2019", "'").split())
        there = letter_runs(plain)  # as those of `lower`: neither a space nor an apostrophe is in one
        sentences = [sentence for part in _SENTENCE.split(lower) if (sentence := self._sentence(part))]
        results = tuple(self._results(lower, there, sentences))
        vetoes: dict[str, Hit] = {}
        for veto in (*self._phrase_vetoes(lower, there), *self._stated(sentences)):
            vetoes.setdefault(veto.rule.id, veto)
        whole = len(text) <= TEXT_LIMIT  # what is said behind the limit might be anything
        asking = self._asking(sentences) if whole and not vetoes and _is_legible(lower) else ()
        return (*vetoes.values(), *asking, *results)

    def _sentence(self, text: str) -> Sentence:
        """The clauses of a sentence. Many tools share sentences, and what they say is remembered by their words."""
        known = self._sentences.get(text)
        if known is None:
            known = tuple(self._clauses(text))
            if len(text) <= _LONGEST_REMEMBERED:
                keep(self._sentences, text, known, _REMEMBERED)
        return known

    def _clauses(self, sentence: str) -> Iterator[Clause]:
        rest = sentence.lstrip(DRESS)
        while (match := self._lead_in.match(rest)) is not None:
            rest = rest[match.end() :].lstrip(DRESS)
        for part in _CLAUSE.split(rest):
            words = tuple(_WORD.findall(part))
            if words:
                yield words

    def _results(self, lower: str, there: frozenset[str], sentences: list[Sentence]) -> Iterator[Hit]:
        phrases = self._result_phrases.find(lower, there)
        if phrases:
            found = {rule.id: (rule, phrase) for rule, phrase, _ in reversed(phrases)}
            yield from (hit(rule, phrase) for _, (rule, phrase) in sorted(found.items()))
        first = _head(sentences[0]) if sentences else ""
        if first in self._made:
            yield hit(self._made[first], first)

    def _phrase_vetoes(self, lower: str, there: frozenset[str]) -> Iterator[Hit]:
        found: dict[str, Hit] = {}
        phrases = self._write_phrases.find(lower, there)
        harmless = {start for _, _, start in self._harmless.find(lower, there)} if phrases else set()
        for rule, phrase, start in phrases:
            if rule.id not in found and start not in harmless and not self._is_denied(lower, start):
                found[rule.id] = hit(rule, phrase)
        yield from (found[one] for one in sorted(found))

    def _is_denied(self, lower: str, start: int) -> bool:
        before = lower[max(0, start - _PHRASE_REACH) : start]
        return _stands_after(self._denials, tuple(_WORD.findall(before))) or before.rstrip().endswith(
            self._other_denials
        )

    def _stated(self, sentences: list[Sentence]) -> Iterator[Hit]:
        for number, sentence in enumerate(sentences):
            key = (sentence, number == 0)
            said = self._said.get(key)
            if said is None:
                said = tuple(self._sentence_vetoes(sentence, first=number == 0))
                if sum(map(len, sentence)) <= _LONGEST_REMEMBERED:
                    keep(self._said, key, said, _REMEMBERED)
            yield from said

    def _sentence_vetoes(self, sentence: Sentence, *, first: bool) -> Iterator[Hit]:
        opening = _head(sentence)
        rule = self._base.get(opening) or self._third.get(opening) or self._gerunds.get(opening)
        if first and rule is not None:
            yield hit(rule, opening)
        for place, clause in enumerate(sentence):
            joined = self._third if opening.endswith("s") else self._base
            yield from self._statements(clause, joined, opens=not first and place == 0)
            if not first or place > 0:
                yield from self._passives(clause)
                yield from self._added(clause)

    def _statements(self, clause: Clause, joined: Mapping[str, WordRule], *, opens: bool) -> Iterator[Hit]:
        """The vetoes of one clause; `joined` holds the verbs in the form of the sentence's own verb."""
        if self._stating.isdisjoint(clause):
            return
        for index, word in enumerate(clause):
            if word not in self._stating:
                continue
            before = clause[max(0, index - _DENIAL_REACH) : index]
            after = clause[index + 1] if index + 1 < len(clause) else ""
            if opens and index == 0:
                rule = self._opener(word, after)
            else:
                rule = self._statement(word, before, after, joined)
                if rule is None and after in _ITS_OBJECTS and _has_its_own_subject(clause[:index]):
                    rule = self._told.get(word)
            if rule is not None and not _stands_after(self._advice, before):
                yield hit(rule, word)

    def _opener(self, word: str, after: str) -> WordRule | None:
        """`Deletes old files`, `Uploads it to a bucket` at the start of a later sentence."""
        plain = self._plain_third.get(word) if after not in _COPULAS else None
        if plain is not None or after not in _ITS_OBJECTS:
            return plain
        rule = self._third.get(word)
        return None if rule is None or rule.proof else rule

    def _statement(self, word: str, before: Clause, after: str, joined: Mapping[str, WordRule]) -> WordRule | None:
        last = before[-1] if before else ""
        if last in _SUBJECTS:
            found = self._plain_third.get(word) or (self._third.get(word) if after in _OBJECTS else None)
            if found is not None:
                return found
        if last in _ADDING and (word in self._gerunds or after in _OBJECTS):
            found = self._acting.get(word)
            if found is not None:
                return found
        if last in self._joiners and after in _TOWARDS and word in self._plain_third:
            return self._plain_third[word]
        if last in self._joiners and len(before) == _PAIR and before[0] in self._asking_verbs and word in self._plain:
            return self._plain[word]
        if (not last or last in self._joiners) and after in _OBJECTS:
            return joined.get(word)
        return None

    def _passives(self, clause: Clause) -> Iterator[Hit]:
        """`old files are purged`; what is said of a thing by a relative or under a condition describes that thing, and
        a tool that will be removed is the tool itself.
        """
        if _PASSIVE.isdisjoint(clause):
            return
        for index in range(2, len(clause)):
            rule = self._participles.get(clause[index]) if clause[index - 1] in _PASSIVE else None
            after = clause[index + 1] if index + 1 < len(clause) else ""
            if rule is None or not (after in _ENDS_PASSIVE or after.endswith("ly")):
                continue
            before = clause[:index]
            if _RELATIVE.isdisjoint(before) and _ITSELF.isdisjoint(before) and not _stands_after(self._denials, before):
                yield hit(rule, clause[index])

    def _added(self, clause: Clause) -> Iterator[Hit]:
        """`creating it if there is none`, `syncing them first` at the start of a clause."""
        after = clause[1] if len(clause) > 1 else ""
        rule = (self._acting if after in _OBJECTS else self._gerunds).get(clause[0])
        if rule is not None and after and after not in _COPULAS and not _is_subject(clause):
            yield hit(rule, clause[0])

    def _asking(self, sentences: list[Sentence]) -> tuple[Hit, ...]:
        """The reading verb that opens the first sentence, or the second, where it tells the caller nothing: `lists the
        pages` or `get the pages`, and not `identify the page by its number`.
        """
        for number, sentence in enumerate(sentences[:2]):
            word = self._asked(sentence)
            if word in self._opening and (number == 0 or word in self._sure or word.endswith("s")):
                return (hit(self._opening[word], word),)
        return ()

    def _asked(self, sentence: Sentence) -> str:
        """The verb of a sentence: its first word, or, of `use the archive to search for pages`, what it is used to."""
        word, clause = _head(sentence), sentence[0]
        if word not in _USES or "to" not in clause[:-1]:
            return word
        used_to = clause[clause.index("to") + 1]
        return used_to if used_to in self._sure else word


def _is_legible(lower: str) -> bool:
    """Whether the text is written in letters that the word lists know. In another language a verb that writes would be
    passed over, so that an opening `get` must not count.
    """
    if lower.isascii():
        return True
    strange = sum(character.isalpha() and not character.isascii() for character in lower)
    return strange <= _FEW_STRANGE or strange * _STRANGE_SHARE < sum(map(str.isalpha, lower))


def _head(sentence: Sentence) -> str:
    """The first word; an adverb may stand before it (`permanently delete`)."""
    words = sentence[0]
    return words[1] if len(words) > 1 and words[0].endswith("ly") else words[0]


def _has_its_own_subject(before: Clause) -> bool:
    """`reading them clears the badge`; what is said of a thing by a relative describes that thing."""
    return _RELATIVE.isdisjoint(before) and "which" not in before[1:]


def _is_subject(clause: Clause) -> bool:
    """Whether what its first word opens is what the clause speaks about: `setting a limit is encouraged`."""
    for word in clause[1:]:
        if word in _RELATIVE - _FINITE or word == "which":
            return False
        if word in _FINITE:
            return True
    return False


def _stands_after(words: Mapping[str, WordRule], before: Clause) -> bool:
    """Whether one of these words (or a contracted *not*) stands shortly before."""
    return any(word in words or word.endswith("n't") for word in before[-_DENIAL_REACH:])
