"""How is a document laid out for a terminal? Lines of styled words, wrapped to a width, every one of them harmless.

Nothing that comes out of a trace can start a line: it stands behind a label, an indent or a bar, so that it cannot
forge a verdict. The words are the same with colour and without.
"""

from __future__ import annotations

import json
import unicodedata
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from forensics.core.late import late
from forensics.core.sanitise import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NARROWEST = 20

_SIGNS = str.maketrans(dict.fromkeys("_.:/@#+~$%=*…-"))
"""Of a name that is one plain word, besides letters and digits."""
_TOKENS = late(r"\s+|\S+")


class Span(msgspec.Struct, frozen=True, gc=False):
    """A piece of text in one style; the styles are words (`refused`, `dim`), which only the drawing gives a colour."""

    text: str
    style: str = ""


_text, _style = attrgetter("text"), attrgetter("style")
Line = tuple[Span, ...]
Part = Span | str


class Page:
    """Lines in the making. `width` is in cells; `detail` is -1 (quiet), 0, 1 or more."""

    def __init__(self, width: int = 80, detail: int = 0) -> None:
        self.width = width
        self.detail = detail
        self.lines: list[Line] = []

    def blank(self) -> None:
        """An empty line, unless there is one already."""
        if self.lines and self.lines[-1]:
            self.lines.append(())

    def title(self, text: str) -> None:
        """The title of a section."""
        self.blank()
        self.line(Span(text, "title"))

    def line(self, *parts: Part, first: str = "", rest: str | None = None) -> None:
        """One line of ours, wrapped: `first` stands before it, `rest` (default: as many blanks) before what wraps."""
        spans = [part if isinstance(part, Span) else Span(part) for part in parts]
        self.lines.extend(_wrap(spans, first, " " * cells(first) if rest is None else rest, self.width))

    def row(self, *parts: Part, first: str = "  ") -> None:
        """One line of a table: never wrapped, cut at the width."""
        spans = [part if isinstance(part, Span) else Span(part) for part in parts]
        head, *rest = _wrap(spans, first, first, self.width - 2)
        self.lines.append((*head, Span(" …", "dim")) if rest else head)

    def field(self, label: str, *parts: Part, indent: int = 2, column: int = 14) -> None:
        """A labelled line: the label, then the parts from `column` on."""
        first = (" " * indent + label).ljust(column)
        self.line(*parts, first=first if first.endswith(" ") else first + " ", rest=" " * column)

    def quote(self, text: str, *, indent: int = 4, limit: int = 2_000, style: str = "quote") -> None:
        """A text out of the trace: its own lines kept, each behind a bar, cut at `limit` characters."""
        bar = " " * indent + "| "
        shown = text if len(text) <= limit else text[:limit]
        for part in safe(shown).split("\n"):
            self.line(Span(part, style), first=bar, rest=bar)
        if len(text) > limit:
            self.line(Span(f"… {len(text) - limit} more characters, use --format json", "dim"), first=" " * indent)

    def more(self, count: int, indent: int = 2) -> None:
        """How many rows were left out, if any."""
        if count > 0:
            self.line(Span(f"… {count} more, use --format json", "dim"), first=" " * indent)


def safe(text: str) -> str:
    """The text with everything that acts or hides spelled out; newlines stay, tabs become blanks."""
    return visible(text).replace("\t", "    ")


def name(text: str, limit: int = 60) -> str:
    """A name out of the trace: as it is where it is one plain word, else in quotes, so that it never reads as ours."""
    shown = short(text, limit)
    return shown if _is_plain(shown) else '"' + shown.replace('"', '\\"') + '"'


def _is_plain(name: str) -> bool:
    letters = name.translate(_SIGNS)
    return letters.isalnum() or (not letters and bool(name))


def short(text: str, limit: int = 120) -> str:
    """A text out of the trace on one line, cut at `limit` characters."""
    return safe(one_line(text, limit))


def value(something: object, limit: int = 120) -> str:
    """A JSON value on one line; a text as it is."""
    text = something if isinstance(something, str) else json.dumps(something, ensure_ascii=False, default=str)
    return short(text, limit)


def plural(count: int, word: str, many: str = "") -> str:
    """`1 call`, `3 calls`."""
    return f"{count} {word if count == 1 else many or word + 's'}"


def cells(text: str) -> int:
    """How many cells of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cell, text))


@lru_cache(maxsize=4096)
def _cell(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _wrap(spans: Iterable[Span], first: str, rest: str, width: int) -> list[Line]:
    """The spans in lines no wider than `width`. Most lines are short: one that fits is not taken apart."""
    room = max(width, cells(rest) + NARROWEST)
    shown = [Span(safe(span.text).replace("\n", " "), span.style) for span in spans if span.text]
    if _is_tight(shown) and cells(first) + sum(cells(span.text) for span in shown) <= room:
        return [tuple(_joined([Span(first), *shown]))]
    return _broken(shown, first, rest, room)


def _is_tight(spans: list[Span]) -> bool:
    """Whether there is no blank at either end that breaking would take away."""
    return bool(spans) and not spans[0].text[0].isspace() and not spans[-1].text[-1].isspace()


def _broken(spans: Iterable[Span], first: str, rest: str, room: int) -> list[Line]:
    """Break between words; a word longer than a line is cut where the line ends."""
    lines = _Lines(first, rest, room)
    for span in spans:
        if span.text.isascii():
            lines.add_ascii(span.text, span.style)
        else:
            for token in _TOKENS.findall(span.text):
                lines.add(token, span.style)
    return lines.close()


class _Lines:
    """Lines no wider than `room`, of which the one in the making ends at the cell `at`."""

    def __init__(self, first: str, rest: str, room: int) -> None:
        self._rest, self._start, self._room = rest, cells(rest), room
        self._done: list[Line] = []
        self._line, self._at, self._fresh = [Span(first)], cells(first), True

    def close(self) -> list[Line]:
        """All lines."""
        self._break()
        return self._done

    def add(self, token: str, style: str) -> None:
        """Add a word, or the blanks between two words."""
        size = cells(token)
        if self._at + size > self._room and not self._fresh:
            self._break()
        if token.isspace() and self._is_new():
            return
        if size <= self._room - self._at:
            self._put(token, size, style)
        else:
            self._cut(token, style)

    def add_ascii(self, text: str, style: str) -> None:
        """Add a text, of which as much as a line holds is taken at once; its only blanks are spaces."""
        at = 0
        while at < len(text):
            if text[at] == " " and self._is_new():
                at = len(text) - len(text[at:].lstrip(" "))
                continue
            end = _last_that_fits(text, at, self._room - self._at)
            if end > at:
                self._put(text[at:end], end - at, style)
            elif self._fresh:
                end = at + len(_TOKENS.findall(text[at:])[0])
                self._cut(text[at:end], style)
            else:
                self._break()
            at = end

    def _is_new(self) -> bool:
        """Whether nothing stands on this line, and it is not the first."""
        return self._fresh and self._at == self._start and self._line[0].text == self._rest

    def _put(self, text: str, size: int, style: str) -> None:
        self._line.append(Span(text, style))
        self._at, self._fresh = self._at + size, False

    def _break(self) -> None:
        self._done.append(tuple(_joined(self._line)))
        self._line, self._at, self._fresh = [Span(self._rest)], self._start, True

    def _cut(self, word: str, style: str) -> None:
        for piece in _pieces(word, self._room - self._at, self._room - self._start):
            size = cells(piece)
            if self._at + size > self._room and not self._fresh:
                self._break()
            self._put(piece, size, style)


def _last_that_fits(text: str, begin: int, room: int) -> int:
    """Where the last word, or the last blanks, end of those from `begin` on that so many cells hold as a whole."""
    end = begin + room
    if end >= len(text):
        return len(text)
    if room <= 0:
        return begin
    if (text[end] == " ") != (text[end - 1] == " "):
        return end
    if text[end] == " ":
        return begin + len(text[begin:end].rstrip(" "))
    return max(begin, text.rfind(" ", begin, end) + 1)


def _pieces(word: str, now: int, later: int) -> Iterator[str]:
    """A word that is too long, in pieces: the first into what is left of this line, the others into whole lines."""
    piece, size, room = "", 0, max(now, 1)
    for character in word:
        wide = _cell(character)
        if size + wide > room and piece:
            yield piece
            piece, size, room = "", 0, max(later, 1)
        piece, size = piece + character, size + wide
    yield piece


def _joined(line: list[Span]) -> Iterator[Span]:
    """Neighbours of one style as one span, and no blanks at the end."""
    while len(line) > 1:
        last = line.pop()
        told = last.text.rstrip()
        if told:
            line.append(last if told == last.text else Span(told, last.style))
            break
    if len(line) == 1 and line[0].text.isspace():
        return
    for style, alike in groupby(line, _style):
        yield Span("".join(map(_text, alike)), style)
