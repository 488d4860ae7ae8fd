"""Does a reader keep the promises that every reader of this project keeps? A contract suite, also for readers of your
own.

    from forensics.testing import check_reader

    def test_my_reader() -> None:
        assert check_reader("my-format", Path("sample.jsonl")) == ()

The idea is that of the contract suites of plug-in frameworks: who writes a reader inherits the tests. Names load when
they are first used, since pytest loads the plugin beside them in every run.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forensics.testing.promises import PROMISES, Breach, Promise, Sample, check_reader

__all__ = ["PROMISES", "Breach", "Promise", "Sample", "check_reader"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        message = f"module 'forensics.testing' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module("forensics.testing.promises"), name)
