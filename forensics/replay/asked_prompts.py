"""Is what a rerun asks its model what the recorded run asked it? Messages against what the recorded turn was shown.

The model's own earlier words are not compared: they were served from the record. Results are compared whatever their
order, since calls that run side by side end in any order; those that both sides tell by the id of their call are
compared call by call.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from forensics.core.agreement import only_text
from forensics.core.differences import ABSENT, Difference, differences
from forensics.core.jsonvalue import unfold
from forensics.core.messages import MODEL_ROLES
from forensics.core.trace import StepKind
from forensics.replay.sameness import value_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from forensics.replay.script import Shown

_KINDS = {
    "system": StepKind.SYSTEM,
    "developer": StepKind.SYSTEM,
    "user": StepKind.USER,
    "human": StepKind.USER,
    "tool": StepKind.TOOL_RESULT,
    "function": StepKind.TOOL_RESULT,
    **{kind.label: kind for kind in StepKind},
}
_NOTHING: tuple[Any, ...] = (None, "")


class Result(NamedTuple):
    """A result that a model is shown, with the id of its call where that is told."""

    call_id: str | None
    value: Any


class Prompted(msgspec.Struct, frozen=True):
    """What a request shows its model: results, and everything else in order."""

    said: tuple[tuple[StepKind, Any], ...]
    results: tuple[Result, ...]


def prompted(messages: Sequence[Mapping[str, Any]]) -> Prompted:
    """What messages say beside the model's own words."""
    return _parted([(kind_of(m), Result(_id_in(m), content_of(m))) for m in messages if not is_own(m)])


def recorded_prompt(shown: Sequence[Shown]) -> Prompted:
    """What a recorded turn was shown beside the model's own words."""
    return _parted([(one.kind, Result(one.call_id, one.value)) for one in shown if one.kind is not StepKind.MODEL])


def _parted(told: Sequence[tuple[StepKind, Result]]) -> Prompted:
    said = tuple((kind, one.value) for kind, one in told if kind is not StepKind.TOOL_RESULT)
    return Prompted(said, tuple(one for kind, one in told if kind is StepKind.TOOL_RESULT))


def _id_in(message: Mapping[str, Any]) -> str | None:
    named = message.get("tool_call_id")
    return named if isinstance(named, str) else None


def is_own(message: Mapping[str, Any]) -> bool:
    """Whether a message holds the model's own words. An agent may write anything for a role, a list too."""
    return str(message.get("role")) in MODEL_ROLES


def kind_of(message: Mapping[str, Any]) -> StepKind:
    """The kind of step that a message is."""
    return _KINDS.get(str(message.get("role")), StepKind.OTHER)


def content_of(message: Mapping[str, Any]) -> Any:
    """What a message says: of content blocks their text, where they have nothing else."""
    content = message.get("content")
    text = only_text(content) if isinstance(content, list) else None
    return content if text is None else text


def parting(recorded: Prompted, asked: Prompted, *, knows_system: bool) -> Difference | None:
    """The first difference; None where both say the same. Where the record holds no system prompt at all
    (`knows_system`), what the rerun gives for one is passed over: nothing is known of it.
    """
    mine = list(recorded.said)
    theirs = [one for one in asked.said if knows_system or one[0] is not StepKind.SYSTEM]
    for place, (one, other) in enumerate(zip(mine, theirs, strict=False)):
        if one[0] is not other[0]:
            return Difference(f"/{place}/role", one[0].label, other[0].label)
        if not _alike(one[1], other[1]):
            return _first(f"/{place}/content", one[1], other[1])
    if len(mine) != len(theirs):
        place = min(len(mine), len(theirs))
        left, right = (rows[place][1] if place < len(rows) else ABSENT for rows in (mine, theirs))
        return Difference(f"/{place}", left, right)
    return _results(recorded.results, asked.results)


def _results(recorded: tuple[Result, ...], asked: tuple[Result, ...]) -> Difference | None:
    """The first results of one call that differ, else the first ones of both sides that have no twin on the other."""
    others = _by_id(asked)
    for name, value in _by_id(recorded).items():
        if name in others and _key(value) != _key(others[name]):
            return _first("/results", value, others[name])
    mine, theirs = Counter(_key(one.value) for one in recorded), Counter(_key(one.value) for one in asked)
    if mine == theirs:
        return None
    one = next((value for _, value in recorded if mine[key := _key(value)] > theirs[key]), ABSENT)
    other = next((value for _, value in asked if theirs[key := _key(value)] > mine[key]), ABSENT)
    return _first("/results", one, other)


def _by_id(results: tuple[Result, ...]) -> dict[str, Any]:
    """The results whose call is told by an id of its own, in order."""
    ids = Counter(one.call_id for one in results)
    return {one.call_id: one.value for one in results if one.call_id is not None and ids[one.call_id] == 1}


def _key(value: Any) -> bytes:
    said = unfold(value)
    return value_key(said.strip() if isinstance(said, str) else said)


def _first(pointer: str, one: Any, other: Any) -> Difference:
    """The first place at which two contents differ, below a pointer."""
    if one is ABSENT or other is ABSENT:
        return Difference(pointer, one, other)
    inner = next(differences(unfold(one), unfold(other)), None)
    return (
        Difference(pointer, one, other)
        if inner is None
        else msgspec.structs.replace(inner, pointer=pointer + inner.pointer)
    )


def _alike(one: Any, other: Any) -> bool:
    """Whether two contents say the same: a text that holds JSON counts as that JSON, space around a text as none."""
    return _key(one) == _key(other) or (one in _NOTHING and other in _NOTHING)
