"""What does one payload say, as following values reads it? Its bytes without escapes, and its leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forensics.analysis.runs import plain_bytes
from forensics.core.jsonvalue import value_of
from forensics.core.leaves import Leaf, Token, is_flat, leaves_of, pointer_of

if TYPE_CHECKING:
    from forensics.core.payloads import Payloads

_UNREAD = object()


class Text:
    """The payload of a row, with the kind of its step (a number of StepKind)."""

    __slots__ = ("_leaves", "_payloads", "_plain", "_value", "kind", "row")

    def __init__(self, row: int, kind: int, payloads: Payloads) -> None:
        self.row = row
        self.kind = kind
        self._payloads = payloads
        self._plain: bytes | None = None
        self._value: Any = _UNREAD
        self._leaves: list[Leaf] | None = None

    @property
    def plain(self) -> bytes:
        """The bytes, escapes turned into separators."""
        if self._plain is None:
            self._plain = plain_bytes(self._payloads[self.row] or b"")
        return self._plain

    def saying(self, said: bytes) -> Text:
        """The text as it is with something else to say: what is encoded in it."""
        other = Text(self.row, self.kind, self._payloads)
        other._plain = said
        other.value = None
        return other

    @property
    def value(self) -> Any:
        """The value that the payload is or, as a text, holds. Whoever knows it already may say so."""
        if self._value is _UNREAD:
            payload = self._payloads[self.row]
            self._value = None if payload is None else value_of(payload)
        return self._value

    @value.setter
    def value(self, known: object) -> None:
        self._value = known

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
        scalars = (("", *entry) for entry in self.value.items()) if is_flat(self.value) else map(_placed, self.leaves)
        holding = None
        for above, token, item in scalars:
            if item == wanted or (type(item) is int and str(item) == wanted):
                return pointer_of(above, token), isinstance(item, int) is not is_number
            if holding is None and isinstance(item, str) and wanted in item:
                holding = pointer_of(above, token)
        return holding, False


def _placed(leaf: Leaf) -> tuple[str | None, Token, str | int]:
    return leaf[0], leaf[1], leaf[3]


def encoded(value: str) -> bytes:
    """A value as the bytes that a payload would hold."""
    return value.encode("utf-8", "surrogatepass")
