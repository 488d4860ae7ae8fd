"""What does each line of a block hold, where it is written as sessions write them, and where do its parts stand?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.trace import NOWHERE, Payload
from forensics.formats.shared.claude.kinds import CALLS_BESIDE, CONTENT, STRUCTURED, WORDS
from forensics.formats.shared.claude.lines import is_utf8
from forensics.formats.shared.forms import ABSENT, FLAG, TEXT, Form, Items, OrText, Spellings
from forensics.formats.shared.lines import Span, spans_between

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forensics.formats.shared.source import Source

Where = tuple[int, int]
"""Where in the evidence a payload stands: its offset (NOWHERE: there is none) and its length."""

NONE: Where = (NOWHERE, 0)
_NULL = msgspec.Raw(b"null")
written = msgspec.json.Encoder().encode
"""An object or a list that was read as it stands in its line."""

_RAW = msgspec.Raw
_BLOCK = Form(
    "block",
    dict.fromkeys((*WORDS, *CONTENT, "input"), _RAW)
    | {"type": TEXT, "id": TEXT, "name": TEXT, "tool_use_id": TEXT, "is_error": FLAG, "signature": TEXT},
    sought=frozenset({*WORDS, *CONTENT, "input"}),
)
_MESSAGE = Form(
    "message",
    {
        "id": TEXT,
        "type": TEXT,
        "role": TEXT,
        "model": TEXT,
        "stop_reason": TEXT,
        "usage": _RAW,
        "content": Items(_BLOCK),
    },
    sought=frozenset({"content"}),
    never=CALLS_BESIDE,
)
_ALONE = frozenset({"toolDenialKind", "isCompactSummary"})
"""The marks of records of which more is to be said."""
_SPOKEN: dict[str, Any] = {
    **dict.fromkeys(("type", "uuid", "timestamp", "requestId", "agentId", "parent_tool_use_id"), TEXT),
    **dict.fromkeys(STRUCTURED, _RAW),
    "isMeta": FLAG,
    "message": _MESSAGE,
}
_NEWS = Form("news", _SPOKEN, sought=frozenset({"message"}), never=_ALONE)
_DATA = Form("data", {"type": TEXT, "agentId": TEXT, "message": OrText(_NEWS)}, sought=frozenset({"message"}))
RECORD = Form(
    "record",
    {
        **dict.fromkeys(("subtype", "parentUuid", "cwd", "gitBranch", "sessionId", "userType", "version"), TEXT),
        **_SPOKEN,
        "isSidechain": FLAG,
        "data": _DATA,
        "attachment": Form("attachment", {"type": TEXT}),
    },
    sought=frozenset({"message", "data", "attachment"}),
    never=_ALONE,
)
"""What is read of the records that are told at once."""


class _Unread:
    """A line that is told by itself."""

    type = uuid = parentUuid = timestamp = ABSENT  # noqa: N815 - the names of the format


UNREAD = _Unread()


class Lines(msgspec.Struct, frozen=True, gc=False):
    """Lines that follow each other, blank ones left out: their numbers, where in the evidence each begins, its length,
    and its record as `RECORD` has it, of which nothing is there where the line is told by itself. `text` are the bytes
    of all, and begin at `base`.
    """

    numbers: Sequence[int]
    starts: Sequence[int]
    lengths: Sequence[int]
    records: Sequence[Any]
    text: bytes
    base: int

    def span(self, row: int) -> Span:
        """Where a line stands."""
        return self.numbers[row], self.starts[row], self.starts[row] + self.lengths[row]

    def runs(self, rows: Sequence[int]) -> Iterator[tuple[Sequence[int], int, int]]:
        """The lines in these rows, which are in order: those that follow each other together, and where in the text
        they begin and end.
        """
        first = 0
        for at in range(1, len(rows) + 1):
            if at == len(rows) or rows[at] != rows[at - 1] + 1:
                begin, end = self.starts[rows[first]], self.starts[rows[at - 1]] + self.lengths[rows[at - 1]]
                yield rows[first:at], begin - self.base, end - self.base
                first = at

    def line(self, row: int) -> bytes:
        """The bytes of a line."""
        begin = self.starts[row] - self.base
        return self.text[begin : begin + self.lengths[row]]

    def within(self, one: Any, name: str, begin: int) -> int:
        """Where in the text a field of an object that begins there stands; NOWHERE where that is not plain to see."""
        key = _KEYS[name]
        return self.text.find(key, begin) + len(key) if begin >= 0 and one.free[name](one) else NOWHERE

    def found(self, one: Any, names: Sequence[str], begin: int) -> tuple[Payload | None, Where] | None:
        """The first of these fields that is not null of an object that begins there in the text, and where it stands;
        None where that is not plain to see.
        """
        for name in names:
            raw = getattr(one, name)
            if raw is not ABSENT and raw != _NULL:
                at = self.within(one, name, begin)
                return (raw, (self.base + at, len(raw))) if at >= 0 else None
        return None, NONE


_KEYS = {name: b'"%b":' % name.encode() for name in _BLOCK.sought | RECORD.sought}


def size_of(held: Any) -> int:
    """How many bytes an object, a list or a text that was read takes where it stands."""
    return len(written(held))


def begins_of(blocks: Sequence[Any], begin: int) -> list[int]:
    """Where the blocks of a list begin that begins there, and where it ends."""
    sizes = map(len, map(written, blocks))
    return list(accumulate(map(_AND_ITS_COMMA, sizes), initial=begin + len("[")))


_AND_ITS_COMMA = len(b",").__add__


class Written:
    """The lines of one session, block by block."""

    def __init__(self) -> None:
        self._spellings = Spellings(RECORD)

    def lines(self, source: Source, block: Span) -> Lines:
        """The lines of a block."""
        number, base, end = block
        text = bytes(source.data[base:end])
        plain = is_utf8(text)
        found = self._spellings.whole(text) if plain else None
        if found is None:
            return self._each(spans_between(source, base, end, number), text, base, plain=plain)
        lengths = _lengths(text)
        starts = list(accumulate(map(_AND_ITS_END, lengths), initial=base))[:-1]
        return Lines(range(number, number + len(found)), starts, lengths, found, text, base)

    def _each(self, spans: Iterable[Span], text: bytes, base: int, *, plain: bool) -> Lines:
        """The lines that stand there, of which each is looked at."""
        told = list(spans)
        texts = [text[start - base : end - base] for _, start, end in told]
        found = self._spellings.each(texts)
        records = [
            one if one is not None and (plain or is_utf8(line)) else UNREAD
            for one, line in zip(found, texts, strict=True)
        ]
        return Lines([span[0] for span in told], [span[1] for span in told], list(map(len, texts)), records, text, base)


_AND_ITS_END = len(b"\n").__add__


def _lengths(text: bytes) -> list[int]:
    """How long each line of a text is that ends where it does or with a line end."""
    found, begin, find = [], 0, text.find
    while (end := find(b"\n", begin)) >= 0:
        found.append(end - begin)
        begin = end + 1
    return [*found, len(text) - begin] if begin < len(text) else found
