"""As which JSON value is a value of an agent's code taken, and what is said of one that stands for none?"""

from __future__ import annotations

import datetime
import types
from collections import Counter, OrderedDict, UserDict, UserList, deque, namedtuple
from dataclasses import dataclass, field
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel

from forensics.replay import frames
from forensics.replay.child_ports import ChildPorts, Line, run_function
from forensics.replay.plain import NotPlainError, plain, text


class Words(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


class Count(int):
    pass


class Share(float):
    pass


class Level(Enum):
    HIGH = "high"


class Word(StrEnum):
    YES = "yes"


class Rank(IntEnum):
    FIRST = 1


class Answer(BaseModel):
    text: str
    at: datetime.date


class Kept(msgspec.Struct):
    said: Any


@dataclass
class Page:
    id: str
    tags: list[Any] = field(default_factory=list)


Pair = namedtuple("Pair", "left right")  # noqa: PYI024 - that an untyped one is taken is what is tested


@pytest.mark.parametrize(
    ("value", "json"),
    [
        (Words("hi"), "hi"),
        (Count(3), 3),
        (Share(0.5), 0.5),
        (True, True),
        (None, None),
        (Level.HIGH, "high"),
        (Word.YES, "yes"),
        (Rank.FIRST, 1),
        ((1, [Words("a")]), [1, ["a"]]),
        ({"b", "a", "c"}, ["a", "b", "c"]),
        (frozenset({2, 10}), [10, 2]),
        (deque([1]), [1]),
        (range(3), [0, 1, 2]),
        ({"a": 1}.keys(), ["a"]),
        ({"a": 1}.values(), [1]),
        (UserList([1]), [1]),
        (UserDict({"a": Words("b")}), {"a": "b"}),
        (OrderedDict(a=1), {"a": 1}),
        (Counter("aa"), {"a": 2}),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        ({Words("k"): 1, 2: 2, Word.YES: 3, 1.5: 4}, {"k": 1, "2": 2, "yes": 3, "1.5": 4}),
        (Pair(1, Words("b")), [1, "b"]),
        (Page("p", [Words("t"), deque([1])]), {"id": "p", "tags": ["t", [1]]}),
        (Kept(Words("s")), {"said": "s"}),
        (Answer(text="a", at=datetime.date(2026, 1, 2)), {"text": "a", "at": "2026-01-02"}),
        ([Answer(text="a", at=datetime.date(2026, 1, 2))], [{"text": "a", "at": "2026-01-02"}]),
        (Kept(Answer(text="a", at=datetime.date(2026, 1, 2))), {"said": {"text": "a", "at": "2026-01-02"}}),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (b"ab", "YWI="),
        (bytearray(b"ab"), "YWI="),
    ],
)
def test_a_value_is_taken_as_what_it_stands_for(value: object, json: object) -> None:
    found = plain(value)
    assert found == json
    assert type(found) is type(json)
    assert msgspec.json.decode(msgspec.json.encode(found)) == json


def _yields() -> Any:
    yield 1


async def _later() -> None:
    """Never awaited."""


def _cycle() -> list[Any]:
    held: list[Any] = []
    held.append(held)
    return held


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Path("x"), r"a value of type PosixPath is no JSON value; give None, a boolean"),
        ({"at": [Path("x")]}, r"a value of type PosixPath is no JSON value"),
        (Page("p", [Path("x")]), r"a value of type PosixPath is no JSON value"),
        (_yields(), r"a value of type generator is no JSON value; give a list of what it yields"),
        (print, r"a value of type builtin_function_or_method is no JSON value"),
        ({(1, 2): 3}, r"a value of type tuple is no key of an object"),
        ({None: 3}, r"a value of type NoneType is no key of an object"),
        ({1: "a", "1": "b"}, r"two keys of an object are the same text"),
        (_cycle(), r"a value holds itself, or is nested too deeply"),
    ],
)
def test_what_stands_for_none_is_named(value: object, said: str) -> None:
    with pytest.raises(NotPlainError, match=said):
        plain(value)


def test_a_coroutine_says_how_to_run_it() -> None:
    later = _later()
    with pytest.raises(NotPlainError, match=r"asyncio\.run"):
        plain(later)
    later.close()


def test_a_text_is_asked_for_by_name() -> None:
    assert type(text(Words("t"), "the name of a tool")) is str
    with pytest.raises(NotPlainError, match="the name of a tool is a text, and a value of type NoneType is none"):
        text(None, "the name of a tool")


# through the ports ---------------------------------------------------------------------------------------------------


class Asked:
    """A parent that keeps what it was asked, and answers each request with nothing."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def send(self, message: bytes) -> None:
        self.said.append(frames.decode_from_child(message))

    def receive(self, timeout: float | None = None) -> bytes | None:
        asked = isinstance(self.said[-1], frames.AskModel)
        return frames.encode(frames.Answered() if asked else frames.Given())


def test_what_an_agent_asks_goes_out_as_plain_json() -> None:
    wire = Asked()
    ports = ChildPorts(Line(wire), frames.Start(None, None, None))
    offered: Any = ({"name": Words("q")},)
    messages: Any = [UserDict({"role": Words("user"), "content": [Words("x"), Answer(text="a", at=datetime.date.min)]})]
    ports.tools.call(Words("q"), {"at": Words("x")}, call_id=Words("c1"))
    ports.model.ask(messages, tools=offered, settings={"top": Count(1)}, lane=Words("main"))
    said = [{"text": "a", "at": "0001-01-01"}]
    assert wire.said == [
        frames.CallTool("q", {"at": "x"}, "c1"),
        frames.AskModel(0, ({"role": "user", "content": ["x", *said]},), ({"name": "q"},), {"top": 1}, "main"),
    ]


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (
            lambda ports: ports.tools.call(None, {}),
            "the name of a tool is a text, and a value of type NoneType is none",
        ),
        (lambda ports: ports.tools.call("q", {}, call_id=7), "the id of a call is a text"),
        (lambda ports: ports.tools.call("q", Path("x")), "a value of type PosixPath is no JSON value"),
        (lambda ports: ports.model.ask("hello"), "a message is an object, and a value of type str is none"),
        (lambda ports: ports.model.ask(["hello"]), "a message is an object, and a value of type str is none"),
        (lambda ports: ports.model.ask(tools=[print]), "a tool that is offered is an object"),
        (lambda ports: ports.model.ask([{"content": Path("x")}]), "a value of type PosixPath is no JSON value"),
        (lambda ports: ports.model.ask(lane=3), "a lane is a text"),
        (lambda _: Path("x"), "a value of type PosixPath is no JSON value"),
    ],
)
def test_an_agent_is_told_what_it_handed_in(agent: Any, said: str) -> None:
    wire = Asked()
    run_function(wire, agent, frames.Start(None, None, None))
    (broke,) = wire.said
    assert broke.raised == "NotPlainError"
    assert broke.said.startswith(said)


def test_an_agent_that_exits_broke_off() -> None:
    wire = Asked()

    def agent(_: Any) -> None:
        raise SystemExit(3)

    run_function(wire, agent, frames.Start(None, None, None))
    assert wire.said == [frames.Broke("SystemExit", "3")]
