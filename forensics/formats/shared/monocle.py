"""What does a span of Monocle say in the names that are read? Its kind is `span.type`, who acts stands in `entity.N.*`,
and what was said stands in the events `data.input`, `data.output` and `metadata`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.jsonvalue import canonical, raw, text_of, unfold, value_of
from forensics.formats.shared.python_repr import from_repr
from forensics.formats.shared.spans import below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.core.trace import Payload
    from forensics.formats.shared.dialects import Told
    from forensics.formats.shared.flattened import Flat

_CALL_MARKS = frozenset({"args", "tool_name", "tool_function"})
_ROLES = {"human": "user", "user": "user", "system": "system", "tool": "tool", "function": "tool"}
_METADATA = {
    "finish_reason": "gen_ai.response.finish_reason",
    "prompt_tokens": "gen_ai.usage.input_tokens",
    "completion_tokens": "gen_ai.usage.output_tokens",
}


def translate_monocle(told: Told, flat: Sequence[Flat]) -> None:
    """Add what a span of Monocle says. `span.type` is a name that others use too: theirs have no entities."""
    kind = told.text("span.type").strip().lower()
    if not (kind.startswith(("agentic.", "inference")) or any(one.family == "entity" for one in flat)):
        return
    told.put("monocle.span.type", told.attributes["span.type"], told.place("span.type"))
    _entities(told, kind, {one.name: one for one in flat if one.family == "entity"})
    if kind.startswith("inference"):
        _inference(told)
    else:
        _in_and_out(told, is_call=kind in _CALLS)


_CALLS = frozenset({"agentic.tool.invocation", "agentic.mcp.invocation"})


def _entities(told: Told, kind: str, entities: dict[str, Flat]) -> None:
    """The tool is the first entity of its span, an agent the one whose type says so."""
    first = entities.get("entity.1.name")
    if kind in _CALLS and first is not None:
        told.put("monocle.tool", first.payload, below(first.slot, first.name))
        described = entities.get("entity.1.description")
        if described is not None:
            told.put("monocle.description", described.payload, below(described.slot, described.name))
    for name, one in entities.items():
        if name.endswith(".type") and text_of(one.payload).startswith("agent."):
            named = entities.get(f"{name.removesuffix('type')}name")
            if named is not None:
                told.put("gen_ai.agent.name", named.payload, below(named.slot, named.name))


def _in_and_out(told: Told, *, is_call: bool) -> None:
    given, returned = told.of_event("data.input", "input"), told.of_event("data.output", "response", "output")
    if given is not None:
        told.put("monocle.input", _arguments(given[0]) if is_call else _only(given[0]), given[1])
    if returned is not None:
        told.put("monocle.output", _only(returned[0]), returned[1])


def _only(payload: Payload) -> Payload:
    """The one item of a list of one."""
    value = value_of(payload)
    return raw(value[0]) if isinstance(value, list) and len(value) == 1 else payload


def _arguments(payload: Payload) -> Payload:
    """Arguments, which stand in a list of one text or in Python's notation, perhaps behind a word and a colon."""
    return from_repr(_only(payload))


# what a model was shown and answered ---------------------------------------------------------------------------------


def _inference(told: Told) -> None:
    shown, said = told.of_event("data.input", "input"), told.of_event("data.output", "response", "output")
    if shown is not None:
        listed = value_of(shown[0])
        messages = [_message(one, "user") for one in (listed if isinstance(listed, list) else [listed])]
        told.put("monocle.prompt", msgspec.Raw(canonical(messages)), shown[1])
    if said is not None:
        told.put("monocle.answer", msgspec.Raw(canonical([_message(value_of(said[0]), "assistant")])), said[1])
    for field, name in _METADATA.items():
        found = told.of_event("metadata", field)
        if found is not None:
            told.put(name, found[0], found[1])


def _message(told: object, role: str) -> dict[str, Any]:
    """One message: an object whose one name is the role, or a plain text."""
    said = unfold(told)
    if not isinstance(said, dict):
        return {"role": role, "content": said if isinstance(said, (str, list)) else canonical(said).decode()}
    if isinstance(said.get("tools"), list):
        return {"role": role, "tool_calls": [_call(one) for one in said["tools"] if isinstance(one, dict)]}
    if len(said) != 1:
        return {"role": role, "content": canonical(said).decode("utf-8", "surrogatepass")}
    speaker, content = next(iter(said.items()))
    speaker = _ROLES.get(speaker.lower(), "assistant")
    calls = _calls(content) if speaker == "assistant" else []
    return {"role": speaker, "tool_calls": calls} if calls else {"role": speaker, "content": content}


def _calls(content: object) -> list[dict[str, Any]]:
    """The calls that a message of the model holds in the place of its text."""
    held = unfold(content)
    listed = [unfold(one) for one in held] if isinstance(held, list) else [held]
    return [_call(one) for one in listed if isinstance(one, dict) and not _CALL_MARKS.isdisjoint(one)]


def _call(one: dict[str, Any]) -> dict[str, Any]:
    arguments = one.get("args", one.get("tool_arguments"))
    called: dict[str, Any] = {"name": one.get("name") or one.get("tool_name") or one.get("tool_function") or ""}
    if arguments != "":  # what a streamed call leaves is no text, and none of its arguments
        called["arguments"] = arguments
    return {"id": one.get("id") or one.get("tool_id") or "", "function": called}
