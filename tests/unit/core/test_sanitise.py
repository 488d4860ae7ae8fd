"""Does nothing out of a trace act in HTML or Markdown?"""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from forensics.core.sanitise import html_text, markdown_block, markdown_cell, markdown_code, markdown_text, visible

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><style>*{}",
    "<!--<script>",
    "&lt;b&gt;",
    "javascript:alert(1)",
    "\x1b[2J\x1b]0;x\x07",
    "\u202etxt.exe",
    "a\x00b",
    "\ud800",
    "line\r\nline\u2028line",
)


class Parsed(HTMLParser):
    """What a browser would make of a piece of HTML."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("text", HOSTILE)
def test_html_reads_back_as_text_alone(text: str) -> None:
    within = Parsed(f"<p>{html_text(text)}</p>")
    assert within.tags == ["p"]
    assert all(c.isprintable() or c in "\n\t" for c in within.text)
    valued = Parsed(f'<p title="{html_text(text)}">x</p>')
    assert [name for name, _ in valued.attributes] == ["title"]


@pytest.mark.parametrize("hidden", ["\x1b", "\u200b", "\u202e", "\u034f", "\u3164", "\ud800", "\U000e0041"])
def test_what_hides_is_spelled_beside_a_mark_of_what_was_cut_too(hidden: str) -> None:
    assert visible(f"cut…{hidden}") == "cut…" + visible(hidden)
    assert hidden not in visible(f"cut…{hidden}")


def test_html_keeps_what_is_harmless() -> None:
    assert Parsed(html_text("a < b && c > 'd' \"é\"\n\tx")).text == "a < b && c > 'd' \"é\"\n\tx"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pg_8812", "`pg_8812`"),
        ("a `b` c", "``a `b` c``"),
        ("`", "`` ` ``"),
        ("``x", "``` ``x ```"),
        (" padded ", "`  padded  `"),
        ("", "` `"),
        ("# title\n- item", "`# title - item`"),
        ("@everyone", "`@everyone`"),
        ("\x1b[2J", "`\\x1b[2J`"),
    ],
)
def test_a_code_span_is_closed_by_nothing_within_it(text: str, shown: str) -> None:
    assert markdown_code(text) == shown


def test_a_cell_has_no_bar_that_could_part_it() -> None:
    assert markdown_cell("plain") == "`plain`"
    cell = markdown_cell("a|b\\|<b>@x")
    assert not set("|\\@") & set(cell)
    assert Parsed(cell).tags == ["code"]
    assert Parsed(cell).text == "a|b\\|<b>@x"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("charge_card took effect & returned.", "charge\\_card took effect &amp; returned."),
        ("it was called on https://x.test/a: no answer", "it was called on `https://x.test/a`: no answer"),
        ("it returned “{} and [x](y)”. Another run", "it returned `“{} and [x](y)”`. Another run"),
        ("**a b** @me `c`", "`**a` `b**` `@me` `` `c` ``"),
        ("a“[b]”“[c]”d “open [e f", "`a“[b]”“[c]”d` “open `[e` f"),  # no two code spans touch
        ("a\\ b", "`a\\` b"),
        ('gave {"a": {"b": 1}, "c": 2} and [1, 2].', 'gave `{"a": {"b": 1}, "c": 2}` and `[1, 2]`.'),
        ('gave {"a": "b c", "d… (2 calls)', 'gave `{"a": "b c", "d…` (2 calls)'),
    ],
)
def test_only_what_may_be_markup_in_a_sentence_is_a_code_span(text: str, shown: str) -> None:
    assert markdown_text(text) == shown


def test_a_block_is_closed_by_no_line_of_it() -> None:
    block = markdown_block("x\n```\n# forged\n`````\ny")
    lines = block.splitlines()
    assert lines[0] == "``````text"
    assert lines[-1] == "``````"
    assert lines.count("``````") == 1
    assert lines[1:-1] == ["x", "```", "# forged", "`````", "y"]
