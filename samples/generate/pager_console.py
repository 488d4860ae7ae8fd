"""Makes pager.console.json: the pager incident as GenAI spans, as OpenTelemetry's console exporter prints them."""

from __future__ import annotations

import os

os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "span_only"  # read when the packages are set up

from files import target
from openai import OpenAI
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.util.genai.handler import TelemetryHandler
from pager_otlp import traced_run
from scenarios import pager
from stub import serving


def main() -> None:
    """Run the incident of `pager_otlp.py`; the console is a file."""
    scenario = pager()
    provider = TracerProvider(resource=Resource.create({"service.name": scenario.agent}))
    with (
        target("pager.console.json").open("w", encoding="utf-8", newline="\n") as console,
        serving(scenario) as address,
    ):
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=console)))
        OpenAIInstrumentor().instrument(tracer_provider=provider)
        client = OpenAI(base_url=f"{address}/v1", api_key="not-used")
        traced_run(client, scenario, TelemetryHandler(tracer_provider=provider))
        provider.shutdown()


if __name__ == "__main__":
    main()
