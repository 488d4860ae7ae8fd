"""Makes pager.codex.jsonl: the pager incident in a session of Codex CLI, as the rollout that it keeps.

Codex runs from its npm package, found on PATH, with a home folder of its own; the model is the stub, and the tools are
those of `pager_mcp.py`'s server.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from files import target
from scenarios import Scenario, pager
from stub import MODEL, serving

PLACE = "/srv/oncall"  # where the session says that it ran
CONFIGURATION = """
model = "{model}"
model_provider = "stub"
model_instructions_file = "{home}/instructions.md"
approval_policy = "never"
sandbox_mode = "read-only"
include_permissions_instructions = false
check_for_update_on_startup = false

[analytics]
enabled = false

[skills.bundled]
enabled = false

[model_providers.stub]
name = "stub"
base_url = "{address}/v1"
wire_api = "responses"

[mcp_servers.{agent}]
command = "{python}"
args = ["{server}", "serve"]
required = true
default_tools_approval_mode = "approve"
"""


def set_up(home: Path, scenario: Scenario, address: str) -> Path:
    """Write the configuration into Codex's home; returns the folder to work in."""
    text = CONFIGURATION.format(
        model=MODEL,
        home=home,
        address=address,
        agent=scenario.agent,
        python=sys.executable,
        server=Path(__file__).with_name("pager_mcp.py"),
    )
    (home / "config.toml").write_text(text, encoding="utf-8")
    (home / "instructions.md").write_text(scenario.system, encoding="utf-8")
    work = home / "work"
    work.mkdir()
    return work


def session(home: Path, work: Path, question: str) -> str:
    """Run one session without a terminal; returns its rollout."""
    command = ["codex", "exec", "--skip-git-repo-check", "--cd", str(work), question]
    environment = {"CODEX_HOME": str(home), "HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC"}
    subprocess.run(  # noqa: S603 - the command is this script's own
        command, check=True, env=environment, stdin=subprocess.DEVNULL, timeout=120
    )
    (rollout,) = home.glob("sessions/**/*.jsonl")
    return rollout.read_text("utf-8")


def main() -> None:
    """Run the incident once; the throwaway folder is told as another one."""
    scenario = pager()
    with tempfile.TemporaryDirectory() as folder, serving(scenario) as address:
        home = Path(folder).resolve()
        work = set_up(home, scenario, address)
        rollout = session(home, work, scenario.user).replace(str(work), PLACE)
    target("pager.codex.jsonl").write_text(rollout, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
