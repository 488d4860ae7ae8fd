"""Makes double_charge.chat.json: a retry that charged a card twice, as a whole Chat Completions request."""

from __future__ import annotations

from files import write_json
from openai import OpenAI
from openai_chat import run, tool_definitions
from scenarios import double_charge
from stub import MODEL, serving


def main() -> None:
    """Run the payment and write the last request's shape with the final answer in its messages."""
    scenario = double_charge()
    with serving(scenario) as address:
        client = OpenAI(base_url=f"{address}/v1", api_key="not-used")
        messages = run(client, scenario, lambda _id, name, arguments: scenario.call(name, arguments))
    write_json("double_charge.chat.json", {"model": MODEL, "tools": tool_definitions(scenario), "messages": messages})


if __name__ == "__main__":
    main()
