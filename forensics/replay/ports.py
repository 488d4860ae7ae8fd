"""Through what does an agent reach the world in a rerun? Ports: tools, a model, a clock and random values, and no more.

An agent is any callable `agent(ports) -> output`, the output being a JSON value. Whatever it needs it asks of its
ports, so that a rerun can answer from the record:

    def agent(ports):
        metrics = ports.tools.call("query_metrics", {"service": "checkout"})
        if metrics["error_rate"] > 0.05:
            page = ports.tools.call("pager.trigger", {"service": "checkout", "severity": "sev1"})
            return f"Paged on-call: {page['id']}."
        return "All is well."

The ports are protocols (hexagonal architecture: the agent is the inside, a rerun is one outside among others); a test
or a production run may bring its own. `Answerer` is the other end of the model port, on the side that holds the record
and, where a live model is asked, its endpoint and credentials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

JSON: TypeAlias = Any
"""A JSON value: None, a boolean, a number, a text, a list, or an object with texts for keys."""

Message: TypeAlias = Mapping[str, Any]
"""One message of a prompt as chat APIs have it: `role` (system, user, assistant, tool), `content`, and where it applies
`tool_calls` (each `{"id", "name", "arguments"}`, the form that `AskedCall` has too) or `tool_call_id`."""


class ToolFailure(Exception):  # noqa: N818 - what the recorded tool did; the agent's own code may well catch it
    """The recorded call failed. `said` is what the agent was given in its place, mostly a text."""

    def __init__(self, said: JSON) -> None:
        super().__init__(said if isinstance(said, str) else repr(said))
        self.said = said


class ReplayStopped(BaseException):
    """The rerun has ended: nothing recorded answers what was asked, and no later request is answered either. No
    `except Exception` of an agent swallows it.
    """


class AskedCall(msgspec.Struct, frozen=True):
    """A call that a model asks for. `id` is the one under which its result is shown to the model."""

    name: str
    arguments: JSON
    id: str | None = None


class ModelAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a model says in one turn: a text (None: it only calls tools), and calls in the order in which it asks.

    `usage` counts tokens (`input_tokens`, `output_tokens`), `ignored` names what was asked of the provider and not
    granted (a seed, a temperature), `model` is the model that answered, and `live` says that a model was really asked.
    """

    text: JSON = None
    calls: tuple[AskedCall, ...] = ()
    finish: str | None = None
    model: str | None = None
    usage: dict[str, int] = {}
    ignored: tuple[str, ...] = ()
    live: bool = False


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent asks its model: the messages, the tools that are offered (name, description and JSON Schema of
    each) and the settings (model, temperature, …). Messages that are None leave it to the order in which turns are
    asked for; `new` is the number of the first one that the lane's last request did not have. `lane` is the agent that
    asks where a run has several.
    """

    messages: Sequence[dict[str, Any]] | None = None
    new: int = 0
    tools: tuple[dict[str, Any], ...] | None = None
    settings: dict[str, Any] = {}
    lane: str | None = None


class ToolPort(Protocol):
    """The tools of a run."""

    def call(self, name: str, arguments: Mapping[str, JSON], call_id: str | None = None) -> JSON:
        """The recorded result of the recorded call that is equal to this one. `call_id` only chooses between equals.

        Raises ToolFailure where the recorded call failed or was denied, and ReplayStopped where no recording answers.
        """


class ModelPort(Protocol):
    """The model of a run."""

    def ask(
        self,
        messages: Sequence[Message] | None = None,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        settings: Mapping[str, Any] | None = None,
        lane: str | None = None,
    ) -> ModelAnswer:
        """The next answer of the model. Raises ReplayStopped where there is none to give."""


class ClockPort(Protocol):
    """The time of a run."""

    def now(self) -> float:
        """Seconds since the epoch, as the plan has them: never the time of the rerun."""


class RandomPort(Protocol):
    """What a run draws by chance."""

    def random(self) -> float:
        """A number from 0 up to 1."""

    def new_id(self) -> str:
        """A new identifier: those that the record holds first, in their order, and then made ones."""


class Ports(Protocol):
    """All that an agent of a rerun is given. `input` is what the recorded run was given first."""

    @property
    def input(self) -> JSON:
        """The input of the run."""

    @property
    def prompt(self) -> str | None:
        """The system prompt that the plan gives in place of the agent's own; None where it changes nothing."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the model that the plan gives in place of the agent's own."""

    @property
    def tools(self) -> ToolPort:
        """Its tools."""

    @property
    def model(self) -> ModelPort:
        """Its model."""

    @property
    def clock(self) -> ClockPort:
        """Its clock."""

    @property
    def random(self) -> RandomPort:
        """Its source of chance."""

    def next_input(self) -> JSON:
        """What the user said next in the recorded run; None where nothing more was said."""


Agent: TypeAlias = Callable[[Ports], JSON]


class Answerer(Protocol):
    """What answers the model port, on the side that holds the record: recorded answers, or a model that is asked."""

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """The answer to one request. Raises ReplayFault (errors) where none can be given: the rerun then stops."""
