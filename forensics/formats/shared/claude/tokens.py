"""How many tokens did a Claude Code session take? Each message counts once, however many pieces repeat its usage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from forensics.formats.shared.fields import Fields, fields_of, present, whole_number
from forensics.formats.shared.forms import ABSENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.core.reading import Counts


class Tokens:
    """Adds the tokens of a session to its counts."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._known: dict[str, tuple[int, int]] = {}

    def of_message(self, key: str, message: Fields) -> None:
        """Those of a piece of the message that `key` names: the last piece has the final numbers."""
        now = _usage(message)
        if now is not None:
            self.add(key, now)

    def add(self, key: str, now: tuple[int, int]) -> None:
        """The same by the tokens themselves, read and written."""
        before = self._known.get(key, (0, 0))
        self._counts.input_tokens += max(0, now[0] - before[0])
        self._counts.output_tokens += max(0, now[1] - before[1])
        if key:
            self._known[key] = (max(now[0], before[0]), max(now[1], before[1]))

    def of_run(self, result: Fields) -> None:
        """Those of the whole run, where its last word says more than its messages did."""
        told = _usage(result)
        if told is not None:
            self._counts.input_tokens = max(self._counts.input_tokens, told[0])
            self._counts.output_tokens = max(self._counts.output_tokens, told[1])


class _Usage(msgspec.Struct, gc=False):
    input_tokens: Annotated[int, msgspec.Meta(ge=0, lt=10**18)] = 0
    output_tokens: Annotated[int, msgspec.Meta(ge=0, lt=10**18)] = 0


_usages = msgspec.json.Decoder(list[_Usage]).decode


def usages(told: Sequence[Any]) -> Sequence[tuple[int, int] | None]:
    """The tokens that each `usage` says were read and written; None for one that is not there or does not say."""
    try:
        found = _usages(b"[" + b",".join(told) + b"]")
    except (TypeError, msgspec.DecodeError, UnicodeDecodeError):
        return [None if one is ABSENT else _usage({"usage": one}) for one in told]
    return [(one.input_tokens, one.output_tokens) for one in found]


def _usage(fields: Fields) -> tuple[int, int] | None:
    usage = present(fields, "usage")
    if usage is None:
        return None
    told = fields_of(usage)
    return whole_number(told, "input_tokens"), whole_number(told, "output_tokens")
