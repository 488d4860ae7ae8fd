"""Which records of a Claude Code session stood before, and where did a person go back and ask otherwise?

A resumed session writes its history again, with the same ids (FORMATS section 6); what stands again is told once.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from forensics.core.evidence import Basis
from forensics.core.findings import finding
from forensics.formats.shared.fields import is_true, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.evidence import Locator
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.claude.lines import Record

_SHOWN = 20
_DIGEST = 16


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
    content = record.content
    said = b"" if content is None else bytes(content)
    kind = record.kind.encode("utf-8", "surrogatepass")
    names = [record.uuid] if record.uuid else []
    owner = text(record.message, "id") or text(record.fields, "timestamp") if content is not None else ""
    if owner:
        names.append(owner)
    return [digest_of(kind, name.encode("utf-8", "surrogatepass"), said) for name in names]


def digest_of(*parts: bytes) -> bytes:
    """A digest of 16 bytes in which each part is framed by its length."""
    *heads, last = parts
    framed = blake2b(b"".join(b"%d:%b" % (len(part), part) for part in heads), digest_size=_DIGEST)
    framed.update(last)
    return framed.digest()


def answered(record: Record) -> list[str]:
    """The ids of the calls that a record answers."""
    answers = zip(record.kinds, record.blocks, strict=True)
    return [text(fields, "tool_use_id") for kind, (_, fields) in answers if is_result(kind)]


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
        uuid, parent = record.uuid, record.parent
        lost = bool(parent) and parent not in self._known
        first = not self._known
        if first:
            self.begins_elsewhere = lost
        if not record.aside and _is_prompt(record):
            self.branches += self._known.get(parent, self._asked) < self._asked
            self._asked += 1
        if uuid:
            self._known[uuid] = self._asked
        return lost and not first and bool(record.message)


def _is_prompt(record: Record) -> bool:
    """Whether a person said something: neither a result nor what the harness put in."""
    return record.kind == "user" and not any(map(is_result, record.kinds)) and not is_true(record.fields, "isMeta")


def is_result(kind: str) -> bool:
    """Whether a block of that type is the result of a call: `tool_result`, `web_search_tool_result` and the like."""
    return kind.endswith("tool_result")
