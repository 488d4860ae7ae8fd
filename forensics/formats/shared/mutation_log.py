"""What did a value become that is written as a log of its changes? The first entry is the whole of it; each later one
sets what stands at a path, or cuts a list there and adds to it.

What an entry takes away was written all the same: it is kept beside the value.
"""

from __future__ import annotations

from typing import Any

import msgspec

INITIAL, SET, PUSH, DELETE = range(4)
"""The kinds of entries."""
_Path = list[str | int]


class MutationLog:
    """The value so far, and what entries took away from it, with the path of each."""

    def __init__(self, value: Any = None) -> None:
        self.value = value
        self.taken: list[tuple[_Path, Any]] = []

    def apply(self, entry: dict[str, Any]) -> bool:
        """Apply an entry; False where it is none, or does not fit the value (which is then as it was)."""
        kind, path = entry.get("kind"), entry.get("k")
        if kind == INITIAL and path is None:
            self._take([], self.value)
            self.value = entry.get("v")
            return True
        if not isinstance(path, list) or not path or kind not in (SET, PUSH, DELETE):
            return False
        holder = self._at(path[:-1])
        if not _fits(holder, path[-1], adds=kind == SET):
            return kind == PUSH and self._push_new(holder, path, entry)
        return self._change(holder, path, entry)

    def _at(self, path: _Path) -> Any:
        """What stands at a path; None where nothing does."""
        value = self.value
        for key in path:
            if not _fits(value, key):
                return None
            value = value[key]
        return value

    def _change(self, holder: Any, path: _Path, entry: dict[str, Any]) -> bool:
        last = path[-1]
        if entry["kind"] == PUSH:
            return self._push(holder[last], path, entry)
        if _fits(holder, last):
            self._take(path, holder[last])
        if entry["kind"] == DELETE:
            del holder[last]
        else:
            holder[last] = entry.get("v")
        return True

    def _push(self, held: Any, path: _Path, entry: dict[str, Any]) -> bool:
        """Cut a list from an index on, where the entry names one, and add to it."""
        added, start = entry.get("v", []), entry.get("i")
        if not isinstance(held, list) or not isinstance(added, list):
            return False
        if isinstance(start, int) and 0 <= start < len(held):
            for at, gone in enumerate(held[start:], start):
                self._take([*path, at], gone)
            del held[start:]
        held.extend(added)
        return True

    def _push_new(self, holder: Any, path: _Path, entry: dict[str, Any]) -> bool:
        """Add to a list that is not there yet."""
        if not isinstance(holder, dict) or not isinstance(path[-1], str) or not isinstance(entry.get("v"), list):
            return False
        holder[path[-1]] = entry["v"]
        return True

    def _take(self, path: _Path, value: Any) -> None:
        if isinstance(value, (dict, list)):
            self.taken.append((path, value))


def _fits(holder: Any, key: Any, *, adds: bool = False) -> bool:
    """Whether something stands under a key or an index; `adds`: or may be put there."""
    if isinstance(holder, dict):
        return isinstance(key, str) and (adds or key in holder)
    return isinstance(holder, list) and isinstance(key, int) and 0 <= key < len(holder)


def plain(payload: msgspec.Raw | bytes) -> Any:
    """An entry as plain values; None where it is no JSON of the usual kind."""
    try:
        return msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
