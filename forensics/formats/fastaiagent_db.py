"""Is this FastAIAgent's local database, and which spans does its `spans` table hold?

Read from a private copy, opened immutable, with the schema untrusted: nothing but that one table is looked at. A
write-ahead log beside the database is applied to the copy (`sqlite_log`); of a damaged one the rest is read
(`sqlite_rows`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.core.jsonvalue import decode
from forensics.core.times import from_text
from forensics.core.trace import NOWHERE
from forensics.errors import UnknownFormatError, UnsupportedVersionError
from forensics.formats.shared.fields import fields_of, items_of, object_in, text
from forensics.formats.shared.span_names import WANTED
from forensics.formats.shared.span_walk import walk_spans
from forensics.formats.shared.spans import Event, Span, say_lost_time, shaped
from forensics.formats.shared.sqlite_log import cell_bytes, columns_of
from forensics.formats.shared.sqlite_rows import Row, TableRows, damaged, database_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    import msgspec

    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "fastaiagent-db"
ABOUT = "FastAIAgent's local.db (SQLite), many traces in one file"
CARRIES = "prompts, calls, executions, results, tool schemas, replay classes, reruns; times in µs"
LACKS = "call ids on executions; an unfinished transaction, which a rollback journal beside the file tells"
RERUN = "what the agent's own code mints, and payloads where capture was off"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = True

_VERSIONS = (24, 28)
_COLUMNS = ("span_id", "trace_id", "parent_span_id", "name", "start_time", "end_time", "status", "attributes", "events")


def sniff(look: Look) -> int:
    """60 where the table shows in the first pages, 30 for any other SQLite database."""
    return 60 if look.is_sqlite and b"CREATE TABLE spans" in look.head else 30 if look.is_sqlite else 0


def read(source: Source, build: EvidenceBuilder) -> None:
    """Read every row. Raises CorruptEvidenceError and UnsupportedVersionError with what to do."""
    reader = _SpanRows(build)
    with database_of(source, build) as database:
        version = _check(database, source.name, build)
        build.dialect = f"user_version {version}"
        rows = TableRows(database, "spans", _COLUMNS, build)
        spans = [reader.span(row) for row in rows]
    if rows.lost is not None and not spans:
        raise damaged(source, rows.lost)
    walk_spans(spans, build)


def _check(database: sqlite3.Connection, name: str, build: EvidenceBuilder) -> int:
    """The user_version, when this is a generation that can be read."""
    version = int(database.execute("PRAGMA user_version").fetchone()[0])
    kind = database.execute("SELECT type, sql FROM main.sqlite_master WHERE name = 'spans'").fetchone()
    if kind is None or kind[0] != b"table" or b"VIRTUAL" in (kind[1] or b"").upper():
        message = f"{name} is a SQLite database without a table spans"
        raise UnknownFormatError(
            message, hint="`forensics formats` lists what is read; this is no local.db of FastAIAgent"
        )
    columns = columns_of(database, "spans")
    missing = [column for column in _COLUMNS if column not in columns]
    if missing:
        message = f"{name} has user_version {version} and its table spans lacks {', '.join(missing)}"
        raise UnsupportedVersionError(message, hint=f"versions {', '.join(map(str, _VERSIONS))} are known")
    if version not in _VERSIONS:
        place = build.places.add(offset=0)
        build.once(
            "dialect", f"user_version {version} is not known; the columns that are needed are there", Spot(place)
        )
    return version


class _SpanRows:
    """Rows of the table as spans."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self._build = build

    def span(self, row: Row) -> Span:
        rowid, span_id, trace_id, parent, name, start, end, status, attributes, events = (cell_bytes(v) for v in row)
        numbered = rowid.removeprefix(b"-").isdigit() and len(rowid) <= len(str(-(2**63)))
        key: int | str = int(rowid) if numbered else _text(rowid)
        place = self._build.places.add_row("spans", key, len(attributes))
        told, tainted = self._attributes(attributes, place, _text(trace_id))
        started, ended = _text(start), _text(end)
        if told is None:
            told = {}
        else:
            self._build.counts.spans += 1
            self._build.counts.records += 1
        return Span(
            _text(trace_id).lower(),
            _text(span_id).lower(),
            _text(parent).lower(),
            _text(name),
            self._time(started, place),
            self._time(ended, place),
            0,
            status.upper() == b"ERROR",
            None,
            *shaped(told, ("attributes",) * len(told)),
            tuple(_events(events)) if events not in (b"", b"[]") else (),
            place,
            "",
            tainted=tainted,
        )

    def _time(self, told: str, place: int) -> int:
        moment = from_text(told) if told else NOWHERE
        if told and moment < 0:
            say_lost_time(self._build, Spot(place))
        return moment

    def _attributes(self, body: bytes, place: int, trace: str) -> tuple[dict[str, msgspec.Raw] | None, str | None]:
        """The attributes that are read, or None where they are no JSON object; and what taints them."""
        decoded = decode(body or b"{}")
        if decoded.error is not None or not isinstance(decoded.value, dict):
            message = f"the attributes of a span are no JSON object: {decoded.error or 'another value'}"
            spot = Spot(place, "/attributes")
            self._build.unread("malformed_line", message, spot, trace=trace)
            return None, None
        tainted = self._build.faults(decoded.faults, Spot(place, "/attributes"))
        fields = fields_of(body or b"{}")
        return {WANTED[k]: v for k, v in fields.items() if k in WANTED and bytes(v) != b"null"}, tainted


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _events(body: bytes) -> Iterator[Event]:
    for index, item in enumerate(items_of(body)):
        fields = fields_of(item)
        attributes = object_in(fields, "attributes")
        yield Event(text(fields, "name"), attributes, f"/events/{index}")
