"""How do the rows of a corpus come to stand in files? JSON lines in shards of a bounded size, each written whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.jsonout import json_lines
from forensics.report.outputs import write_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

SHARD_BYTES = 32 << 20


class Shards:
    """The shards of one kind of row in a folder: `KIND-00001.jsonl` and on. Rows come in the order they shall have."""

    def __init__(self, folder: Path, kind: str, most: int = SHARD_BYTES) -> None:
        self._folder, self._kind, self._most = folder, kind, most
        self._waiting: list[bytes] = []
        self._size = 0
        self.names: list[str] = []

    def add(self, rows: Iterable[object]) -> None:
        """Write rows down, or keep them until there are enough for a shard."""
        for row in rows:
            line = json_lines([row])
            if self._size and self._size + len(line) > self._most:
                self._write()
            self._waiting.append(line)
            self._size += len(line)

    def close(self) -> list[str]:
        """Write what is left, take away the shards of an earlier, longer run, and name what there is now."""
        if self._waiting:
            self._write()
        for path in self._stale():
            path.unlink()
        return self.names

    def _write(self) -> None:
        name = f"{self._kind}-{len(self.names) + 1:05}.jsonl"
        write_output(self._folder / name, b"".join(self._waiting), force=True)
        self.names.append(name)
        self._waiting, self._size = [], 0

    def _stale(self) -> Iterator[Path]:
        return (path for path in self._folder.glob(f"{self._kind}-?????.jsonl") if path.name not in self.names)
