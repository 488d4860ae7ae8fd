"""Makes pager.langchain.otlp.jsonl: the pager incident run by a LangChain agent, instrumented by OpenInference."""

from __future__ import annotations

from langchain_agent import agent, question
from openinference.instrumentation.langchain import LangChainInstrumentor
from otlp_file import exporting
from scenarios import pager
from stub import serving


def main() -> None:
    """Run the incident once."""
    scenario = pager()
    with exporting("pager.langchain.otlp.jsonl", scenario.agent) as provider, serving(scenario) as address:
        LangChainInstrumentor().instrument(tracer_provider=provider)
        agent(scenario, address).invoke(question(scenario))


if __name__ == "__main__":
    main()
