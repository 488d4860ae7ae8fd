"""Is every node of the tree of one SQL statement on the lists?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from forensics.proofs.sql_tables import function_names
from forensics.proofs.tables import sql_tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

    from forensics.proofs.tables import Dialect

_NAME = re.compile(r"[\w$#@-]+")
_PATH = re.compile(r"[/\\:]|^\.")


class Tree:
    """The question for one dialect: `reads` of a statement that is run, `plans` of one that is only planned."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._tables = sql_tables()
        self._functions = function_names(dialect)
        self._special: dict[str, Callable[[exp.Expr], bool]] = {
            "identifier": self._identifier,
            "table": self._table,
            "column": self._column,
            "datatype": self._datatype,
            "withtablehint": self._table_hint,
            "dot": self._dot,
        }

    def reads(self, statement: str) -> str | None:
        """The kind of a statement that only reads, or None."""
        return self._kind(statement, self._tables.roots, frozenset())

    def plans(self, statement: str) -> str | None:
        """The kind of a statement that may be planned without any effect, or None."""
        return self._kind(statement, self._tables.roots | self._tables.planned_roots, self._tables.planned_nodes)

    def _kind(self, statement: str, roots: frozenset[str], more: frozenset[str]) -> str | None:
        import sqlglot

        parsed = sqlglot.parse(statement, read=self._dialect.parser)
        root = parsed[0] if len(parsed) == 1 else None
        if root is None or root.key not in roots:
            return None
        known = self._tables.nodes | more
        return root.key if all(self._known(node, known) for node in root.walk()) else None

    def _known(self, node: exp.Expr, known: frozenset[str]) -> bool:
        special = self._special.get(node.key)
        if special is not None:
            return special(node)
        return node.key in known or self._function(node)

    def _function(self, node: exp.Expr) -> bool:
        from sqlglot import exp

        if not isinstance(node, exp.Func):
            return False
        if isinstance(node, exp.Anonymous):
            return node.name.lower() in self._functions
        return type(node).sql_name().lower() in self._functions

    def _identifier(self, node: exp.Expr) -> bool:
        """A bare word that the language keeps for itself is no name: the parser has lost its way."""
        if node.args.get("quoted"):
            return True
        return _NAME.fullmatch(node.name) is not None and node.name.lower() not in self._dialect.reserved

    def _table(self, node: exp.Expr) -> bool:
        """A table of at most three parts: four lead to another server. A path or an address is a file to be opened."""
        from sqlglot import exp

        parts = [node.args.get(part) for part in ("this", "db", "catalog")]
        if any(isinstance(part, exp.Dot) for part in parts):
            return False
        if isinstance(parts[0], exp.Func) and (parts[1] or parts[2]):
            return False
        return all(
            part is None or not isinstance(part, exp.Identifier) or not _PATH.search(part.name) for part in parts
        )

    def _column(self, node: exp.Expr) -> bool:
        return node.name.lower() not in self._dialect.pseudo_columns

    def _datatype(self, node: exp.Expr) -> bool:
        """A type of the user's own brings functions of the user's own."""
        from sqlglot import exp

        return node.this not in (exp.DataType.Type.USERDEFINED, exp.DataType.Type.UNKNOWN)

    def _table_hint(self, node: exp.Expr) -> bool:
        return all(hint.name.lower() in self._tables.table_hints for hint in node.expressions)

    def _dot(self, node: exp.Expr) -> bool:
        """`pg_catalog.lower(...)`: a function of the system's own schema, and nothing else with a dot."""
        from sqlglot import exp

        schema = node.this
        system = isinstance(schema, exp.Identifier) and schema.name.lower() in self._dialect.system_schemas
        return system and isinstance(node.expression, exp.Func)
