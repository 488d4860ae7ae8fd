"""Does the name of a field say that its value is a credential? By the words of the name (rules/secrets/names.yaml)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from forensics.analysis.content.checks import given, random_looking
from forensics.rules.content_rules import secret_names
from forensics.rules.words import split_words

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST = 128  # characters of a name; a longer key is content
_MOST_WORDS = 3

KIND = {"token": "token", "authorization": "authorization", "cookie": "cookie"}
"""The kinds of values by the last word of the name; any other name is a kind of its own."""


@lru_cache(maxsize=16384)
def secret_name(name: str) -> tuple[str, Callable[[str], bool]] | None:
    """(kind, what its value must pass) for a name that says credential; None for any other."""
    words = split_words(name[:_LONGEST])
    names = secret_names()
    while words and words[-1] in names.endings:
        words = words[:-1]
    tails = [" ".join(words[-n:]) for n in range(min(_MOST_WORDS, len(words)), 0, -1)]
    if any(tail in names.never for tail in tails):
        return None
    for tail in tails:
        if tail in names.certain:
            return tail.replace(" ", "-"), given
        if tail in names.likely:
            return tail.replace(" ", "-"), random_looking
    return None


def phrases() -> list[str]:
    """Every name, the longest first, for a pattern over running text."""
    names = secret_names()
    return sorted({*names.certain, *names.likely}, key=lambda name: (-len(name), name))
