"""Do two runs say the same at one place? Payloads modulo the renaming learnt so far, and the first place that differs.

Between traces of one format the values must be equal JSON; between formats the written ladder of agreement counts,
since each spells a result its own way. Both directions of the renaming must agree, so that the order of the runs can't
matter.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.agreement import Rung, agree, content_text, only_text
from forensics.core.differences import Difference, differences
from forensics.core.jsonvalue import equal_values, raw, unfold, value_of
from forensics.core.pointers import resolve_pointer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.renaming import Renaming
    from forensics.core.trace import Payload

_MOST = 20  # differing places of one payload that are looked at
_ENVELOPES = ("result", "output")
_NOTHING: tuple[Any, ...] = (None, "", [], {})


class Parting(msgspec.Struct, frozen=True):
    """Where two payloads differ: the first places, each with what both runs say there, in their own words; `more` says
    that they are not all.
    """

    places: tuple[Difference, ...]
    more: bool = False

    @property
    def first(self) -> Difference:
        """The first place."""
        return self.places[0]


class Comparer:
    """Compares payloads under one renaming. `loose` holds between formats."""

    def __init__(self, renaming: Renaming, *, loose: bool) -> None:
        self._renaming = renaming
        self.loose = loose

    def parting(self, left: Payload | None, right: Payload | None) -> Parting | None:
        """Where two payloads differ; None where they say the same."""
        if not self._renaming and left is not None and right is not None and bytes(left) == bytes(right):
            return None
        one, other = _value(left), _value(right)
        mine, theirs = self._renaming.rightward(one), self._renaming.leftward(other)
        if self._same(mine, other) and self._same(one, theirs):
            return None
        found = tuple(islice(differences(mine, other), _MOST + 1))
        if not found:
            return Parting((Difference("", one, other),))
        places = tuple(Difference(d.pointer, resolve_pointer(one, d.pointer, d.left), d.right) for d in found[:_MOST])
        return Parting(places, more=len(found) > _MOST)

    def _same(self, one: Any, other: Any) -> bool:
        if equal_values(one, other):
            return True
        return self.loose and any(
            agree(raw(mine), raw(theirs)) not in {None, Rung.CUT}
            for mine in _readings(one)
            for theirs in _readings(other)
        )


def _readings(value: Any) -> Iterator[Any]:
    """A result, and what is in the envelope that its format puts around every result: an MCP result's structured
    content and its text, the only member of `{"result": …}`.
    """
    yield value
    if not isinstance(value, dict):
        return
    inner = [value[name] for name in _ENVELOPES if value.keys() == {name}]
    if isinstance(value.get("content"), list) and isinstance(value.get("isError", False), bool):
        inner += [value.get("structuredContent"), content_text(value["content"])]
    for one in inner:
        if one is not None:
            yield unfold(one)
            if isinstance(one, dict):
                yield from (one[name] for name in _ENVELOPES if one.keys() == {name})


def _value(payload: Payload | None) -> Any:
    """The value of a payload: of content blocks their text, and one spelling for nothing at all."""
    value = None if payload is None else value_of(payload)
    if isinstance(value, (str, list, dict)) and not value:
        return None
    return value


def said(payload: Payload | None) -> Payload | None:
    """What a message says: the text of its content blocks, where it has nothing else."""
    if payload is None:
        return None
    value = value_of(payload)
    text = only_text(value) if isinstance(value, list) else None
    if text is None:
        return None if value in _NOTHING else payload
    return raw(text) if text else None
