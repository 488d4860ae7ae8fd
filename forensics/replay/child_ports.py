"""How does an agent in the cell reach its ports? Proxies over the one channel: each port asks, waits, and answers.

Nothing here knows the record: it stays with the parent. `run_agent` is what the cell calls.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from forensics.replay import frames
from forensics.replay.cell.raised_at import raised_at
from forensics.replay.leftovers import wait_for_threads
from forensics.replay.plain import NotPlainError, plain, text
from forensics.replay.ports import AskedCall, ModelAnswer, ReplayStopped, ToolFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from forensics.replay.ports import Agent, Message, Ports


class Wire(Protocol):
    """One end of a channel that carries whole messages."""

    def send(self, message: bytes) -> None:
        """Send one message."""

    def receive(self, timeout: float | None = None) -> bytes | None:
        """The next message; None where the other end is gone."""


class Line:
    """The child's end: one request, one reply, one asker at a time. Whatever the parent wants run in between is run
    here.

    A reply belongs to whoever asked. So other threads wait for their turn; what asks in the middle of a request (a
    handler of signals, a finalizer) is turned away, and after a request that was left before its reply came (by a
    handler that raises) nothing is answered: `lost` says why.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._turn = OneAtATime()
        self._over = False
        self.lost = ""

    def ask(self, request: frames.FromChild) -> frames.Given | frames.Answered:
        """The reply to a request. Raises ReplayStopped once the rerun has ended, and at every request after that."""
        data = frames.encode_exactly(request)
        with self._turn:
            if self._over:
                raise ReplayStopped(self.lost or "the rerun has ended")
            self._over, self.lost = True, "a request was left before its reply came: the rerun has ended"
            reply = self._answer(data)
            self.lost = ""
            if isinstance(reply, frames.Stop):
                raise ReplayStopped(reply.because)
            self._over = False
            return reply

    def _answer(self, data: bytes) -> frames.Given | frames.Answered | frames.Stop:
        self._wire.send(data)
        while isinstance(reply := self._next(), frames.Run):
            self.tell(ran(reply))
        return reply

    def tell(self, message: frames.FromChild) -> None:
        """Say something that is not answered."""
        self._wire.send(frames.encode_exactly(message))

    def _next(self) -> frames.FromParent:
        data = self._wire.receive()
        return frames.Stop("the parent is gone") if data is None else frames.decode_from_parent(data)

    def given(self, request: frames.FromChild) -> frames.Given:
        """The value that was asked for."""
        reply = self.ask(request)
        if not isinstance(reply, frames.Given):
            raise ReplayStopped("the parent answered something else")
        return reply


class OneAtATime:
    """Lets one thread in at a time, and no thread in twice. Raises ReplayStopped in one that is inside already."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._inside = False

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._inside:
            self._lock.release()
            raise ReplayStopped("a port was asked in the middle of a request, by a signal's handler or a finalizer")
        self._inside = True

    def __exit__(self, *_: object) -> None:
        self._inside = False
        self._lock.release()


def ran(order: frames.Run) -> frames.Ran:
    """What a function of the user's that stands in for a tool did. Its arguments are given by name, as the model names
    them. What it raises is the failure of the tool; a value that is no JSON fails too.
    """
    try:
        function = load(order.target)
        value = function(**order.arguments) if isinstance(order.arguments, dict) else function(order.arguments)
        return frames.Ran(plain(value))
    except Exception as error:  # noqa: BLE001 - whatever the user's function raises is how the tool ended
        said = error.said if isinstance(error, ToolFailure) else f"{type(error).__name__}: {error}"
        return frames.Ran(said, failed=True, raised=type(error).__name__)


def load(target: str) -> Callable[..., Any]:
    """The function that `module:function` names: one that the user handed in, never one that a trace names."""
    module, _, name = target.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    function: Callable[..., Any] = found
    return function


class ToolProxy:
    """The tools."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def call(self, name: str, arguments: Mapping[str, Any], call_id: str | None = None) -> Any:
        """As `ToolPort.call`."""
        given = self.outcome(name, arguments, call_id)
        if given.failed:
            raise ToolFailure(given.value)
        return given.value

    def outcome(self, name: str, arguments: Any, call_id: str | None = None) -> frames.Given:
        """The same with the message by which the model is told of it; a failure is no exception."""
        named = None if call_id is None else text(call_id, "the id of a call")
        return self._line.given(frames.CallTool(text(name, "the name of a tool"), plain(arguments), named))


class ModelProxy:
    """The model. Of a conversation that goes on only what is new is sent."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._turn = OneAtATime()
        self._sent: dict[str | None, list[bytes]] = {}

    def ask(
        self,
        messages: Sequence[Message] | None = None,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        settings: Mapping[str, Any] | None = None,
        lane: str | None = None,
    ) -> ModelAnswer:
        """As `ModelPort.ask`."""
        offered = None if tools is None else _plain_objects(tools, "a tool that is offered")
        lane = None if lane is None else text(lane, "a lane")
        with self._turn:  # what is new is told by what was sent before
            keep, new = (0, None) if messages is None else self._new(messages, lane)
            return self.send(frames.AskModel(keep, new, offered, plain(dict(settings or {})), lane))

    def send(self, request: frames.AskModel) -> ModelAnswer:
        """Send a request that already says what of it is new."""
        said = self._line.ask(request)
        if not isinstance(said, frames.Answered):
            raise ReplayStopped("the parent answered something else")
        calls = tuple(AskedCall(*call) for call in said.calls)
        return ModelAnswer(
            text=said.text,
            calls=calls,
            finish=said.finish,
            model=said.model,
            usage=said.usage,
            ignored=said.ignored,
            live=said.live,
        )

    def _new(self, messages: Sequence[Message], lane: str | None) -> tuple[int, tuple[dict[str, Any], ...]]:
        """How many messages the last request of the lane began with as well, and those behind them."""
        messages = _plain_objects(messages, "a message")
        written = [frames.encode(message) for message in messages]
        before = self._sent.get(lane, [])
        keep = next((n for n, pair in enumerate(zip(before, written, strict=False)) if pair[0] != pair[1]), None)
        keep = min(len(before), len(written)) if keep is None else keep
        self._sent[lane] = written
        return keep, messages[keep:]


def _plain_objects(values: Any, what: str) -> tuple[dict[str, Any], ...]:
    """Objects as JSON has them; mostly they are that already. Raises NotPlainError for what is none."""
    wrong = values if isinstance(values, str) else next((v for v in values if not isinstance(v, Mapping)), None)
    if wrong is not None:
        raise NotPlainError(f"{what} is an object, and a value of type {type(wrong).__name__} is none")
    objects = tuple(dict(value) for value in values)
    try:
        frames.encode(objects)
    except TypeError:
        return tuple(plain(value) for value in objects)
    return objects


class ClockProxy:
    """The clock."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def now(self) -> float:
        """As `ClockPort.now`."""
        return float(self._line.given(frames.Mint("time")).value)


class RandomProxy:
    """Chance."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def random(self) -> float:
        """As `RandomPort.random`."""
        return float(self._line.given(frames.Mint("random")).value)

    def new_id(self) -> str:
        """As `RandomPort.new_id`."""
        return str(self._line.given(frames.Mint("id")).value)


class ChildPorts:
    """The ports of an agent in the cell."""

    def __init__(self, line: Line, start: frames.Start) -> None:
        self.input = start.input
        self.prompt = start.prompt
        self.settings = start.settings
        self.line = line
        self.tools = ToolProxy(line)
        self.model = ModelProxy(line)
        self.clock = ClockProxy(line)
        self.random = RandomProxy(line)

    def next_input(self) -> Any:
        """As `Ports.next_input`."""
        return self.line.given(frames.NextInput()).value


def run_agent(wire: Wire, argument: bytes) -> None:
    """Run the agent that the argument names, or the blueprint in it, until its threads have ended too, and tell the
    parent how it ended.
    """
    start = frames.decode_start(argument)
    before = frozenset(threading.enumerate())

    def agent(ports: Ports) -> Any:
        output = agent_of(start)(ports)  # found inside, so that what an import raises is told as well
        wait_for_threads(before)
        return output

    run_function(wire, agent, start)


def run_function(wire: Wire, agent: Agent, start: frames.Start) -> None:
    """Call an agent with its ports, and tell the parent how it ended."""
    line = Line(wire)
    try:
        output = plain(agent(ChildPorts(line, start)))
        line.tell(frames.Broke("ReplayStopped", line.lost) if line.lost else frames.Finished(output))
    except ReplayStopped as stopped:
        line.tell(frames.Broke("ReplayStopped", str(stopped)))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the agent raises is how it ended
        line.tell(frames.Broke(type(error).__name__, str(error), raised_at(error, start.folders)))


def agent_of(start: frames.Start) -> Agent:
    """The agent that a start names, or the loop of the blueprint in it."""
    if start.agent is not None:
        return load(start.agent)
    from forensics.replay.blueprint_loop import Blueprint, run

    blueprint = msgspec.convert(start.blueprint, Blueprint)
    return lambda ports: run(blueprint, ports)
