"""How does a scenario become a LangChain agent? The agent that three samples share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from stub import MODEL

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from scenarios import Scenario


def agent(scenario: Scenario, address: str, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Any:
    """The scenario's agent on the Chat Completions model of the stub."""
    tools = [
        StructuredTool.from_function(tool.run, name=tool.name, description=tool.description) for tool in scenario.tools
    ]
    model = ChatOpenAI(model=MODEL, base_url=f"{address}/v1", api_key="not-used")
    return create_agent(model, tools, system_prompt=scenario.system, name=scenario.agent, checkpointer=checkpointer)


def question(scenario: Scenario) -> dict[str, Any]:
    """What the agent is asked, as its input."""
    return {"messages": [{"role": "user", "content": scenario.user}]}
