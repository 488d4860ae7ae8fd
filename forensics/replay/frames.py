"""What do an agent's ports and the side that holds the record say to each other? One request, one reply, as JSON.

Every message is a tagged struct, so that whatever else comes out of a child is a fault and not a value (msgspec checks
each field while it decodes). The child asks; the parent answers, and now and then tells the child to run a function
that stands in for a tool before it answers.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from forensics.core.jsonvalue import written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# what the child says -------------------------------------------------------------------------------------------------


class CallTool(msgspec.Struct, tag="call", frozen=True, omit_defaults=True):
    """A tool is called."""

    name: str
    arguments: Any
    call_id: str | None = None


class AskModel(msgspec.Struct, tag="ask", frozen=True, omit_defaults=True):
    """The model is asked. Of the messages the first `keep` are those of the last request in this lane, and `messages`
    stand behind them; None leaves it to the order of turns.
    """

    keep: int = 0
    messages: tuple[dict[str, Any], ...] | None = None
    tools: tuple[dict[str, Any], ...] | None = None
    settings: dict[str, Any] = {}
    lane: str | None = None


class Mint(msgspec.Struct, tag="mint", frozen=True):
    """A value of the run's own making: `what` is time, random or id."""

    what: str


class NextInput(msgspec.Struct, tag="next", frozen=True):
    """What did the user say next?"""


class Guard(msgspec.Struct, tag="guard", frozen=True):
    """May this pass the guardrails at that position (input, output, tool_call, tool_result)?"""

    position: str
    says: Any


class Ran(msgspec.Struct, tag="ran", frozen=True, omit_defaults=True):
    """What a function that stands in for a tool did: its value or, where it `failed`, what it said. `raised` is the
    name of the exception's class.
    """

    value: Any = None
    failed: bool = False
    raised: str = ""


class Finished(msgspec.Struct, tag="finished", frozen=True):
    """The agent has returned."""

    output: Any


class Broke(msgspec.Struct, tag="broke", frozen=True, omit_defaults=True):
    """The agent has raised: the name of the exception's class, what it said, and where in the user's own code it was
    raised last ("": nowhere there).
    """

    raised: str
    said: str
    at: str = ""


FromChild: TypeAlias = CallTool | AskModel | Mint | NextInput | Guard | Ran | Finished | Broke

# what the parent says ------------------------------------------------------------------------------------------------


class Given(msgspec.Struct, tag="given", frozen=True, omit_defaults=True):
    """The value that was asked for. Of a call that `failed` it is what the agent was given in place of a result;
    `shown` is the message by which the model was told of it, where that is another one.
    """

    value: Any = None
    failed: bool = False
    shown: Any = msgspec.UNSET


class Answered(msgspec.Struct, tag="answered", frozen=True, omit_defaults=True):
    """What the model says: a text, and the calls that it asks for (name, arguments, id)."""

    text: Any = None
    calls: tuple[tuple[str, Any, str | None], ...] = ()
    finish: str | None = None
    model: str | None = None
    usage: dict[str, int] = {}
    ignored: tuple[str, ...] = ()
    live: bool = False


class Run(msgspec.Struct, tag="run", frozen=True):
    """Run a function that stands in for a tool (`module:function`), and say what it did."""

    target: str
    arguments: Any


class Stop(msgspec.Struct, tag="stop", frozen=True):
    """The rerun has ended: nothing is answered from here on."""

    because: str


FromParent: TypeAlias = Given | Answered | Run | Stop


class Start(msgspec.Struct, frozen=True):
    """What the child begins with: its agent (`module:function`), or the blueprint that it runs; the input, and what the
    plan changes of an agent's own prompt and settings. `folders` are those of the user's code.
    """

    agent: str | None
    blueprint: Any
    input: Any
    prompt: str | None = None
    settings: dict[str, Any] = {}
    folders: tuple[str, ...] = ()


# The fast way; and one for what UTF-8 can't hold, which JSON escapes (lone surrogates out of a trace).
encode = written


def encode_exactly(message: FromChild) -> bytes:
    """A message of the child's. Raises ValueError for a number that JSON has not (NaN, an infinity): written as null it
    would ask for something else.
    """
    data = encode(message)
    if b"null" in data and not all(map(isfinite, floats(msgspec.to_builtins(message)))):
        raise ValueError("NaN and infinities are no JSON, and an agent's ports carry nothing else")
    return data


def floats(value: Any) -> Iterator[float]:
    """Every float in a value; iterative, so that nesting can't exhaust the stack."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, float):
            yield item
        elif isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, (list, tuple)):
            todo.extend(item)


def _decoder(kind: Any) -> Callable[[bytes], Any]:
    fast = msgspec.json.Decoder(kind).decode

    def decode(data: bytes) -> Any:
        try:
            return fast(data)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            return msgspec.convert(_read(data), kind)

    return decode


def _read(data: bytes) -> Any:
    try:
        return json.loads(data, parse_constant=_finite, parse_float=_finite)
    except ValueError as error:
        raise msgspec.DecodeError(str(error)) from None


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text[:40]} is no JSON number")
    return number


decode_from_child: Callable[[bytes], FromChild] = _decoder(FromChild)
decode_from_parent: Callable[[bytes], FromParent] = _decoder(FromParent)
decode_start: Callable[[bytes], Start] = _decoder(Start)
