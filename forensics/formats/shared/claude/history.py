"""Which records of a Claude Code session stood before, and where did a person go back and ask otherwise?

A resumed session writes its history again, with the same ids (FORMATS section 6); what stands again is told once.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import chain, repeat
from typing import TYPE_CHECKING

import msgspec

from forensics.core.evidence import Basis
from forensics.core.findings import finding
from forensics.formats.shared.claude.kinds import is_result
from forensics.formats.shared.fields import is_true, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.evidence import Locator
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.claude.lines import Record

_SHOWN = 20
_DIGEST = 16
_LOOKED_AT = -1  # instead of an offset


Name = tuple[str, str, int]
"""By what a record is known without its content: its `uuid` or what it is a piece of, its kind, and how many bytes its
content has.
"""


class Said(msgspec.Struct, frozen=True, gc=False):
    """Records that follow each other, by what they are known by: the names of each, and where in the evidence its
    content is. `names` are those of all together, and `at` where the content of each of these is.
    """

    every: Sequence[tuple[Name, ...]]
    offsets: Sequence[int]
    names: list[Name]
    at: list[int]


def said(every: Sequence[tuple[Name, ...]], offsets: Sequence[int]) -> Said:
    """Records by the names of each and where its content is."""
    at = chain.from_iterable(map(repeat, offsets, map(len, every)))
    return Said(every, offsets, list(chain.from_iterable(every)), list(at))


def names_of(kind: str, uuid: str, owner: str, length: int) -> tuple[Name, ...]:
    """The names of a record of that kind by its `uuid` and by what it is a piece of ("": not said)."""
    if not owner or owner == uuid:
        return ((uuid, kind, length),) if uuid else ()
    return ((uuid, kind, length), (owner, kind, length)) if uuid else ((owner, kind, length),)


class Again:
    """Which records stood before: by `uuid` and content, else by what they are a piece of and content.

    Names hardly ever come again. So of records that are told at once no more is kept than under which names they stand
    and where their content does, until one of the names comes again.
    """

    def __init__(self, text: memoryview) -> None:
        self.seen: set[bytes] = set()
        self.places: list[Locator] = []
        self.count = 0
        self._text = text
        self._named: dict[Name, int] = {}

    def is_again(self, record: Record, waits: Callable[[str], bool]) -> bool:
        """Whether this record was told. A result that a waiting call's id names answers that call, whatever it says."""
        said = _said(record)
        names = names_of(record.kind, record.uuid, _owner(record), len(said))
        for name in names:
            self._look_at(name)
        keys = [_key(name, said) for name in names]
        told = any(key in self.seen for key in keys)
        self.seen.update(keys)
        return told and not any(waits(call_id) for call_id in answered(record))

    def _look_at(self, name: Name) -> None:
        """Look at the content of the record that was told at once under a name, if that was not done yet."""
        offset = self._named.get(name, _LOOKED_AT)
        if offset != _LOOKED_AT:
            self.seen.add(self._key_at(name, offset))
        self._named[name] = _LOOKED_AT

    def _key_at(self, name: Name, offset: int) -> bytes:
        return _key(name, bytes(self._text[offset : offset + name[-1]]))

    def new_ones(self, records: Said) -> int:
        """How many of these records, which follow each other, stand before the first that was told."""
        if self._are_named_anew(records):
            return len(records.every)
        here: dict[Name, int] = {}
        keys: set[bytes] = set()
        for count, (names, offset) in enumerate(zip(records.every, records.offsets, strict=True)):
            for name in names:
                before = here.get(name)
                if before is None and name not in self._named:
                    here[name] = offset
                    continue
                if before is not None:
                    keys.add(self._key_at(name, before))
                self._look_at(name)
                key = self._key_at(name, offset)
                if key in keys or key in self.seen:
                    return count
                keys.add(key)
        return len(records.every)

    def _are_named_anew(self, records: Said) -> bool:
        """Whether no other record stands under one of their names."""
        names = records.names
        return len(set(names)) == len(names) and self._named.keys().isdisjoint(names)

    def take_all(self, records: Said) -> None:
        """Take records that were not told before."""
        if self._are_named_anew(records):
            self._named.update(zip(records.names, records.at, strict=True))
            return
        for name, offset in zip(records.names, records.at, strict=True):
            if name in self._named:
                self._look_at(name)
                self.seen.add(self._key_at(name, offset))
            else:
                self._named[name] = offset

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


def _said(record: Record) -> bytes:
    """What a record says: its content, or the whole of a message that has none."""
    content = record.content
    if content is not None:
        return bytes(content)
    return bytes(record.fields["message"]) if record.message else b""


def _owner(record: Record) -> str:
    """What a record is a piece of; "" where it says nothing."""
    if record.content is None:
        return ""
    return text(record.message, "id") or text(record.fields, "timestamp")


def _key(name: Name, said: bytes) -> bytes:
    known_by, kind, _ = name
    return digest_of(kind.encode("utf-8", "surrogatepass"), known_by.encode("utf-8", "surrogatepass"), said)


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
        asks = not record.aside and _is_prompt(record)
        return self.follow(record.uuid, record.parent, asks=asks, speaks=bool(record.message))

    def follow(self, uuid: str, parent: str, *, asks: bool, speaks: bool) -> bool:
        """The same of a record by what it says of itself: whether a person asks in it, and whether it has a message."""
        known = self._known
        lost = bool(parent) and parent not in known
        first = not known
        if first:
            self.begins_elsewhere = lost
        if asks:
            self.branches += known.get(parent, self._asked) < self._asked
            self._asked += 1
        if uuid:
            known[uuid] = self._asked
        return lost and not first and speaks

    def follow_all(self, uuids: Sequence[str], parents: Sequence[str], asks: bytearray, speaks: bytearray) -> list[int]:
        """The same of records that follow each other; returns which of them follow one that should stand in the file.

        Records that nobody asks in, and that follow one that is known, are noted here; `follow` is for the others.
        """
        known, asked, lost = self._known, self._asked, []
        for at, (uuid, parent, ask, speak) in enumerate(zip(uuids, parents, asks, speaks, strict=True)):
            if ask or parent not in known:
                if self.follow(uuid, parent, asks=bool(ask), speaks=bool(speak)):
                    lost.append(at)
                asked = self._asked
            elif uuid:
                known[uuid] = asked
        return lost


def _is_prompt(record: Record) -> bool:
    """Whether a person said something: neither a result nor what the harness put in."""
    return record.kind == "user" and not any(map(is_result, record.kinds)) and not is_true(record.fields, "isMeta")
