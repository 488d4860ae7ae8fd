"""How do laid-out lines become characters? Plainly, or in colour with rich; the words are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.report.terminal_page import Line

_STYLES = {
    "refused": "bold red",
    "cleared": "bold green",
    "title": "bold",
    "dim": "dim",
    "quote": "",
    "side-effecting": "red",
    "handle-returning": "magenta",
    "idempotent": "green",
    "handle": "bold magenta",
    "info": "dim",
    "low": "",
    "medium": "yellow",
    "high": "bold red",
    "critical": "bold reverse red",
}


def plain(lines: Iterable[Line]) -> str:
    """The lines without colour."""
    return "".join("".join(span.text for span in line) + "\n" for line in lines)


def coloured(lines: Iterable[Line]) -> str:
    """The lines with the escape sequences of colours. Texts are never markup, never highlighted, never links."""
    import io

    from rich.console import Console
    from rich.text import Text

    out = io.StringIO()
    console = Console(
        file=out,
        force_terminal=True,
        color_system="standard",
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
        width=10_000,
    )
    for line in lines:
        console.print(Text.assemble(*((s.text, _STYLES.get(s.style, "")) for s in line)), soft_wrap=True)
    return out.getvalue()
