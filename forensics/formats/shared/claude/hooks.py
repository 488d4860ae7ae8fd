"""Do the hooks of a Claude Agent SDK recording tell of a call what its result tells? The harness asks the client's
hooks after a call (`PostToolUse`), with what the tool gave back, before it shows the model the result.

That must be the harness's own copy of the result or what the model was shown: where there is no copy, as far as the
two are of one shape (text, content blocks, the output of a command).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.agreement import agree
from forensics.core.build import Spot
from forensics.core.jsonvalue import equal_values, value_of
from forensics.core.trace import Payload
from forensics.formats.shared.fields import Fields, fields_of, is_text, object_in, opens_with, present, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forensics.core.calls import Call


class _Hook(msgspec.Struct):
    """What a hook was told that a tool gave back, where that stands, and the harness's own copy of the result."""

    response: Payload
    spot: Spot
    copy: Payload | None = None


class Hooks:
    """The hooks of one session, by the ids of their calls."""

    def __init__(self) -> None:
        self._told: dict[str, list[_Hook]] = {}

    def asked(self, fields: Fields, spot: Spot) -> None:
        """A request of the harness to the client, which may be a hook that is told a result."""
        request = object_in(fields, "request")
        told = object_in(request, "input")
        response, call_id = present(told, "tool_response"), text(told, "tool_use_id") or text(request, "tool_use_id")
        if text(request, "subtype") == "hook_callback" and call_id and response is not None:
            at = spot.down("/request/input/tool_response")
            self._told.setdefault(call_id, []).append(_Hook(response, at))

    def answered(self, call_id: str, copy: Payload | None) -> None:
        """A call had its result; `copy` is the harness's own of it."""
        for hook in self._told.get(call_id, ()):
            hook.copy = copy

    def disputes(self, calls: Iterable[Call]) -> Iterator[tuple[Call, Spot]]:
        """The calls of which a hook tells another result, and where it does."""
        for call in calls if self._told else ():
            for hook in self._told.get(call.recorded_id or "", ()):
                if not _agrees(hook, call.result):
                    yield call, hook.spot


def _agrees(hook: _Hook, result: Payload | None) -> bool:
    """Whether a hook was told what a call gave back, as far as that can be compared."""
    given = _shown(hook.response)
    if result is None or (given is not None and agree(given, result) is not None):
        return True
    if hook.copy is not None and opens_with(hook.copy, b"{") and opens_with(hook.response, b"{"):
        copy, response = fields_of(hook.copy), fields_of(hook.response)
        return all(equal_values(value_of(copy[name]), value_of(response[name])) for name in copy.keys() & response)
    return given is None


def _shown(response: Payload) -> Payload | None:
    """A result as the model is shown it; None where it is of a shape that is put into words for the model."""
    if is_text(response) or opens_with(response, b"["):
        return response
    fields = fields_of(response)
    output = present(fields, "stdout")
    return None if output is None or text(fields, "stderr") else output
