"""Statements one word away from those that are proven: each of them writes, or may. Found by mutation testing."""

from __future__ import annotations

import msgspec
import pytest

from forensics.proofs import prove
from forensics.proofs.sql import _check_size
from forensics.proofs.sql_statements import told_apart
from forensics.proofs.sql_tokens import tokens_of
from forensics.proofs.sql_tree import Tree
from forensics.proofs.tables import sql_tables

WITHOUT_EXPLAIN = [dialect.name for dialect in sql_tables().dialects if dialect.explain is None]
WITHOUT_DESCRIBE = [dialect.name for dialect in sql_tables().dialects if not dialect.describe]


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        *((name, "EXPLAIN SELECT 1") for name in WITHOUT_EXPLAIN),
        *((name, "DESCRIBE orders") for name in WITHOUT_DESCRIBE),
        *((name, "DESC orders") for name in WITHOUT_DESCRIBE),
        # a pragma with a value sets it
        ("sqlite", "PRAGMA user_version = 5"),
        ("sqlite", "PRAGMA page_size 4096"),
        ("sqlite", "PRAGMA page_size(4096)"),
        ("sqlite", "PRAGMA optimize('x')"),
        ("sqlite", "PRAGMA"),
        # to describe is to explain, and to analyse is to run
        ("mysql", "DESCRIBE ANALYZE DELETE FROM t"),
        ("mysql", "DESC ANALYZE UPDATE t SET a = 1"),
        ("mysql", "DESC WITH x"),
        ("mysql", "DESCRIBE"),
        ("mysql", "explain analyze delete from t"),
        ("postgres", "EXPLAIN (ANALYZE on, ANALYZE off) DELETE FROM t"),
        ("postgres", "EXPLAIN (ANALYZE, analyze off) DELETE FROM t"),
        ("postgres", "EXPLAIN (FOO) SELECT 1"),
        ("postgres", "EXPLAIN (ANALYZE = off) DELETE FROM t"),
        ("postgres", "EXPLAIN (VERBOSE"),
        ("postgres", "EXPLAIN (VERBOSE DELETE FROM t"),
        ("sqlserver", "EXPLAIN DELETE FROM t"),
        # a function of somebody's schema is somebody's function
        ("postgres", "SELECT evil.lower(a) FROM t"),
        ("postgres", "SELECT evil.lower(1)"),
        ("postgres", "SELECT pg_catalog.evil(1)"),
        ("postgres", "SELECT pg_catalog.lo_unlink(1)"),
        ("postgres", "SELECT evil (1)"),
        ("postgres", "SELECT a FROM t TABLESAMPLE evil (1)"),  # the parser takes any name for a method
        ("snowflake", "SELECT a FROM t TABLESAMPLE evil (1)"),
        ("postgres", "(1)"),
        ("postgres", "(a, b)"),
        ("postgres", "SELECT * FROM evil (1)"),
        ("postgres", "SELECT * FROM a, evil (1) AS b (c)"),
        ("postgres", "SELECT a FROM pg_read_file('x') AS t (a)"),
        ("mysql", "SELECT a FROM t WHERE evil (a)"),
        ("postgres", "SELECT * FROM evil.generate_series(1, 2)"),
        ("postgres", "SELECT * FROM a.evil.generate_series(1, 2)"),
        ("sqlserver", "SELECT * FROM a.b.c.d"),
        ("postgres", "SELECT * FROM a.b.pg_catalog.lower('x')"),
        ("postgres", "SELECT * FROM pg_catalog.pg_catalog.pg_catalog.lower('x')"),
        # a type of the user's own is read by a function of the user's own
        ("postgres", "SELECT a::mytype FROM t"),
        ("postgres", "SELECT CAST(a AS mytype) FROM t"),
        # a list of options that is never closed
        ("postgres", "EXPLAIN (ANALYZE"),
        ("postgres", "EXPLAIN (COSTS, VERBOSE"),
        # a path is a file
        ("mysql", "SELECT * FROM `/etc/x`.t"),
        ("snowflake", 'SELECT * FROM "s3://b".t'),
        ("snowflake", 'SELECT * FROM "s3://b".a.t'),
        ("snowflake", 'SELECT * FROM a."/x".t'),
        (None, 'SELECT * FROM "./x.csv"'),
        ("snowflake", "SELECT * FROM './x.csv'"),
        ("snowflake", "SELECT * FROM 's3://b/x'"),
        ("snowflake", "SELECT * FROM '@stage'"),
    ],
)
def test_what_may_write_is_not_proven(dialect: str | None, text: str) -> None:
    assert prove("sql", text, dialect) is None


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("sqlite", "PRAGMA page_size"),
        ("sqlite", "PRAGMA table_info(a)"),
        ("mysql", "DESCRIBE SELECT * FROM orders"),
        ("mysql", "DESCRIBE orders"),
        ("mysql", "DESC FORMAT=JSON SELECT a FROM t"),
        ("mysql", "explain format=json select a from t"),
        ("postgres", "explain analyze select 1"),
        ("postgres", "EXPLAIN (ANALYZE off) DELETE FROM t"),
        ("postgres", "SHOW ALL"),
        ("postgres", "SELECT CAST(a AS int), a::text FROM t"),
        ("postgres", "SELECT * FROM generate_series(1, 3)"),
        ("postgres", "EXPLAIN (COSTS) SELECT lower(a) FROM t"),
        ("postgres", "(SELECT 1)"),
        ("postgres", "SELECT pg_catalog.lower(a) FROM t"),
    ],
)
def test_what_stands_beside_it_is_proven(dialect: str | None, text: str) -> None:
    assert prove("sql", text, dialect) is not None


def cases(count: int) -> str:
    return "SELECT " + "CASE WHEN a THEN " * count + "1" + " END" * count


@pytest.mark.parametrize(
    ("at_the_limit", "beyond"),
    [
        ("SELECT " + "not " * 64 + "a", "SELECT " + "not " * 65 + "a"),
        ("SELECT " + "- " * 64 + "a", "SELECT " + "- " * 65 + "a"),
        ("SELECT " + "not " * 64 + "a, " + "not " * 64 + "b", "SELECT a, " + "not " * 65 + "a"),
        (cases(64), cases(65)),
        (cases(64) + ", " + cases(64).removeprefix("SELECT "), "SELECT 1, " + cases(65).removeprefix("SELECT ")),
        (cases(64).lower(), cases(65).lower()),
        ("SELECT 1;" * 32, "SELECT 1;" * 33),
        ("SELECT " + ",".join("a" * 1_500), "SELECT " + ",".join("a" * 1_500) + ";"),  # 3,000 tokens
    ],
    ids=range(8),
)
def test_a_text_that_is_too_much_for_a_parser_is_stopped_before_it(at_the_limit: str, beyond: str) -> None:
    _check_size(tokens_of(at_the_limit, "postgres"))
    with pytest.raises(ValueError, match=r"too many|too deep"):
        _check_size(tokens_of(beyond, "postgres"))
    assert prove("sql", beyond, "postgres") is None


def test_one_statement_is_told_as_one() -> None:
    proof = prove("sql", "SELECT 1")
    assert proof is not None
    assert proof.reads == "1 SQL statement (select)"
    assert prove("sql", "SELECT 1", "a database that nobody knows") is None


@pytest.mark.parametrize("statement", ["EXPLAIN DELETE FROM t", "EXPLAIN SELECT 1", "DESCRIBE t", "PRAGMA x", "SHOW x"])
def test_a_dialect_of_which_nothing_is_known_proves_nothing_of_its_own(statement: str) -> None:
    bare = msgspec.structs.replace(
        sql_tables().dialects[0], explain=None, describe=False, show=frozenset(), pragmas=frozenset()
    )
    assert told_apart(statement, bare, Tree(bare)) is None


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("SELECT a->>'b' FROM t", "snowflake"),  # `->>` chains statements there
        ("SELECT 1--1", "mysql"),  # two minus signs there, a comment elsewhere
        ("SELECT 1 --x\n FROM t", "mysql"),
    ],
)
def test_one_part_that_a_dialect_reads_otherwise_is_enough(text: str, dialect: str) -> None:
    assert prove("sql", text, dialect) is None
