"""What holds for every test? Hypothesis keeps no clock and, in CI, draws the same examples every time."""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
from typing import TYPE_CHECKING

from hypothesis import settings

import forensics

if TYPE_CHECKING:
    import pytest

settings.register_profile("work", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
_CI = bool(os.environ.get("CI"))
settings.load_profile("ci" if _CI else "work")


def pytest_configure() -> None:
    """In CI, load the whole package before the first test: Hypothesis draws from the constants of all modules that are
    loaded, so what it drew would depend on which tests a worker ran before.
    """
    for module in pkgutil.walk_packages(forensics.__path__, "forensics.") if _CI else ():
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # of an extra that is not there
                importlib.import_module(module.name)


def pytest_addoption(parser: pytest.Parser) -> None:
    """How many damaged copies of a sample each reader is tried with (tests/contract)."""
    parser.addoption("--mutations", type=int, default=2000 if _CI else 100)
