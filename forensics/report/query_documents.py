"""Which fields has the answer to a question about a corpus, and the list of what can be asked?"""

from __future__ import annotations

from typing import Any

import msgspec

from forensics.report.documents import Digest, Document, PolicyName, Program

QUERY = "forensics/query/v1"
QUESTIONS = "forensics/questions/v1"


class QueryColumn(Document, frozen=True):
    """One column of an answer: its name and its type in SQL."""

    name: str
    type: str


class QueryDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a question about an audited corpus. `question` is the name of a ready one; each row has its values
    in the order of the columns; times are in UTC.
    """

    schema: str
    tool: Program
    policy: PolicyName
    rules: Digest
    question: str | None
    sql: str
    columns: list[QueryColumn]
    rows: list[list[Any]]


class QuestionRow(Document, frozen=True):
    """A ready question: its name, what it asks, and how that is said in SQL."""

    name: str
    asks: str
    sql: str


class ColumnRow(Document, frozen=True):
    """A column of a table: its type in SQL, and what stands in it."""

    name: str
    type: str
    about: str


class TableRow(Document, frozen=True):
    """A table that can be asked, and what one of its rows is."""

    name: str
    about: str
    columns: list[ColumnRow]


class QuestionsDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What can be asked of an audited corpus: ready questions, and the tables for others."""

    schema: str
    tool: Program
    questions: list[QuestionRow]
    tables: list[TableRow]


QUERY_DOCUMENTS: dict[str, type[msgspec.Struct]] = {"query": QueryDocument, "questions": QuestionsDocument}
