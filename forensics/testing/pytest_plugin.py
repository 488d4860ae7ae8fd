"""Do the kept cases still pass? Each case of `--forensics-cases FILE` as one test of pytest.

    pytest --forensics-cases cases/cases.jsonl --forensics-agent agents.oncall:run

A case is rerun from the record in the cell, free of charge. The agent comes from the option and never from the file.
Without the option nothing is imported and nothing happens: pytest loads this module in every run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.api_case_runs import Setup
    from forensics.report.case_documents import CaseRow
    from forensics.report.case_files import Kept

_WIDTH = 100
_OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("cases", {"action": "append", "metavar": "FILE", "help": "run the regression cases of this file; repeatable"}),
    ("agent", {"metavar": "MODULE:FUNCTION", "help": "the agent of the cases (default: rebuilt from each trace)"}),
    ("tool", {"action": "append", "metavar": "NAME=MODULE:FUNCTION", "help": "a function for a tool; repeatable"}),
    ("path", {"action": "append", "metavar": "FOLDER", "help": "where that code lies (default: .); repeatable"}),
    ("evidence", {"action": "append", "metavar": "PATH", "help": "where the cases' evidence lies; repeatable"}),
    ("policy", {"metavar": "strict|inject|PATH", "help": "the policy of the reruns (default: that of each case)"}),
    ("baseline", {"metavar": "FILE", "help": "an earlier `forensics case run --format json`: what failed is known"}),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; each is named --forensics-…"""
    group = parser.getgroup("forensics", "regression cases of agents' runs")
    for name, about in _OPTIONS:
        group.addoption(f"--forensics-{name}", dest=f"forensics_{name}", **about)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the cases to what was collected, before -k and the like choose among them."""
    files = config.getoption("forensics_cases")
    if not files:
        return
    from forensics.errors import ForensicsError

    try:
        setup, known = _setup(config), _known(config)
        for name in files:
            file = CaseFile.from_parent(session, path=Path(name).resolve())
            file.ready(setup, known)
            items.extend(file.collect())
    except ForensicsError as error:
        hint = f" ({error.hint})" if error.hint else ""
        raise pytest.UsageError(f"{error.message}{hint}") from None


def _setup(config: pytest.Config) -> Setup:
    from forensics.api import Options
    from forensics.api_case_runs import Setup, handed_in

    tools, folders = (config.getoption(f"forensics_{name}") or () for name in ("tool", "path"))
    code = handed_in(config.getoption("forensics_agent"), tools, folders)
    places = tuple(map(Path, config.getoption("forensics_evidence") or ()))
    return Setup(**code, evidence=places, options=Options(policy=config.getoption("forensics_policy")))


def _known(config: pytest.Config) -> dict[str, str]:
    """How the cases of the baseline ended that did not pass, by their names."""
    from forensics.report.case_files import read_baseline

    where = config.getoption("forensics_baseline")
    return {} if where is None else {row.name: row.result for row in read_baseline(Path(where)).cases}


class CaseFile(pytest.File):
    """A file of cases."""

    def ready(self, setup: Setup, known: dict[str, str]) -> None:
        """With what its cases are run, and how they ended before."""
        self.setup_of_cases, self.known = setup, known

    def collect(self) -> Iterator[CaseItem]:
        """One test a case. Raises ConfigurationError for a file that holds anything else."""
        from forensics.report.case_files import read_cases

        for kept in read_cases(self.path):
            item = CaseItem.from_parent(self, name=kept.case.name)
            item.kept = kept
            yield item


class CaseError(Exception):
    """A case that did not pass."""

    def __init__(self, row: CaseRow) -> None:
        super().__init__(row.name)
        self.row = row


class CaseItem(pytest.Item):
    """One case as a test."""

    kept: Kept

    def runtest(self) -> None:
        """Rerun the case; what did not pass in the baseline either, and alike, is expected to fail."""
        from forensics.api_case_runs import run_case
        from forensics.report.cases import PASSED

        file = self.getparent(CaseFile)
        if file is None:
            return
        row = run_case(self.kept, file.path.parent, file.setup_of_cases)
        if row.result == PASSED:
            return
        if file.known.get(row.name) == row.result:
            pytest.xfail(f"{row.result}, as in the baseline")
        raise CaseError(row)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **more: Any) -> Any:
        """The differences of the case, each with both sides."""
        if not isinstance(excinfo.value, CaseError):
            return super().repr_failure(excinfo, *args, **more)
        from forensics.report.terminal_cases import case_row
        from forensics.report.terminal_draw import plain
        from forensics.report.terminal_page import Page

        page = Page(_WIDTH, 1)
        case_row(page, excinfo.value.row)
        return plain(page.lines).strip("\n")

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the case stands."""
        return self.path, self.kept.line - 1, f"case {self.name}"
