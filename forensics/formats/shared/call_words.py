"""Does the type of a record sound as that of a call or a result does? Asked of a type that no table knows: logs grow
new ones, and a call that is told under one must not pass for nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from forensics.core.late import late
from forensics.formats.shared.fields import spelled

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 80
_NAMES = frozenset({"tool_name", "function_name"})
_A_CALL = late(
    r"(?:^|_)(?:tool|function|mcp|action|command|agent|api)_"
    r"(?:call|use|result|output|response|exec\w*|invo\w*|start|end|request)s?$"
    r"|(?:^|_)(?:call|invocation|action|observation|execution)s?$"
)
_THINGS = late(r"(?:^|_)(?:tool|function|mcp|action|command|skill|plugin)s?(?:_|$)")
_ACTS = late(
    r"(?:^|_)(?:call|us(?:e|ed|ing)|result|output|response|request\w*|exec\w*|invo\w*|dispatch\w*|trigger\w*|perform\w*"
    r"|start\w*|beg[aiu]n\w*|r[au]n|running|end(?:ed)?|finish\w*|complet\w*|done|return\w*|observ\w*|succe\w*"
    r"|progress|delta|error\w*|fail\w*|den(?:y|ied)|cancel\w*|abort\w*)s?(?:_|$)"
)
"""Of what a type may speak, and what may happen to it: that of a type that is not known may be a call or its result."""


@lru_cache(maxsize=1024)
def sounds_like_a_call(kind: str, *, named: bool) -> bool:
    """Whether it does; of a record that names a tool (`named`) one of the two words is enough."""
    words = spelled(kind[:_LONGEST])
    thing, act = _THINGS.search(words) is not None, _ACTS.search(words) is not None
    return _A_CALL.search(words) is not None or (thing and act) or (named and (thing or act))


def tells_of_a_tool(kind: str, keys: Iterable[str]) -> bool:
    """Whether a record of that type, with these keys, names a tool and sounds as if it were at work."""
    return sounds_like_a_call(kind, named=True) and not _NAMES.isdisjoint(map(spelled, keys))
