"""Makes parallel.anthropic.json: three calls in one turn, as system, tools and messages of an Anthropic client."""

from __future__ import annotations

from typing import Any

from anthropic import Anthropic
from files import write_json
from openai_chat import as_text
from scenarios import Scenario, parallel
from stub import MODEL, serving


def run(client: Anthropic, scenario: Scenario, tools: list[Any]) -> list[Any]:
    """Run the agent until the model asks for no more tools; returns the whole message list.

    The results of one turn go back in one user message, last call first: a client may return them in any order, and a
    reader has to pair them by id.
    """
    messages: list[Any] = [{"role": "user", "content": scenario.user}]
    while True:
        reply = client.messages.create(
            model=MODEL, max_tokens=1024, system=scenario.system, messages=messages, tools=tools
        )
        said = [block.model_dump(exclude_none=True) for block in reply.content]
        messages.append({"role": "assistant", "content": said})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return messages
        results = [(call.id, scenario.call(call.name, call.input)) for call in calls]
        blocks = [{"type": "tool_result", "tool_use_id": key, "content": as_text(result)} for key, result in results]
        messages.append({"role": "user", "content": blocks[::-1]})


def main() -> None:
    """Run the shop assistant and write the request's shape with the final answer in its messages."""
    scenario = parallel()
    tools = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.schema} for tool in scenario.tools
    ]
    with serving(scenario) as address:
        messages = run(Anthropic(base_url=address, api_key="not-used"), scenario, tools)
    document = {"model": MODEL, "max_tokens": 1024, "system": scenario.system, "tools": tools, "messages": messages}
    write_json("parallel.anthropic.json", document)


if __name__ == "__main__":
    main()
