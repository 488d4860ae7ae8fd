"""Makes pager.langfuse.otlp.jsonl: the pager incident over the OpenAI client of Langfuse, as the spans that it exports.

Langfuse's service makes its own trace of these; the SDK can export them elsewhere, and does so here.
"""

from __future__ import annotations

from typing import Any

from files import target
from langfuse import Langfuse
from langfuse.openai import OpenAI
from openai_chat import run
from opentelemetry.exporter.otlp.json.file import FileSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from scenarios import Scenario, pager
from stub import serving


def traced_run(client: OpenAI, scenario: Scenario, langfuse: Langfuse) -> None:
    """Run the agent inside an agent observation, each tool inside a tool observation."""

    def execute(_call_id: str, name: str, arguments: dict[str, Any]) -> object:
        with langfuse.start_as_current_observation(name=name, as_type="tool", input=arguments) as tool:
            result = scenario.call(name, arguments)
            tool.update(output=result)
            return result

    with langfuse.start_as_current_observation(name=scenario.agent, as_type="agent", input=scenario.user) as agent:
        agent.update(output=run(client, scenario, execute)[-1]["content"])


def main() -> None:
    """Run the incident once; nothing is sent to the service."""
    scenario = pager()
    langfuse = Langfuse(
        public_key="pk-not-used",
        secret_key="sk-not-used",  # noqa: S106 - no secret
        base_url="http://127.0.0.1:9",
        tracer_provider=TracerProvider(resource=Resource.create({"service.name": scenario.agent})),
        span_exporter=FileSpanExporter(target("pager.langfuse.otlp.jsonl")),
    )
    with serving(scenario) as address:
        traced_run(OpenAI(base_url=f"{address}/v1", api_key="not-used"), scenario, langfuse)
    langfuse.shutdown()


if __name__ == "__main__":
    main()
