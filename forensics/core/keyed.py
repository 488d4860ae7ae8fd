"""Which of these values are objects with the same keys? What depends on the keys is asked once for all of them, and
what depends on a member is asked of a column.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

Keys = tuple[str, ...]

CONTAINERS = frozenset({dict, list})
"""The types of values that hold others."""


class Group:
    """Objects with the same keys in the same order, and the places at which they stand among other values."""

    def __init__(self, keys: Keys, places: Sequence[int], objects: Sequence[dict[str, Any]]) -> None:
        self.keys = keys
        self.places = places
        self.objects = objects

    @cached_property
    def columns(self) -> dict[str, tuple[Any, ...]]:
        """By key, that member of each object."""
        return dict(zip(self.keys, zip(*map(dict.values, self.objects), strict=True), strict=False))

    @cached_property
    def types(self) -> dict[str, set[type]]:
        """By key, the types that this member has."""
        return {key: set(map(type, column)) for key, column in self.columns.items()}

    @property
    def is_flat(self) -> bool:
        """Whether no member holds other values."""
        return all(map(CONTAINERS.isdisjoint, self.types.values()))


class Keyed(msgspec.Struct, frozen=True):
    """Values, and the objects among them by their keys."""

    values: list[Any]
    groups: list[Group]

    def without(self, places: Collection[int], instead: object) -> Keyed:
        """The same with another value, which is no object, in these places."""
        if not places:
            return self
        return keyed([instead if at in places else value for at, value in enumerate(self.values)])


def keyed(values: list[Any]) -> Keyed:
    """These values by their keys."""
    types = set(map(type, values))
    if dict not in types:
        return Keyed(values, [])
    keys = map(tuple, values) if len(types) == 1 else (tuple(one) if type(one) is dict else None for one in values)
    places: dict[Keys, list[int]] = {}
    for at, own in enumerate(keys):
        if own is not None:
            if own in places:
                places[own].append(at)
            else:
                places[own] = [at]
    if len(places) == 1 and len(types) == 1:
        return Keyed(values, [Group(next(iter(places)), range(len(values)), values)])
    return Keyed(values, [Group(own, some, [values[at] for at in some]) for own, some in places.items()])
