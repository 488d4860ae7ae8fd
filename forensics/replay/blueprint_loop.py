"""What does an agent that is rebuilt from a trace do? The loop that every tool-calling agent is: ask the model, make
the calls that it asks for, show it what they returned, until it asks for none.

What the run was shown beside that (inputs, memories) stands in the blueprint, turn by turn; the agent's own code does
not exist here, and nothing of it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.pointers import pointer_tokens
from forensics.replay import frames

if TYPE_CHECKING:
    from forensics.replay.child_ports import ChildPorts
    from forensics.replay.ports import AskedCall, Ports


class Before(msgspec.Struct, frozen=True, omit_defaults=True):
    """What stands before one turn of a model beside the results of the calls that it asked for: messages that it was
    shown, and boundary calls that the agent made by itself (memory, retrievers).
    """

    messages: tuple[dict[str, Any], ...] = ()
    calls: tuple[tuple[str, Any, str | None], ...] = ()

    @property
    def says(self) -> bool:
        """Whether somebody said something to the agent."""
        return any(message.get("role") == "user" for message in self.messages)


class Fork(msgspec.Struct, frozen=True):
    """Changes that count from a turn on: texts by the role of the message that they stand in for, the settings of the
    model, and values of the state (the messages that the model has been shown by then) by JSON Pointer.
    """

    turn: int
    texts: tuple[tuple[str, Any], ...]
    settings: dict[str, Any]
    state: dict[str, Any] = {}


class Blueprint(msgspec.Struct, frozen=True, kw_only=True):
    """An agent as its trace tells it. `before` has an entry for each recorded turn and one for what came after the
    last; `settings` and `tools` are those of its model, `guarded` the positions at which guardrails stand, and `most`
    is the number of turns that it may take for one input. `free` says that the model is really asked, so that the turns
    of the record need not be those of the rerun. An agent that `ends_with_calls` may answer with the last result.
    Calls that ended the recorded run are not made, they end this one too: those of `ends_at` (turn, from 1, and index
    in the turn), and where the model is free those of tools that did nothing else (`ends_by`).
    """

    agent: str
    before: tuple[Before, ...]
    settings: dict[str, Any] = {}
    tools: tuple[dict[str, Any], ...] | None = None
    guarded: frozenset[str] = frozenset()
    most: int | None = None
    free: bool = False
    ends_with_calls: bool = False
    ends_at: frozenset[tuple[int, int]] = frozenset()
    ends_by: frozenset[str] = frozenset()
    answers_with_result: bool = False
    fork: Fork | None = None


class TurnLimitReached(Exception):  # noqa: N818 - how the agent ended, as its configuration says
    """The agent took as many turns as its configuration allows."""


class NoSuchState(Exception):  # noqa: N818 - as above
    """The state of the agent has nothing at a pointer that the plan changes."""


class GuardrailBlocked(Exception):  # noqa: N818 - as above
    """A guardrail did not let something pass."""


def run(blueprint: Blueprint, ports: Ports) -> Any:
    """Run the agent to its end; returns what it said last."""
    return _Loop(blueprint, ports).run()


class _Loop:
    def __init__(self, blueprint: Blueprint, ports: Any) -> None:
        self.blueprint = blueprint
        self.ports: ChildPorts = ports
        self.turn = 0
        self.sent = 0
        self.messages: list[dict[str, Any]] = []
        self.settings = blueprint.settings

    def run(self) -> Any:
        said = None
        while self._goes_on():
            said = self._until_it_is_done()
        self._prepare()
        return said

    def _goes_on(self) -> bool:
        """Whether more is to be said after the model has asked for nothing: what the record says, and where the model
        is free only what a person said.
        """
        left = self.blueprint.before[self.turn : -1]
        return any(one.says for one in left) if self.turn and self.blueprint.free else bool(left) or not self.turn

    def _until_it_is_done(self) -> Any:
        taken = 0
        while True:
            if self.blueprint.free and self.blueprint.most is not None and taken >= self.blueprint.most:
                raise TurnLimitReached(f"{taken} turns")
            self._prepare()
            answer = self._ask()
            taken += 1
            given = [self._call(call) for at, call in enumerate(answer.calls) if not self._ends(at, call)]
            if not answer.calls or len(given) < len(answer.calls):
                self._guard("output", answer.text)
                return answer.text
            if self.blueprint.ends_with_calls and self.turn == len(self.blueprint.before) - 1:
                return given[-1] if self.blueprint.answers_with_result else None

    def _ends(self, at: int, call: AskedCall) -> bool:
        """Whether a call of this turn is the end of the run: nobody answers it."""
        blueprint = self.blueprint
        return call.name in blueprint.ends_by if blueprint.free else (self.turn, at) in blueprint.ends_at

    def _prepare(self) -> None:
        """What stands before the next turn."""
        if self.turn < len(self.blueprint.before):
            before = self.blueprint.before[self.turn]
            for name, arguments, call_id in before.calls:
                self.ports.tools.outcome(name, arguments, call_id)
            self.messages.extend(before.messages)
            for message in before.messages:
                if message.get("role") == "user":
                    self._guard("input", message.get("content"))

    def _fork(self) -> None:
        """Where the plan leaves the record, the model is shown the history with the changes, whole."""
        fork = self.blueprint.fork
        if fork is None or self.turn != fork.turn:
            return
        for role, text in fork.texts:
            put(self.messages, role, text)
        for pointer, value in fork.state.items():
            set_at({"messages": self.messages}, pointer, value)
        if fork.texts or fork.state or fork.settings != self.settings:
            self.settings, self.sent = fork.settings, 0

    def _ask(self) -> Any:
        self._fork()
        self.turn += 1
        keep, new = self.sent, tuple(self.messages[self.sent :])
        self.sent = len(self.messages)
        blueprint = self.blueprint
        asked = frames.AskModel(keep, new, blueprint.tools, self.settings, blueprint.agent or None)
        answer = self.ports.model.send(asked)
        calls = [{"id": one.id, "name": one.name, "arguments": one.arguments} for one in answer.calls]
        self.messages.append({"role": "assistant", "content": answer.text, **({"tool_calls": calls} if calls else {})})
        return answer

    def _call(self, call: AskedCall) -> Any:
        """Make a call, and tell the model what came of it."""
        self._guard("tool_call", call.arguments)
        given = self.ports.tools.outcome(call.name, call.arguments, call.id)
        self._guard("tool_result", given.value)
        shown = given.value if given.shown is msgspec.UNSET else given.shown
        told = {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": shown}
        self.messages.append({**told, "failed": True} if given.failed else told)
        return given.value

    def _guard(self, position: str, said: Any) -> None:
        """Raises GuardrailBlocked where a guardrail lets it not pass."""
        if position in self.blueprint.guarded:
            told = self.ports.line.given(frames.Guard(position, said))
            if told.failed:
                raise GuardrailBlocked(str(told.value))


def put(messages: list[dict[str, Any]], role: str, content: Any) -> None:
    """Put another text in place of the first system message, or of the last thing that the user said."""
    places = [n for n, one in enumerate(messages) if one.get("role") == role]
    if places:
        messages[places[-1 if role == "user" else 0]] = {"role": role, "content": content}
    else:
        messages.insert(0 if role == "system" else len(messages), {"role": role, "content": content})


def set_at(value: Any, pointer: str, new: Any) -> None:
    """Put another value at a JSON Pointer, in place. Raises NoSuchState where nothing stands there."""
    try:
        *way, last = pointer_tokens(pointer) or ("",)
        for token in way:
            value = value[int(token)] if isinstance(value, list) else value[token]
        place: Any = int(last) if isinstance(value, list) else last
        value[place]
        value[place] = new
    except (LookupError, TypeError, ValueError):
        raise NoSuchState(f"nothing stands at {pointer}") from None
