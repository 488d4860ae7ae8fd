"""How does a scenario become a FastAIAgent database? Runs it on FunctionModel and tidies the file the SDK leaves."""

from __future__ import annotations

import sys
import tempfile
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastaiagent import Agent, FunctionTool
from fastaiagent.testing import FunctionModel
from files import target
from scenarios import Scenario, numbered
from sqlite_file import compact

if TYPE_CHECKING:
    from collections.abc import Iterator

# The SDK's spans keep tracebacks, and a traceback names this machine's folders. The interpreter's own switch leaves
# the exception and drops the frames, so that no file has to be edited afterwards.
sys.tracebacklimit = 0


@contextmanager
def database(name: str) -> Iterator[Path]:
    """The database of a throwaway project for the length of a `with` block; afterwards it is the sample `name`.

    The SDK keeps its files below the working folder and writes that folder's name into every row, hence `demo`.
    """
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "demo"
        project.mkdir()
        with chdir(project):
            yield project / ".fastaiagent" / "local.db"
        compact(project / ".fastaiagent" / "local.db", target(name))


def agent(scenario: Scenario, after_turns: Exception | None = None) -> Agent:
    """The scenario's agent on a scripted model; when the turns are used up, `after_turns` is raised."""
    script = numbered(scenario.turns)

    def respond(_messages: object) -> str | tuple[str, list[dict[str, Any]]]:
        turn, ids = next(script, (None, ()))
        if turn is None:
            raise after_turns or RuntimeError("the script has no more turns")
        calls = [
            {"id": call_id, "name": name, "arguments": arguments}
            for call_id, (name, arguments) in zip(ids, turn.calls, strict=True)
        ]
        text = turn.text or ""
        return (text, calls) if calls else text

    tools = [
        FunctionTool(tool.name, tool.run, tool.description, replay_class=tool.replay_class) for tool in scenario.tools
    ]
    return Agent(scenario.agent, system_prompt=scenario.system, llm=FunctionModel(respond), tools=tools)
