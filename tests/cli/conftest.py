"""What do the tests of the command line share? The samples, and the command run as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def samples() -> Path:
    return ROOT / "samples"


@pytest.fixture
def forensics(tmp_path: Path) -> Run:
    """Run the command as a process, in a folder of its own, at 80 columns and without colour unless told otherwise."""
    home = tmp_path / "home"
    home.mkdir()

    def run(*arguments: object, stdin: bytes = b"", cwd: Path = home, **env: str) -> subprocess.CompletedProcess[bytes]:
        kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "LC_ALL", "TZ")}
        world = {**kept, "PYTHONPATH": str(ROOT), "HOME": str(home), "USERPROFILE": str(home), "COLUMNS": "80", **env}
        command = [sys.executable, "-m", "forensics", *map(str, arguments)]
        return subprocess.run(command, cwd=cwd, env=world, input=stdin, capture_output=True, timeout=120, check=False)

    return run
