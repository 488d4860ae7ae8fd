"""What does one payload say, as following values reads it? Its bytes without escapes, and its leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forensics.analysis.runs import plain_bytes
from forensics.core.jsonvalue import value_of
from forensics.core.leaves import Leaf, leaves_of, pointer_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forensics.core.payloads import Payloads

_NOWHERE, _OPENS = -1, -2
_SEARCHES = 4  # of the scalars of one text; then they are looked up
_SOUGHT = (str, int)
UNREAD = object()
"""Instead of a value: it is not known yet."""


class Text:
    """The payload of a row, with the kind of its step (a number of StepKind); `value` where it is known already."""

    __slots__ = ("_first", "_leaves", "_payloads", "_plain", "_searches", "_value", "kind", "row")

    def __init__(self, row: int, kind: int, payloads: Payloads, value: Any = UNREAD) -> None:
        self.row = row
        self.kind = kind
        self._payloads = payloads
        self._plain: bytes | None = None
        self._value = value
        self._leaves: list[Leaf] | None = None
        self._first: dict[str, int] | None = None
        self._searches = 0

    @property
    def plain(self) -> bytes:
        """The bytes, escapes turned into separators."""
        if self._plain is None:
            self._plain = plain_bytes(self._payloads[self.row] or b"")
        return self._plain

    def saying(self, said: bytes) -> Text:
        """The text as it is with something else to say: what is encoded in it."""
        other = Text(self.row, self.kind, self._payloads, None)
        other._plain = said
        return other

    @property
    def value(self) -> Any:
        """The value that the payload is or, as a text, holds."""
        if self._value is UNREAD:
            payload = self._payloads[self.row]
            self._value = None if payload is None else value_of(payload)
        return self._value

    @property
    def leaves(self) -> list[Leaf]:
        """The scalars of the value."""
        if self._leaves is None:
            self._leaves = leaves_of(self.value)
        return self._leaves

    def place_of(self, wanted: str, *, is_number: bool) -> tuple[str | None, bool]:
        """Where a value stands among the leaves, as a JSON Pointer, and whether it changed between text and number on
        the way here. A leaf that is the value comes before one that holds it.
        """
        value = self.value
        self._searches += 1
        if type(value) is dict and self._searches <= _SEARCHES:
            at, item = _find(value.values(), wanted)
            if at != _OPENS:
                return None if at < 0 else pointer_of("", list(value)[at]), _differs(item, is_number=is_number)
        at, item = self._leaf_that_is(wanted)
        return None if at < 0 else pointer_of(*self.leaves[at][:2]), _differs(item, is_number=is_number)

    def _leaf_that_is(self, wanted: str) -> tuple[int, object]:
        """Which leaf is a value, as `_find` tells it. Where many values are asked for, each leaf is looked at once."""
        at = _NOWHERE
        if self._searches > _SEARCHES:
            if self._first is None:
                self._first = _first_of_each(self.leaves)
            at = self._first.get(wanted, _NOWHERE)
        return _find([leaf[3] for leaf in self.leaves], wanted) if at < 0 else (at, self.leaves[at][3])


def _first_of_each(leaves: Sequence[Leaf]) -> dict[str, int]:
    """The place of the first leaf that is a value, for each text and each whole number among them."""
    items = [leaf[3] for leaf in leaves]
    held = [(item if type(item) is str else str(item), at) for at, item in enumerate(items) if type(item) in _SOUGHT]
    return dict(reversed(held))


def _find(items: Iterable[object], wanted: str) -> tuple[int, object]:
    """Which of these items is a value, with the item; else which one holds it first, with None; else _NOWHERE, or
    _OPENS where an object or array stands in between.
    """
    holding = _NOWHERE
    for at, item in enumerate(items):
        if type(item) is str:
            if item == wanted:
                return at, item
            if holding < 0 and wanted in item:
                holding = at
        elif type(item) is int:
            if str(item) == wanted:
                return at, item
        elif isinstance(item, (dict, list)):
            return _OPENS, None
    return holding, None


def _differs(item: object, *, is_number: bool) -> bool:
    """Whether a value that an item is was a number and is a text now, or the other way round."""
    return item is not None and isinstance(item, int) is not is_number


def encoded(value: str) -> bytes:
    """A value as the bytes that a payload would hold."""
    return value.encode("utf-8", "surrogatepass")
