"""Is every node of the tree of one SQL statement on the lists?"""

from __future__ import annotations

import types
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from forensics.core.late import late
from forensics.proofs.sql_tables import function_names
from forensics.proofs.sql_tokens import tokens_of
from forensics.proofs.tables import sql_tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp
    from sqlglot.parser import Parser

    from forensics.proofs.tables import Dialect

_NAME = late(r"[\w$#@-]+")
_WORD = late(r"\w")
_PATH = late(r"[/\\:]|^\.")


@lru_cache(maxsize=16)
def strict_parser(dialect: Dialect) -> Callable[[str], list[exp.Expr | None]]:
    """A parser that knows the listed functions only. sqlglot takes one database's function for another's; here a name
    that is not on the list stays a name that nobody knows.
    """
    from sqlglot.dialects.dialect import Dialect as Language

    language = Language.get_or_raise(dialect.parser)
    usual = language.parser_class
    names = {name.upper() for name in function_names(dialect)}
    tables = ("FUNCTIONS", "FUNCTION_PARSERS")
    known = {table: {n: f for n, f in getattr(usual, table).items() if n.upper() in names} for table in tables}
    strict = cast("type[Parser]", types.new_class("StrictParser", (usual,), exec_body=lambda body: body.update(known)))
    return lambda text: strict(dialect=language).parse(list(tokens_of(text, dialect.parser)), text)


def words_before_parentheses(statement: str, dialect: Dialect) -> set[str]:
    """Every word that stands directly before an opening parenthesis, in lower case."""
    tokens = tokens_of(statement, dialect.parser)
    calls = [one.text for one, other in pairwise(tokens) if other.text == "(" and other.token_type.name == "L_PAREN"]
    return {text.lower().split()[-1] for text in calls if _WORD.match(text)}


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
            "tablealias": self._table_alias,
            "dot": self._dot,
        }

    def reads(self, statement: str) -> str | None:
        """The kind of a statement that only reads, or None."""
        return self._kind(statement, self._tables.roots, frozenset())

    def plans(self, statement: str) -> str | None:
        """The kind of a statement that may be planned without any effect, or None."""
        return self._kind(statement, self._tables.roots | self._tables.planned_roots, self._tables.planned_nodes)

    def _kind(self, statement: str, roots: frozenset[str], more: frozenset[str]) -> str | None:
        parsed = strict_parser(self._dialect)(statement)
        root = parsed[0] if len(parsed) == 1 else None
        if root is None or root.key not in roots:
            return None
        known = self._tables.nodes | more
        if not all(self._known(node, known) for node in root.walk()):
            return None
        strange = words_before_parentheses(statement, self._dialect) - self._functions - self._tables.before_parenthesis
        return root.key if strange <= _named_lists(root) else None

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
        name = node.name.lower()
        reserved = name in self._tables.never_names or name in self._dialect.reserved
        return _NAME.fullmatch(name) is not None and not reserved

    def _table(self, node: exp.Expr) -> bool:
        """A table of at most three parts: four lead to another server. A path, an address or a text is a file to be
        opened.
        """
        from sqlglot import exp

        parts = [node.args.get(part) for part in ("this", "db", "catalog")]
        if any(isinstance(part, (exp.Dot, exp.Literal)) for part in parts):
            return False
        if isinstance(parts[0], exp.Func) and (parts[1] or parts[2]):
            return False
        return not any(isinstance(part, exp.Identifier) and _PATH.search(part.name) for part in parts)

    def _column(self, node: exp.Expr) -> bool:
        return node.name.lower() not in self._tables.pseudo_columns

    def _datatype(self, node: exp.Expr) -> bool:
        """A type of the user's own brings functions of the user's own."""
        from sqlglot import exp

        return node.this not in (exp.DataType.Type.USERDEFINED, exp.DataType.Type.UNKNOWN)

    def _table_alias(self, node: exp.Expr) -> bool:
        """Columns named without a table: the parser took the call of a function for a table with a list of names."""
        return bool(node.args.get("this")) or not node.args.get("columns")

    def _table_hint(self, node: exp.Expr) -> bool:
        return all(hint.name.lower() in self._tables.table_hints for hint in node.expressions)

    def _dot(self, node: exp.Expr) -> bool:
        """`pg_catalog.lower(...)`: a function of the system's own schema, and nothing else with a dot."""
        from sqlglot import exp

        schema = node.this
        system = isinstance(schema, exp.Identifier) and schema.name.lower() in self._dialect.system_schemas
        return system and isinstance(node.expression, exp.Func)


def _named_lists(root: exp.Expr) -> set[str]:
    """The names before lists of columns: `WITH t (a, b) AS`, `AS t (a, b)`, `INSERT INTO t (a, b)`."""
    from sqlglot import exp

    aliases = {alias.name.lower() for alias in root.find_all(exp.TableAlias) if alias.args.get("columns")}
    return aliases | {schema.this.name.lower() for schema in root.find_all(exp.Schema)}
