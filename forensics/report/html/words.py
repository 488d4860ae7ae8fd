"""Which words do the parts of a page have in common? Places, kinds of steps, and how a thing is known."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

from forensics.core.sanitise import html_text, one_line, visible
from forensics.report.markup import el, quoted

if TYPE_CHECKING:
    from forensics.report.documents import Place
    from forensics.report.markup import Markup

_NAME = 200  # characters of a name out of the trace
_POINTER = 160
_WORST = 10  # bytes of one character, as an escape
_KINDS = {
    "system": "system prompt",
    "user": "user input",
    "model": "model turn",
    "tool_call": "call",
    "tool_result": "result",
    "memory": "memory access",
    "handoff": "hand-off",
}


AGAIN = {
    "irreversible": "would act once more, and that can't be undone",
    "repeating": "would add one more effect",
    "overwriting": "would overwrite what stands there by then",
    "unknown": "may act again: what it does is not known",
}
"""What a call would do if it ran again, by its effect, the worst first."""


def kind(label: str) -> str:
    """A kind of step in words."""
    return _KINDS.get(label, label.replace("_", " "))


def named(name: str) -> str:
    """A name out of the trace on one line."""
    return one_line(name, _NAME)


def fit(said: str, room: int | None) -> str:
    """As much of a text as the page has room for, in bytes: a character may take four, or be written as an escape."""
    if room is None or len(said) <= room // _WORST:
        return said
    data = html_text(said, quote=False).encode()
    if len(data) <= room:
        return said
    kept = said[: max(len(said) * room // len(data), 1)]
    while len(html_text(kept, quote=False).encode()) > room and len(kept) > 1:
        kept = kept[: len(kept) * 9 // 10]
    return f"{kept}…"


def tool(name: str) -> Markup:
    """A name of a tool or a value among our own words."""
    return el("code", quoted(named(name)))


def step(index: int) -> Markup:
    """A step as a link to its row, which the timeline takes over where it runs."""
    return el("a", f"step {index}", href=f"#s{index}")


def steps(found: list[int], most: int = 12) -> list[Markup]:
    """The first steps as links, and how many more there are."""
    links: list[Markup] = []
    for index in found[:most]:
        links += [quoted(", ")] if links else []
        links.append(el("a", str(index), href=f"#s{index}"))
    if len(found) > most:
        links.append(quoted(f" and {len(found) - most:,} more"))
    return links


def known(basis: str) -> Markup:
    """How something is known, as a badge."""
    return el("span", basis, class_=f"known {basis}")


def where(place: Place) -> str:
    """A locator in words: `line 7, bytes 120 to 480, /spans/3`."""
    parts = [
        None if place.member is None else named(place.member),
        None if place.table is None else f"{named(place.table)} row {place.row}",
        None if place.line is None else f"line {place.line}",
        None if place.offset is None else _bytes(place.offset, place.length),
        one_line(place.pointer, _POINTER) if place.pointer else None,
    ]
    return ", ".join(part for part in parts if part) or "the whole evidence"


def _bytes(offset: int, length: int | None) -> str:
    return f"bytes {offset} to {offset + length - 1}" if length else f"from byte {offset} on"


class Inspecting(NamedTuple):
    """A command that shows a step; steps are numbered from `before` on."""

    line: str
    before: int = 0

    def step(self, index: int) -> str:
        """The command for one step."""
        return f"{self.line} --step {index - self.before}"


def command(*arguments: str) -> str | None:
    """A command to copy; None where an argument holds what a reader could not see or a shell would act on."""
    line = shlex.join(arguments)
    return line if visible(line) == line and "\n" not in line else None
