"""How much of the trace's own text may a report hold? None of it, a budget a text, or all.

Names (of tools, agents, models), ids and numbers of steps are no content: without them no statement has a place.
"""

from __future__ import annotations

from enum import StrEnum
from sys import maxsize
from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import short_json, spell_surrogates, strict_value, text_of, value_of
from forensics.report.incident.documents import Contents
from forensics.report.incident.media import without_media

if TYPE_CHECKING:
    from forensics.core.trace import Payload

_WHOLE = 1_000_000  # characters of all previews together, as far as the least budget allows
_LEAST, _MOST = 80, 400
_VALUE = 120  # characters of a handle's value


class Level(StrEnum):
    """How much of the texts is shown."""

    NONE = "none"
    PREVIEW = "preview"
    FULL = "full"


class Content(msgspec.Struct, frozen=True):
    """What of a text is shown. `budget` is in characters a text; None: all of it."""

    level: Level
    budget: int | None

    def row(self, *, redacted: bool) -> Contents:
        """What the document says of it."""
        return Contents(level=self.level.value, budget=self.budget, redacted=redacted)

    def of(self, payload: Payload | None) -> str | None:
        """A payload's text."""
        return None if payload is None else self.text(spell_surrogates(text_of(payload)))

    def json(self, payload: Payload | None) -> str | None:
        """A payload as JSON on one line."""
        if payload is None or self.level is Level.NONE:
            return None
        return self.text(short_json(strict_value(value_of(payload)), maxsize))

    def text(self, text: str | None) -> str | None:
        """A text that was read already. Media in it are named instead, but where all is shown."""
        if text is None or self.level is Level.NONE:
            return None
        return text if self.level is Level.FULL else self.cut(without_media(text))

    def value(self, value: str, index: int, kind: str) -> str:
        """A handle's value or, where no content is shown, its number and kind."""
        if self.level is Level.NONE:
            return f"{kind} {index}"
        return value if self.budget is None or len(value) <= _VALUE else value[: _VALUE - 1] + "…"

    def said(self, message: str, instead: str) -> str:
        """A sentence of an analysis, which may quote the trace; where no content is shown, what its code means."""
        return instead if self.level is Level.NONE else message

    def cut(self, text: str) -> str:
        """A text as far as the budget goes; an ellipsis says that there is more."""
        return text if self.budget is None or len(text) <= self.budget else text[: self.budget - 1] + "…"


def content_for(level: Level, steps: int) -> Content:
    """The content of a report over so many steps: the more there are, the less of each."""
    if level is Level.PREVIEW:
        return Content(level, max(_LEAST, min(_MOST, _WHOLE // max(steps, 1))))
    return Content(level, None if level is Level.FULL else 0)
