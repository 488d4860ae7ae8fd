"""Which recorded texts are values, and which only name the object that held one?"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from forensics.core.jsonvalue import raw
from forensics.core.trace import Absence
from forensics.core.unsaid import may_name_an_object, object_named

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


class Rows:
    """An object without a spelling of its own."""


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
        ("", None),
    ],
)
def test_only_a_whole_text_that_names_an_object_is_none(text: str, told: Absence | None) -> None:
    assert object_named(raw(text)) is told


def test_a_value_that_holds_such_a_text_is_a_value() -> None:
    for value in (["[object Object]"], {"a": "<x object at 0x7f001122>"}, 1, None):
        assert object_named(raw(value)) is None


def test_what_may_name_an_object_is_told_of_many_at_once() -> None:
    assert not may_name_an_object([b'"meet at 0x12"', b"1", b""])
    assert may_name_an_object([b"1", bytes(raw("<x object at 0x7f001122>"))])
