"""Is an SQL text proven exactly where every statement, node and function of it is known to read?"""

from __future__ import annotations

import pytest

from forensics.proofs import prove

READS = [
    ("postgres", "SELECT id, name FROM customers WHERE id = 7"),
    ("postgres", "select count(*), max(total) from orders group by region having count(*) > 3 order by 2 desc limit 5"),
    ("postgres", "WITH recent AS (SELECT * FROM orders WHERE at > now() - interval '1 day') SELECT * FROM recent"),
    ("postgres", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT i FROM n"),
    ("postgres", "SELECT data->>'name', tags[1], cost::numeric(10, 2) FROM items"),
    ("postgres", "SELECT rank() OVER (PARTITION BY team ORDER BY score DESC) FROM players"),
    ("postgres", "SELECT pg_size_pretty(pg_total_relation_size('orders'))"),
    ("postgres", "SELECT pg_catalog.lower(name) FROM users"),
    ("postgres", "SELECT relname FROM pg_catalog.pg_class WHERE oid = 'orders'::regclass"),
    ("postgres", "SELECT 'delete from t; drop table t' AS said"),
    ("postgres", "SELECT $q$ it's; DELETE FROM t $q$ AS quoted"),
    ("postgres", "EXPLAIN (ANALYZE, BUFFERS, FORMAT json) SELECT * FROM orders"),
    ("postgres", "EXPLAIN (VERBOSE, ANALYZE false) UPDATE orders SET total = 0"),
    ("postgres", "EXPLAIN INSERT INTO orders (id) VALUES (1)"),
    ("postgres", "SHOW search_path"),
    ("postgres", "VALUES (1, 'a'), (2, 'b')"),
    ("postgres", "SELECT 1; -- and then\nSELECT 2;"),
    ("postgres", "SELECT a FROM t FETCH FIRST 5 ROWS ONLY"),
    ("postgres", "SELECT x.v FROM t, LATERAL unnest(t.list) AS x(v)"),
    ("mysql", "SELECT DATE_FORMAT(created, '%Y-%m') m, COUNT(*) FROM orders GROUP BY m # monthly"),
    ("mysql", "SHOW FULL COLUMNS FROM `orders` LIKE 'a%'"),
    ("mysql", "SHOW GLOBAL STATUS"),
    ("mysql", "DESC orders"),
    ("mysql", "EXPLAIN FORMAT=JSON SELECT * FROM orders"),
    ("mysql", "SELECT IF(a > 1, 'x', 'y'), @@version FROM t"),
    ("mariadb", "SHOW CREATE VIEW totals"),
    ("mariadb", "SELECT GROUP_CONCAT(name ORDER BY name SEPARATOR ', ') FROM t"),
    ("sqlite", "SELECT name FROM sqlite_master WHERE type = 'table'"),
    ("sqlite", "SELECT strftime('%Y', at), json_extract(body, '$.a') FROM [log entries]"),
    ("sqlite", "PRAGMA main.table_info('orders')"),
    ("sqlite", "EXPLAIN QUERY PLAN SELECT * FROM orders"),
    ("sqlite", "SELECT * FROM docs WHERE docs MATCH 'term'"),
    ("sqlserver", "SELECT TOP 10 [order], LEN(name) FROM dbo.Orders WITH (NOLOCK) ORDER BY [order]"),
    ("sqlserver", "SELECT t.id, s.value FROM t CROSS APPLY STRING_SPLIT(t.tags, ',') AS s"),
    ("sqlserver", "SELECT CONVERT(varchar(10), GETDATE(), 120), ISNULL(a, 0) FROM t"),
    ("bigquery", "SELECT COUNTIF(ok), SAFE_CAST(a AS INT64) FROM `my-project.shop.orders`"),
    ("snowflake", "SELECT IFF(a > 1, 'x', 'y') FROM db.sch.t QUALIFY ROW_NUMBER() OVER (ORDER BY a) = 1"),
    ("snowflake", "SHOW TABLES IN SCHEMA shop"),
    (None, "SELECT id, SUM(total) FROM orders WHERE state IN ('a', 'b') GROUP BY id ORDER BY 2 DESC LIMIT 3"),
    (None, "SELECT c.name FROM customers c LEFT JOIN orders o ON o.customer = c.id WHERE o.id IS NULL"),
    (None, "EXPLAIN SELECT * FROM orders"),
]

TRAPS = [
    ("postgres", "SELECT nextval('orders_id_seq')"),
    ("postgres", "SELECT setval('orders_id_seq', 1)"),
    ("postgres", "SELECT pg_terminate_backend(7)"),
    ("postgres", "SELECT set_config('work_mem', '1GB', false)"),
    ("postgres", "SELECT lo_unlink(16385)"),
    ("postgres", "SELECT * FROM dblink('host=b', 'DELETE FROM t') AS x(a int)"),
    ("postgres", "SELECT query_to_xml('DELETE FROM t RETURNING 1', true, true, '')"),
    ("postgres", "SELECT pg_catalog.pg_read_file('x')"),
    ("postgres", "SELECT shop.close_month()"),
    ("postgres", "SELECT apply(a)"),
    ("postgres", "SELECT * FROM apply(a)"),
    ("postgres", "SELECT execute(a)"),
    ("postgres", 'SELECT "f"(1)'),
    ("postgres", "SELECT a OPERATOR(shop.+) b FROM t"),
    ("postgres", "SELECT 'x'::shop.kind"),
    ("postgres", "SELECT a FROM t FOR UPDATE SKIP LOCKED"),
    ("postgres", "SELECT a INTO TEMP b FROM t"),
    ("postgres", "WITH gone AS (DELETE FROM t RETURNING id) SELECT count(*) FROM gone"),
    ("postgres", "EXPLAIN (ANALYZE) INSERT INTO t VALUES (1)"),
    ("postgres", "EXPLAIN (ANALYZE off, ANALYZE on) DELETE FROM t"),
    ("postgres", "EXPLAIN ANALYZE EXECUTE p"),
    ("postgres", "EXPLAIN DELETE FROM t; DELETE FROM t"),
    ("postgres", "EXPLAIN DELETE FROM t WHERE id = evil()"),
    ("postgres", "COPY t TO STDOUT"),
    ("postgres", "COPY (SELECT 1) TO PROGRAM 'sh'"),
    ("postgres", "DO $$ BEGIN DELETE FROM t; END $$"),
    ("postgres", "CALL close_month()"),
    ("postgres", "SET ROLE admin"),
    ("postgres", "BEGIN; SELECT 1; COMMIT"),
    ("postgres", "NOTIFY jobs"),
    ("postgres", "LOCK TABLE t"),
    ("postgres", "FETCH 1 FROM c"),
    ("postgres", "REFRESH MATERIALIZED VIEW v"),
    ("postgres", "SELECT 1; DROP TABLE t"),
    ("postgres", "SELECT 1 -- a\rDELETE FROM t"),
    ("postgres", "SELECT E'\\'; DELETE FROM t; --'"),
    ("postgres", "SELECT '\\'; DELETE FROM t; --'"),
    ("mysql", "SELECT 1 /*! INTO OUTFILE '/tmp/x' */"),
    ("mysql", "SELECT /*+ SET_VAR(sql_mode = '') */ 1"),
    ("mysql", "SELECT 1 --f()\n"),
    ("mysql", "SELECT @a := 1"),
    ("mysql", "SELECT a INTO @x FROM t"),
    ("mysql", "SELECT a FROM t LOCK IN SHARE MODE"),
    ("mysql", "SELECT a FROM t INTO DUMPFILE '/tmp/x'"),
    ("mysql", "SELECT GET_LOCK('a', 10)"),
    ("mysql", "SELECT SLEEP(5)"),
    ("mysql", "SELECT LAST_INSERT_ID(9)"),
    ("mysql", "EXPLAIN ANALYZE DELETE FROM t"),
    ("mysql", "SHOW TABLES; DROP TABLE t"),
    ("mysql", "SHOW VARIABLES WHERE f(1)"),
    ("mysql", "HANDLER t OPEN"),
    ("mysql", "FLUSH TABLES"),
    ("mariadb", "SELECT NEXT VALUE FOR s"),
    ("mariadb", "SELECT s.nextval"),
    ("sqlite", "PRAGMA optimize"),
    ("sqlite", "PRAGMA wal_checkpoint"),
    ("sqlite", "PRAGMA table_info(a); DELETE FROM a"),
    ("sqlite", "SELECT load_extension('x')"),
    ("sqlite", "ATTACH 'x.db' AS y"),
    ("sqlite", "VACUUM INTO 'x.db'"),
    ("sqlite", "/* a /* b */ DELETE FROM t; -- */ SELECT 1"),
    ("sqlite", "SHOW TABLES"),
    ("sqlserver", "SELECT 1 DELETE FROM t"),
    ("sqlserver", "SELECT 1 x EXEC sp_who"),
    ("sqlserver", "SELECT * FROM t WAITFOR DELAY '0:0:9'"),
    ("sqlserver", "SELECT * FROM t\nGO"),
    ("sqlserver", "SELECT * FROM other.shop.dbo.orders"),
    ("sqlserver", "SELECT dbo.CloseMonth(1)"),
    ("sqlserver", "SELECT a FROM t WITH (UPDLOCK)"),
    ("sqlserver", "SELECT NEXT VALUE FOR s"),
    ("sqlserver", "DECLARE @x int; SELECT @x"),
    ("bigquery", "SELECT * FROM EXTERNAL_QUERY('c', 'DELETE FROM t')"),
    ("bigquery", "SELECT * FROM ML.PREDICT(MODEL m, TABLE t)"),
    ("snowflake", "SELECT 1 ->> DELETE FROM t"),
    ("snowflake", "SELECT s.nextval"),
    ("snowflake", "SELECT SYSTEM$CANCEL_QUERY('x')"),
    ("snowflake", "CALL p()"),
    ("postgres", "SELECT * FROM '/etc/passwd'"),
    ("postgres", "SELECT {{ var('x') }}"),
    ("postgres", "SELECT 1 \\g out"),
    ("postgres", "SELECT 1\u00a0FROM t"),
    ("postgres", "not SQL at all"),
    ("postgres", "-- nothing"),
    ("postgres", ";"),
    ("oracle", "SELECT 1 FROM dual"),
    ("", "SELECT shop.f(1)"),
    (None, "SELECT 1 # DELETE FROM t\n"),
    (None, "SELECT '\\'' || f() || '"),
    (None, "SELECT 1 DELETE FROM t"),
]


@pytest.mark.parametrize(("dialect", "text"), READS)
def test_reads_are_proven(dialect: str | None, text: str) -> None:
    proof = prove("sql", text, dialect)
    assert proof is not None
    assert proof.parser == "sqlglot"


@pytest.mark.parametrize(("dialect", "text"), TRAPS)
def test_traps_are_not(dialect: str | None, text: str) -> None:
    assert prove("sql", text, dialect) is None


@pytest.mark.parametrize(("dialect", "text"), READS)
@pytest.mark.parametrize("more", ["DELETE FROM t", "DROP TABLE t", "SELECT shop.f()", "COMMIT"])
def test_a_second_statement_is_judged_too(dialect: str | None, text: str, more: str) -> None:
    assert prove("sql", f"{text}\n; {more}", dialect) is None
    assert prove("sql", f"{more}; {text}", dialect) is None


def test_a_proof_says_what_was_shown() -> None:
    proof = prove("sql", "SELECT 1; SHOW search_path; SELECT 2", "postgres")
    assert proof is not None
    assert proof.reads == "3 SQL statements (select, show)"


def test_a_dialect_has_other_names() -> None:
    assert (
        prove("sql", "SELECT len(a) FROM t", " MSSQL ") == prove("sql", "SELECT len(a) FROM t", "sqlserver") is not None
    )


def test_without_a_dialect_every_dialect_must_prove_it() -> None:
    assert prove("sql", "SELECT pg_backend_pid()", "postgres") is not None
    assert prove("sql", "SELECT pg_backend_pid()") is None
