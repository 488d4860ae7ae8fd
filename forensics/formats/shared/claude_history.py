"""Which records of a Claude Code session stood before, and where did a person go back and ask otherwise?

A resumed session writes its history again, with the same ids (FORMATS section 6); what stands again is told once.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from forensics.core.evidence import Basis
from forensics.core.findings import finding
from forensics.formats.shared.vocabulary import text

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.evidence import Locator
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.claude_lines import Record

_SHOWN = 20
_DIGEST = 16
_TRUE = b"true"


class Again:
    """Which records stood before: by `uuid` and content, else by what they are a piece of and content."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self.places: list[Locator] = []
        self.count = 0

    def is_again(self, record: Record, waits: Callable[[str], bool]) -> bool:
        """Whether this record was told. A result that a waiting call's id names answers that call, whatever it says."""
        keys = _keys(record)
        told = any(key in self.seen for key in keys)
        self.seen.update(keys)
        return told and not any(waits(call_id) for call_id in answered(record))

    def note(self, locator: Locator) -> None:
        """Remember where a record stands again."""
        self.count += 1
        if len(self.places) < _SHOWN:
            self.places.append(locator)

    def tell(self, build: EvidenceBuilder) -> None:
        """One finding for all of them."""
        build.counts.duplicate_records += self.count
        if self.count:
            message = f"{self.count} records stand again (same id, same content): each is told once"
            build.found(finding("duplicate_record", message, locators=tuple(self.places), basis=Basis.DERIVED))


def _keys(record: Record) -> list[bytes]:
    """What a record is known by; none for a record that neither has an id nor says anything."""
    fields, content = record.fields, record.content
    said = b"" if content is None else bytes(content)
    kind = text(fields, "type").encode()
    owner = text(record.message, "id") or text(fields, "timestamp")
    names = [text(fields, "uuid")] if text(fields, "uuid") else []
    if content is not None and owner:
        names.append(owner)
    return [digest_of(kind, name.encode("utf-8", "surrogatepass"), said) for name in names]


def digest_of(*parts: bytes) -> bytes:
    """A digest of 16 bytes in which each part is framed by its length."""
    framed = blake2b(digest_size=_DIGEST)
    for part in parts:
        framed.update(len(part).to_bytes(8, "big"))
        framed.update(part)
    return framed.digest()


def answered(record: Record) -> list[str]:
    """The ids of the calls that a record answers."""
    return [text(fields, "tool_use_id") for _, fields in record.blocks if is_result(text(fields, "type"))]


class Chain:
    """Which record follows which, as far as `parentUuid` tells: where a person went back and asked otherwise, and where
    the record that another follows is not there.
    """

    def __init__(self) -> None:
        self.branches = 1
        self.begins_elsewhere = False
        self._asked = 0
        self._known: dict[str, int] = {}

    def note(self, record: Record) -> bool:
        """Take a record in order; returns whether the record that it follows should stand in the file and does not.

        The first record may follow one of another file, and news of a running tool (`progress`) are not always kept.
        """
        fields = record.fields
        uuid, parent = text(fields, "uuid"), text(fields, "parentUuid")
        lost = bool(parent) and parent not in self._known
        first = not self._known
        if first:
            self.begins_elsewhere = lost
        if bytes(fields.get("isSidechain", b"")) != _TRUE and _is_prompt(record):
            self.branches += self._known.get(parent, self._asked) < self._asked
            self._asked += 1
        if uuid:
            self._known[uuid] = self._asked
        return lost and not first and bool(record.message)


def _is_prompt(record: Record) -> bool:
    """Whether a person said something: neither a result nor what the harness put in."""
    fields = record.fields
    return text(fields, "type") == "user" and not answered(record) and bytes(fields.get("isMeta", b"")) != _TRUE


def is_result(kind: str) -> bool:
    """Whether a block of that type is the result of a call: `tool_result`, `web_search_tool_result` and the like."""
    return kind.endswith("tool_result")
