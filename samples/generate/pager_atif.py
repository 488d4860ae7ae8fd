"""Makes pager.atif.json: the session in pager.codex.jsonl, as Harbor turns it into an ATIF trajectory."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "true"  # else a list of prices is looked for elsewhere

from files import FOLDER, write_json
from harbor.agents.installed.codex import Codex
from harbor.utils.trajectory_utils import format_trajectory_json

ROLLOUT = "rollout-2026-11-30T00-00-00-00000000-0000-7000-8000-000000000000.jsonl"  # a name as Codex gives one


def main() -> None:
    """Convert the rollout that `pager_codex.py` made."""
    with tempfile.TemporaryDirectory() as folder:
        sessions = Path(folder) / "sessions" / "2026" / "11" / "30"
        sessions.mkdir(parents=True)
        shutil.copy(FOLDER / "pager.codex.jsonl", sessions / ROLLOUT)
        trajectory = Codex(Path(folder), model_name="stub/scripted-1").convert_trajectory(Path(folder))
    write_json("pager.atif.json", json.loads(format_trajectory_json(trajectory.to_json_dict())))


if __name__ == "__main__":
    main()
