"""Which plan do the options of a command come to? Changes, stand-ins and code, each checked before anything is read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from forensics.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from forensics.replay.plan import Modifications, Plan, Stub


FROM_RECORD: dict[str, Any] = {"mode": "recorded", "on_miss": "error", "endpoint": None, "provider": None}
"""The options of a command that asks no model and has none to choose."""


def planned(asked: Mapping[str, Any]) -> Plan:
    """The plan of these options. Raises click.UsageError for one that can't be meant."""
    from forensics.replay.code import code_of, search_paths
    from forensics.replay.plan import Mode, OnMiss, Override, Plan

    paths = search_paths(asked["path"])
    mode, on_miss = Mode(asked["mode"]), OnMiss(asked["on_miss"])
    if on_miss is OnMiss.LIVE and mode is not Mode.LIVE:
        raise click.UsageError("--on-miss live exists only in --mode live: everywhere else a miss stops")
    if mode is not Mode.RECORDED and asked["endpoint"] is None:
        raise click.UsageError(f"--mode {mode.value} asks a model: say where with --endpoint URL")
    if mode is Mode.RECORDED and asked["endpoint"] is not None:
        raise click.UsageError("--endpoint belongs to --mode deterministic or live: recorded mode asks nobody")
    try:
        agent = None if asked["agent"] is None else code_of(asked["agent"], paths)
        tools = [(name, code_of(target, paths)) for name, target in map(_pair_of_tool, asked["tool"])]
    except ConfigurationError as error:
        raise click.UsageError(f"{error.message} ({error.hint})" if error.hint else error.message) from None
    return Plan(
        mode=mode,
        agent=agent,
        paths=paths if agent is not None or tools else (),
        overrides=tuple(Override(name, code) for name, code in tools),
        stubs=_stubs(asked["stub"]),
        modifications=_modifications(asked),
        on_miss=on_miss,
        fork=asked["fork"],
        endpoint=asked["endpoint"],
        provider=asked["provider"] if asked["endpoint"] is not None else None,
    )


def _pair_of_tool(text: str) -> tuple[str, str]:
    return _pair(text, "--tool", "NAME=MODULE:FUNCTION")


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadParameter(f"{text!r} is not {form}", param_hint=option)
    return name, value


def _stubs(texts: Sequence[str]) -> tuple[Stub, ...]:
    """The stubs: one value for every call of a tool, or, where it is named more often, one for each in order."""
    from forensics.replay.plan import Stub

    values: dict[str, list[Any]] = {}
    for text in texts:
        name, told = _pair(text, "--stub", "NAME=JSON")
        try:
            values.setdefault(name, []).append(json.loads(told, parse_constant=_no_number))
        except (ValueError, RecursionError) as error:
            raise click.BadParameter(f"the value of {name} is no JSON: {error}", param_hint="--stub") from None
    return tuple(Stub(name, tuple(held), each=len(held) > 1) for name, held in values.items())


def _modifications(asked: Mapping[str, Any]) -> Modifications:
    from forensics.replay.plan import Modifications

    pairs = [_pair(text, "--set", "KEY=VALUE") for text in asked["settings_"]]
    settings = {name: _value(told) for name, told in pairs}
    changed = [_pair(text, "--set-state", "POINTER=JSON") for text in asked.get("set_state", ())]
    if changed and asked.get("fork") is None:
        raise click.UsageError("--set-state needs --fork STEP: a state is changed at a step")
    state = {_pointer(pointer): _value(told) for pointer, told in changed}
    return Modifications(prompt=asked["set_prompt"], input=asked["set_input"], settings=settings, state=state)


def _pointer(text: str) -> str:
    from forensics.core.pointers import pointer_tokens

    try:
        pointer_tokens(text)
    except ValueError:
        message = f"{text!r} is no JSON Pointer: it begins with a slash, such as /messages"
        raise click.BadParameter(message, param_hint="--set-state") from None
    return text


def _no_number(name: str) -> Any:
    """NaN and the infinities are no JSON, whatever Python reads."""
    raise ValueError(f"{name} is no number of JSON")


def _value(text: str) -> Any:
    """The JSON value that a text spells, else the text."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return text
