"""Are the calls and observations of smolagents, which stand in roles of its own, read as what its model is sent?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from forensics.core.jsonvalue import text_of, value_of
from forensics.formats.shared.messages.vocabulary import parse_message

if TYPE_CHECKING:
    from forensics.core.messages import Message

ONE = "{'id': 'call_4', 'type': 'function', 'function': {'name': 'open_ticket', 'arguments': {'title': \"it's full\"}}}"
TWO = "{'id': 'call_5', 'type': 'function', 'function': {'name': 'close_ticket', 'arguments': {'id': None}}}"


def parsed(role: str, said: str) -> Message:
    content = [{"type": "text", "text": said}]
    return parse_message(msgspec.Raw(json.dumps({"role": role, "content": content}).encode()), "")


def test_calls_that_a_text_spells_are_calls_with_their_ids() -> None:
    message = parsed("tool-call", f"Calling tools:\n[{ONE}, {TWO}]")
    assert (message.role, message.text, message.doubts) == ("assistant", None, ())
    told = [(part.tool, part.recorded_id, value_of(part.payload)) for part in message.calls if part.payload is not None]
    assert told == [("open_ticket", "call_4", {"title": "it's full"}), ("close_ticket", "call_5", {"id": None})]


def test_what_was_observed_is_shown_and_is_no_result() -> None:
    message = parsed("tool-response", "Observation:\nT-31")
    assert (message.role, message.results, message.doubts) == ("user", (), ())
    assert message.text is not None
    assert text_of(message.text) == "Observation:\nT-31"


@pytest.mark.parametrize(
    "said",
    [
        "Calling tools:\nopen_ticket(title='full')",
        "Calling tools:\n[]",
        "Calling tools:\n[{'id': 'call_4', 'name': 'open_ticket'}]",
        "Calling tools:\n[{'id': 'call_4', 'function': open_ticket}]",
        "open_ticket",
        f"[{ONE}]",
    ],
)
def test_a_text_that_spells_no_calls_keeps_its_doubt(said: str) -> None:
    message = parsed("tool-call", said)
    assert not message.calls
    assert any("role tool-call" in doubt.says for doubt in message.doubts)
