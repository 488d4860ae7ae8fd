"""What is made only when it is first used? Regular expressions: compiling all that a command has at hand, and most of
which it never asks, takes a tenth of the audit of a small file.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

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
