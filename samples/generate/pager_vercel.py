"""Makes pager.vercel.otlp.json: the pager incident run on the Vercel AI SDK, as its spans are posted to a collector.

The agent is `vercel_agent.mjs`; Node finds the packages in the folder that NODE_MODULES names, or beside the script.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from collector import collecting
from files import write_json
from scenarios import Scenario, pager
from stub import MODEL, serving

SCRIPT = "vercel_agent.mjs"


def told(scenario: Scenario) -> dict[str, Any]:
    """The scenario without Python: each tool with what it will return, call after call."""
    results: dict[str, list[object]] = {tool.name: [] for tool in scenario.tools}
    for turn in scenario.turns:
        for name, arguments in turn.calls:
            results[name].append(scenario.call(name, arguments))
    tools = [
        {"name": t.name, "description": t.description, "schema": t.schema, "results": results[t.name]}
        for t in scenario.tools
    ]
    return {"agent": scenario.agent, "system": scenario.system, "prompt": scenario.user, "tools": tools}


def run(what: dict[str, Any]) -> None:
    """Run the agent; modules are looked for beside the script, so that it runs as a copy beside theirs."""
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        script = Path(shutil.copy(here / SCRIPT, folder))
        (script.parent / "node_modules").symlink_to(os.environ.get("NODE_MODULES", here / "node_modules"))
        subprocess.run(  # noqa: S603 - the command is this script's own
            ["node", str(script)],  # noqa: S607 - Node is where PATH says
            check=True, input=json.dumps(what), text=True, timeout=120,
        )  # fmt: skip


def main() -> None:
    """Run the incident once; the spans go out in one batch."""
    scenario = pager()
    what = told(scenario)
    with collecting() as posted, serving(scenario) as address:
        run(what | {"model": MODEL, "models": f"{address}/v1", "traces": f"{posted.address}/v1/traces"})
    (batch,) = posted.bodies
    write_json("pager.vercel.otlp.json", batch)


if __name__ == "__main__":
    main()
