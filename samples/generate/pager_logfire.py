"""Makes pager.logfire.json: the pager incident run by a Pydantic AI agent under Logfire, as a list of its spans."""

from __future__ import annotations

import os

os.environ["LOGFIRE_SEND_TO_LOGFIRE"] = "false"

import logfire
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent, Tool
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from scenarios import Scenario, pager
from span_list import write_spans
from stub import MODEL, serving

MACHINE = {  # what Logfire finds out of itself: not of the machine that makes the sample
    "host.name": "oncall-1",
    "host.id": "0" * 32,
    "os.version": "6.1",
    "process.runtime.description": "3.11",
    "process.runtime.version": "3.11",
}


def agent(scenario: Scenario, address: str) -> Agent:
    """The scenario's agent on the Chat Completions model of the stub."""
    return Agent(
        OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=f"{address}/v1", api_key="not-used")),
        name=scenario.agent,
        instructions=scenario.system,
        tools=[Tool(tool.run, name=tool.name, description=tool.description) for tool in scenario.tools],
    )


def main() -> None:
    """Run the incident once; nothing is sent to the service."""
    scenario = pager()
    exporter = InMemorySpanExporter()
    logfire.configure(
        service_name=scenario.agent,
        service_version="1.0.0",
        resource_attributes=MACHINE,
        console=False,
        inspect_arguments=False,
        additional_span_processors=[SimpleSpanProcessor(exporter)],
    )
    logfire.instrument_pydantic_ai()
    with serving(scenario) as address:
        agent(scenario, address).run_sync(scenario.user)
    logfire.force_flush()
    write_spans("pager.logfire.json", exporter)


if __name__ == "__main__":
    main()
