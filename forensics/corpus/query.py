"""What is the answer to a question about a corpus? Asked of tables in memory, in a DuckDB that can do nothing else."""

from __future__ import annotations

import datetime
import decimal
from typing import TYPE_CHECKING, Any

from forensics.core.jsonvalue import strict_value
from forensics.corpus.asking import check
from forensics.corpus.database import MEMORY, duckdb, locked, said, too_much
from forensics.corpus.folder import results_in
from forensics.corpus.questions import QUESTIONS
from forensics.corpus.tables import TABLES
from forensics.errors import ConfigurationError
from forensics.report.compose import program
from forensics.report.query_documents import (
    QUERY,
    ColumnRow,
    QueryColumn,
    QueryDocument,
    QuestionRow,
    QuestionsDocument,
    TableRow,
)
from forensics.report.query_documents import (
    QUESTIONS as QUESTIONS_SCHEMA,
)

if TYPE_CHECKING:
    from pathlib import Path

    from duckdb import DuckDBPyConnection

MOST_ROWS = 1_000_000
_PART = 10_000


def ask(results: Path, sql: str, *, question: str | None = None, memory: str = MEMORY) -> QueryDocument:
    """The answer to one SELECT over the tables of a result folder; `question` is its name, where it is a ready one.

    Raises EvidenceError for a folder without whole results, and ConfigurationError for a text that is no question, for
    one that DuckDB can't answer or that needs more memory or rows than it may have, and where DuckDB is missing.
    """
    duck = duckdb()
    found = results_in(results)
    with locked(found, memory) as connection:
        try:
            check(sql, connection)
            columns, rows = _answer(sql, connection)
        except duck.OutOfMemoryException:
            raise too_much(memory) from None
        except (duck.Error, ValueError, OverflowError) as error:  # a date beyond Python's years is a ValueError
            raise ConfigurationError(said(error), hint="`forensics query --list` names every column") from None
    document = found.document
    return QueryDocument(
        schema=QUERY,
        tool=program(),
        policy=document.policy,
        rules=document.rules,
        question=question,
        sql=sql,
        columns=columns,
        rows=rows,
    )


def what_can_be_asked() -> QuestionsDocument:
    """The ready questions and the tables."""
    return QuestionsDocument(
        schema=QUESTIONS_SCHEMA,
        tool=program(),
        questions=[QuestionRow(name=one.name, asks=one.asks, sql=one.sql) for one in QUESTIONS],
        tables=[
            TableRow(
                name=table.name,
                about=table.about,
                columns=[ColumnRow(name=one.name, type=one.type, about=one.about) for one in table.columns],
            )
            for table in TABLES
        ],
    )


def _answer(sql: str, connection: DuckDBPyConnection) -> tuple[list[QueryColumn], list[list[Any]]]:
    connection.execute(sql)
    columns = [QueryColumn(name=str(name), type=str(type_)) for name, type_, *_ in connection.description or ()]
    rows: list[list[Any]] = []
    while part := connection.fetchmany(_PART):
        rows.extend([strict_value(_plain(one)) for one in row] for row in part)
        if len(rows) > MOST_ROWS:
            message = f"the answer has more than {MOST_ROWS} rows"
            raise ConfigurationError(message, hint="sum up in SQL, or end it with LIMIT", code="limit_exceeded")
    return columns, rows


def _plain(value: Any) -> Any:
    """A value of DuckDB as one of JSON: a time in ISO 8601, bytes as hexadecimal digits, what JSON lacks as text."""
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return f"{value:f}" if isinstance(value, decimal.Decimal) else str(value)
