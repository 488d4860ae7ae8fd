"""Which entries of a policy can hardly be meant as they stand: two that contradict each other, one about every tool?

Such a policy is valid and is applied as it is written: where several entries speak of a call, the worst of what they
say counts. Its author learns here which entry that is, and whoever reads a report learns it too.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from forensics.core.classes import Effect, Scope, Stability
from forensics.core.sanitise import one_line
from forensics.rules.conditions import same_json
from forensics.rules.globs import covers, meet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.policy import Policy, ToolEntry

_AXES: dict[str, tuple[object, ...]] = {"effect": tuple(Effect), "result": tuple(Stability), "scope": tuple(Scope)}
"""What an entry speaks of, the worst last."""
_NAME = 60


def policy_doubts(policy: Policy) -> tuple[str, ...]:
    """A sentence for each, in the order of the entries."""
    wide = (_of_every_tool(entry) for entry in policy.tools if _speaks_of_every_tool(entry))
    pairs = (_contradiction(one, other) for one, other in _pairs(policy.tools))
    return (*wide, *(text for text in pairs if text is not None))


def _pairs(entries: tuple[ToolEntry, ...]) -> Iterator[tuple[ToolEntry, ToolEntry]]:
    """Two at a time, in order; of whole names only those that are the same, so that a long list is no slow one."""
    named: dict[str, list[int]] = {}
    wild = [at for at, entry in enumerate(entries) if "*" in entry.tool or "?" in entry.tool]
    for at, entry in enumerate(entries):
        named.setdefault(entry.tool, []).append(at)
    exact = {pair for group in named.values() for pair in combinations(group, 2)}
    loose = {(min(at, other), max(at, other)) for at in wild for other in range(len(entries)) if at != other}
    return ((entries[one], entries[other]) for one, other in sorted(exact | loose))


# every tool ----------------------------------------------------------------------------------------------------------


def _speaks_of_every_tool(entry: ToolEntry) -> bool:
    """`*`, `**`, `?*` and their like: every name fits, or every one that isn't very short."""
    return entry.effect is Effect.NONE and "*" in entry.tool and entry.tool.strip("*?") == ""


def _of_every_tool(entry: ToolEntry) -> str:
    server = "" if entry.server is None else f" of {one_line(entry.server, _NAME)}"
    called = " that is called with these arguments" if entry.arguments else ""
    return f"{_named(entry)} vouches for every tool{server}{called}, for those too that nobody has seen yet: name them"


# two entries ---------------------------------------------------------------------------------------------------------


def _contradiction(one: ToolEntry, other: ToolEntry) -> str | None:
    if not _may_speak_of_one_call(one, other):
        return None
    counts = [said for axis in _AXES for said in _on_axis(axis, one, other)]
    return f"{_named(one)} and {_named(other, one)} speak of the same calls: {', '.join(counts)}" if counts else None


def _on_axis(axis: str, one: ToolEntry, other: ToolEntry) -> Iterator[str]:
    """What counts where both say something else; nothing where the worse one is the exception to a wider entry."""
    mine, theirs = getattr(one, axis), getattr(other, axis)
    if mine is None or theirs is None or mine is theirs:
        return
    harm = _AXES[axis].index
    worse, better = (one, other) if harm(mine) > harm(theirs) else (other, one)
    if _covers(better, worse) and not _covers(worse, better):
        return
    never = f", and {_value(axis, better)} never" if _covers(worse, better) else ""
    yield f"{_value(axis, worse)} counts{never}"


def _value(axis: str, entry: ToolEntry) -> str:
    return f"{axis} {getattr(entry, axis).name.lower()}"


def _may_speak_of_one_call(one: ToolEntry, other: ToolEntry) -> bool:
    servers = one.server is None or other.server is None or meet(one.server, other.server)
    return servers and meet(one.tool, other.tool) and not _exclude(one.arguments, other.arguments)


def _exclude(one: dict[str, object], other: dict[str, object]) -> bool:
    return any(pointer in other and not same_json(value, other[pointer]) for pointer, value in one.items())


def _covers(wide: ToolEntry, narrow: ToolEntry) -> bool:
    """Whether `wide` speaks of every call that `narrow` speaks of."""
    servers = wide.server is None or (narrow.server is not None and covers(wide.server, narrow.server))
    asked = narrow.arguments
    arguments = all(pointer in asked and same_json(value, asked[pointer]) for pointer, value in wide.arguments.items())
    return servers and arguments and covers(wide.tool, narrow.tool)


def _named(entry: ToolEntry, beside: ToolEntry | None = None) -> str:
    """`line 5 (tool get_user)`, with its file where that is another one than that of the entry beside it."""
    file = f" of {one_line(entry.file, _NAME)}" if beside is not None and beside.file != entry.file else ""
    return f"line {entry.line}{file} (tool {one_line(entry.tool, _NAME)})"
