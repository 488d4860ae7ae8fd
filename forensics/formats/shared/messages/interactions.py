"""Is this one of Gemini's interactions, and which steps does it hold? A step is an item of its own, as in Responses:
what a person put in, what the model thought and said, a call, a result.

Source: `Interaction` and the variants of `Step` in Google's SDK; before them the steps stood in `outputs`.
"""

from __future__ import annotations

from forensics.formats.shared.fields import Fields, fields_of, items_in, opens_with, text

_SPOKEN = frozenset({"user_input", "model_output"})
_KINDS = _SPOKEN | {"thought", "text"}
_ENDS = ("_call", "_result")
_HOLDERS = ("steps", "outputs")


def is_step(fields: Fields) -> bool:
    """Whether an object is a step that stands in no other API's list."""
    kind = text(fields, "type")
    if kind in _SPOKEN:
        return "role" not in fields and "content" in fields and opens_with(fields["content"], b"[")
    return kind == "function_result" and "call_id" in fields and "result" in fields


def holder_of(fields: Fields) -> str:
    """The member in which an interaction holds its steps; "" where an object is none."""
    held = next((name for name in _HOLDERS if name in fields and opens_with(fields[name], b"[")), "")
    if not held or "status" not in fields:
        return ""
    kinds = [text(fields_of(step), "type") for step in items_in(fields, held)]
    is_one = bool(kinds) and all(kind in _KINDS or kind.endswith(_ENDS) for kind in kinds)
    return held if is_one or text(fields, "object") == "interaction" else ""
