"""Which tokens is an SQL text made of? Asked by several, so the last few answers are kept."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token


@lru_cache(maxsize=16)
def tokens_of(text: str, language: str) -> tuple[Token, ...]:
    """The tokens of a text, comments left out. Raises sqlglot's TokenError."""
    import sqlglot

    return tuple(sqlglot.tokenize(text, read=language))
