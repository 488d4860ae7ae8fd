"""Makes pager.adk.json: the pager incident run by an agent of Google's ADK, as its session is stored.

The model is a class of the SDK's own kind that says the scenario's turns.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from files import write_json
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import BaseTool
from google.genai import types
from scenarios import Scenario, Tool, Turn, pager
from stub import MODEL

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class Scripted(BaseLlm):
    """A model that answers with one turn after another."""

    turns: list[Turn]

    async def generate_content_async(
        self,
        llm_request: LlmRequest,  # noqa: ARG002 - what is asked changes nothing
        stream: bool = False,  # noqa: ARG002, FBT001, FBT002 - the SDK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        """The next turn, whole."""
        turn = self.turns.pop(0)
        parts = [types.Part(text=turn.text)] if turn.text else []
        parts += [types.Part(function_call=types.FunctionCall(name=n, args=a)) for n, a in turn.calls]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


class Offered(BaseTool):
    """One tool of the scenario in the SDK's shape."""

    def __init__(self, tool: Tool) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self.tool = tool

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self.tool.schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: object) -> object:  # noqa: ARG002 - not needed
        """Call the function."""
        return self.tool.run(**args)


def agent(scenario: Scenario) -> LlmAgent:
    """The scenario's agent."""
    return LlmAgent(
        name=scenario.agent,
        instruction=scenario.system,
        model=Scripted(model=MODEL, turns=list(scenario.turns)),
        tools=[Offered(tool) for tool in scenario.tools],
    )


async def main() -> None:
    """Run the incident once, in a session of its own."""
    scenario = pager()
    sessions = InMemorySessionService()
    name = {"app_name": scenario.agent, "user_id": "user-1", "session_id": "incident-1"}
    await sessions.create_session(**name)
    runner = Runner(app_name=scenario.agent, agent=agent(scenario), session_service=sessions)
    asked = types.Content(role="user", parts=[types.Part(text=scenario.user)])
    async for _event in runner.run_async(user_id="user-1", session_id="incident-1", new_message=asked):
        pass
    session = await sessions.get_session(**name)
    write_json("pager.adk.json", json.loads(session.model_dump_json(exclude_none=True)))


if __name__ == "__main__":
    asyncio.run(main())
