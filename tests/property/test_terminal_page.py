"""Is a line that fits told as the breaking of lines would tell it?"""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from forensics.report import terminal_page
from forensics.report.terminal_page import Page, Span, safe

TEXTS = st.text(alphabet="ab \t\n…é文\u0301\x1b", max_size=12)
SPANS = st.lists(st.builds(Span, TEXTS, st.sampled_from(("", "dim"))), max_size=4)


@given(SPANS, st.sampled_from(("", "  ", "label: ")), st.none() | st.sampled_from(("", "    ")), st.integers(10, 60))
def test_what_fits_is_told_as_by_breaking(spans: list[Span], first: str, rest: str | None, width: int) -> None:
    page = Page(width)
    page.line(*spans, first=first, rest=rest)
    blanks = " " * len(first) if rest is None else rest
    shown = [Span(safe(span.text).replace("\n", " "), span.style) for span in spans]
    room = max(width, len(blanks) + terminal_page.NARROWEST)
    assert page.lines == list(terminal_page._broken(shown, first, blanks, room))  # noqa: SLF001 - the longer way


PLAIN = st.text(alphabet="abc     ", max_size=50)


@given(
    st.lists(st.builds(Span, PLAIN | TEXTS, st.sampled_from(("", "dim"))), max_size=5),
    st.sampled_from(("", "  ", "label: ", "    | ")),
    st.sampled_from(("", "    ", "    | ")),
    st.integers(1, 30),
)
def test_a_text_at_once_breaks_as_its_words_one_by_one(spans: list[Span], first: str, rest: str, room: int) -> None:
    shown = [Span(safe(span.text).replace("\n", " "), span.style) for span in spans if span.text]
    lines = terminal_page._Lines(first, rest, room)  # noqa: SLF001 - the shorter way beside the longer one
    for span in shown:
        for token in re.findall(r"\s+|\S+", span.text):
            lines.add(token, span.style)
    assert terminal_page._broken(shown, first, rest, room) == lines.close()  # noqa: SLF001
