"""Which handle of one run is which of the other? A bijection, learnt only where matched results hold two handles of one
kind at one place, and what a value says under it.

A handle that is written in capitals, percent-encoded or in base64 is still that handle (the ways of writing that the
flow of values knows). Two values for one, or one for two, are never learnt: what rests on them then differs. A short
one (`5`) is that handle only where it stands alone under a key that identifies something: an amount of 5 is not the
order 5.
"""

from __future__ import annotations

import re
from base64 import b64encode
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from forensics.core.handles import Handle

_PIECE = re.compile("[A-Za-z0-9]+")
_ESCAPED = re.compile("%[0-9A-Fa-f]{2}")
_SHORT = 4  # characters; as in the flow of values, fewer say nothing by themselves
_ID_LIKE = {"number": "id"}  # a random id of digits only is a number by its shape, and an id to its tool


class Renamed(msgspec.Struct, frozen=True):
    """A handle of the left run and what the right one calls it, its kind, the left call (a row) and both steps."""

    left: str
    right: str
    kind: str
    call: int
    left_step: int
    right_step: int


class Renaming:
    """The bijection learnt so far. `renamed` are its pairs whose names differ, in the order of learning. `identifies`
    says whether the key of a value says that it identifies something (`id`, `order_no`).
    """

    def __init__(self, identifies: Callable[[str], bool]) -> None:
        self.renamed: list[Renamed] = []
        self._right_of: dict[str, str] = {}
        self._left_of: dict[str, str] = {}
        self._rightward = _Rewriting(identifies)
        self._leftward = _Rewriting(identifies)

    def __bool__(self) -> bool:
        """Whether any value is called otherwise."""
        return bool(self._rightward)

    def learn(self, left: Sequence[Handle], right: Sequence[Handle]) -> None:
        """Learn from what two matched calls minted: the handles of each place, in the order in which they stand there,
        where there are as many.
        """
        theirs = _by_place(right)
        for place, handles in _by_place(left).items():
            others = theirs.get(place, [])
            if len(handles) == len(others):
                for one, other in zip(handles, others, strict=True):
                    if _kind(one) == _kind(other) and self.join(one.value, other.value):
                        self.renamed.append(Renamed(one.value, other.value, one.kind, one.call, one.step, other.step))

    def join(self, left: str, right: str) -> bool:
        """Take two values for one; whether that is new, possible, and a change of name."""
        if left in self._right_of or right in self._left_of:
            return False
        self._right_of[left] = right
        self._left_of[right] = left
        if left == right:
            return False
        by_key = min(len(left), len(right)) < _SHORT
        self._rightward.add(left, right, by_key=by_key)
        self._leftward.add(right, left, by_key=by_key)
        return True

    def rightward(self, value: Any) -> Any:
        """A value of the left run as the right run would say it."""
        return self._rightward.rewritten(value)

    def leftward(self, value: Any) -> Any:
        """A value of the right run as the left run would say it."""
        return self._leftward.rewritten(value)


def _kind(handle: Handle) -> str:
    return _ID_LIKE.get(handle.kind, handle.kind)


def _by_place(handles: Sequence[Handle]) -> dict[str, list[Handle]]:
    found: dict[str, list[Handle]] = {}
    for handle in handles:
        if handle.minted:
            found.setdefault(handle.pointer, []).append(handle)
    return found


class _Around(msgspec.Struct, gc=False):
    """The values around one anchor: where it stands in them (offset, length), and what each becomes."""

    shapes: dict[tuple[int, int], None]
    names: dict[str, str]


class _Rewriting:
    """Replaces whole values in texts, all at once. A value is recognised by its longest piece of letters and digits,
    its anchor, and then compared whole, so that a text costs what it is long, however many values there are.
    """

    def __init__(self, identifies: Callable[[str], bool]) -> None:
        self._identifies = identifies
        self._around: dict[str, _Around] = {}
        self._by_key: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._around or self._by_key)

    def add(self, old: str, new: str, *, by_key: bool) -> None:
        """From now on `old` becomes `new`, in every way of writing; `by_key`: where a key says that it is an id."""
        if by_key:
            self._by_key.setdefault(old, new)
            return
        for one, other in _writings(old, new):
            piece = max(_PIECE.finditer(one), key=lambda m: len(m.group()), default=None)
            if piece is not None:
                around = self._around.setdefault(piece.group(), _Around({}, {}))
                around.shapes[piece.start(), len(one)] = None
                around.names.setdefault(one, other)

    def rewritten(self, value: Any) -> Any:
        """The value with every text, number and key rewritten. Iterative, so that nesting can't exhaust the stack."""
        if not self:
            return value
        root: list[Any] = [None]
        todo: list[tuple[Any, Any, Any, str]] = [(root, 0, value, "")]
        while todo:
            holder, key, item, under = todo.pop()
            if isinstance(item, dict):
                names = _names(item, self._text)
                holder[key] = filled = dict.fromkeys(names)
                todo.extend((filled, name, part, old) for name, (old, part) in zip(names, item.items(), strict=True))
            elif isinstance(item, list):
                holder[key] = [None] * len(item)
                todo.extend((holder[key], n, part, under) for n, part in enumerate(item))
            else:
                holder[key] = self._scalar(item, under)
        return root[0]

    def _scalar(self, item: Any, under: str) -> Any:
        """A text or a number, which stands under that key (of the nearest object)."""
        if not isinstance(item, str) and type(item) is not int:
            return item
        spelled = str(item)
        new = self._by_key.get(spelled)
        if new is None or not self._identifies(under):
            new = self._text(spelled)
        return item if new == spelled else int(new) if type(item) is int and new.isascii() and new.isdigit() else new

    def _text(self, text: str) -> str:
        found = sorted(self._standing_in(text), key=lambda hit: (hit[0], -hit[1]))
        parts: list[str] = []
        at = 0
        for start, end, new in found:
            if start >= at:
                parts += (text[at:start], new)
                at = end
        return text if not parts else "".join((*parts, text[at:]))

    def _standing_in(self, text: str) -> Iterator[tuple[int, int, str]]:
        for at, piece in _pieces(text):
            around = self._around.get(piece)
            for before, length in () if around is None else around.shapes:
                start = at - before
                end = start + length
                new = None if start < 0 or around is None else around.names.get(text[start:end])
                if new is not None and _is_whole(text, start, end):
                    yield start, end, new


def _names(item: dict[str, Any], rewritten: Callable[[str], str]) -> list[str]:
    """The keys of an object rewritten, or as they are where two would become one."""
    names = [rewritten(name) for name in item]
    return names if len(set(names)) == len(names) else list(item)


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The pieces of a text with their places; one that a percent escape runs into, also without its two digits."""
    for piece in _PIECE.finditer(text):
        start, word = piece.start(), piece.group()
        yield start, word
        if start and len(word) > 2 and _ESCAPED.match(text, start - 1):  # noqa: PLR2004 - the digits of an escape
            yield start + 2, word[2:]


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether a value stands there on its own, and is no part of a longer word."""
    before = start == 0 or not (text[start - 1].isalnum() and text[start].isalnum())
    before = before or (start > 2 and _ESCAPED.match(text, start - 3) is not None)  # noqa: PLR2004 - an escape is three
    return before and (end >= len(text) or not (text[end].isalnum() and text[end - 1].isalnum()))


def _writings(old: str, new: str) -> Iterator[tuple[str, str]]:
    yield old, new
    yield old.upper(), new.upper()
    yield old.lower(), new.lower()
    yield quote(old, safe="", errors="backslashreplace"), quote(new, safe="", errors="backslashreplace")
    one, other = (b64encode(text.encode("utf-8", "surrogatepass")).decode() for text in (old, new))
    for plain in (str, _in_addresses):
        yield plain(one), plain(other)
        yield plain(one).rstrip("="), plain(other).rstrip("=")


def _in_addresses(text: str) -> str:
    """Base64 as addresses take it (RFC 4648, section 5)."""
    return text.replace("+", "-").replace("/", "_")
