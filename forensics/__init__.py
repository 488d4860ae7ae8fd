"""What may be rerun, and what did it do? Static-plus-dynamic trace forensics for the runs of AI agents.

Names load when they are first used, so that `import forensics` and `forensics --help` stay light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "assert_dynamically_replayable": "forensics.api",
    "clear": "forensics.api",
    "compare_runs": "forensics.api_compare",
    "examine": "forensics.api",
    "graph": "forensics.api",
    "load": "forensics.api",
    "match": "forensics.api_match",
    "rerun": "forensics.api_replay",
    "run_cases": "forensics.api_case_runs",
    "save_case": "forensics.api_cases",
    "to_networkx": "forensics.api",
    "Examination": "forensics.api",
    "Options": "forensics.api",
    "ForensicsError": "forensics.errors",
    "EvidenceError": "forensics.errors",
    "NonReplayableTraceError": "forensics.errors",
    "RuleError": "forensics.errors",
    "Trace": "forensics.core.trace",
    "Verdict": "forensics.core.verdict",
}

__all__ = [
    "EvidenceError",
    "Examination",
    "ForensicsError",
    "NonReplayableTraceError",
    "Options",
    "RuleError",
    "Trace",
    "Verdict",
    "__version__",
    "assert_dynamically_replayable",
    "clear",
    "compare_runs",
    "examine",
    "graph",
    "load",
    "match",
    "rerun",
    "run_cases",
    "save_case",
    "to_networkx",
]

if TYPE_CHECKING:
    from forensics.api import (
        Examination,
        Options,
        assert_dynamically_replayable,
        clear,
        examine,
        graph,
        load,
        to_networkx,
    )
    from forensics.api_case_runs import run_cases
    from forensics.api_cases import save_case
    from forensics.api_compare import compare_runs
    from forensics.api_match import match
    from forensics.api_replay import rerun
    from forensics.core.trace import Trace
    from forensics.core.verdict import Verdict
    from forensics.errors import EvidenceError, ForensicsError, NonReplayableTraceError, RuleError


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        message = f"module 'forensics' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(home), name)
