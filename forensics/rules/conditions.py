"""Does a condition of a rule hold for a tool, its arguments or its result?

Conditions are compiled once into predicates over a subject (a plain dict). There are no expressions and no code: exact
or glob on tool and server, JSON Pointers with value tests, and all, any, not. RE2 is imported when a rule that uses
`matches` is first asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import msgspec

from forensics.core.late import Made, late
from forensics.core.pointers import pointer_tokens, resolve
from forensics.rules.globs import aligned
from forensics.rules.words import lowered, phrase_pattern, split_words

if TYPE_CHECKING:
    import re

    from forensics.rules.model import Condition


class Match(Protocol):
    """What a match is asked."""

    def start(self) -> int:
        """Where in the text it begins."""


class Pattern(Protocol):
    """What a compiled RE2 pattern over bytes is asked."""

    def fullmatch(self, text: bytes, /) -> object | None:
        """The match over the whole text, or None."""

    def search(self, text: bytes, begin: int = 0, /) -> Match | None:
        """The first match in the text, from there on, or None."""


Subject = Mapping[str, object]
Predicate = Callable[[Subject], bool]
ValueTest = Callable[[object], bool]

_MISSING = object()
_WORD_CHARACTER = late(r"[^\W_]")
LOOKED_AT = 65536
"""Bytes of a text that patterns see."""

_NOTHING = (_MISSING,)


def predicates(conditions: Sequence[Condition]) -> Made[int, Predicate]:
    """The predicate of each condition by its place, compiled when it is first asked for: of most rules only their needs
    are ever looked at.
    """
    return Made(lambda place: compile_condition(conditions[place]))


def compile_condition(condition: Condition) -> Predicate:
    """The predicate that holds exactly when every part of the condition holds."""
    return _all_of(tuple(_parts(condition)))


def _parts(condition: Condition) -> Iterator[Predicate]:
    if condition.tool is not None:
        yield _glob_test("tool", condition.tool)
    if condition.server is not None:
        yield _glob_test("server", condition.server)
    if condition.at is not None:
        yield _value_test(condition)
    if condition.all:
        yield from (compile_condition(part) for part in condition.all)
    if condition.any:
        yield _any_of(tuple(compile_condition(part) for part in _merged(condition.any)))
    if condition.not_ is not None:
        yield _negate(compile_condition(condition.not_))


def _merged(parts: tuple[Condition, ...]) -> Iterator[Condition]:
    """The same parts, those that only match one and the same text against a pattern made one."""
    patterns: dict[str, list[str]] = {}
    for part in parts:
        if isinstance(part.at, str) and part.matches is not None and _only_matches(part):
            patterns.setdefault(part.at, []).append(part.matches)
        else:
            yield part
    for at, several in patterns.items():
        yield type(parts[0])(at=at, matches="|".join(f"(?:{one})" for one in several))


def _only_matches(part: Condition) -> bool:
    """Alone in its condition, and without `Q`-quoting, which would take the bracket behind the pattern as text."""
    alone = part == type(part)(at=part.at, matches=part.matches)
    return alone and part.matches is not None and "\\Q" not in part.matches


def _all_of(parts: tuple[Predicate, ...]) -> Predicate:
    def holds(subject: Subject) -> bool:
        for part in parts:  # noqa: SIM110  asked of every tool and call: a generator costs as much as the parts
            if not part(subject):
                return False
        return True

    return parts[0] if len(parts) == 1 else holds


def _any_of(parts: tuple[Predicate, ...]) -> Predicate:
    def holds(subject: Subject) -> bool:
        for part in parts:  # noqa: SIM110  likewise
            if part(subject):
                return True
        return False

    return parts[0] if len(parts) == 1 else holds


def _negate(part: Predicate) -> Predicate:
    return lambda subject: not part(subject)


def _glob_test(field: str, pattern: str) -> Predicate:
    matcher = glob(pattern)

    def holds(subject: Subject) -> bool:
        value = subject.get(field)
        return isinstance(value, str) and matcher(value)

    return holds


@lru_cache(maxsize=4096)
def glob(pattern: str) -> Callable[[str], bool]:
    """A matcher for `*` (any run of characters) and `?` (one); everything else stands for itself, case included."""
    if "*" not in pattern and "?" not in pattern:
        return pattern.__eq__
    return lambda value: aligned(pattern, value, _meets)


def _meets(pattern: str, character: str) -> bool:
    return pattern in ("?", character)


def needed_keys(condition: Condition, *place: str) -> frozenset[str] | None:
    """Keys (as words) of which the object at this place of the subject must have one for the condition to hold; None
    when that can't be told. What lets a rule set skip most rules without asking them.
    """
    found = [keys for keys in (_own_keys(condition, place), _any_keys(condition, place)) if keys is not None]
    found += [keys for part in condition.all if (keys := needed_keys(part, *place)) is not None]
    return min(found, key=len, default=None)


def _own_keys(condition: Condition, place: tuple[str, ...]) -> frozenset[str] | None:
    if condition.at is None or condition.present is False:
        return None
    keys: set[str] = set()
    for pointer in (condition.at,) if isinstance(condition.at, str) else condition.at:
        tokens = pointer_tokens(pointer)
        rest = tokens[len(place) :]
        if tokens[: len(place)] != place or rest[:1] == ("*",) or not (rest or condition.keys):
            return None
        keys |= {key_words(rest[0])} if rest else {key_words(key) for key in condition.keys}
    return frozenset(keys)


def _any_keys(condition: Condition, place: tuple[str, ...]) -> frozenset[str] | None:
    parts = [needed_keys(part, *place) for part in condition.any]
    known = [part for part in parts if part is not None]
    return frozenset().union(*known) if parts and len(known) == len(parts) else None


def _value_test(condition: Condition) -> Predicate:
    pointers = (condition.at,) if isinstance(condition.at, str) else condition.at or ()
    test = _test_of(condition)
    keys = frozenset(" ".join(split_words(key)) for key in condition.keys)
    return _any_of(tuple(_test_at(pointer_tokens(pointer), keys, test) for pointer in pointers))


def _test_at(tokens: tuple[str, ...], keys: frozenset[str], test: ValueTest) -> ValueTest:
    """Whether a value at this pointer, or a member of it that has one of the keys, passes the test. A token `*` of the
    pointer means every member.
    """
    if "*" in tokens:
        star = tokens.index("*")
        before, inner = tokens[:star], _test_at(tokens[star + 1 :], keys, test)
        return lambda value: any(map(inner, _children(resolve(value, before, _MISSING))))
    if keys:
        return lambda value: any(map(test, _members(resolve(value, tokens, _MISSING), keys)))
    return lambda value: test(resolve(value, tokens, _MISSING))


def _children(container: object) -> Iterable[object]:
    if isinstance(container, (dict, Mapping)):  # first dict, because asking about Mapping is slow
        return container.values()
    return container if isinstance(container, (list, tuple)) else ()


def _members(value: object, keys: frozenset[str]) -> Iterable[object]:
    """The members of these names, or, where there is none, one that is missing."""
    if isinstance(value, dict):
        found = [member for key, member in value.items() if isinstance(key, str) and key_words(key) in keys]
    elif isinstance(value, Mapping):
        found = [value[key] for key in value if isinstance(key, str) and key_words(key) in keys]
    elif isinstance(value, (list, tuple)):
        found = [item for item in value if isinstance(item, str) and key_words(item) in keys]
    else:
        return _NOTHING
    return found or _NOTHING


@lru_cache(maxsize=65536)
def key_words(key: str) -> str:
    """A key's words joined by spaces, the form in which `keys` compares: `outputPath` and `output_path` are equal."""
    return " ".join(split_words(key[:256]))


def holds_value(condition: Condition, value: object) -> bool:
    """Whether a value passes the tests of a condition, wherever it stands."""
    return _test_of(condition)(value)


def _test_of(condition: Condition) -> Callable[[object], bool]:
    tests: list[Callable[[object], bool]] = []
    if condition.present is not None:
        tests.append(_present if condition.present else lambda value: not _present(value))
    if condition.equals is not msgspec.UNSET:
        tests.append(_equals(condition.equals))
    if condition.in_:
        tests.append(_one_of(condition.in_))
    if condition.words:
        tests.append(_has_word(frozenset(condition.words)))
    if condition.verbs:
        tests.append(_has_verb(frozenset(condition.verbs)))
    if condition.phrases:
        tests.append(_has_phrase(phrase_pattern(condition.phrases)))
    tests += _of_whole_text(condition)  # what costs most is asked last
    if condition.present is False:
        return lambda value: all(test(value) for test in tests)
    if len(tests) == 1:
        only = tests[0]
        return lambda value: value is not _MISSING and only(value)
    return lambda value: value is not _MISSING and all(test(value) for test in tests)


def _of_whole_text(condition: Condition) -> Iterator[ValueTest]:
    if condition.unseen:
        yield lambda value: isinstance(value, str) and is_unseen(value)
    if condition.matches is not None:
        yield _matches(condition.matches)


def _present(value: object) -> bool:
    return value is not _MISSING and value is not None and value not in ("", [], {})


def _equals(wanted: object) -> Callable[[object], bool]:
    return lambda value: same_json(value, wanted)


def _one_of(wanted: tuple[object, ...]) -> Callable[[object], bool]:
    texts = frozenset(one for one in wanted if isinstance(one, str))
    others = tuple(one for one in wanted if not isinstance(one, str))
    return lambda value: value in texts if isinstance(value, str) else any(same_json(value, one) for one in others)


def same_json(left: object, right: object) -> bool:
    """Equality of JSON values: true is not 1, and 1 is 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left == right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same_json(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same_json, left, right))
    return type(left) is type(right) and left == right


def _has_word(words: frozenset[str]) -> Callable[[object], bool]:
    def holds(value: object) -> bool:
        if isinstance(value, str):
            return not words.isdisjoint(split_words(value[:4096]))
        texts = value if isinstance(value, (list, tuple)) else ()
        return any(isinstance(t, str) and not words.isdisjoint(split_words(t[:4096])) for t in texts)

    return holds


def _has_verb(verbs: frozenset[str]) -> Callable[[object], bool]:
    def holds(value: object) -> bool:
        texts = value if isinstance(value, (list, tuple)) else (value,)
        return any(isinstance(t, str) and not verbs.isdisjoint(_first_word(t)) for t in texts)

    return holds


def _first_word(text: str) -> tuple[str, ...]:
    """The first word, however much stands before it that is none; nothing where there is none."""
    start = _WORD_CHARACTER.search(text)
    return () if start is None else split_words(text[start.start() : start.start() + 256])[:1]


def _has_phrase(pattern: re.Pattern[str]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and pattern.search(lowered(value)) is not None


def _matches(pattern: str) -> Callable[[object], bool]:
    def holds(value: object) -> bool:
        return isinstance(value, str) and matches_whole(pattern, value)

    return holds


def matches_whole(pattern: str, text: str) -> bool:
    """Whether a pattern matches a text from its beginning to its end (of the first 64 KiB)."""
    return is_whole_match(compile_pattern(pattern), text)


def is_whole_match(pattern: Pattern, text: str) -> bool:
    """Whether a compiled pattern does."""
    return pattern.fullmatch(looked_at(text)) is not None


def is_unseen(text: str) -> bool:
    """Whether patterns see the beginning of a text only: what it goes on with may be anything."""
    return len(text) > LOOKED_AT or (not text.isascii() and len(text.encode("utf-8", "replace")) > LOOKED_AT)


def looked_at(text: str) -> bytes:
    """What patterns see of a text."""
    return text.encode("utf-8", "replace")[:LOOKED_AT]


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Pattern:
    """A pattern for RE2. Raises ValueError with RE2's own words where it takes none such."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True  # whether it matches is all that is asked, and a DFA answers that
    try:
        compiled: Pattern = re2.compile(pattern.encode("utf-8"), options)
    except re2.error as error:
        raise ValueError(_told(error)) from None
    return compiled


def _told(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
