"""Makes pager.otlp.jsonl: the pager incident as OpenTelemetry GenAI spans, one export (one span) a line.

The model spans come from the OpenAI instrumentation, the tool and agent spans from the same project's GenAI handler,
which is what instrumentations of agent frameworks call.
"""

from __future__ import annotations

import os
from typing import Any

os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "span_only"  # read when the packages are set up

from openai import OpenAI
from openai_chat import run
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.util.genai.handler import TelemetryHandler
from opentelemetry.util.genai.types import InputMessage, OutputMessage, TextPart
from otlp_file import exporting
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
    """Run the incident with the client instrumented."""
    scenario = pager()
    with exporting("pager.otlp.jsonl", scenario.agent) as provider, serving(scenario) as address:
        OpenAIInstrumentor().instrument(tracer_provider=provider)
        client = OpenAI(base_url=f"{address}/v1", api_key="not-used")
        traced_run(client, scenario, TelemetryHandler(tracer_provider=provider))


if __name__ == "__main__":
    main()
