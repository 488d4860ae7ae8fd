"""What do records with the same keys hold, column by column? Their fields are still JSON as it was written."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import TYPE_CHECKING

import msgspec

from forensics.formats.shared.fields import Fields, text

if TYPE_CHECKING:
    from forensics.core.trace import Payload

Names = tuple[str, ...]
"""Fields of one role, of which the first that says something counts."""

Alike = tuple[Sequence[int], "Group"]
"""Records with the same keys, and where they stand among others."""

_NULL = msgspec.Raw(b"null")
_write = msgspec.json.Encoder().encode
_texts = msgspec.json.Decoder(list[str]).decode


class Group:
    """Records of one shape, in columns."""

    def __init__(self, records: Sequence[Fields]) -> None:
        self.records = records
        self._keys = tuple(records[0])
        self._together: dict[Names, list[int]] = {(): [0] * len(records)}
        self._columns = dict(zip(self._keys, zip(*map(dict.values, records), strict=True), strict=True))

    def column(self, name: str) -> Sequence[Payload]:
        """That field of each record."""
        return self._columns[name]

    def some(self, rows: Sequence[int]) -> Group:
        """These of them."""
        return Group([self.records[row] for row in rows])

    def has(self, name: str) -> bool:
        """Whether they have that field."""
        return name in self._columns

    def positions(self, name: str) -> list[int]:
        """Where in its record that field of each stands, where nothing is written between the fields but commas."""
        keys = self._keys[: self._keys.index(name)]
        written = len("{") + sum(len(_write(key)) + len(":") for key in (*keys, name)) + len(",") * len(keys)
        return list(map(written.__add__, self._before(keys)))

    def sizes(self) -> list[int]:
        """How long each record is, where nothing is written between the fields but commas."""
        keys = self._keys
        around = len("{}") + sum(len(_write(key)) + len(":") for key in keys) + max(len(keys) - 1, 0) * len(",")
        return list(map(around.__add__, self._before(keys)))

    def _before(self, keys: Names) -> list[int]:
        """How long these fields of each record are together, which are its first ones."""
        found = self._together.get(keys)
        if found is None:
            *others, last = keys
            before = self._before(tuple(others))
            found = self._together[keys] = list(map(add, before, map(len, self._columns[last])))
        return found

    def payloads(self, names: Names) -> Sequence[Payload | None]:
        """The first of these fields that is not null, of each record."""
        if not names:
            return [None] * len(self.records)
        first = self._columns[names[0]]
        if _NULL not in first:
            return first
        return [next((one[name] for name in names if one[name] != _NULL), None) for one in self.records]

    def texts(self, names: Names) -> list[str]:
        """The text of the first of these fields that holds one, of each record; else ""."""
        if not names:
            return [""] * len(self.records)
        try:
            return _texts(b"[" + b",".join(self._columns[names[0]]) + b"]")
        except (msgspec.DecodeError, UnicodeDecodeError):
            return [text(one, *names) for one in self.records]

    def holding(self, names: Names) -> list[int]:
        """Which of the records have an object or a list in one of these fields."""
        found: list[int] = []
        for name in names:
            column = self._columns[name]
            joined = b"".join(column)
            if b"{" in joined or b"[" in joined:
                opened = (bytes(memoryview(payload)[:1]) for payload in column)
                found.extend(row for row, mark in enumerate(opened) if mark in (b"{", b"["))
        return found
