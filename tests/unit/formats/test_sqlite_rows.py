"""Is the rest of a damaged database read, and is each row that is lost told?"""

from __future__ import annotations

import random
import sqlite3
import struct
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from forensics.api import examine
from forensics.core.evidence import Evidence
from forensics.core.reading import EvidenceBuilder, Reading
from forensics.errors import CorruptEvidenceError
from forensics.formats.shared.source import open_source
from forensics.formats.shared.sqlite_rows import MOST, TableRows, damaged, database_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    Read = Callable[..., Reading]

PAGE = 1024
LONG = 4_000  # a text that goes on over pages of its own
FILLS = ("zero", "ones", "noise")
_LEAF, _INNER = 13, 5  # kinds of pages of a table (SQLite: "B-tree Pages")


def body(number: int, length: int = 300) -> str:
    return f"<{number}>" + "x" * length


def made(path: Path, numbers: Iterable[int], table: str = "t (n INTEGER PRIMARY KEY, body TEXT)") -> Path:
    """A table of three rows a page, whose texts hold their number; every tenth goes on over other pages."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous=OFF")
        database.execute(f"PRAGMA page_size={PAGE}")
        database.execute(f"CREATE TABLE {table}")
        rows = ((n, body(n, LONG if n % 10 == 0 else 300)) for n in numbers)
        database.executemany("INSERT INTO t VALUES (?, ?)", rows)
        database.commit()
    return path


def kind(data: bytes | bytearray, page: int) -> int:
    return data[(page - 1) * PAGE]


def page_of(data: bytes | bytearray, number: int) -> int:
    """The page on which the text of a row begins."""
    return data.index(f"<{number}>".encode()) // PAGE + 1


def numbers_on(data: bytes, page: int, numbers: Iterable[int]) -> set[int]:
    return {n for n in numbers if page_of(data, n) == page}


def damage(path: Path, pages: Iterable[int], fill: str = "zero", part: tuple[int, int] = (0, PAGE)) -> None:
    data = bytearray(path.read_bytes())
    length = part[1] - part[0]
    for page in pages:
        start = (page - 1) * PAGE + part[0]
        noise = random.Random(page).randbytes(length)  # noqa: S311 - damage, no secret
        data[start : start + length] = {"zero": bytes(length), "ones": b"\xff" * length, "noise": noise}[fill]
    path.write_bytes(data)


def rows_of(path: Path, *columns: str, whole: bool = True) -> tuple[list[int], Reading]:
    """The numbers of the rows that were read (whole ones only, or any), and what was told."""
    build = EvidenceBuilder(Evidence(0, path.name, "", 0, "rows"), records_calls=True)
    with open_source(str(path)) as source:
        with database_of(source, build) as database:
            rows = TableRows(database, "t", (*columns, "body"), build)
            found = list(rows)
        if rows.lost is not None and not found:
            raise damaged(source, rows.lost)
    known = [(n, str(text)) for n, *_, text in found if isinstance(n, int)]
    return [n for n, text in known if not whole or text.startswith(f"b'<{n}>")], build.finish()


def lost(reading: Reading) -> list[str]:
    assert all(gap.hides for gap in reading.gaps)
    return [gap.message.partition(" can't be read")[0] for gap in reading.gaps]


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("at", [[1], [41], [85], [1, 41, 44, 85]], ids=str)
def test_a_damaged_page_costs_its_own_rows(tmp_path: Path, fill: str, at: list[int]) -> None:
    numbers = range(1, 86)
    path = made(tmp_path / "a", numbers)
    data = path.read_bytes()
    pages = {page_of(data, n) for n in at}
    assert {kind(data, page) for page in pages} == {_LEAF}
    missing = set.union(*(numbers_on(data, page, numbers) for page in pages))
    damage(path, pages, fill)
    found, reading = rows_of(path)
    assert found == [n for n in numbers if n not in missing]
    assert 1 <= len(lost(reading)) <= len(pages)
    assert {f.code for f in reading.findings} == {"container_truncated"}
    assert reading.partial


def test_what_is_lost_is_told_by_the_numbers_around_it(tmp_path: Path) -> None:
    path = made(tmp_path / "a", range(1, 86))
    data = path.read_bytes()
    on = sorted(numbers_on(data, page_of(data, 41), range(1, 86)))
    damage(path, [page_of(data, 41)])
    _, reading = rows_of(path)
    assert lost(reading) == [f"the rows of the table t behind number {on[0] - 1} and before number {on[-1] + 1}"]
    locator = reading.gaps[0].locator
    assert locator is not None
    assert (locator.table, locator.row) == ("t", on[0])


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("part", [(0, PAGE // 2), (PAGE // 2, PAGE), (PAGE // 4, PAGE // 2)], ids=str)
def test_of_a_half_damaged_page_nothing_is_lost_in_silence(tmp_path: Path, fill: str, part: tuple[int, int]) -> None:
    numbers = range(1, 86)
    for at in (1, 41, 85):
        path = made(tmp_path / f"{at}", numbers)
        data = path.read_bytes()
        damage(path, [page_of(data, at)], fill, part)
        found, reading = rows_of(path)
        assert set(numbers) - set(found) <= numbers_on(data, page_of(data, at), numbers)
        assert (len(found) == len(numbers)) or lost(reading)


@pytest.mark.parametrize("fill", ["zero", "noise"])
def test_a_row_whose_text_stands_on_a_damaged_page_is_lost_alone(tmp_path: Path, fill: str) -> None:
    path = made(tmp_path / "a", range(1, 86))
    data = path.read_bytes()
    goes_on = [p for p in range(2, len(data) // PAGE) if data[p * PAGE + 4 : (p + 1) * PAGE] == b"x" * (PAGE - 4)]
    inside = [p + 1 for p in goes_on if any(data[p * PAGE : p * PAGE + 4])]  # not the last page of its text
    damage(path, inside[3:4], fill)
    found, reading = rows_of(path)
    (row,) = set(range(1, 86)) - set(found)
    assert row % 10 == 0
    assert lost(reading) == [f"row {row} of the table t"]
    assert [f.code for f in reading.findings] == ["malformed_line"]
    assert reading.findings[0].locators[0].row == row


def test_under_a_damaged_page_of_the_tree_nothing_can_be_asked_for_and_the_rest_is_read(tmp_path: Path) -> None:
    numbers = range(1, 2_001)
    path = made(tmp_path / "a", numbers)
    data = path.read_bytes()
    inner = [p for p in range(3, len(data) // PAGE + 1) if kind(data, p) == _INNER]
    assert len(inner) >= 3
    damage(path, inner[1:2])
    found, reading = rows_of(path)
    assert 1_000 < len(found) < 2_000
    assert found[0] == 1
    assert found[-1] == 2_000
    assert len(lost(reading)) == 1
    damage(path, [2])  # the root
    with pytest.raises(CorruptEvidenceError, match="damaged database"):
        rows_of(path)


@pytest.mark.parametrize("step", [7, 10**9, 10**14])
def test_rows_far_apart_are_found_again(tmp_path: Path, step: int) -> None:
    numbers = [n * step + 1 for n in range(200)]
    path = made(tmp_path / "a", numbers)
    data = path.read_bytes()
    page = page_of(data, numbers[100])
    damage(path, [page])
    found, reading = rows_of(path)
    assert found == [n for n in numbers if n not in numbers_on(data, page, numbers)]
    assert len(lost(reading)) == 1


def test_the_greatest_and_the_least_number_are_read(tmp_path: Path) -> None:
    numbers = [-(2**63), -5, 0, 3, MOST]
    found, reading = rows_of(made(tmp_path / "a", numbers))
    assert (found, lost(reading)) == (numbers, [])
    path = made(tmp_path / "b", [*range(1, 40), MOST])
    damage(path, [page_of(path.read_bytes(), MOST)])
    found, reading = rows_of(path)
    assert found[:30] == list(range(1, 31))
    assert MOST not in found
    assert lost(reading) == [f"the rows of the table t behind number {found[-1]}"]


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_a_database_that_is_cut_is_read_as_far_as_it_goes(tmp_path: Path, share: float) -> None:
    path = made(tmp_path / "a", range(1, 100))
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    found, reading = rows_of(path)
    there = {n for n in range(1, 100) if page_of(data, n) * PAGE <= len(data) * share}
    assert set(found) <= {n for n in range(1, 100) if (page_of(data, n) - 1) * PAGE <= len(data) * share}
    assert {n for n in there if n % 10} <= set(found)
    assert lost(reading)


def test_a_damaged_schema_of_other_tables_hides_and_the_table_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    made(path, range(1, 20))
    with closing(sqlite3.connect(path)) as database:
        for number in range(40):
            database.execute(f"CREATE TABLE other_{number} (a, b, c, d, e, f, g, h)")
        database.commit()
    data = path.read_bytes()
    damage(path, [data.index(b"CREATE TABLE other_30") // PAGE + 1])
    found, reading = rows_of(path)
    assert found == list(range(1, 20))
    assert [gap.hides for gap in reading.gaps] == [True]


def test_a_table_without_numbers_is_read_up_to_the_damage(tmp_path: Path) -> None:
    path = made(tmp_path / "a", range(1, 100), "t (n PRIMARY KEY, body TEXT) WITHOUT ROWID")
    data = path.read_bytes()
    damage(path, [page_of(data, 61)])
    found, reading = rows_of(path, "n")
    assert found == list(range(1, len(found) + 1))
    assert 40 < len(found) < 61
    assert lost(reading) == [f"the rows of the table t behind the first {len(found)}"]


def test_a_ring_of_pages_ends(tmp_path: Path) -> None:
    """A page of the tree whose children are all one and the same leaf would give its rows without end."""
    path = made(tmp_path / "a", range(1, 2_001))
    data = bytearray(path.read_bytes())
    inner = [p for p in range(3, len(data) // PAGE + 1) if kind(data, p) == _INNER]
    leaf = page_of(data, 1_001)
    for page in inner:
        start = (page - 1) * PAGE
        count = struct.unpack_from(">H", data, start + 3)[0]
        for cell in struct.unpack_from(f">{count}H", data, start + 12):
            struct.pack_into(">I", data, start + cell, leaf)
    path.write_bytes(data)
    found, reading = rows_of(path)
    assert len(found) < 2_000
    assert lost(reading)


@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_damaged_nothing_is_lost_in_silence(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - damage, no secret
    numbers = range(1, 121)
    path = made(tmp_path / "a", numbers)
    data = path.read_bytes()
    pages = draw.sample(range(2, len(data) // PAGE + 1), draw.randrange(1, 8))
    damage(path, pages, draw.choice(FILLS), draw.choice([(0, PAGE), (0, 512), (512, PAGE), (100, 400)]))
    found, reading = rows_of(path, whole=False)
    if not set(numbers) <= set(found):
        assert lost(reading)


# the readers ---------------------------------------------------------------------------------------------------------


def leaves_of(path: Path, marker: bytes) -> list[int]:
    """The leaf pages of any table that hold the marker."""
    data = path.read_bytes()
    size = struct.unpack_from(">H", data, 16)[0]
    pages = range(1, len(data) // size)
    return [p for p in pages if data[p * size] == _LEAF and marker in data[p * size : (p + 1) * size]]


@pytest.mark.parametrize(
    ("name", "marker"),
    [("fastaiagent/pager_1.94.0.db", b"agent.name"), ("generated/langgraph/agent_checkpoints.sqlite", b"messages")],
)
@pytest.mark.parametrize("fill", [0, 255])
def test_of_a_damaged_store_the_rest_is_read_and_nothing_is_cleared(
    cases: Path, tmp_path: Path, name: str, marker: bytes, fill: int
) -> None:
    whole = examine(cases / name).audit()
    path = tmp_path / "damaged.db"
    data = bytearray((cases / name).read_bytes())
    page = leaves_of(cases / name, marker)[-1]
    size = struct.unpack_from(">H", data, 16)[0]
    data[page * size : (page + 1) * size] = bytes([fill]) * size
    path.write_bytes(data)
    audit = examine(path).audit()
    assert audit.evidence[0].status == "partial"
    assert 0 < audit.counts.records < whole.counts.records
    assert f"{audit.counts.records} of {audit.counts.records + 1} records read" == audit.evidence[0].coverage
    assert {one.verdict.level for one in audit.traces} == {"static"}
    assert all("evidence_gap" in {r.code for r in one.verdict.reasons} for one in audit.traces)
    assert [f.name for f in tmp_path.iterdir()] == ["damaged.db"]
    assert path.read_bytes() == data
