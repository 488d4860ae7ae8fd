"""Is a value that differs the run's own making, and which fresh handle is which recorded one? By shape and by place.

Both sides must be opaque values of one kind (a uuid for a uuid, `pg_…` for `pg_…`): two words of a vocabulary, such as
`sev1` and `sev2`, never are, and two values of one kind at different places are not taken for each other. A value that
the recorded run knows already is not fresh: what it names there is something else.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from forensics.core.pointers import resolve_pointer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from forensics.core.handles import Handle
    from forensics.rules.engine import RuleSet

_LONGEST = 512
_ID_LIKE = {"number": "id"}


_WORD = re.compile(rb"[A-Za-z0-9]+")


class Fresh:
    """The handles of a recorded run, by the call that minted them, how a value's kind is told, and what stands in that
    run anywhere (`texts`).
    """

    def __init__(
        self, rules: RuleSet, minted: Mapping[int, Sequence[Handle]], texts: Iterable[bytes | None] = ()
    ) -> None:
        self.minted = minted
        self._rules = rules
        self._texts = texts

    @functools.cached_property
    def _words(self) -> frozenset[bytes]:
        return frozenset(word for text in self._texts if text is not None for word in _WORD.findall(text))

    def learnable(self, call: int, recorded: Any, presented: Any) -> Iterator[tuple[str, str]]:
        """The handles that a recorded call minted and what another result of it holds in their place, where that is a
        value of the same kind that the recorded run knows nothing of.
        """
        for handle, other in learnable(self.minted.get(call, ()), recorded, presented, self._rules):
            if not self._is_known(other):
                yield handle, other

    def _is_known(self, value: str) -> bool:
        """Whether the recorded run may hold a value: its longest word stands there."""
        words = _WORD.findall(value.encode("utf-8", "surrogatepass"))
        return not words or max(words, key=len) in self._words

    def is_own(self, pointer: str, recorded: Any, asked: Any, given: bytes) -> bool:
        """Whether both values are opaque and of one kind, and nothing that the agent was given holds the new one."""
        kind = _kind(self._rules, recorded, pointer)
        if kind is None or kind != _kind(self._rules, asked, pointer):
            return False
        return str(asked).encode("utf-8", "replace") not in given


def learnable(handles: Sequence[Handle], recorded: Any, presented: Any, rules: RuleSet) -> Iterator[tuple[str, str]]:
    """The handles of a recorded result and what another result of the same call holds in their place, where that is a
    value of the same kind. The place of one that stands in a sentence is between the same words.
    """
    for handle in handles:
        other = resolve_pointer(presented, handle.pointer)
        around = resolve_pointer(recorded, handle.pointer)
        if isinstance(around, str) and isinstance(other, str) and around != handle.value:
            other = _between(around.partition(handle.value), other)
        if isinstance(other, (str, int)) and not isinstance(other, bool):
            told = _kind(rules, other, handle.pointer)
            if told is not None and _ID_LIKE.get(told, told) == _ID_LIKE.get(handle.kind, handle.kind):
                yield handle.value, str(other)


def _between(parts: tuple[str, str, str], text: str) -> str | None:
    """What a text holds in place of the middle one of three parts; None where it does not begin and end as they do."""
    before, _, after = parts
    inner = text.removeprefix(before).removesuffix(after)
    return inner if before + inner + after == text else None


def _kind(rules: RuleSet, value: Any, pointer: str) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or len(str(value)) > _LONGEST:
        return None
    return rules.handle_kind(str(value), pointer.rpartition("/")[2] or None)
