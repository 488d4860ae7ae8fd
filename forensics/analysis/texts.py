"""What does one payload say, as following values reads it? Its bytes without escapes, and its leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.analysis.runs import plain_bytes
from forensics.core.jsonvalue import value_of
from forensics.core.leaves import Leaf, leaves_of

if TYPE_CHECKING:
    from forensics.core.trace import Payload


class Text:
    """A payload with its row and the kind of its step (a number of StepKind)."""

    __slots__ = ("_leaves", "_payload", "_plain", "kind", "row")

    def __init__(self, row: int, kind: int, payload: Payload | None) -> None:
        self.row = row
        self.kind = kind
        self._payload = payload
        self._plain: bytes | None = None
        self._leaves: list[Leaf] | None = None

    @property
    def plain(self) -> bytes:
        """The bytes, escapes turned into separators."""
        if self._plain is None:
            self._plain = b"" if self._payload is None else plain_bytes(self._payload)
        return self._plain

    def saying(self, said: bytes) -> Text:
        """The text as it is with something else to say: what is encoded in it."""
        other = Text(self.row, self.kind, None)
        other._plain = said
        return other

    @property
    def leaves(self) -> list[Leaf]:
        """The scalars of the value that the payload is or, as a text, holds."""
        if self._leaves is None:
            self._leaves = [] if self._payload is None else leaves_of(value_of(self._payload))
        return self._leaves


def encoded(value: str) -> bytes:
    """A value as the bytes that a payload would hold."""
    return value.encode("utf-8", "surrogatepass")
