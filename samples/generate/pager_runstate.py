"""Makes pager.runstate.json: the pager incident run by an OpenAI Agents agent, stopped before a call to be allowed.

The last call waits for its approval; what is written is the state from which the run would be resumed.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

from agents import Runner, set_tracing_disabled
from files import write_json
from pager_openai_agents import agent
from scenarios import pager
from stub import serving

APPROVED_BY_A_PERSON = "incident.annotate"


async def main() -> None:
    """Run the incident up to the pause."""
    set_tracing_disabled(disabled=True)
    scenario = pager()
    with serving(scenario) as address:
        asked = agent(scenario, address)
        asked.tools = [replace(tool, needs_approval=tool.name == APPROVED_BY_A_PERSON) for tool in asked.tools]
        result = await Runner.run(asked, scenario.user)
    write_json("pager.runstate.json", json.loads(result.to_state().to_string()))


if __name__ == "__main__":
    asyncio.run(main())
