"""Where do two JSON values differ, and how near are they? One walk over both, in the order of the first."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.jsonvalue import equal_values, short_json, spell_surrogates
from forensics.core.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = re.compile(r"\w+")
_SHOWN = 80  # characters of a value
_BEFORE = 24  # characters of a text before the place where it differs


class Absent:
    """What stands where only the other value has something."""


ABSENT = Absent()


class Difference(msgspec.Struct, frozen=True):
    """One place (JSON Pointer) where two values differ; ABSENT where one of them has nothing."""

    pointer: str
    left: Any
    right: Any


def differences(left: Any, right: Any) -> Iterator[Difference]:
    """Every place where two values differ, in the order of the left one; what only the right one has comes after."""
    return (Difference(p, a, b) for p, a, b in _pairs(left, right) if not _same(a, b))


def nearness(left: Any, right: Any) -> float:
    """How much of two values is the same, 0 to 1: the mean over their leaves, of texts the words that they share."""
    alike = total = 0.0
    for _, a, b in _pairs(left, right):
        total += 1
        alike += 1 if _same(a, b) else _shared_words(a, b)
    return alike / total if total else 1.0


def _pairs(left: Any, right: Any) -> Iterator[tuple[str, Any, Any]]:
    """The leaves of both values side by side; a part that only one has counts as one leaf."""
    todo = [("", left, right)]
    while todo:
        pointer, a, b = todo.pop()
        if isinstance(a, dict) and isinstance(b, dict) and (a or b):
            names = [*a, *(name for name in b if name not in a)]
            todo.extend((f"{pointer}/{escape(n)}", a.get(n, ABSENT), b.get(n, ABSENT)) for n in reversed(names))
        elif isinstance(a, list) and isinstance(b, list) and (a or b):
            places = reversed(range(max(len(a), len(b))))
            todo.extend((f"{pointer}/{i}", _item(a, i), _item(b, i)) for i in places)
        else:
            yield pointer, a, b


def _item(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else ABSENT


def _same(a: Any, b: Any) -> bool:
    return a is b or (a is not ABSENT and b is not ABSENT and equal_values(a, b))


def _shared_words(a: Any, b: Any) -> float:
    if not isinstance(a, str) or not isinstance(b, str):
        return 0.0
    mine, others = set(_WORD.findall(a.casefold())), set(_WORD.findall(b.casefold()))
    return len(mine & others) / len(mine | others) if mine | others else 0.0


def shown(difference: Difference) -> tuple[str | None, str | None]:
    """Both values as short JSON texts, long texts from shortly before the place where they part; None for ABSENT. Of
    two texts that look alike every character beyond ASCII is escaped.
    """
    left, right = difference.left, difference.right
    if not isinstance(left, str) or not isinstance(right, str) or left == right:
        return _short(left), _short(right)
    start = max(0, _parting(left, right) - _BEFORE)
    escaped = _look_alike(left[start : start + _SHOWN], right[start : start + _SHOWN])
    return _cut(left, start, escaped=escaped), _cut(right, start, escaped=escaped)


def _parting(a: str, b: str) -> int:
    """The first character in which two texts differ."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _look_alike(a: str, b: str) -> bool:
    """Whether two texts may look the same: one text in two normal forms (Unicode Standard Annex 15), or letters of
    another script between those of ASCII.
    """
    if unicodedata.normalize("NFKC", a) == unicodedata.normalize("NFKC", b):
        return True
    pairs = list(zip(a, b, strict=False))
    mixed = all(x == y or x.isascii() != y.isascii() for x, y in pairs)
    return len(a) == len(b) and mixed and any(x == y for x, y in pairs)


def _short(value: Any) -> str | None:
    if value is ABSENT:
        return None
    return _cut(value, 0) if isinstance(value, str) else spell_surrogates(short_json(value, _SHOWN))


def _cut(text: str, start: int, *, escaped: bool = False) -> str:
    cut = text[start : start + _SHOWN]
    before, after = "…" if start else "", "…" if start + _SHOWN < len(text) else ""
    quoted = json.dumps(spell_surrogates(cut), ensure_ascii=escaped)
    return f'"{before}{quoted[1:-1]}{after}"'
