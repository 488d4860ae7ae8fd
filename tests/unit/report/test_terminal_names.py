"""Which names of a trace stand in a text for people as they are?"""

from __future__ import annotations

import pytest

from forensics.report.terminal_page import name


@pytest.mark.parametrize(
    "plain", ["query_metrics", "trace-0", "deploy.post", "mcp__a/b:c@1", "größe", "²", "…", "a" * 60]
)
def test_one_plain_word_stands_as_it_is(plain: str) -> None:
    assert name(plain) == plain


@pytest.mark.parametrize("odd", ["", "two words", 'a"b', "(a)", "a\u200bb", "\u0301"])
def test_anything_else_stands_in_quotes(odd: str) -> None:
    assert name(odd).startswith('"')
    assert name(odd).endswith('"')
