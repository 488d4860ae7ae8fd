"""Makes pager.pydantic-ai.otlp.jsonl: the pager incident run by a Pydantic AI agent, instrumented by the framework."""

from __future__ import annotations

from otlp_file import exporting
from pydantic_ai import Agent, Tool
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from scenarios import Scenario, pager
from stub import MODEL, serving


def agent(scenario: Scenario, address: str, settings: InstrumentationSettings) -> Agent:
    """The scenario's agent on the Chat Completions model of the stub."""
    return Agent(
        OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=f"{address}/v1", api_key="not-used")),
        name=scenario.agent,
        instructions=scenario.system,
        tools=[Tool(tool.run, name=tool.name, description=tool.description) for tool in scenario.tools],
        capabilities=[Instrumentation(settings=settings)],
    )


def main() -> None:
    """Run the incident once, content included."""
    scenario = pager()
    with exporting("pager.pydantic-ai.otlp.jsonl", scenario.agent) as provider, serving(scenario) as address:
        settings = InstrumentationSettings(tracer_provider=provider)
        agent(scenario, address, settings).run_sync(scenario.user)


if __name__ == "__main__":
    main()
