"""Does a reader keep the promises that every reader of this project keeps? A contract suite, also for readers of your
own.

    from forensics.testing import check_reader

    def test_my_reader() -> None:
        assert check_reader("my-format", Path("sample.jsonl")) == ()

The idea is that of the contract suites of plug-in frameworks: who writes a reader inherits the tests.
"""

from __future__ import annotations

from forensics.testing.promises import PROMISES, Breach, Promise, Sample, check_reader

__all__ = ["PROMISES", "Breach", "Promise", "Sample", "check_reader"]
