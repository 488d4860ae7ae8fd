"""Where do a run's spans go? Into one OTLP JSON Lines file, one export (one span) a line, by the official exporter."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from files import target
from opentelemetry.exporter.otlp.json.file import FileSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def exporting(name: str, service: str) -> Iterator[TracerProvider]:
    """A tracer provider that writes the sample `name` for the length of a `with` block, and is flushed after it."""
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(target(name))))
    yield provider
    provider.shutdown()
