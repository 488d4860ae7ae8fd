"""Does a condition of a rule hold for a tool, its arguments or its result?

Conditions are compiled once into predicates over a subject (a plain dict). There are no expressions and no code: exact
or glob on tool and server, JSON Pointers with value tests, and all, any, not. RE2 is imported when a rule that uses
`matches` is first asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import msgspec

from forensics.rules.words import phrase_pattern, split_words

if TYPE_CHECKING:
    import re

    from forensics.rules.model import Condition


class Pattern(Protocol):
    """What a compiled RE2 pattern over bytes is asked."""

    def fullmatch(self, text: bytes, /) -> object | None:
        """The match over the whole text, or None."""


Subject = Mapping[str, object]
Predicate = Callable[[Subject], bool]

_MISSING = object()


def compile_condition(condition: Condition) -> Predicate:
    """The predicate that holds exactly when every part of the condition holds."""
    parts = tuple(_parts(condition))
    if len(parts) == 1:
        return parts[0]
    return lambda subject: all(part(subject) for part in parts)


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
        yield _any(tuple(compile_condition(part) for part in condition.any))
    if condition.not_ is not None:
        yield _negate(compile_condition(condition.not_))


def _any(parts: tuple[Predicate, ...]) -> Predicate:
    return lambda subject: any(part(subject) for part in parts)


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
    return lambda value: _globs(pattern, value)


def _globs(pattern: str, value: str) -> bool:
    """Greedy with one way back, to the last star: at most len(pattern) x len(value) steps; a regex may take more."""
    at, star, resume, place = 0, -1, 0, 0
    while place < len(value):
        if at < len(pattern) and pattern[at] == "*":
            star, resume, at = at, place, at + 1
        elif at < len(pattern) and pattern[at] in ("?", value[place]):
            at, place = at + 1, place + 1
        elif star >= 0:
            resume += 1
            at, place = star + 1, resume
        else:
            return False
    return pattern[at:].strip("*") == ""


def resolve_pointer(value: object, pointer: str, default: object = None) -> object:
    """The value at a JSON Pointer (RFC 6901), or `default` when nothing stands there."""
    return _resolve(value, pointer_tokens(pointer), default)


def _resolve(value: object, tokens: tuple[str, ...], default: object) -> object:
    for token in tokens:
        if isinstance(value, dict):  # first, because asking about Mapping is slow
            if token not in value:
                return default
            value = value[token]
        elif isinstance(value, Mapping) and token in value:
            value = value[token]
        elif isinstance(value, (list, tuple)) and token.isdecimal() and token.isascii() and int(token) < len(value):
            value = value[int(token)]
        else:
            return default
    return value


@lru_cache(maxsize=4096)
def pointer_tokens(pointer: str) -> tuple[str, ...]:
    """The unescaped tokens of a JSON Pointer; raises ValueError when it doesn't start with a slash."""
    if pointer == "":
        return ()
    if not pointer.startswith("/"):
        raise ValueError(f"not a JSON Pointer: {pointer!r}")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))


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


def needed_words(condition: Condition, pointer: str) -> frozenset[str] | None:
    """Words of which the text at this pointer must hold one for the condition to hold; None when that can't be told."""
    found = [words for part in condition.all if (words := needed_words(part, pointer)) is not None]
    if condition.at == pointer and condition.words and condition.present is not False:
        found.append(frozenset(condition.words))
    parts = [needed_words(part, pointer) for part in condition.any]
    known = [part for part in parts if part is not None]
    if parts and len(known) == len(parts):
        found.append(frozenset().union(*known))
    return min(found, key=len, default=None)


def needed_root(condition: Condition) -> str | None:
    """The member of the subject that must be there, and not empty, for the condition to hold; None where none must."""
    if condition.at is not None and condition.present is not False:
        places = [*map(pointer_tokens, (condition.at,) if isinstance(condition.at, str) else condition.at)]
        inside = bool(condition.keys) or all(len(place) > 1 for place in places)
        telling = condition.present or condition.words or condition.verbs or condition.phrases
        if len({place[:1] for place in places}) == 1 and (inside or telling):  # else null, false or "" may do
            return next(iter(places[0]), None)
    parts = [needed_root(part) for part in condition.any]
    if parts and len(set(parts)) == 1 and parts[0] is not None:
        return parts[0]
    return next((root for part in condition.all if (root := needed_root(part)) is not None), None)


def _value_test(condition: Condition) -> Predicate:
    pointers = (condition.at,) if isinstance(condition.at, str) else condition.at or ()
    places = tuple(map(pointer_tokens, pointers))
    test = _test_of(condition)
    keys = frozenset(" ".join(split_words(key)) for key in condition.keys)

    def holds(subject: Subject) -> bool:
        return any(test(value) for tokens in places for value in _values(subject, tokens, keys))

    return holds


def _values(subject: Subject, tokens: tuple[str, ...], keys: frozenset[str]) -> Iterator[object]:
    if "*" not in tokens:
        value = _resolve(subject, tokens, _MISSING)
        yield from _members(value, keys) if keys else (value,)
        return
    for value in _resolve_all(subject, tokens):
        yield from _members(value, keys) if keys else (value,)


def _resolve_all(value: object, tokens: tuple[str, ...]) -> Iterator[object]:
    """What stands at a pointer in which a token `*` means every member."""
    if "*" not in tokens:
        yield _resolve(value, tokens, _MISSING)
        return
    star = tokens.index("*")
    for member in _children(_resolve(value, tokens[:star], _MISSING)):
        yield from _resolve_all(member, tokens[star + 1 :])


def _children(container: object) -> Iterable[object]:
    if isinstance(container, Mapping):
        return container.values()
    return container if isinstance(container, (list, tuple)) else ()


def _members(value: object, keys: frozenset[str]) -> Iterator[object]:
    if isinstance(value, Mapping):
        found = [member for key, member in value.items() if isinstance(key, str) and key_words(key) in keys]
        yield from found or [_MISSING]
    elif isinstance(value, (list, tuple)):
        found = [item for item in value if isinstance(item, str) and key_words(item) in keys]
        yield from found or [_MISSING]
    else:
        yield _MISSING


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
    if condition.matches is not None:  # what costs most is asked last
        tests.append(_matches(condition.matches))
    if condition.present is False:
        return lambda value: all(test(value) for test in tests)
    if len(tests) == 1:
        only = tests[0]
        return lambda value: value is not _MISSING and only(value)
    return lambda value: value is not _MISSING and all(test(value) for test in tests)


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
        return any(isinstance(t, str) and split_words(t[:256])[:1] and split_words(t[:256])[0] in verbs for t in texts)

    return holds


def _has_phrase(pattern: re.Pattern[str]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and pattern.search(value[:8192].lower()) is not None


def _matches(pattern: str) -> Callable[[object], bool]:
    def holds(value: object) -> bool:
        return isinstance(value, str) and matches_whole(pattern, value)

    return holds


def matches_whole(pattern: str, text: str) -> bool:
    """Whether a pattern matches a text from its beginning to its end (of the first 64 KiB)."""
    return compile_pattern(pattern).fullmatch(text.encode("utf-8", "replace")[:65536]) is not None


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
