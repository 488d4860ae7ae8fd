"""What holds for every test? Hypothesis keeps no clock and, in CI, draws the same examples every time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hypothesis import settings

if TYPE_CHECKING:
    import pytest

settings.register_profile("work", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "work")


def pytest_addoption(parser: pytest.Parser) -> None:
    """How many damaged copies of a sample each reader is tried with (tests/contract)."""
    parser.addoption("--mutations", type=int, default=2000 if os.environ.get("CI") else 100)
