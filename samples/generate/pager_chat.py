"""Makes pager.chat.json: the pager incident as the message list that an OpenAI Chat Completions client holds."""

from __future__ import annotations

from files import write_json
from openai import OpenAI
from openai_chat import run
from scenarios import pager
from stub import serving


def main() -> None:
    """Run the incident and write the bare message list."""
    scenario = pager()
    with serving(scenario) as address:
        client = OpenAI(base_url=f"{address}/v1", api_key="not-used")
        messages = run(client, scenario, lambda _id, name, arguments: scenario.call(name, arguments))
    write_json("pager.chat.json", messages)


if __name__ == "__main__":
    main()
