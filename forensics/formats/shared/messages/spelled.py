"""Which calls does this text of a library spell? smolagents tells its model of calls and observations in roles of its
own, the calls in Python's notation: `Calling tools:` and a list that looks as Chat Completions' do.

The library sends both as plain words (`tool_role_conversions` of its `models`); the calls keep their ids in them. What
was observed of several calls stands in one text, so that it is nobody's result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import text_of
from forensics.formats.shared.fields import fields_of, items_of
from forensics.formats.shared.messages.blocks import read_tool_calls
from forensics.formats.shared.python_repr import as_json

if TYPE_CHECKING:
    from forensics.formats.shared.messages.draft import Draft

_HEAD = "Calling tools:"
_CALLS, _OBSERVED = "tool-call", "tool-response"


def read_spelled(draft: Draft) -> None:
    """Give a message of these roles the role under which the model is sent it, and its calls."""
    if draft.role == _OBSERVED and draft.texts:
        draft.role = "user"
    elif draft.role == _CALLS and len(draft.texts) == 1:
        _spell(draft)


def _spell(draft: Draft) -> None:
    """A text that spells no calls stays what it is: a message of a role that is not known."""
    told = text_of(draft.texts[0]).strip()
    body = as_json(told.removeprefix(_HEAD)) if told.startswith(_HEAD) else None
    calls = [] if body is None else items_of(body)
    if not calls or not all("function" in fields_of(call) for call in calls):
        return
    draft.role = "assistant"
    draft.texts.clear()
    read_tool_calls(draft, {"tool_calls": msgspec.Raw(body or b"")})
    draft.calls = [msgspec.structs.replace(part, pointer="") for part in draft.calls]
