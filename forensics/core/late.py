"""What is made only when it is first used? Regular expressions, above all: compiling those that a command has at hand,
and of which it asks few, takes a tenth of the audit of a small file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, AnyStr, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

Key = TypeVar("Key")
Value = TypeVar("Value")

_ASKED = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn", "pattern", "flags", "groups")


class _Late:
    """Stands for a pattern until somebody asks it for anything; from then on its methods are those of the pattern."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by copying and the like, which no pattern needs
            raise AttributeError(name)
        compiled = re.compile(*self._given)
        self.__dict__.update({asked: getattr(compiled, asked) for asked in _ASKED})
        return getattr(compiled, name)


def late(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The pattern that `re.compile` makes of this, once one of its methods is asked for. Raises re.error only then."""
    return cast("re.Pattern[AnyStr]", _Late(pattern, flags))


class Made(dict[Key, Value]):
    """Of each key what a function makes of it, when it is first looked up."""

    def __init__(self, make: Callable[[Key], Value]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, key: Key) -> Value:
        made = self[key] = self.make(key)
        return made
