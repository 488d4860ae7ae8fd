"""Makes readonly.responses.json: the read-only run as the item list of an OpenAI Responses client."""

from __future__ import annotations

import json
from typing import Any

from files import write_json
from openai import OpenAI
from openai_chat import as_text
from scenarios import Scenario, readonly
from stub import MODEL, serving


def run(client: OpenAI, scenario: Scenario) -> list[Any]:
    """Run the agent until an answer holds no function call; returns all items, input and output."""
    tools: list[Any] = [
        {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.schema}
        for tool in scenario.tools
    ]
    items: list[Any] = [{"role": "user", "content": scenario.user}]
    while True:
        reply = client.responses.create(model=MODEL, instructions=scenario.system, input=items, tools=tools)
        items += [item.model_dump(exclude_none=True) for item in reply.output]
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return items
        for call in calls:
            result = as_text(scenario.call(call.name, json.loads(call.arguments)))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})


def main() -> None:
    """Run the reads and write the bare item list."""
    scenario = readonly()
    with serving(scenario) as address:
        write_json("readonly.responses.json", run(OpenAI(base_url=f"{address}/v1", api_key="not-used"), scenario))


if __name__ == "__main__":
    main()
