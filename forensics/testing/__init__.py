"""Does a reader keep the promises that every reader of this project keeps, and an agent those of one that can be rerun?
Contract suites, for readers and agents of your own.

    from forensics.testing import check_reader

    def test_my_reader() -> None:
        assert check_reader("my-format", Path("sample.jsonl")) == ()

    def test_my_agent() -> None:
        assert check_agent(my_agent, Path("trace.json")) == ()

The idea is that of the contract suites of plug-in frameworks: who writes a reader inherits the tests. Names load when
they are first used, since pytest loads the plugin beside them in every run.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forensics.testing.agents import AGENT_PROMISES, AgentBreach, check_agent
    from forensics.testing.promises import PROMISES, Breach, Promise, Sample, check_reader

__all__ = [
    "AGENT_PROMISES",
    "PROMISES",
    "AgentBreach",
    "Breach",
    "Promise",
    "Sample",
    "check_agent",
    "check_reader",
]
_OF_AGENTS = frozenset({"AGENT_PROMISES", "AgentBreach", "check_agent"})


def __getattr__(name: str) -> Any:
    if name not in __all__:
        message = f"module 'forensics.testing' has no attribute {name!r}"
        raise AttributeError(message)
    home = "forensics.testing.agents" if name in _OF_AGENTS else "forensics.testing.promises"
    return getattr(importlib.import_module(home), name)
