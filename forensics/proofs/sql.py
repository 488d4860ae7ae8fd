"""Does every statement of this SQL text only read?

Parsed by sqlglot and checked against allow lists of statements, kinds of nodes and functions; what the parser doesn't
understand is not proven. What a name stands for (a view, a trigger on SELECT, a function of the user's own that took
the name of a built-in one) is not in the text and not shown.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from forensics.core.late import late
from forensics.proofs.proof import Proof, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlglot.tokenizer_core import Token

    from forensics.proofs.tables import Dialect

_MAX_TOKENS = 3_000
_MAX_STATEMENTS = 32
_MAX_PREFIXES = 64
_PREFIXES = frozenset({"NOT", "CASE", "-", "~", "+", "EXISTS", "INTERVAL"})
_SURPRISES = late(
    r"""\\['"`]"""  # a quote that only some dialects take as escaped
    r"|/\*M?!"  # a comment that MySQL or MariaDB runs
    r"|/\*(?:(?!\*/)[\s\S])*?/\*"  # comments inside comments, which only some dialects count
    r"|\{[{%#]"  # a template
)
_BEGINS = late(
    r"(?:\s|;|--[^\n]*+\n|#[^\n]*+\n|/\*[\s\S]*?\*/)*+"
    r"(?:\(|(?:select|with|values|table|show|explain|desc|describe|pragma)\b)",
    re.IGNORECASE,
)
"""How every text begins that may be proven: most others need no parser."""

_NO_WITH = late(r"\s*with\b(?![\s\S]*(?:\(|\bas\b))", re.IGNORECASE)
"""WITH, and neither AS nor a parenthesis behind it, one of which every dialect asks for: prose, and no statement."""
_ONE_SHOW = late(r"\s*show\s+([\w\s.,=]*)", re.IGNORECASE)
"""One SHOW, so plain that it is told without a tokeniser."""
_DASHES = late(r"--(?![\s]|$)")


def prove_text(text: str, dialect: str | None) -> Proof | None:
    """The proof of one text; without a dialect it must hold in every dialect known."""
    if _SURPRISES.search(text) or not _BEGINS.match(text) or _is_prose(text, dialect):
        return None
    from forensics.proofs.sql_tables import dialects_named

    found: list[str] | None = None
    with _silent():
        for one in dialects_named(dialect):
            found = _kinds(text, one)
            if not found:
                return None
    return Proof(counted(found, "SQL statement", "SQL statements"), "sqlglot") if found else None


def _is_prose(text: str, dialect: str | None) -> bool:
    """Whether a text that begins as a statement does is plainly none, so that no parser has to be loaded for it."""
    if _NO_WITH.match(text):
        return True
    shown = _ONE_SHOW.fullmatch(text)
    if shown is None:
        return False
    from forensics.proofs.sql_statements import shows
    from forensics.proofs.sql_tables import dialects_named

    return not all(shows(shown.group(1).strip(), one) for one in dialects_named(dialect))


@contextmanager
def _silent() -> Iterator[None]:
    """The parser warns of what it could not parse; here that is an answer."""
    import logging

    logger = logging.getLogger("sqlglot")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before


def _kinds(text: str, dialect: Dialect) -> list[str] | None:
    """The kind of each statement, or None where one is not proven to read."""
    if any(part in text for part in dialect.refused) or (dialect.space_after_dashes and _DASHES.search(text)):
        return None
    from forensics.proofs.sql_statements import told_apart
    from forensics.proofs.sql_tree import Tree

    tree = Tree(dialect)
    kinds: list[str] = []
    for statement in _statements(text, dialect):
        kind = told_apart(statement, dialect, tree)
        if kind is None:
            return None
        kinds.append(kind)
    return kinds


def _statements(text: str, dialect: Dialect) -> list[str]:
    """The text of each statement. Raises sqlglot's errors, and ValueError for a text that is too much."""
    from forensics.proofs.sql_tokens import tokens_of

    tokens = tokens_of(text, dialect.parser)
    _check_size(tokens)
    return list(_spans(tokens, text))


def _spans(tokens: Sequence[Token], text: str) -> Iterator[str]:
    """From the first token of each statement to its semicolon."""
    start: int | None = None
    for token in tokens:
        if token.token_type.name != "SEMICOLON":
            start = token.start if start is None else start
        elif start is not None:
            yield text[start : token.start]
            start = None
    if start is not None:
        yield text[start:]


def _check_size(tokens: Sequence[Token]) -> None:
    """A parser that goes down by recursion is stopped before it goes too deep."""
    if len(tokens) > _MAX_TOKENS or sum(t.token_type.name == "SEMICOLON" for t in tokens) > _MAX_STATEMENTS:
        raise ValueError("too many tokens or statements")
    run = cases = 0
    for token in tokens:
        word = token.text.upper()
        cases += (word == "CASE") - (word == "END")
        run = run + 1 if word in _PREFIXES else 0
        if max(run, cases) > _MAX_PREFIXES:
            raise ValueError("nested too deep")
