"""A document whose rows are made when they are asked for says what the one says that holds them all."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING

import pytest

from forensics.api import Examination, examine
from forensics.report.handle_rows import HandleRows
from forensics.report.jsonout import compact, json_bytes
from forensics.report.rows import Rows, field_at, fields, picked
from forensics.report.terminal import lines_of

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.report.documents import HandleRow


@pytest.fixture
def examination(tmp_path: Path) -> Examination:
    """Eighty payments, some of them twice, each with an id that the next one names; two traces."""
    lines: list[str] = []
    for number in range(80):
        args = {"to": f"acct_{number % 70:04}", "after": f"pay_{7919 * (number - 1) + 10007}"}
        result = {"id": f"pay_{7919 * number + 10007}", "note": "\u202e \x7f 💸"}
        told = (
            {"type": "tool_call", "id": f"c{number}", "name": "send_payment", "args": args},
            {"type": "tool_result", "call_id": f"c{number}", "result": result},
        )
        lines += [json.dumps({"trace": f"t{number % 2}", **one}) for one in told]
    path = tmp_path / "payments.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return examine(path)


def test_the_bytes_are_the_same(examination: Examination) -> None:
    assert json_bytes(examination.audit(at_once=False)) == json_bytes(examination.audit())


@pytest.mark.parametrize("detail", [-1, 0, 1])
def test_the_text_is_the_same(examination: Examination, detail: int) -> None:
    lazily, at_once = (examination.audit(at_once=at_once) for at_once in (False, True))
    assert lines_of(lazily, detail=detail) == lines_of(at_once, detail=detail)


def test_what_a_terminal_may_act_on_is_an_escape_that_reads_alike() -> None:
    acts = [*range(0x7F, 0xA0), 0xAD, 0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x2028, 0x202F)]
    acts += [*range(0x2060, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFC), 0xE0000, 0xE0041, 0xE0FFF]
    text = "".join(map(chr, acts))
    assert compact(text).isascii()
    assert json.loads(compact(text)) == text
    others = "é\u0300\u061b\u061d\u180d\u200a\u2010\u2027\u202f\u205f\u2070\ufefe\ufff8\ufffc\U0001f4b8\U000e1000"
    assert compact(others) == b'"' + others.encode() + b'"'


def test_rows_are_a_sequence_that_makes_those_that_are_asked_for() -> None:
    made: list[range] = []

    def make(numbers: range) -> list[int]:
        made.append(numbers)
        return [number * 10 for number in numbers]

    rows = Rows(5, make)
    assert len(rows) == 5
    assert made == []
    assert (rows[1], rows[-1], rows[2:4], list(rows)) == (10, 40, [20, 30], [0, 10, 20, 30, 40])
    assert made == [range(1, 2), range(4, 5), range(2, 4), range(5)]
    assert (rows[::-2], rows[3:1], rows[9:]) == ([40, 20, 0], [], [])
    none: Rows[int] = Rows(0, make)
    assert compact({"rows": rows, "none": none}) == b'{"rows":[0,10,20,30,40],"none":[]}'
    with pytest.raises(IndexError):
        rows[5]


@pytest.mark.parametrize("count", [255, 256, 257, 1500])
def test_many_rows_are_made_block_by_block(count: int) -> None:
    made: list[range] = []

    def make(numbers: range) -> list[int]:
        made.append(numbers)
        return list(numbers)

    assert compact(Rows(count, make)) == compact(list(range(count)))
    assert max(map(len, made)) <= 256
    assert [number for some in made for number in some] == list(range(count))


def test_fields_and_picked_rows_are_those_of_all_rows(examination: Examination) -> None:
    names = ("step", "tool", "arguments", "effect", "result_step", "minted", "decision", "class_", "id", "at")
    lazily, at_once = (examination.audit(at_once=at_once).traces for at_once in (False, True))
    for trace, whole in zip(lazily, at_once, strict=True):
        for name in names:
            assert list(fields(trace.calls, name)) == list(fields(whole.calls, name))
        assert list(fields(trace.calls, *names)) == list(fields(whole.calls, *names))
        for at, name in product((0, 39), names):
            assert field_at(trace.calls, at, name) == field_at(whole.calls, at, name) == getattr(whole.calls[at], name)
        for places in ([], [0], [0, 1, 39], list(range(len(whole.calls)))):
            assert picked(trace.calls, places) == picked(whole.calls, places) == [whole.calls[at] for at in places]


def test_only_blocks_of_which_a_row_is_picked_are_made() -> None:
    made: list[range] = []

    def make(numbers: range) -> list[int]:
        made.append(numbers)
        return list(numbers)

    assert picked(Rows(1_000, make), [3, 255, 600]) == [3, 255, 600]
    assert made == [range(256), range(512, 768)]


def test_rows_of_one_block_are_as_each_by_itself(examination: Examination) -> None:
    for trace in examination.audit(at_once=False).traces:
        assert [trace.calls[at] for at in range(len(trace.calls))] == list(trace.calls)
        assert [trace.handles[at] for at in range(len(trace.handles))] == list(trace.handles)


def test_a_call_that_ran_again_stands_beside_those_that_were_asked_for(examination: Examination) -> None:
    calls = examination.analyses[0].trace.calls
    again = calls[1].occurrence
    calls[1].again_of = 0
    row = examination.audit(at_once=False).traces[0]
    assert [call.occurrence for call in row.executed_again] == [again]
    left = [call.occurrence for call in calls if call.occurrence != again]
    assert [call.occurrence for call in row.calls] == left
    assert [row.calls[at].occurrence for at in range(len(row.calls))] == left


def test_of_a_thousand_values_of_one_result_the_text_makes_the_few_that_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = [
        {"type": "tool_call", "id": "c", "name": "create_orders", "args": {}},
        {"type": "tool_result", "call_id": "c", "result": {"ids": [f"ord_{7919 * n:07}" for n in range(1000)]}},
    ]
    path = tmp_path / "orders.jsonl"
    path.write_text("\n".join(map(json.dumps, told)), "utf-8")
    document = examine(path).audit(at_once=False)
    made: list[range] = []
    make = HandleRows.of

    def of(rows: HandleRows, places: range) -> list[HandleRow]:
        made.append(places)
        return make(rows, places)

    monkeypatch.setattr(HandleRows, "of", of)
    assert any("ord_0000000" in span.text for line in lines_of(document) for span in line)
    assert sum(map(len, made)) < 200
