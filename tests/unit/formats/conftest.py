"""How is one evidence read in a test? Through its reader alone, without rules or a verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.evidence import Evidence
from forensics.core.jsonvalue import value_of
from forensics.core.reading import EvidenceBuilder, Reading
from forensics.formats import registry
from forensics.formats.shared.source import open_source

if TYPE_CHECKING:
    from collections.abc import Callable

_SHARED = Path(__file__).resolve().parents[4] / "shared"


@pytest.fixture
def cases() -> Path:
    """The corpus of real traces beside the checkout; tests that need it are skipped where it is not there."""
    if not (_SHARED / "cases").is_dir():
        pytest.skip("the corpus of real traces is not here")
    return _SHARED / "cases"


def read_evidence(path: Path, format_name: str | None = None) -> Reading:
    """Read one file as the command line would, up to the verdict."""
    with open_source(str(path)) as source:
        reader = registry.reader(format_name) if format_name else registry.recognise(source)
        build = EvidenceBuilder(
            Evidence(0, source.name, source.sha256, source.size, reader.NAME),
            records_calls=reader.RECORDS_CALLS,
            spans_are_complete=reader.SPANS_ARE_COMPLETE,
        )
        reader.read(source, build)
        return build.finish()


def read_value(folder: Path, content: Any) -> Reading:
    """Read a document that a test wrote as a plain value."""
    path = folder / "evidence.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return read_evidence(path)


def read_records(folder: Path, *records: Any) -> Reading:
    """Read lines that a test wrote as plain values."""
    path = folder / "evidence.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records), encoding="utf-8")
    return read_evidence(path)


def hiding(reading: Reading) -> list[str]:
    """What may hide calls, in the words of its gaps."""
    return [gap.message for gap in reading.gaps if gap.hides]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], Reading]:
    return lambda content: read_value(tmp_path, content)


@pytest.fixture
def lines(tmp_path: Path) -> Callable[[list[dict[str, Any]]], Reading]:
    return lambda records: read_records(tmp_path, *records)


@pytest.fixture
def read() -> Callable[..., Reading]:
    return read_evidence


@pytest.fixture
def read_otlp(tmp_path: Path) -> Callable[..., Reading]:
    """Read OTLP spans that a test wrote as plain dictionaries."""

    def read_spans(*spans: dict[str, Any], resources: list[dict[str, Any]] | None = None) -> Reading:
        resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "demo"}}]}
        whole = resources or [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]
        path = tmp_path / "trace.json"
        path.write_text(json.dumps({"resourceSpans": whole}), encoding="utf-8")
        return read_evidence(path)

    return read_spans


@pytest.fixture
def read_text(tmp_path: Path) -> Callable[[str], Reading]:
    """Read an evidence that a test wrote as one text."""

    def read(body: str) -> Reading:
        (tmp_path / "evidence").write_text(body, encoding="utf-8")
        return read_evidence(tmp_path / "evidence")

    return read


def outcomes(reading: Reading) -> list[tuple[str, str, Any, str]]:
    """The calls of the only trace: occurrence, tool, result and outcome of each."""
    (trace,) = reading.traces
    return [(c.occurrence, c.tool, value_of(c.result) if c.result else None, c.outcome.value) for c in trace.calls]
