"""What is left of a value without the prefix of its kind, and does a text name the value by it? `8812` of `pg_8812`.

People and models leave the prefix out: "page 8812 again". Digits alone are often something else, so few of them count
only as a whole argument (the rule of PERFORMANCE section 4 for tokens of digits).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.late import late
from forensics.core.trace import StepKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.analysis.texts import Text
    from forensics.core.leaves import Leaf

_SHORTEST = 4
_TELLING_NUMBER = 5  # longer than a year, a count, most ports; 6 where nothing else than the shape speaks for a value
ROUND = "000"
"""How a number ends that somebody chose, and may choose again: a limit, a timeout, a price."""
_PREFIXED = late(rb"[A-Za-z]+[-_](?=[A-Za-z_-]*[0-9])([0-9A-Za-z][0-9A-Za-z_-]*)")
_YEAR = late("(?:19|20)[0-9][0-9]")
_CALL = int(StepKind.TOOL_CALL)
_MODEL = int(StepKind.MODEL)


def bare(value: bytes) -> bytes | None:
    """The value without its prefix; None where it has none, or where too little is left."""
    parted = _PREFIXED.fullmatch(value)
    return parted[1] if parted is not None and len(parted[1]) >= _SHORTEST else None


def is_named_by(rest: str, text: Text, is_id_key: Callable[[str], bool], *, small: bool) -> bool:
    """Whether what the agent itself says in this text of a small or large trace, where `rest` stands, is the value:
    always but for digits that count or date something, unless they are a text of their own among the arguments or stand
    under a key that names an id.
    """
    if text.kind not in (_CALL, _MODEL):
        return False
    telling = not rest.isdigit() or _tells(rest, small=small)
    return telling or (text.kind == _CALL and any(_is_whole(rest, leaf, is_id_key) for leaf in text.leaves))


def _tells(digits: str, *, small: bool) -> bool:
    if digits.endswith(ROUND):
        return False
    return len(digits) >= _TELLING_NUMBER or (small and _YEAR.fullmatch(digits) is None)


def _is_whole(rest: str, leaf: Leaf, is_id_key: Callable[[str], bool]) -> bool:
    _, _, key, item = leaf
    if key is not None and str(item) == rest and is_id_key(key):
        return True
    return item == rest and not rest.endswith(ROUND)
