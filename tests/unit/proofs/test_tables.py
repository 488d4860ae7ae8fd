"""Are the allow lists read strictly, and do they keep what they promise?"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from forensics.errors import RuleError
from forensics.proofs import tables
from forensics.proofs.sql_tables import dialects_named
from forensics.proofs.tables import call_tables, graphql_tables, shell_tables, sql_tables

if TYPE_CHECKING:
    from pathlib import Path


def test_every_table_is_read() -> None:
    assert {dialect.name for dialect in sql_tables().dialects} >= {
        "postgres",
        "mysql",
        "mariadb",
        "sqlite",
        "sqlserver",
    }
    assert shell_tables().commands
    assert graphql_tables().directives
    assert call_tables().texts


def test_a_name_stands_for_one_dialect() -> None:
    names = [name for dialect in sql_tables().dialects for name in (dialect.name, *dialect.aliases)]
    assert len(names) == len(set(names))
    assert dialects_named("nosuch") == ()


def test_a_command_has_one_rule() -> None:
    names = [name for command in shell_tables().commands for name in command.names]
    assert len(names) == len(set(names))
    assert all(command.because for command in shell_tables().commands)


RUNNERS = [
    "sh",
    "bash",
    "zsh",
    "eval",
    "exec",
    "source",
    ".",
    "xargs",
    "git",
    "sudo",
    "python",
    "perl",
    "awk",
    "tee",
    "rm",
]


@pytest.mark.parametrize("name", RUNNERS)
def test_no_rule_for_what_writes_or_runs(name: str) -> None:
    assert all(name not in command.names for command in shell_tables().commands)


WRITERS = [
    "setval", "nextval", "set_config", "pg_read_file", "lo_import", "dblink", "pg_sleep", "pg_advisory_lock",
    "query_to_xml",
    "load_file", "get_lock", "sleep", "benchmark", "last_insert_id", "load_extension", "openquery", "openrowset",
    "uuid",
    "gen_random_uuid", "newid", "external_query",
]  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
def test_no_list_has_a_function_that_does_something(name: str) -> None:
    assert name not in sql_tables().functions
    assert all(name not in dialect.functions for dialect in sql_tables().dialects)


@pytest.mark.parametrize(
    "node", ["into", "lock", "propertyeq", "hint", "operator", "nextvaluefor", "command", "aliases"]
)
def test_no_list_has_a_node_that_does_something(node: str) -> None:
    assert node not in sql_tables().nodes | sql_tables().planned_nodes


@pytest.mark.parametrize(
    "text",
    [
        "schema: forensics/graphql-proof/v1\ndirectives: [a]\nmore: 1\n",
        "schema: other\ndirectives: []\n",
        "directives: [\n",
    ],
)
def test_a_broken_table_is_named(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "proofs").mkdir()
    (tmp_path / "proofs" / "graphql.yaml").write_text(text)
    monkeypatch.setattr(tables, "shipped_folder", lambda: tmp_path)
    with pytest.raises(RuleError, match=r"rules/proofs/graphql\.yaml"):
        graphql_tables.__wrapped__()


CHILD = """
import sys
import forensics.api
from forensics.proofs import prove
from forensics.proofs.calls import call_tables
call_tables()
parsers = {"sqlglot", "tree_sitter", "tree_sitter_bash", "graphql"}
loaded = lambda: sorted(parsers & {name.partition(".")[0] for name in sys.modules})
print(loaded())
prove("code", "print(1)"), prove("sql", "  "), prove("nosuch", "x")
print(loaded())
prove("graphql", "{ a }")
print(loaded())
prove("shell", "ls")
print(loaded())
prove("sql", "SELECT 1")
print(loaded())
"""


def test_a_parser_is_imported_when_its_first_text_is_met() -> None:
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "[]",
        "[]",
        "['graphql']",
        "['graphql', 'tree_sitter', 'tree_sitter_bash']",
        "['graphql', 'sqlglot', 'tree_sitter', 'tree_sitter_bash']",
    ]
