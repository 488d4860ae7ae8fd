"""How much may one evidence cost? Every limit by name, with its default, and those that are in force.

Evidence may be hostile: a small file can unpack to terabytes. The defaults are those of RELIABILITY section 4; whoever
trusts a file raises one by name (`--limit size=8G`), and what exceeds one says which.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import msgspec

from forensics.core.meant import meant
from forensics.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Iterator

_KILO, _MEGA, _GIGA = 1 << 10, 1 << 20, 1 << 30


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one examination. Sizes are bytes.

    `size` is that of one evidence, once unpacked too; `line` that of one line of a line format; `nesting` the depth of
    one JSON value, which is kept as text beyond it; `records` how many one evidence may hold; `unpacked` and `ratio`
    bound what a container unpacks to (the ratio from `ratio_floor` bytes on), `members` how many files it holds;
    `nodes` and `aliases` the values of a YAML document and the times that one stands for another.
    """

    size: int = 2 * _GIGA
    line: int = 64 * _MEGA
    nesting: int = 512
    records: int = 5_000_000
    unpacked: int = 256 * _MEGA
    ratio: int = 200
    ratio_floor: int = 10 * _MEGA
    members: int = 10_000
    nodes: int = 1_000_000
    aliases: int = 1_000


NAMES = Limits.__struct_fields__
_UNITS = {"k": _KILO, "m": _MEGA, "g": _GIGA}
_CODES = {"size": "size_limit", "unpacked": "decompression_limit", "ratio": "decompression_limit"}
_in_force: ContextVar[Limits] = ContextVar("limits", default=Limits())  # noqa: B039 - frozen


def limits() -> Limits:
    """The limits in force."""
    return _in_force.get()


@contextmanager
def under(chosen: Limits) -> Iterator[None]:
    """These limits are in force inside the block."""
    token = _in_force.set(chosen)
    try:
        yield
    finally:
        _in_force.reset(token)


def exceeded(name: str, says: str) -> LimitExceededError:
    """The error for a limit that is exceeded: `says` is the sentence, to which the limit and the option are added."""
    message = f"{says}, more than the limit of {getattr(limits(), name)}"
    hint = f"if you trust it, raise the limit with --limit {name}=NUMBER"
    return LimitExceededError(message, hint=hint, code=_CODES.get(name))


def parsed(setting: str) -> tuple[str, int]:
    """`name=number` as the two, the number with K, M or G for powers of 1,024. Raises ValueError, which says why."""
    name, _, number = setting.partition("=")
    name, number = name.strip().replace("-", "_"), number.strip().lower()
    if name not in NAMES:
        message = f"there is no limit {name!r}; {meant(name, NAMES)}"
        raise ValueError(message)
    digits, unit = (number[:-1], _UNITS[number[-1]]) if number[-1:] in _UNITS else (number, 1)
    if not (digits.isascii() and digits.isdigit()) or int(digits) == 0:
        message = f"{name} needs a number above 0, perhaps with K, M or G"
        raise ValueError(message)
    return name, int(digits) * unit
