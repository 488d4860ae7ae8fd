"""What do the tests of the gate share? Files of their own, and a dry run from one file to another."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forensics.api_match import Matched, match

SAMPLES = Path(__file__).resolve().parents[3] / "samples"
Write = Callable[[str, Any], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a text as it is, a list as JSON lines; returns the path."""

    def written(name: str, content: Any) -> Path:
        path = tmp_path / name
        text = content if isinstance(content, str) else "".join(json.dumps(one) + "\n" for one in content)
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.fixture
def dry(write: Write) -> Callable[[Any, Any], Matched]:
    """The dry run of requests (a list, a text, or a path) against a recording (likewise)."""

    def run(recording: Any, requests: Any) -> Matched:
        def place(name: str, one: Any) -> Path:
            return one if isinstance(one, Path) else write(name, one)

        return match(place("recording", recording), place("requests", requests))

    return run


@pytest.fixture
def samples() -> Path:
    return SAMPLES
