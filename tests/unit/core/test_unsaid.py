"""Which recorded texts are values, and which only name the object that held one?"""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import MagicMock, Mock

import pytest

from forensics.core.jsonvalue import raw
from forensics.core.trace import Absence
from forensics.core.unsaid import may_name_an_object, object_named

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


class Rows:
    """An object without a spelling of its own."""

    def rows(self) -> None:
        """A method."""

    @classmethod
    def all(cls) -> None:
        """A method of the class."""


def stream() -> Iterator[int]:
    yield 1


async def later() -> AsyncIterator[int]:
    yield 1


STREAMED: tuple[object, ...] = (
    stream(),
    later(),
    (one for one in "a"),
    iter([1]),
    map(str, "a"),
    zip("a", strict=True),
)


@pytest.mark.parametrize("held", STREAMED, ids=lambda held: type(held).__name__)
def test_a_stream_is_named_as_one(held: object) -> None:
    assert object_named(raw(str(held))) is Absence.STREAMED


@pytest.mark.parametrize("held", [Rows(), object(), asyncio.sleep, lambda: 0, asyncio.Lock()])
def test_an_object_without_a_spelling_is_named(held: object) -> None:
    assert object_named(raw(str(held))) is Absence.NOT_CAPTURED


@pytest.mark.parametrize("held", [Rows, 1.5, {"a": {1}}, len, ValueError("<x at 0x7f00>!")])
def test_what_spells_its_value_is_none(held: object) -> None:
    assert object_named(raw(str(held))) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[object Object]", Absence.NOT_CAPTURED),
        ("[object AsyncGenerator]", Absence.STREAMED),
        ("[object ReadableStream]", Absence.STREAMED),
        ("<a.b.Stream object at 0xABCDEF12>", Absence.STREAMED),
        ("<div>meet at 0x1234</div>", None),
        ("the object at 0x7f00 leaks", None),
        ("<x at 0x7f00> and <y at 0x7f01>", None),
        ("<" + "a" * 400 + " at 0x7f00>", None),
        ("[object of the exercise]", None),
        ("[" + "<Task pending>, " * 200 + "<Task pending>, 1]", None),
        ("[" + "<x at 0x7f00>, " * 200 + "1]", None),
        ("<" * 3000 + " at 0x7f00>", None),
        ("Promise { <pending> }", Absence.NOT_CAPTURED),
        ("Promise { 42 }", None),
        ("[Function: fetchRows]", Absence.NOT_CAPTURED),
        ("[AsyncFunction (anonymous)]", Absence.NOT_CAPTURED),
        ("[Function: see below]", None),
        ("Object [AsyncGenerator] {}", Absence.STREAMED),
        ("<Future finished result=3>", None),
        ("<Future at 0x7f001122 state=finished returned int>", Absence.NOT_CAPTURED),
        ("<Task pending", None),
        ("<bound method NDFrame.head of    a  b\n0  1  2>", None),
        ("<bound method Tool.all of <class 'tools.Tool'>>", Absence.NOT_CAPTURED),
        ("[<Row object at 0x7f001122>, 3]", None),
        ("[see <Row object at 0x7f001122>]", None),
        ("", None),
    ],
)
def test_only_a_whole_text_that_names_an_object_is_none(text: str, told: Absence | None) -> None:
    assert object_named(raw(text)) is told


def test_a_method_or_a_mock_is_named() -> None:
    pending = asyncio.new_event_loop()
    try:
        future = pending.create_future()
        held = (
            Rows().rows,
            Rows.all,
            MagicMock(),
            MagicMock().fetch(),
            Mock(spec=Rows, name="a.b"),
            future,
            Future[int](),
            threading.Event(),
            threading.RLock(),
        )
        told = [object_named(raw(str(one))) for one in held]
    finally:
        pending.close()
    assert told == [Absence.NOT_CAPTURED] * len(held)


def test_a_task_is_named() -> None:
    async def told() -> tuple[Absence | None, Absence | None]:
        task = asyncio.ensure_future(asyncio.sleep(9))
        waiting = object_named(raw(str(task)))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return waiting, object_named(raw(str(task)))

    assert asyncio.run(told()) == (Absence.NOT_CAPTURED, Absence.NOT_CAPTURED)


def test_a_file_is_a_stream() -> None:
    with Path(os.devnull).open() as text, Path(os.devnull).open("rb") as data:
        assert [object_named(raw(str(one))) for one in (text, data)] == [Absence.STREAMED] * 2


@pytest.mark.parametrize(
    "held", [[Rows(), Rows()], (Rows(),), {"a": Rows(), "b": Rows().rows}, {1: Rows()}, [stream(), Rows()]]
)
def test_what_holds_only_such_says_no_more(held: object) -> None:
    assert object_named(raw(str(held))) is (Absence.STREAMED if "generator" in str(held) else Absence.NOT_CAPTURED)


@pytest.mark.parametrize(
    "value",
    [
        ["[object Object]"],
        {"a": "<x object at 0x7f001122>"},
        {"out": ["<x object at 0x7f001122>"], "error": None},
        '{"out": "<x object at 0x7f001122>"}',
        [{"type": "text", "text": "<x object at 0x7f001122>"}],
    ],
)
def test_a_container_of_such_texts_alone_holds_no_value(value: object) -> None:
    assert object_named(raw(value)) is Absence.NOT_CAPTURED


@pytest.mark.parametrize(
    "value",
    [
        1, None, [], {}, [[]], {"a": "<x object at 0x7f001122>", "ok": True}, ["<x object at 0x7f001122>", "b"],
        {"a": "<x object at 0x7f001122>", "b": []}, [Rows(), 1], [{"type": "text", "text": "1 [object Object]"}],
    ],
)  # fmt: skip
def test_what_holds_anything_else_is_a_value(value: object) -> None:
    held = raw(str(value)) if "Rows" in str(value) else raw(value)
    assert object_named(held) is None


def test_what_may_name_an_object_is_told_of_many_at_once() -> None:
    assert not may_name_an_object([b'"meet me"', b"1", b"", b'{"status": "pending"}'])
    assert may_name_an_object([b"1", bytes(raw("<x object at 0x7f001122>"))])
    assert may_name_an_object([b"1", rb'"\u003cx object at 0x7f001122\u003e"'])
