"""What is on the allow lists? Reads `rules/proofs/*.yaml` as strictly as every rule pack."""

# Annotations are no text here: msgspec would compile each one when the first file is read, at every start.
from functools import lru_cache
from typing import Literal, TypeVar

import msgspec

from forensics.rules.shipped import shipped_folder
from forensics.rules.yaml_strict import load_strict, rule_error


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of what a table may hold: unknown keys are faults."""


class Explain(_Strict, frozen=True):
    """How a dialect spells EXPLAIN: the words that may stand before the statement, those of them that really run it,
    and whether a plan of a writing statement may be asked for.
    """

    words: frozenset[str]
    executes: frozenset[str]
    plans_writes: bool = False


class Dialect(_Strict, frozen=True):
    """One database. `parser` is the parser's name for it; `show` the words after SHOW (`*`: any); `refused` are parts
    of a text that no list can speak of.
    """

    name: str
    parser: str
    functions: frozenset[str]
    aliases: frozenset[str] = frozenset()
    reserved: frozenset[str] = frozenset()
    system_schemas: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    pragmas: frozenset[str] = frozenset()
    pragmas_of_a_name: frozenset[str] = frozenset()
    show: frozenset[str] = frozenset()
    explain: Explain | None = None
    describe: bool = False
    space_after_dashes: bool = False


class SqlTables(_Strict, frozen=True):
    """What may stand in an SQL text. `nodes` and `roots` are kinds in the parser's tree."""

    schema: Literal["forensics/sql-proof/v1"]
    roots: frozenset[str]
    planned_roots: frozenset[str]
    planned_nodes: frozenset[str]
    nodes: frozenset[str]
    never_names: frozenset[str]
    pseudo_columns: frozenset[str]
    before_parenthesis: frozenset[str]
    table_hints: frozenset[str]
    functions: frozenset[str]
    dialects: tuple[Dialect, ...]


class Command(_Strict, frozen=True):
    """What a program may be given. Without `flags`, `values` and `words`, any option may stand there.

    `flags` are options without a value and `values` those with one (`-n`, `--name`); `words` are whole arguments that
    start with a dash and are no options of the usual form (`-maxdepth`). `operands` is the greatest number of other
    arguments; `first` what the first of them must match (the whole of it), `each` what every one must.
    """

    names: tuple[str, ...]
    because: str
    flags: frozenset[str] | None = None
    values: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    operands: int | None = None
    first: str | None = None
    each: str | None = None
    needs: frozenset[str] = frozenset()
    only_in_subshell: bool = False
    only_by_path: bool = False

    @property
    def any_option(self) -> bool:
        """Whether no option of the program writes anything."""
        return self.flags is None

    @property
    def counts_operands(self) -> bool:
        """Whether it matters which argument is an operand. Programs differ in whether an option may follow one."""
        return self.operands is not None or bool(self.first or self.each or self.needs)


class ShellTables(_Strict, frozen=True):
    """Which commands read. `folders` are those in which a program may stand when it is called by its path; `no_files`
    the beginnings of paths that are more than files.
    """

    schema: Literal["forensics/shell-proof/v1"]
    shells: frozenset[str]
    folders: frozenset[str]
    files: frozenset[str]
    no_files: tuple[str, ...]
    commands: tuple[Command, ...]


class GraphqlTables(_Strict, frozen=True):
    """Which directives a query may carry."""

    schema: Literal["forensics/graphql-proof/v1"]
    directives: frozenset[str]


class TextKeys(_Strict, frozen=True):
    """Arguments that hold a text to run, and what kinds of text it may be."""

    keys: tuple[str, ...]
    kinds: tuple[Literal["sql", "shell", "graphql"], ...]


class Harmless(_Strict, frozen=True):
    """Arguments beside a text that change nothing of what the call does to the world.

    `keys` may hold anything; `off` only false; `bound` values that can't break out of a text they are put into.
    """

    keys: tuple[str, ...]
    off: tuple[str, ...] = ()
    bound: tuple[str, ...] = ()


class CallTables(_Strict, frozen=True):
    """How a text is found among the arguments of a call. A tool whose name has one of `other_shells` runs no shell of
    the kind that is parsed here.
    """

    schema: Literal["forensics/text-calls/v1"]
    texts: tuple[TextKeys, ...]
    other_shells: frozenset[str]
    any_kind: Harmless
    sql: Harmless
    shell: Harmless
    graphql: Harmless


_Table = TypeVar("_Table", bound=_Strict)


@lru_cache(maxsize=1)
def sql_tables() -> SqlTables:
    """The table of SQL. Raises RuleError."""
    return _read("sql", SqlTables)


@lru_cache(maxsize=1)
def shell_tables() -> ShellTables:
    """The table of shell commands. Raises RuleError."""
    return _read("shell", ShellTables)


@lru_cache(maxsize=1)
def graphql_tables() -> GraphqlTables:
    """The table of GraphQL. Raises RuleError."""
    return _read("graphql", GraphqlTables)


@lru_cache(maxsize=1)
def call_tables() -> CallTables:
    """The table of arguments. Raises RuleError."""
    return _read("calls", CallTables)


def _read(name: str, kind: type[_Table]) -> _Table:
    where = f"rules/proofs/{name}.yaml"
    data = (shipped_folder() / "proofs" / f"{name}.yaml").read_bytes()
    try:
        return msgspec.convert(load_strict(data, where).value, kind)
    except msgspec.ValidationError as error:
        raise rule_error([f"{where}:1:1: {error}"]) from None
