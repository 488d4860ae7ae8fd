"""Where do the samples go? Beside this folder, or into the folder named as first argument."""

from __future__ import annotations

import json
import sys
from pathlib import Path

# Resolved here, because a script may change its working folder later.
FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()


def target(name: str) -> Path:
    """Path of the sample `name`; a file of an earlier making is removed."""
    path = FOLDER / name
    path.unlink(missing_ok=True)
    return path


def write_json(name: str, document: object) -> None:
    """Write one JSON document, indented, with a newline at its end."""
    target(name).write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
