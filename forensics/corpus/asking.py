"""What may a question to a corpus say? One SELECT over the tables, and nothing that reaches beyond them.

DuckDB's own parser says what the text means, as a tree, and the tree is held against short lists of what is allowed:
kinds of queries, tables, and functions that make tables. A function that a later DuckDB brings makes no table here
until somebody put it on the list. This is the first wall; the second is the lock of the connection (`database`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.sanitise import one_line
from forensics.corpus.tables import TABLES
from forensics.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

LONGEST = 10_000  # characters of a question
_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
_MAKES_TABLES = frozenset({"range", "generate_series", "unnest", "json_each", "json_tree", "repeat"})
_REFUSED = frozenset(
    {
        *("write_log", "nextval", "setval", "sleep_ms", "pg_sleep"),  # they do something
        *("current_setting", "getenv", "getvariable", "json_serialize_plan"),  # they look beyond the tables
    }
)
_LISTS = frozenset({"", '"tables"', '"databases"', '"schemas"', '"variables"', "__show_tables_expanded"})
_WORD = re.compile(r"[^\W\d]\w*")
_HINT = "a question is one SELECT over the tables that `forensics query --list` names"


def check(sql: str, connection: DuckDBPyConnection) -> None:
    """Raise ConfigurationError for a text that is anything but one question to the tables."""
    if len(sql) > LONGEST:
        raise _refused(f"the question has {len(sql)} characters, more than {LONGEST}")
    statement = _statement(sql, connection)
    names, refused = _names(statement), _REFUSED | _only_tables(connection)
    for one in _objects(statement):
        kind = one.get("type")
        if isinstance(kind, str) and kind.endswith("_NODE") and kind not in _NODES:
            raise _refused("only SELECT is allowed, and nothing that writes")
        if kind == "TABLE_FUNCTION" and _function(one.get("function")) not in _MAKES_TABLES:
            raise _refused(f"the function {one_line(_function(one.get('function')), 60)} is not allowed")
        if kind != "TABLE_FUNCTION" and _function(one) in refused:
            raise _refused(f"the function {one_line(_function(one), 60)} is not allowed")
        if kind in ("BASE_TABLE", "SHOW_REF"):
            _check_table(one, names if kind == "BASE_TABLE" else names | _LISTS)


def _statement(sql: str, connection: DuckDBPyConnection) -> dict[str, Any]:
    """The one statement of the text as a tree."""
    row = connection.execute("SELECT json_serialize_sql(CAST(? AS VARCHAR))", [sql]).fetchone()
    try:
        told = msgspec.json.decode(row[0] if row else "{}")
    except (msgspec.DecodeError, RecursionError):
        raise _refused("the question is nested too deep") from None
    if told.get("error", True):
        if told.get("error_type") == "not implemented":  # in DuckDB's words: can't be serialized
            raise _refused("what does not ask changes something")
        raise _refused(one_line(str(told.get("error_message", "it is no SQL")), 300))
    statements = told["statements"]
    if len(statements) != 1:
        raise _refused(f"one question at a time, not {len(statements)}")
    found: dict[str, Any] = statements[0]
    return found


def _only_tables(connection: DuckDBPyConnection) -> frozenset[str]:
    """Every function of this DuckDB that makes a table or changes a setting, and is no function of values besides."""
    named = "SELECT lower(function_name) FROM duckdb_functions() WHERE function_type"
    makers = "('table', 'table_macro', 'pragma')"
    rows = connection.execute(f"{named} IN {makers} EXCEPT {named} NOT IN {makers}").fetchall()
    return frozenset(name for (name,) in rows) - _MAKES_TABLES


def _function(one: object) -> str:
    """The name of the function that an object of the tree calls; "" for none."""
    name = one.get("function_name") if isinstance(one, dict) else None
    return name.lower() if isinstance(name, str) else ""


def _names(statement: dict[str, Any]) -> set[str]:
    """The tables, and the names that the question gives to parts of it (WITH) as far as they are words: a name that
    looks like a file is never one, whichever part of the question gives it.
    """
    found = set()
    for one in _objects(statement):
        entries = one.get("cte_map")
        if isinstance(entries, dict):
            found |= {str(entry.get("key")) for entry in entries.get("map", ())}
        if one.get("type") == "RECURSIVE_CTE_NODE":
            found.add(str(one.get("cte_name")))
    return {table.name for table in TABLES} | {name.lower() for name in found if _WORD.fullmatch(name)}


def _check_table(one: dict[str, Any], names: set[str]) -> None:
    name = str(one.get("table_name", ""))
    if one.get("catalog_name") or one.get("schema_name") or name.lower() not in names:
        raise _refused(f"there is no table {one_line(name, 60)}")


def _objects(root: object) -> Iterator[dict[str, Any]]:
    """Every object of the tree; iterative, so that nesting can't exhaust the stack."""
    todo = [root]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            yield one
            todo.extend(one.values())
        elif isinstance(one, list):
            todo.extend(one)


def _refused(message: str) -> ConfigurationError:
    return ConfigurationError(message, hint=_HINT, code="question_refused")
