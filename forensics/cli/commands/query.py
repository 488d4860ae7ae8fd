"""`forensics query`: what do the results of a corpus audit say to a question?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics.cli.options import Settings, shared
from forensics.cli.output import show, write
from forensics.cli.values import Place

if TYPE_CHECKING:
    from forensics.report.query_documents import QueryDocument

STDIN = "-"
PRINTED = ("text", "json", "csv", "jsonl")
_EPILOG = """\b
Examples:
  forensics query audited --question refusing-tools
  forensics query audited "SELECT level, count(*) FROM traces GROUP BY level"
  forensics query audited - --format csv < question.sql > answer.csv
  forensics query --list
  forensics query --list -v

\b
RESULTS is a folder of `forensics audit --into`. SQL is one SELECT (or
DESCRIBE, SUMMARIZE) over the tables that --list names, or - for standard
input. It can read nothing else, and write nothing.

\b
Exit codes:
  0  answered
  2  no question that can be answered, or DuckDB is missing
  3  RESULTS is no folder of results, or they are not whole
"""


def _names(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from forensics.corpus.questions import BY_NAME

    return [name for name in BY_NAME if name.startswith(incomplete)]


@click.command(epilog=_EPILOG)
@click.argument("results", type=Place(path_type=Path), required=False)
@click.argument("sql", required=False)
@click.option("--question", metavar="NAME", shell_complete=_names, help="Ask this ready question, instead of SQL.")
@click.option("--list", "listing", is_flag=True, help="List the ready questions and the tables; -v with their SQL.")
@click.option("--memory", metavar="SIZE", help="How much memory the question may take.  [default: 2GB]")
@shared(formats=PRINTED)
def command(
    results: Path | None,
    sql: str | None,
    question: str | None,
    memory: str | None,
    *,
    listing: bool,
    settings: Settings,
) -> int:
    """Ask the results of a corpus audit, in SQL.

    The rows that an audit of a corpus left in RESULTS are tables of DuckDB (the extra parquet). A question can do
    nothing but ask: no file is read or written by it, and nothing is contacted.
    """
    if listing:
        return _list(settings)
    if results is None:
        raise click.UsageError("Name the folder of results, or ask for --list.")
    if (sql is None) == (question is None):
        raise click.UsageError("Ask one question: SQL, or the name of a ready one with --question.")
    from forensics.corpus.database import MEMORY
    from forensics.corpus.query import ask

    document = ask(results, _sql(sql, question), question=question, memory=memory or MEMORY)
    _print(document, settings)
    return 0


def _list(settings: Settings) -> int:
    from forensics.corpus.query import what_can_be_asked

    if settings.format not in ("text", "json"):
        raise click.UsageError("--list is text or json.")
    show(what_can_be_asked(), settings)
    return 0


def _sql(sql: str | None, question: str | None) -> str:
    from forensics.corpus.questions import BY_NAME

    if question is None:
        if sql == STDIN and sys.stdin is None:
            raise click.UsageError("There is no standard input to read the question from.")
        return sys.stdin.read() if sql == STDIN else sql or ""
    if question not in BY_NAME:
        from forensics.core.meant import meant

        raise click.UsageError(f"There is no question {question!r}; {meant(question, BY_NAME)}")
    return BY_NAME[question].sql


def _print(document: QueryDocument, settings: Settings) -> None:
    if settings.format in ("csv", "jsonl"):
        from forensics.report.query_forms import query_csv, query_lines

        write(query_csv(document) if settings.format == "csv" else query_lines(document))
    else:
        show(document, settings)
