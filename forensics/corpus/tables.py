"""Which tables do the rows of a corpus make? Six flat ones with typed columns, out of the two kinds of JSON lines.

They are written in SQL because DuckDB fills them, in memory for a question or straight into Parquet. The types of the
lines are given, never guessed: a corpus in which no file has an error has a column of errors all the same.
"""

from __future__ import annotations

from typing import NamedTuple


class Column(NamedTuple):
    """One column: its name, its type in SQL, and what stands in it."""

    name: str
    type: str
    about: str


class Table(NamedTuple):
    """One table: what a row of it is, and the query that fills it, of `lines` (of files) or `found` (of findings)."""

    name: str
    about: str
    columns: tuple[Column, ...]
    query: str


_BASIS = "STRUCT(source VARCHAR, says VARCHAR, rule VARCHAR)[]"
_PLACES = (
    'STRUCT(evidence INTEGER, line BIGINT, "offset" BIGINT, length BIGINT, member VARCHAR, '
    '"table" VARCHAR, "row" VARCHAR, pointer VARCHAR)[]'
)
_ERROR = "STRUCT(code VARCHAR, message VARCHAR, hint VARCHAR)"
_EVIDENCE = (
    "STRUCT(name VARCHAR, sha256 VARCHAR, size BIGINT, status VARCHAR, format VARCHAR, dialect VARCHAR, "
    f"compression VARCHAR, member_sha256 VARCHAR, coverage VARCHAR, error {_ERROR})[]"
)
_TOOLS = (
    "STRUCT(name VARCHAR, server VARCHAR, class VARCHAR, labels VARCHAR[], effect VARCHAR, result VARCHAR, "
    f"scope VARCHAR, rests_on VARCHAR, basis {_BASIS}, calls BIGINT, reasons VARCHAR[])[]"
)
_HANDLES = (
    "STRUCT(tool VARCHAR, kind VARCHAR, number BIGINT, in_argument BIGINT, in_model_output BIGINT, "
    "in_final_answer BIGINT, in_prompt BIGINT, shown BIGINT, into_tools VARCHAR[])[]"
)
_TRACES = (
    "STRUCT(id VARCHAR, evidence INTEGER, format VARCHAR, steps BIGINT, calls BIGINT, started VARCHAR, ended VARCHAR, "
    f"level VARCHAR, cleared BOOLEAN, reasons VARCHAR[], tools {_TOOLS}, handles {_HANDLES})[]"
)
LINES = {"files": "VARCHAR[]", "exit_code": "INTEGER", "evidence": _EVIDENCE, "traces": _TRACES}
"""The members of a line of `files-*.jsonl` that the tables need, with their types."""

FOUND = {
    "files": "VARCHAR[]",
    "code": "VARCHAR",
    "severity": "VARCHAR",
    "confidence": "VARCHAR",
    "basis": "VARCHAR",
    "message": "VARCHAR",
    "trace": "VARCHAR",
    "steps": "BIGINT[]",
    "locators": _PLACES,
    "tags": "VARCHAR[]",
}
"""The members of a line of `findings-*.jsonl`, with their types."""

_FILE = Column("file", "VARCHAR", "the line it stands in, by its first file")
_AT = Column("evidence", "INTEGER", "which evidence of the line, from 0")
_TRACE = Column("trace", "VARCHAR", "id of the trace")
_EACH_TRACE = "(SELECT files[1] AS file, unnest(traces) AS t FROM lines)"
_HEAD = "file, t.evidence AS evidence, t.id AS trace"

FILES = Table(
    "files",
    "an evidence, whether it could be read or not",
    (
        _FILE,
        _AT,
        Column("name", "VARCHAR", "its own name; of a file in an archive, with that of the archive"),
        Column("status", "VARCHAR", "read, partial or refused"),
        Column("format", "VARCHAR", "what it was read as"),
        Column("dialect", "VARCHAR", "which generation of it"),
        Column("compression", "VARCHAR", "how it was packed"),
        Column("size", "BIGINT", "bytes"),
        Column("sha256", "VARCHAR", "digest of its bytes"),
        Column("member_sha256", "VARCHAR", "digest of a file in an archive"),
        Column("coverage", "VARCHAR", "how much of it was read"),
        Column("error", "VARCHAR", "code, where it could not be read"),
        Column("error_message", "VARCHAR", "the same in a sentence"),
        Column("exit_code", "INTEGER", "of the audit of its line"),
        Column("together", "BIGINT", "how many files its line tells of: more than 1 tell of one run"),
    ),
    "SELECT files[1] AS file, i - 1 AS evidence, e.name AS name, e.status AS status, e.format AS format, "
    "e.dialect AS dialect, e.compression AS compression, e.size AS size, e.sha256 AS sha256, "
    "e.member_sha256 AS member_sha256, e.coverage AS coverage, e.error.code AS error, "
    "e.error.message AS error_message, exit_code, len(files) AS together "
    "FROM (SELECT files, exit_code, unnest(evidence) AS e, unnest(range(1, len(evidence) + 1)) AS i FROM lines)",
)
TRACES = Table(
    "traces",
    "a trace with its verdict",
    (
        _FILE,
        _AT,
        _TRACE,
        Column("format", "VARCHAR", "what it was read as"),
        Column("steps", "BIGINT", "how many steps it has"),
        Column("calls", "BIGINT", "how many calls"),
        Column("started", "TIMESTAMP", "first recorded time (UTC); NULL where none is recorded"),
        Column("ended", "TIMESTAMP", "last recorded time"),
        Column("level", "VARCHAR", "static, inject or dynamic"),
        Column("cleared", "BOOLEAN", "whether the policy clears it"),
        Column("reasons", "VARCHAR[]", "codes of the reasons to refuse it, each once"),
    ),
    f"SELECT {_HEAD}, t.format AS format, t.steps AS steps, t.calls AS calls, "
    "try_cast(rtrim(t.started, 'Z') AS TIMESTAMP) AS started, try_cast(rtrim(t.ended, 'Z') AS TIMESTAMP) AS ended, "
    f"t.level AS level, t.cleared AS cleared, t.reasons AS reasons FROM {_EACH_TRACE}",
)
TOOLS = Table(
    "tools",
    "a tool of a trace with its class; a tool that was offered and not called has 0 calls",
    (
        _FILE,
        _AT,
        _TRACE,
        Column("cleared", "BOOLEAN", "whether the policy clears the trace"),
        Column("tool", "VARCHAR", "its name"),
        Column("server", "VARCHAR", "who offers it"),
        Column("class", "VARCHAR", "idempotent, handle-returning or side-effecting"),
        Column("labels", "VARCHAR[]", "the same with what the class alone does not say"),
        Column("effect", "VARCHAR", "none, overwriting, repeating, irreversible or unknown"),
        Column("result", "VARCHAR", "stable, volatile, handle or unknown"),
        Column("scope", "VARCHAR", "none, session, local, external or unknown"),
        Column("rests_on", "VARCHAR", "operator, declaration, proof, pack, words or none"),
        Column("basis", _BASIS, "first pieces of evidence that decide effect or result"),
        Column("calls", "BIGINT", "how often it was called"),
        Column("reasons", "VARCHAR[]", "codes of the reasons to refuse that name it"),
    ),
    "SELECT file, evidence, trace, cleared, u.name AS tool, u.server AS server, u.class AS class, u.labels AS labels, "
    "u.effect AS effect, u.result AS result, u.scope AS scope, u.rests_on AS rests_on, u.basis AS basis, "
    "u.calls AS calls, u.reasons AS reasons "
    f"FROM (SELECT {_HEAD}, t.cleared AS cleared, unnest(t.tools) AS u FROM {_EACH_TRACE})",
)
REASONS = Table(
    "reasons",
    "a reason to refuse a trace, once for each tool that it names",
    (
        _FILE,
        _AT,
        _TRACE,
        Column("code", "VARCHAR", "of the reason"),
        Column("tool", "VARCHAR", "that it names; NULL where it is about the trace"),
        Column("server", "VARCHAR", "who offers that tool"),
    ),
    "SELECT file, evidence, trace, code, u.name AS tool, u.server AS server FROM (SELECT *, "
    "unnest(CASE WHEN len(named) = 0 THEN [NULL] ELSE named END) AS u FROM (SELECT *, "
    "list_filter(tools, lambda one: list_contains(one.reasons, code)) AS named FROM ("
    f"SELECT {_HEAD}, t.tools AS tools, unnest(t.reasons) AS code FROM {_EACH_TRACE})))",
)
HANDLES = Table(
    "handles",
    "the values of one kind that one tool brought into a trace, and how many of them went where",
    (
        _FILE,
        _AT,
        _TRACE,
        Column("tool", "VARCHAR", "whose result they stand in first"),
        Column("kind", "VARCHAR", "shape of the values; reference: found, not minted"),
        Column("number", "BIGINT", "how many there are"),
        Column("in_argument", "BIGINT", "of them in a later argument (recorded)"),
        Column("in_model_output", "BIGINT", "in a later output of the model (recorded)"),
        Column("in_final_answer", "BIGINT", "in the final answer (recorded)"),
        Column("in_prompt", "BIGINT", "in a later prompt (recorded)"),
        Column("shown", "BIGINT", "shown to a turn that may have branched on them (inferred)"),
        Column("into_tools", "VARCHAR[]", "tools whose arguments hold one"),
    ),
    "SELECT file, evidence, trace, h.tool AS tool, h.kind AS kind, h.number AS number, "
    "h.in_argument AS in_argument, h.in_model_output AS in_model_output, h.in_final_answer AS in_final_answer, "
    "h.in_prompt AS in_prompt, h.shown AS shown, h.into_tools AS into_tools "
    f"FROM (SELECT {_HEAD}, unnest(t.handles) AS h FROM {_EACH_TRACE})",
)
FINDINGS = Table(
    "findings",
    "a finding",
    (
        _FILE,
        Column("files", "VARCHAR[]", "every file of that line"),
        Column("code", "VARCHAR", "of the catalogue of findings"),
        Column("severity", "VARCHAR", "info, low, medium, high or critical"),
        Column("rank", "INTEGER", "the same as a number, from 0 to 4"),
        Column("confidence", "VARCHAR", "how sure it is"),
        Column("basis", "VARCHAR", "recorded, derived or inferred"),
        Column("message", "VARCHAR", "what was found"),
        Column("trace", "VARCHAR", "in which trace, if in one"),
        Column("steps", "BIGINT[]", "at which steps"),
        Column("locators", _PLACES, "where it stands in the evidence"),
        Column("tags", "VARCHAR[]", "what it is about"),
    ),
    "SELECT files[1] AS file, files, code, severity, "
    "list_position(['info', 'low', 'medium', 'high', 'critical'], severity) - 1 AS rank, "
    "confidence, basis, message, trace, steps, locators, tags FROM found",
)
TABLES = (FILES, TRACES, TOOLS, REASONS, HANDLES, FINDINGS)


def selected(table: Table) -> str:
    """The query of a table with its columns in their types."""
    columns = ", ".join(f'CAST("{one.name}" AS {one.type}) AS "{one.name}"' for one in table.columns)
    return f"SELECT {columns} FROM ({table.query})"
