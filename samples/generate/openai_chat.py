"""How does an agent of a few lines run on the OpenAI client? The loop that two samples and the OTLP sample share."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stub import MODEL

if TYPE_CHECKING:
    from openai import OpenAI
    from scenarios import Scenario

Execute = Callable[[str, str, dict[str, Any]], object]


def tool_definitions(scenario: Scenario) -> list[Any]:
    """The scenario's tools in the Chat Completions shape."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
        }
        for tool in scenario.tools
    ]


def as_text(result: object) -> str:
    """A tool result as the text a model is given: strings as they are, all else as JSON."""
    return result if isinstance(result, str) else json.dumps(result)


def run(client: OpenAI, scenario: Scenario, execute: Execute) -> list[Any]:
    """Run the agent until the model asks for no more tools; returns the whole message list.

    `execute` is called with call id, tool name and arguments, and returns the result.
    """
    messages: list[Any] = [
        {"role": "system", "content": scenario.system},
        {"role": "user", "content": scenario.user},
    ]
    while True:
        reply = client.chat.completions.create(model=MODEL, messages=messages, tools=tool_definitions(scenario))
        answer = reply.choices[0].message
        messages.append(answer.model_dump(exclude_none=True))
        calls = [call for call in answer.tool_calls or () if call.type == "function"]
        if not calls:
            return messages
        for call in calls:
            result = execute(call.id, call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": as_text(result)})
