"""Is a text that is too long or too deep kept from the parsers, and one at the limit not?"""

from __future__ import annotations

import pytest

from forensics.proofs.plain import MAX_CHARACTERS, MAX_DEPTH, is_plain


def nested(depth: int) -> str:
    return "(" * depth + "a" + ")" * depth


@pytest.mark.parametrize(
    "text", ["a" * MAX_CHARACTERS, nested(MAX_DEPTH), "()" * MAX_DEPTH * 2 + nested(MAX_DEPTH), "a"]
)
def test_a_text_at_the_limit_is_plain(text: str) -> None:
    assert is_plain(text)


@pytest.mark.parametrize(
    "text",
    [
        "a" * (MAX_CHARACTERS + 1),
        nested(MAX_DEPTH + 1),
        "[{(" * (MAX_DEPTH // 3) + "(a",
        ")" * MAX_DEPTH + nested(MAX_DEPTH + 1),  # what was never opened takes nothing away
        nested(MAX_DEPTH)[:-1] + nested(MAX_DEPTH),  # nor does one that closes more than one gives
        "",
        " \t\n",
    ],
)
def test_a_text_beyond_it_is_not(text: str) -> None:
    assert not is_plain(text)
