"""Is a sentence that begins as a statement does told from a statement, without a parser, and never a statement from a
proof?
"""

from __future__ import annotations

import pytest

from forensics.proofs import prove, sql
from forensics.proofs.tables import sql_tables

DIALECTS = [None, *(dialect.name for dialect in sql_tables().dialects)]
SENTENCES = [
    "With regards to the order of last week.",
    " with  service all want some right cluster is",
    "Show there even form so again cause.",
    "show me what is in the database",
]
STATEMENTS = [
    "WITH a AS (SELECT 1 AS n) SELECT n FROM a",
    "with a (n) as (select 1) select n from a",
    "WITH 1 AS x SELECT x",
    "WITH a (SELECT 1 AS n) SELECT n FROM a",
    "SHOW TABLES",
    "show full columns from orders",
    "SHOW search_path",
    "show all",
    "SHOW CREATE TABLE a.b",
    "Show databases, tables",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_needs_no_parser(sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object) -> None:
        raise AssertionError(sentence)

    monkeypatch.setattr("forensics.proofs.sql_tokens.tokens_of", load)
    assert sql.prove_text(sentence, None) is None


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", [*SENTENCES, *STATEMENTS])
def test_what_is_called_prose_would_not_be_proven(
    text: str, dialect: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = prove("sql", text, dialect)
    prove.cache_clear()
    monkeypatch.setattr(sql, "_is_prose", lambda *_: False)
    assert prove("sql", text, dialect) == found


def test_some_of_these_are_proven() -> None:
    proven = {text for text in STATEMENTS for dialect in DIALECTS if prove("sql", text, dialect) is not None}
    assert {STATEMENTS[0], "SHOW TABLES", "SHOW search_path"} <= proven
