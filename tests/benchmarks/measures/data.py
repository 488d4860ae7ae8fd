"""On what is measured? Traces of the shared generator, made once and kept below one folder.

A file's name says all that it was made with, the digest of the generator included: what is there is not made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

GENERATOR = Path(__file__).parents[4] / "shared" / "bench" / "gen_traces.py"
MEGABYTE = 1_000_000
DENSE, SHARE = 0.47, 0.17
"""How much of a generated trace is payload text, and of real sessions (160 files of 190 MB)."""
NEWS = 3  # records a result that make the one into the other


class Data:
    """The folder of what was made, and the generator."""

    def __init__(self, folder: Path, generator: Path = GENERATOR) -> None:
        self.folder, self.generator = folder, generator
        folder.mkdir(parents=True, exist_ok=True)
        self._digest = hashlib.sha256(generator.read_bytes()).hexdigest()[:8]

    def made(self, name: str, make: Callable[[Path], object]) -> Path:
        """The file of that name, made if it is not there. It appears whole or not at all."""
        path = self.folder / f"{self._digest}-{name}"
        if not path.exists():
            half = path.with_name(f"{path.name}.{os.getpid()}")
            make(half)
            half.rename(path)
        return path

    def trace(self, kind: str, **options: object) -> Path:
        """One trace of the generator: `trace("plain", megabytes=10, style="log")`; the options are the generator's."""
        told = _options(options)
        suffix = "json" if kind in ("otlp", "invariant") else "jsonl"
        return self.made(f"{_name(kind, options)}.{suffix}", lambda path: self._generate(kind, path, told))

    def with_truth(self, kind: str, **options: object) -> tuple[Path, Path]:
        """The same with a second file that says what was planted in it."""
        name = f"{_name(kind, options)}-planted.jsonl"
        truth = self.folder / f"{self._digest}-{name}.truth"
        told = [*_options(options), "--truth", str(truth)]
        return self.made(name, lambda path: self._generate(kind, path, told)), truth

    def session(self, megabytes: float) -> Path:
        """A session file of the shape of real ones: most of its bytes are no payload."""

        def make(path: Path) -> None:
            dense = self.trace("cc", megabytes=megabytes * SHARE / DENSE)
            with dense.open("rb") as lines, path.open("wb") as out:
                out.writelines(_as_in_a_session(lines))

        return self.made(f"session-{megabytes:g}MB.jsonl", make)

    def _generate(self, kind: str, path: Path, told: list[str]) -> None:
        command = [sys.executable, str(self.generator), "one", "--format", kind, *told, "--out", str(path)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _name(kind: str, options: dict[str, object]) -> str:
    return "-".join([kind, *(f"{name}={value}" for name, value in sorted(options.items()))])


def _options(options: dict[str, object]) -> list[str]:
    told = {name.replace("_", "-"): str(value) for name, value in options.items()}
    if "megabytes" in told:
        told["bytes"] = str(float(told.pop("megabytes")) * MEGABYTE)
    return [part for name, value in sorted(told.items()) for part in (f"--{name}", value)]


def _as_in_a_session(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Dense records with what a session file has around them: each result once more beside its message, and news of the
    tool while it ran.
    """
    for line in lines:
        record = json.loads(line)
        content = record["message"]["content"]
        if not isinstance(content, list) or content[0]["type"] != "tool_result":
            yield line
            continue
        output = content[0]["content"]
        for number in range(NEWS):
            yield _line(_news(record, number, output))
        yield _line({**record, "toolUseResult": {**record["toolUseResult"], "stdout": output, "stderr": ""}})


def _news(record: dict[str, Any], number: int, output: str) -> dict[str, Any]:
    told = output[: len(output) * (number + 1) // (NEWS + 1)]
    call = record["message"]["content"][0]["tool_use_id"]
    around = {key: record[key] for key in ("isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch")}
    return {
        "parentUuid": record["parentUuid"],
        **around,
        "type": "progress",
        "data": {"type": "bash_progress", "output": told[-200:], "fullOutput": told, "elapsedTimeSeconds": number + 1},
        "toolUseID": f"bash-progress-{number}",
        "parentToolUseID": call,
        "uuid": f"{record['uuid'][:-2]}{number:02x}",
        "timestamp": record["timestamp"],
    }


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
