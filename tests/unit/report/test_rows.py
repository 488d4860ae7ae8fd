"""A document whose rows are made when they are asked for says what the one says that holds them all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from forensics.api import Examination, examine
from forensics.report.jsonout import compact, json_bytes
from forensics.report.rows import Rows
from forensics.report.terminal import lines_of

if TYPE_CHECKING:
    from pathlib import Path


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


def test_rows_are_a_sequence_that_makes_each_when_it_is_asked_for() -> None:
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        return number * 10

    rows = Rows(5, make)
    assert len(rows) == 5
    assert made == []
    assert (rows[1], rows[-1], rows[2:4], list(rows)) == (10, 40, [20, 30], [0, 10, 20, 30, 40])
    assert made == [1, 4, 2, 3, 0, 1, 2, 3, 4]
    assert compact({"rows": rows, "none": Rows(0, str)}) == b'{"rows":[0,10,20,30,40],"none":[]}'
    with pytest.raises(IndexError):
        rows[5]
