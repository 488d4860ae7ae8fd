"""What the tables of related runs say is what tables of all runs would say, whatever the texts."""

from __future__ import annotations

import json
from unittest import mock

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.analysis import run_blocks
from forensics.analysis.occurrences import Occurrences, Part
from forensics.analysis.runs import all_runs, digit_runs, plain_bytes
from forensics.core.build import Spot, TraceBuilder
from forensics.core.places import Places
from forensics.core.trace import StepKind

words = st.text(alphabet="aA1-_", min_size=1, max_size=7)
texts = st.lists(st.lists(words, max_size=5).map(" ".join), max_size=8)


SMALL, LARGE = 100, -1  # steps of a small trace


def occurrences(told: list[str], most: int = LARGE, few: int = 0) -> Occurrences:
    """The runs of these texts, in a trace that counts as small up to `most` steps; up to `few` runs all count as
    related.
    """
    places = Places(0)
    build = TraceBuilder("t", places, "test")
    for text in told:
        spot = Spot(places.add(line=1, offset=0, length=1))
        build.step(StepKind.USER, spot, payload=msgspec.Raw(json.dumps(text).encode()))
    with (
        mock.patch("forensics.analysis.occurrences.SMALL_TRACE", most),
        mock.patch("forensics.analysis.related_runs._FEW", few),
    ):
        return Occurrences(build.finish(), ())


def naive_holders(runs: set[bytes]) -> dict[bytes, set[bytes]]:
    tokens = runs | {run.strip(b"-_") for run in runs}
    found: dict[bytes, set[bytes]] = {}
    for run in runs:
        for at, letter in enumerate(run):
            for piece in (run[:at], run[at + 1 :]) if letter in b"-_" else ():
                if len(piece) >= 4 and piece in tokens:
                    found.setdefault(piece, set()).add(run)
    return found


@settings(deadline=None)
@given(texts, st.sampled_from([SMALL, LARGE]), st.sampled_from([0, 1000]))
def test_the_tables_say_what_tables_of_all_runs_would_say(told: list[str], most: int, few: int) -> None:
    found = occurrences(told, most, few)
    runs_of = all_runs if most == SMALL else digit_runs
    rows: dict[bytes, list[int]] = {}
    for row, text in enumerate(told):
        for run in runs_of(text.encode()):
            rows.setdefault(run, []).append(row)
    for run, held in rows.items():
        assert found.first.get(run, held[0]) == held[0]
        assert (run in found.first) or len(held) == 1
        for row in range(len(told)):
            if row in held:
                assert found.stands_after(run, row) == (held[-1] > row)
        others = {other for other in rows if other.lower() == run.lower()}
        assert set(found.other_case.get(run.lower(), [run])) == others
    assert {piece: set(held) for piece, held in found.holders.items()} == naive_holders(set(rows))


@settings(deadline=None)
@given(texts)
def test_each_row_comes_back_with_its_runs(told: list[str]) -> None:
    expected = [(row, runs) for row, text in enumerate(told) if (runs := digit_runs(text.encode()))]
    parts = list(occurrences(told).parts())
    assert [row for part in parts for row in part.span] == list(range(len(told)))
    assert [one for part in parts for one in by_row(part)] == expected


@settings(deadline=None)
@given(texts)
def test_a_row_that_is_read_in_stretches_comes_back_once(told: list[str]) -> None:
    with mock.patch.object(run_blocks, "_LONG", 4):
        parts = list(occurrences(told).parts())
    whole = [part for part in occurrences(told).parts() if part.rows]
    assert [row for part in parts for row in part.span] == list(range(len(told)))
    assert [row for part in parts for row in part.rows] == [row for part in whole for row in part.rows]
    found = {row: set(runs) for part in parts for row, runs in by_row(part)}
    assert found == {row: set(runs) for part in whole for row, runs in by_row(part)}


def by_row(part: Part) -> list[tuple[int, list[bytes]]]:
    return [(row, line.split()) for row, line in zip(part.rows, part.lines, strict=True)]


def test_a_value_that_is_spelled_with_escapes_is_the_value() -> None:
    spelled = msgspec.Raw(b'{"id":"\\u0070g_8812"}')
    assert b"pg_8812" not in all_runs(plain_bytes(spelled))
    places = Places(0)
    build = TraceBuilder("t", places, "test")
    for payload in (msgspec.Raw(b'"pg_8812"'), spelled):
        build.step(StepKind.USER, Spot(places.add(line=1, offset=0, length=1)), payload=payload)
    assert Occurrences(build.finish(), ()).first[b"pg_8812"] == 0
