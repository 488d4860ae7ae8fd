"""B12, B13, B17: what do two processes, Dask and a second run save? `bench_corpus.py` says."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tests.benchmarks.measures.rows import Skipped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.benchmarks.measures.asked import Asked
    from tests.benchmarks.measures.rows import Row

WHERE = "tests.benchmarks.bench_corpus"


def measure(asked: Asked) -> Iterator[Row]:
    """The rows of that module's `measure`."""
    try:
        module = importlib.import_module(WHERE)
    except ModuleNotFoundError as error:
        raise Skipped(f"{error.name} is not here") from None
    yield from module.measure(asked)
