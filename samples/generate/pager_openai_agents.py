"""Makes pager.agents.json: the pager incident run by an OpenAI Agents agent, as its own exporter posts the trace."""

from __future__ import annotations

import json
from typing import Any

from agents import Agent, FunctionTool, OpenAIChatCompletionsModel, Runner, flush_traces, set_trace_processors
from agents.tracing.processors import BackendSpanExporter, BatchTraceProcessor
from collector import collecting
from files import write_json
from openai import AsyncOpenAI
from openai_chat import as_text
from scenarios import Scenario, Tool, pager
from stub import MODEL, serving


def function_tool(tool: Tool) -> FunctionTool:
    """One tool in the SDK's shape."""

    async def invoke(_context: object, arguments: str) -> str:
        result: Any = tool.run(**json.loads(arguments))
        return as_text(result)

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.schema,
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )


def agent(scenario: Scenario, address: str) -> Agent[None]:
    """The scenario's agent on the Chat Completions model of the stub: of the Responses API a trace keeps ids alone."""
    model = OpenAIChatCompletionsModel(MODEL, AsyncOpenAI(base_url=f"{address}/v1", api_key="not-used"))
    tools = [function_tool(tool) for tool in scenario.tools]
    return Agent(scenario.agent, instructions=scenario.system, tools=tools, model=model)


def main() -> None:
    """Run the incident once; the trace goes out in one batch."""
    scenario = pager()
    with collecting() as posted, serving(scenario) as address:
        exporter = BackendSpanExporter(api_key="not-used", endpoint=posted.address)
        set_trace_processors([BatchTraceProcessor(exporter, schedule_delay=60)])
        Runner.run_sync(agent(scenario, address), scenario.user)
        flush_traces()
    (batch,) = posted.bodies
    write_json("pager.agents.json", batch)


if __name__ == "__main__":
    main()
