"""Can the agent be rebuilt from this trace alone, and as what? Its blueprint, or what is missing from it.

One agent that talks to its model and calls tools can be rebuilt: from the record of its setup where the format keeps
one, and else from the steps, which then say less. What cannot be rebuilt in full is refused by name: several agents
that hand over to one another, a run that was told as a stream without its setup, and one that went on from another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.jsonvalue import unfold, value_of
from forensics.core.sanitise import one_line
from forensics.core.trace import Absence, Boundary, StepKind
from forensics.errors import IncompleteBlueprintError
from forensics.replay.blueprint_loop import Before, Blueprint
from forensics.replay.guards import Guard, guards_of
from forensics.replay.modifications import modified
from forensics.replay.plan import Mode
from forensics.replay.script import calls_by_turn, ending_tools

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.setup import Setup
    from forensics.core.trace import Trace
    from forensics.replay.plan import Plan
    from forensics.replay.script import RecordedTurn, Script

_SETTINGS = ("provider", "model", "base_url", "temperature", "max_tokens", "tool_choice", "seed", "top_p", "stop")
_ACTED = frozenset({"mask", "override", "reask", "redact"})
_NAMED = 5
_FINAL = "final output"  # the name of the step in which a format repeats a run's answer


class Rebuilt(msgspec.Struct, frozen=True, kw_only=True):
    """An agent rebuilt from a trace: what its loop runs from, its guardrails, its input, and what the record lacks that
    this rerun does not need.
    """

    blueprint: Blueprint
    guards: tuple[Guard, ...]
    input: Any
    later: tuple[Any, ...]
    lacks: tuple[str, ...]


def rebuild(trace: Trace, script: Script, plan: Plan, forks_at: int = 0) -> Rebuilt:
    """The agent of a trace, with the changes of the plan from that turn on. Raises IncompleteBlueprintError, with
    everything that is missing, where the trace does not hold enough.
    """
    missing = tuple(dict.fromkeys(_missing(trace, script, plan)))
    if missing:
        message = f"the agent can't be rebuilt from the trace alone: {'; '.join(missing)}"
        locator = trace.setups[0].locator if trace.setups else trace.locator(0) if len(trace) else None
        hint = "hand in the agent with --agent module:function; inspect and audit work without one"
        raise IncompleteBlueprintError(message, missing, hint=hint, locator=locator)
    setup = next((one for one in trace.setups if one.kind == "agent"), None)
    guards = guards_of(None if setup is None else setup.guardrails)
    inputs = [value for turn in script.turns for value in _inputs(turn)]
    config = _object(None if setup is None else setup.config)
    blueprint = Blueprint(
        agent=script.turns[0].lane if script.turns else "",
        before=(
            *tuple(Before(_messages(turn), turn.calls_before) for turn in script.turns),
            Before((), script.calls_after),
        ),
        settings=_settings(setup, config, script),
        tools=_tools(trace, setup),
        guarded=frozenset(guard.position for guard in guards),
        most=most if isinstance(most := config.get("max_iterations"), int) else None,
        free=plan.mode is not Mode.RECORDED,
        ends_with_calls=bool(script.turns and script.turns[-1].calls) and trace.ended_normally is True,
        ends_at=_ends_at(trace, script),
        ends_by=ending_tools(trace),
        answers_with_result=any(trace.strings[trace.name[row]] == _FINAL for row in trace.rows(StepKind.OTHER)),
    )
    given = inputs[0] if inputs else _value(None if setup is None else setup.input)
    blueprint = modified(blueprint, plan.modifications, forks_at)
    return Rebuilt(
        blueprint=blueprint, guards=guards, input=given, later=tuple(inputs[1:]), lacks=tuple(_lacks(trace, setup))
    )


# what is missing -----------------------------------------------------------------------------------------------------


def _missing(trace: Trace, script: Script, plan: Plan) -> Iterator[str]:
    yield from _several(trace, script)
    for setup in trace.setups:
        if setup.streamed and setup.config is None:
            yield "the run was streamed, and its record holds no setup (system prompt, model settings, tools)"
        if setup.resumed:
            yield "the run was resumed or forked from an earlier one, and that one's steps are not in this trace"
        if setup.kind == "agent" and not setup.streamed and setup.model is None and setup.config is not None:
            yield f"the settings of the model of {one_line(setup.name, 40)} are not recorded"
        yield from _acted(trace, setup)
    if not script.turns:
        yield "no model turn is recorded"
    yield from _unasked(trace)
    if not any(_inputs(turn) for turn in script.turns) and not any(setup.input for setup in trace.setups):
        yield "what the run was asked to do is not recorded (no input)"
    if plan.mode is not Mode.RECORDED and not trace.facts and any(c.boundary is Boundary.TOOL for c in trace.calls):
        yield "the schemas of the tools are not recorded, and the model is to be asked with them"


def _several(trace: Trace, script: Script) -> Iterator[str]:
    """What steers several agents, or several agents in one trace."""
    steering = [f"a {one.kind} ({one_line(one.name or one.kind, 40)})" for one in trace.setups if one.kind != "agent"]
    lanes = list(dict.fromkeys(turn.lane for turn in script.turns))
    if steering and (len(lanes) > 1 or steering[0].split()[1] in _STEERS):
        yield f"{', '.join(steering[:_NAMED])} ran the agents, and the order in which it does is its own code"
    if len(lanes) > 1:
        named = ", ".join(one_line(lane or "(no name)", 40) for lane in lanes[:_NAMED])
        yield f"several agents asked models ({named}), and what one hands to another is no part of the record"
    sub = [call.tool for call in trace.calls if call.boundary is Boundary.SUB_AGENT]
    if sub and len(lanes) <= 1:
        yield f"a sub-agent ran ({one_line(sub[0], 40)}), and its own setup is not recorded"
    if trace.rows(StepKind.HANDOFF):
        yield "the run was handed over from one agent to another"


_STEERS = frozenset({"chain", "swarm", "supervisor"})


def _acted(trace: Trace, setup: Setup) -> Iterator[str]:
    """A guardrail that rewrites texts: what it wrote is not recorded."""
    ran = {trace.strings[trace.name[row]] for row in trace.rows(StepKind.GUARDRAIL)}
    for guard in guards_of(setup.guardrails):
        if guard.action in _ACTED and guard.name in ran and not guard.is_data:
            yield f"the guardrail {one_line(guard.name, 40)} may rewrite texts ({guard.action}), and it is code"


def _unasked(trace: Trace) -> Iterator[str]:
    """Tools that ran though no turn asked for them: why they ran is the agent's own code."""
    tools = [call.tool for call in trace.calls if call.turn < 0 and call.boundary is Boundary.TOOL]
    if tools:
        named = ", ".join(one_line(tool, 40) for tool in list(dict.fromkeys(tools))[:_NAMED])
        yield f"no model turn asked for some calls ({named}): the agent's own code made them"


def _lacks(trace: Trace, setup: Setup | None) -> Iterator[str]:
    """What the record does not hold, and a rerun in recorded mode does without."""
    if setup is None or setup.model is None:
        yield "settings of the model"
    if setup is None or setup.output_type is None:
        yield "output type and response format"
    if not trace.facts:
        yield "schemas of the tools"
    if not trace.rows(StepKind.SYSTEM) and (setup is None or setup.prompt is None):
        yield "system prompt"


# what is there -------------------------------------------------------------------------------------------------------


def _inputs(turn: RecordedTurn) -> list[Any]:
    return [one.value for one in turn.shown if one.kind is StepKind.USER]


def _messages(turn: RecordedTurn) -> tuple[dict[str, Any], ...]:
    """What a turn was shown beside results, as messages; the words of earlier turns among them."""
    return tuple(one.message() for one in turn.shown if one.kind is not StepKind.TOOL_RESULT or one.earlier)


def _ends_at(trace: Trace, script: Script) -> frozenset[tuple[int, int]]:
    """Where in the record calls stand that ended the run: the turn, from 1, and the index in it."""
    asked = calls_by_turn(trace)
    return frozenset(
        (number, at)
        for number, turn in enumerate(script.turns, 1)
        for at, call in enumerate(asked.get(turn.number, ()))
        if call.absence is Absence.NOT_DUE
    )


def _settings(setup: Setup | None, config: dict[str, Any], script: Script) -> dict[str, Any]:
    """The settings of the model; what the configuration of the agent says of it too. A key is never among them."""
    told = {**config, **_object(None if setup is None else setup.model)}
    found = {name: told[name] for name in _SETTINGS if told.get(name) is not None}
    named = script.turns[0].model if script.turns else ""
    return {"model": named, **found} if named else found


def _tools(trace: Trace, setup: Setup | None) -> tuple[dict[str, Any], ...] | None:
    """The tools that the model is offered, with their schemas."""
    listed = _value(None if setup is None else setup.tools)
    names = [str(item["name"]) for item in listed if isinstance(item, dict) and "name" in item] if listed else []
    known = trace.facts if not names else {name: trace.facts[name] for name in names if name in trace.facts}
    return tuple(
        {"name": fact.name, "description": fact.description or "", "parameters": fact.input_schema or {}}
        for fact in known.values()
    )


def _object(payload: msgspec.Raw | None) -> dict[str, Any]:
    value = _value(payload)
    return value if isinstance(value, dict) else {}


def _value(payload: msgspec.Raw | None) -> Any:
    return None if payload is None else unfold(value_of(payload))
