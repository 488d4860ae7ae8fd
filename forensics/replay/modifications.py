"""What is another prompt, input or setting in an agent that was rebuilt? The blueprint with the changes of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from forensics.replay.blueprint_loop import Blueprint
    from forensics.replay.plan import Modifications


def modified(blueprint: Blueprint, wanted: Modifications) -> Blueprint:
    """The same agent with another system prompt, another input, other settings of its model (null takes one away)."""
    first, *others = blueprint.before
    messages = list(first.messages)
    if wanted.prompt is not None:
        _replace(messages, "system", wanted.prompt)
    if wanted.input is not None:
        _replace(messages, "user", wanted.input)
    settings = {name: value for name, value in {**blueprint.settings, **wanted.settings}.items() if value is not None}
    before = (msgspec.structs.replace(first, messages=tuple(messages)), *others)
    return msgspec.structs.replace(blueprint, before=before, settings=settings)


def _replace(messages: list[dict[str, Any]], role: str, content: Any) -> None:
    """Put another text in place of the first system message, or of the last thing that the user said."""
    places = [n for n, one in enumerate(messages) if one.get("role") == role]
    if places:
        messages[places[-1 if role == "user" else 0]] = {"role": role, "content": content}
    else:
        messages.insert(0 if role == "system" else len(messages), {"role": role, "content": content})
