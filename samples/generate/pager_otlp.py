"""Makes pager.otlp.jsonl: the pager incident as OpenTelemetry GenAI spans, one export (one span) a line.

The model spans come from the OpenAI instrumentation, the tool and agent spans from the same project's GenAI handler,
which is what instrumentations of agent frameworks call.
"""

from __future__ import annotations

import os
from typing import Any

os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "span_only"  # read when the packages are set up

from files import target
from openai import OpenAI
from openai_chat import run
from opentelemetry.exporter.otlp.json.file import FileSpanExporter
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.util.genai.handler import TelemetryHandler
from opentelemetry.util.genai.types import InputMessage, OutputMessage, TextPart
from scenarios import Scenario, pager
from stub import serving


def traced_run(client: OpenAI, scenario: Scenario, handler: TelemetryHandler) -> None:
    """Run the agent inside an agent span, each tool inside a tool span."""

    def execute(call_id: str, name: str, arguments: dict[str, Any]) -> object:
        with handler.tool(name, tool_type="function", agent_name=scenario.agent) as span:
            span.tool_call_id = call_id
            span.tool_description = next(tool.description for tool in scenario.tools if tool.name == name)
            span.arguments = arguments
            result: Any = scenario.call(name, arguments)
            span.tool_result = result
            return result

    with handler.invoke_local_agent(agent_name=scenario.agent) as span:
        span.input_messages = [InputMessage("user", [TextPart(scenario.user)])]
        messages = run(client, scenario, execute)
        span.output_messages = [OutputMessage("assistant", [TextPart(messages[-1]["content"])])]


def main() -> None:
    """Set up the exporter to the sample's file, run the incident, flush."""
    provider = TracerProvider(resource=Resource.create({"service.name": "oncall"}))
    provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(target("pager.otlp.jsonl"))))
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    scenario = pager()
    with serving(scenario) as address:
        client = OpenAI(base_url=f"{address}/v1", api_key="not-used")
        traced_run(client, scenario, TelemetryHandler(tracer_provider=provider))
    provider.shutdown()


if __name__ == "__main__":
    main()
