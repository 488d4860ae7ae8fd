"""Does each request of an agent get its own reply, whoever asks, whenever, and whatever happens while it waits?"""

from __future__ import annotations

import inspect
import re
import threading
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from forensics.replay import frames
from forensics.replay.child_ports import ChildPorts, Line, ModelProxy, ToolProxy, run_function
from forensics.replay.ports import ModelPort, ReplayStopped, ToolPort

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "replay.md"


class Echo:
    """A parent that gives each call its own name back. `waits` is called before a reply is handed over."""

    def __init__(self) -> None:
        self.said: list[Any] = []
        self.waits: Callable[[], None] = lambda: None
        self._replies: deque[bytes] = deque()

    def send(self, message: bytes) -> None:
        said = frames.decode_from_child(message)
        self.said.append(said)
        if isinstance(said, frames.CallTool):
            self._replies.append(frames.encode(frames.Given(said.name)))
        elif isinstance(said, frames.AskModel):
            self._replies.append(frames.encode(frames.Answered(len(said.messages or ()))))

    def receive(self, timeout: float | None = None) -> bytes | None:
        self.waits()
        return self._replies.popleft()


@pytest.fixture
def wire() -> Echo:
    return Echo()


@pytest.fixture
def ports(wire: Echo) -> ChildPorts:
    return ChildPorts(Line(wire), frames.Start(None, None, None))


def test_two_threads_each_get_their_own_answer(wire: Echo, ports: ChildPorts) -> None:
    """The first one waits for its reply until the second one has had every chance to take it."""
    waiting, second = threading.Event(), threading.Event()
    got: dict[str, Any] = {}

    def wait() -> None:
        if threading.current_thread().name == "first":
            waiting.set()
            second.wait(0.2)  # never set while the first one waits: that is what is tested

    def call(name: str) -> None:
        got[name] = ports.tools.call(name, {})
        if name == "second":
            second.set()

    wire.waits = wait
    threads = [threading.Thread(target=call, args=(name,), name=name) for name in ("first", "second")]
    threads[0].start()
    assert waiting.wait(30)
    threads[1].start()
    for thread in threads:
        thread.join(30)
    assert got == {"first": "first", "second": "second"}


def test_what_asks_in_the_middle_of_a_request_is_turned_away(wire: Echo, ports: ChildPorts) -> None:
    """As a handler of signals does, in the thread that waits. It takes nobody's reply, and the rerun has ended."""
    wire.waits = lambda: ports.tools.call("handler", {})
    with pytest.raises(ReplayStopped, match="in the middle of a request"):
        ports.tools.call("main", {})
    wire.waits = lambda: None
    with pytest.raises(ReplayStopped, match="left before its reply came"):
        ports.tools.call("next", {})
    assert [said.name for said in wire.said] == ["main"]


def test_after_a_request_that_was_left_nothing_is_answered(wire: Echo, ports: ChildPorts) -> None:
    """As by a handler that raises when a time is over: the reply that still comes is nobody's."""
    wire.waits = _too_late
    with pytest.raises(TimeoutError):
        ports.tools.call("slow", {})
    wire.waits = lambda: None
    with pytest.raises(ReplayStopped):
        ports.tools.call("other", {})
    with pytest.raises(ReplayStopped):
        ports.model.ask()


def _too_late() -> None:
    raise TimeoutError


def test_an_agent_that_catches_that_has_not_finished(wire: Echo) -> None:
    def agent(ports: Any) -> str:
        wire.waits = _too_late
        try:
            ports.tools.call("slow", {})
        except TimeoutError:
            return "all is well"
        return "not reached"

    run_function(wire, agent, frames.Start(None, None, None))
    assert [type(said) for said in wire.said] == [frames.CallTool, frames.Broke]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_has_not_is_no_null(number: float, wire: Echo, ports: ChildPorts) -> None:
    with pytest.raises(ValueError, match="NaN"):
        ports.tools.call("pay", {"amount": [None, {"of": number}]})
    assert wire.said == []
    assert ports.tools.call("pay", {"amount": None, "of": 1.5}) == "pay"


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e400"])
def test_the_parent_takes_no_such_number_either(number: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        frames.decode_from_child(b'{"type": "call", "name": "pay", "arguments": {"amount": ' + number + b"}}")


def test_messages_of_one_conversation_keep_their_order_in_threads(wire: Echo, ports: ChildPorts) -> None:
    """What is new of a conversation is told by what was sent before, so that two threads must not mix that up."""
    said = [{"role": "user", "content": str(number)} for number in range(40)]
    ended: list[Any] = []

    def ask(lane: str) -> None:
        ended.extend(ports.model.ask(said[: number + 1], lane=lane).text for number in range(40))

    threads = [threading.Thread(target=ask, args=(lane,)) for lane in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert ended == [1] * 80
    assert [one.keep for one in wire.said if one.lane == "a"] == list(range(40))


def _signature(function: Callable[..., Any]) -> str:
    """The parameters as they are called, without `self` and types."""
    own = list(inspect.signature(function).parameters.values())[1:]
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in own]
    return str(inspect.Signature(bare)).replace(", /", "")


@pytest.mark.parametrize(
    ("port", "functions"),
    [("tools.call", (ToolProxy.call, ToolPort.call)), ("model.ask", (ModelProxy.ask, ModelPort.ask))],
)
def test_a_port_is_called_as_its_page_says(port: str, functions: tuple[Callable[..., Any], ...]) -> None:
    told = re.findall(rf"`ports\.{re.escape(port)}(\([^)]*\))`", PAGE.read_text(encoding="utf-8"))
    assert told == [_signature(functions[0])]
    assert [_signature(one) for one in functions] == told * 2


def test_a_call_takes_what_its_model_asked_for_in_that_order() -> None:
    wire = Echo()
    ChildPorts(Line(wire), frames.Start(None, None, None)).tools.call("check", {"host": "db-3"}, "c1")
    assert wire.said == [frames.CallTool("check", {"host": "db-3"}, "c1")]
