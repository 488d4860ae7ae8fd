"""Where do a run's spans go? Into one JSON list, each as the SDK's own `to_json` writes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from files import write_json

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


def write_spans(name: str, exporter: InMemorySpanExporter) -> None:
    """Write the sample `name` from what the exporter holds, in the order of the spans' ends."""
    write_json(name, [json.loads(span.to_json()) for span in exporter.get_finished_spans()])
