"""What is another prompt, input or setting in an agent that was rebuilt? The blueprint with the changes of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.replay.blueprint_loop import Fork, put

if TYPE_CHECKING:
    from forensics.replay.blueprint_loop import Blueprint
    from forensics.replay.plan import Modifications


def modified(blueprint: Blueprint, wanted: Modifications, forks_at: int = 0) -> Blueprint:
    """The same agent with another system prompt, another input, other settings of its model (null takes one away): from
    its start or, where it forks, from that turn on, in the history that its model is shown there.
    """
    settings = {name: value for name, value in {**blueprint.settings, **wanted.settings}.items() if value is not None}
    changes = tuple(
        (role, text) for role, text in (("system", wanted.prompt), ("user", wanted.input)) if text is not None
    )
    if forks_at:
        return msgspec.structs.replace(blueprint, fork=Fork(forks_at, changes, settings, wanted.state))
    first, *others = blueprint.before
    messages = list(first.messages)
    for role, text in changes:
        put(messages, role, text)
    before = (msgspec.structs.replace(first, messages=tuple(messages)), *others)
    return msgspec.structs.replace(blueprint, before=before, settings=settings)
