"""Makes pager.langchain.otlp.jsonl: the pager incident run by a LangChain agent, instrumented by OpenInference."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from openinference.instrumentation.langchain import LangChainInstrumentor
from otlp_file import exporting
from scenarios import Scenario, pager
from stub import MODEL, serving


def tools(scenario: Scenario) -> list[StructuredTool]:
    """The scenario's tools in LangChain's shape."""
    return [
        StructuredTool.from_function(tool.run, name=tool.name, description=tool.description) for tool in scenario.tools
    ]


def main() -> None:
    """Run the incident once."""
    scenario = pager()
    with exporting("pager.langchain.otlp.jsonl", scenario.agent) as provider, serving(scenario) as address:
        LangChainInstrumentor().instrument(tracer_provider=provider)
        model = ChatOpenAI(model=MODEL, base_url=f"{address}/v1", api_key="not-used")
        agent = create_agent(model, tools(scenario), system_prompt=scenario.system, name=scenario.agent)
        agent.invoke({"messages": [{"role": "user", "content": scenario.user}]})


if __name__ == "__main__":
    main()
