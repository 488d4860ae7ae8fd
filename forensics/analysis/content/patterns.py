r"""How are the shapes of all rules looked for at once? By automata of RE2, whose time is linear in the text.

Those over the bytes of an evidence (the triggers) say where something may stand, at the speed of memory; another, over
a decoded text, says what stands there. A third pattern, made of the names of fields, reads `name = value` in running
text. Base64 of a text is told by its own look: in a group of four, printable ASCII leaves 26, 28 and 32 of 64 letters
to the first three, so that six groups of chance pass one time in ten million.

An automaton is as fast as it has few states, and it has one for each set of shapes that may just be going on. In an id
that a machine drew, hundreds could begin at any letter; so a shape that only the beginning of a word may begin has a
trigger that begins with `\b`, which all of these share.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from forensics.analysis.content.names import phrases
from forensics.rules.content_rules import ContentRule, content_rules

if TYPE_CHECKING:
    from collections.abc import Iterator


Pattern: TypeAlias = "Any"
"""A compiled RE2 pattern over bytes; the package ships no types."""

_MEMORY = 64 << 20  # for the states of an automaton; RE2 slows down where they don't fit
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_PRINTABLE = (9, 10, 13, *range(0x20, 0x7F))
_VALUE = r"""[^\s"'\\,;&<>(){}\[\]|`]"""
_ASSIGNS = r"(?::|=>|={1,2}|%3[aAdD])"
_ENDINGS = "values?|string|text|header|env|b64|base64|plain|raw|[12]"
_SPELLED = r"\\u00(?:[46][0-9a-fA-F]|[57][0-9aA])"  # letters that nobody has to escape
_ODD_KEY = r"""(?:[\x80-\xff]|\\u[0-9a-fA-F]{4})[^"\n]*"\s*:"""  # the name of a member with a letter beyond ASCII
_BASE64_GROUPS = 6  # 18 bytes of text
BASE64_LEAST = 4 * _BASE64_GROUPS
"""Letters of base64 that are looked into."""
_WORD = r"\b"
_BEGINS = r"(?:^|[^0-9A-Za-z]|\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2})"  # of a word: escapes stand for a sign


class Trigger(msgspec.Struct, frozen=True, gc=False):
    """One automaton over bytes. Its group holds what fires at the beginning of a word, without what stands before it.
    `by_token` says that what it finds is told by the run of characters around it alone, so that the same run need not
    be looked at again.
    """

    pattern: Pattern
    by_token: bool


class Shape(msgspec.Struct, frozen=True, gc=False):
    """A rule with the number of the group that holds its value, in the pattern of all rules."""

    rule: ContentRule
    group: str
    number: int


def compile_pattern(pattern: str) -> Pattern:
    """A pattern over bytes. Raises re2.error."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = _MEMORY
    return re2.compile(pattern.encode("latin-1"), options)


def base64_of_text(groups: int) -> str:
    """A pattern for base64, in either alphabet, of at least that many groups of printable ASCII."""
    first = {_ALPHABET[a >> 2] for a in _PRINTABLE}
    second = {_ALPHABET[a << 4 | b] for a in {a & 3 for a in _PRINTABLE} for b in {b >> 4 for b in _PRINTABLE}}
    third = {_ALPHABET[a << 2 | b] for a in {a & 15 for a in _PRINTABLE} for b in {b >> 6 for b in _PRINTABLE}}
    one, two, three = ("".join(sorted(letters)) for letters in (first, second, third))
    return rf"(?:[{one}][{two}][{three}][A-Za-z0-9+/_-]){{{groups},}}[A-Za-z0-9+/_-]{{0,3}}={{0,2}}"


def shapes() -> Iterator[Shape]:
    """Every rule of every file, in order; of two that match at one place, the first speaks."""
    number = 1
    for file in content_rules():
        for rule in file.rules:
            yield Shape(rule, file.group, number)
            number += 1


@lru_cache(maxsize=1)
def shape_trigger() -> Pattern:
    """Where one of these shapes may stand in decoded text, as the triggers of the rules say. Nearly no text holds one,
    and the pattern that says which it is takes ten times as long to make as this one.
    """
    return compile_pattern(trigger_of([s.rule.trigger for s in shapes() if s.group != "texts"]))


@lru_cache(maxsize=8)
def text_pattern(without: frozenset[str] = frozenset()) -> tuple[Pattern, tuple[Shape, ...]]:
    """The pattern over decoded text, without the rules about where a text may act, and without some kinds: each rule is
    one group, and these are numbered from 1 in this order.
    """
    told = [s for s in shapes() if s.group != "texts" and s.rule.kind not in without]
    found = tuple(Shape(s.rule, s.group, number) for number, s in enumerate(told, 1))
    return compile_pattern(_any([s.rule.pattern for s in found])), found


@lru_cache(maxsize=1)
def acting_patterns() -> tuple[tuple[ContentRule, Pattern], ...]:
    """The patterns of what could act where a text is shown; one text may hold several."""
    return tuple((s.rule, compile_pattern(s.rule.pattern)) for s in shapes() if s.group == "texts")


@lru_cache(maxsize=1)
def names_pattern() -> Pattern:
    """`name = value` and `--name value` in running text. Its groups: dashes, name, what joins, and the value between
    double quotes, between single quotes, or without any.
    """
    name = rf"([A-Za-z0-9_.-]*?(?:{_names()})(?:[_-]?(?:{_ENDINGS}))?)"
    joined = rf"""(\\*["']?\s{{0,3}}{_ASSIGNS}\s{{0,3}}|\s{{1,3}})"""
    value = rf"""(?:\\*"([^"\\\n]{{3,}})|\\*'([^'\\\n]{{3,}})|({_VALUE}{{3,}}))"""
    return compile_pattern(rf"(?i)(--|\b){name}{joined}{value}")


@lru_cache(maxsize=1)
def base64_pattern() -> Pattern:
    """Base64 of a text."""
    return compile_pattern(base64_of_text(_BASE64_GROUPS))


@lru_cache(maxsize=2)
def triggers(*, binary: bool = False) -> tuple[Trigger, ...]:
    """What is looked for in the bytes of an evidence. One automaton for all would have too many states to be fast. In
    bytes that are no text nothing acts on a reader, and nearly everything looks as if it did.
    """
    by_group: dict[str, list[str]] = {}
    for shape in shapes():
        by_group.setdefault(shape.group, []).append(shape.rule.trigger)
    named = rf"""(?i)(?:{_names()})(?:[_-]?(?:{_ENDINGS}))?(?:[\\"'\]]|%22)*\s*[:=,%]|--(?:{_names()})\s"""
    in_context = [*by_group["credential"], _SPELLED, named, *(() if binary else (*by_group["texts"], _ODD_KEY))]
    in_token = [*by_group["personal"], base64_of_text(_BASE64_GROUPS)]
    return (
        Trigger(compile_pattern(trigger_of(in_context)), by_token=False),
        Trigger(compile_pattern(trigger_of(in_token)), by_token=True),
    )


def trigger_of(patterns: list[str]) -> str:
    """One pattern for all of them."""
    at_words = _any([pattern.removeprefix(_WORD) for pattern in patterns if pattern.startswith(_WORD)])
    anywhere = [pattern for pattern in patterns if not pattern.startswith(_WORD)]
    return _any([rf"{_BEGINS}({at_words})", *anywhere])


def _any(patterns: list[str]) -> str:
    return "|".join(f"(?:{pattern})" for pattern in patterns)


def _names() -> str:
    """The names of credentials as an alternation; what joins their words may be left out."""
    return "|".join(phrase.replace(" ", "[ _.-]?") for phrase in phrases())
