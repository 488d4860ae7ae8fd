"""Is this bundle what its manifest says? Every file is hashed again; what differs is named, the event too.

The folder is hostile: no path out of the manifest is opened (names are looked up in the folder's own listing), and
links are never followed.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NoReturn

import msgspec

from forensics.core.digests import digest_and_size
from forensics.core.sanitise import one_line
from forensics.custody import envelope
from forensics.custody.events import Change, Kind, change, digests, head, read_listing
from forensics.custody.statement import MANIFEST, Output, Statement, decode, oddities, spellings
from forensics.errors import CorruptEvidenceError, EvidenceError, LimitExceededError
from forensics.formats.places import is_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from forensics.custody.envelope import Envelope
    from forensics.custody.statement import Events

MANIFEST_LIMIT = 64 << 20  # bytes


class Signature(StrEnum):
    """What is known of who wrote the manifest."""

    NONE = "none"
    UNCHECKED = "unchecked"
    VALID = "valid"
    INVALID = "invalid"


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing in which the folder is not what was handed over. `event` is counted from 1."""

    kind: str
    file: str
    message: str
    event: int | None = None


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What came of checking a bundle. `sha256` is that of the manifest file: the digest to note down elsewhere.
    `matching` files of those that the manifest lists are as they were, and `compared` holds digest and size of each
    evidence that was given.
    """

    sha256: str
    expected: str | None
    signature: Signature
    statement: Statement
    matching: int
    faults: tuple[Fault, ...]
    compared: frozenset[tuple[str, int]] = frozenset()

    @property
    def verified(self) -> bool:
        """Whether nothing differs."""
        return not self.faults

    @property
    def vouched(self) -> bool:
        """Whether somebody else than the folder vouches for the manifest: a key, or a digest noted elsewhere."""
        return self.verified and (self.signature is Signature.VALID or self.expected is not None)


def verify(
    folder: Path, *, key: Path | None = None, expect: str | None = None, evidence: Sequence[Path] = ()
) -> Verification:
    """Check a bundle against its manifest; and that against a public key, a digest noted elsewhere and the evidence
    itself, where given.

    Raises EvidenceError where there is no manifest to check by or something can't be read, and ConfigurationError for
    a key that can't be used.
    """
    try:
        return _verified(folder, key, expect, evidence)
    except OSError as error:
        message = f"{one_line(str(error.filename or folder), 200)} can't be read: {error.strerror}"
        raise EvidenceError(
            message, hint="what can't be read can't be verified: ask for the right to read it"
        ) from None


def _verified(folder: Path, key: Path | None, expect: str | None, evidence: Sequence[Path]) -> Verification:
    found, folders = _listing(folder)
    if MANIFEST not in found:
        message = f"{_name(folder)} holds no {MANIFEST}"
        raise EvidenceError(message, hint="name the folder that `forensics report --bundle` wrote", code="no_manifest")
    data = _manifest(found[MANIFEST])
    digest = hashlib.sha256(data).hexdigest()
    signature, statement, odd = _statement(data, key)
    sizes = {one.name: _measured(found[one.name]) for one in statement.predicate.outputs if one.name in found}
    faults = (
        *_manifest_faults(digest, signature, key, expect),
        *(Fault(kind=Kind.EDITED, file=MANIFEST, message=one) for one in (*odd, *_list_oddities(statement))),
        *_file_faults(statement, found, sizes),
        *_folder_faults(statement, folders),
        *_event_faults(statement.predicate.events, found),
        *_input_faults(statement),
        *_evidence_faults(statement, evidence),
    )
    matching = sum(sizes.get(one.name) == (one.sha256, one.size) for one in statement.predicate.outputs)
    return Verification(
        sha256=digest,
        expected=expect,
        signature=signature,
        statement=statement,
        matching=matching,
        faults=faults,
        compared=frozenset(map(_measured, evidence)),
    )


def _listing(folder: Path) -> tuple[dict[str, Path], frozenset[str]]:
    """Everything below the folder that is no folder, by its path in it, and the paths of the folders in it; links are
    listed and not followed.
    """
    if not is_folder(folder):
        message = f"{_name(folder)} is no folder"
        raise EvidenceError(message, hint="name the folder that `forensics report --bundle` wrote", code="no_manifest")
    out, inner = {}, set()
    for root, folders, files in os.walk(folder, onerror=_raise):
        paths = [Path(root) / name for name in (*files, *folders)]
        for path in paths[: len(files)] + [one for one in paths[len(files) :] if one.is_symlink()]:
            out[path.relative_to(folder).as_posix()] = path
        inner.add(Path(root).relative_to(folder).as_posix())
    return out, frozenset(inner - {"."})


def _raise(error: OSError) -> NoReturn:
    raise error


def _name(folder: Path) -> str:
    """Its name, or the path that was given where that has none (`.`)."""
    return folder.name or str(folder)


def _manifest(path: Path) -> bytes:
    if not _is_file(path):
        message = f"{MANIFEST} is a link or a device, not a file"
        raise CorruptEvidenceError(message, hint="ask for the bundle again")
    if path.stat().st_size > MANIFEST_LIMIT:
        message = f"{MANIFEST} is larger than {MANIFEST_LIMIT} bytes"
        raise LimitExceededError(message, hint="no bundle of this program has such a manifest")
    return path.read_bytes()


def _statement(data: bytes, key: Path | None) -> tuple[Signature, Statement, tuple[str, ...]]:
    """Who signed the manifest, what it says, and in what it is not as this program writes one."""
    try:
        signed = envelope.opened(data)
        payload = data if signed is None else signed.payload
        statement = decode(payload)
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        message = f"{MANIFEST} can't be read: {error}"
        raise CorruptEvidenceError(message, hint="it was damaged or written by another program") from error
    odd = tuple(oddities(payload, statement)) or tuple(spellings(payload, statement))
    if signed is None:
        return Signature.NONE, statement, odd
    odd = (*odd, *(tuple(oddities(data, signed)) or tuple(_spelling(data, signed))))
    if key is None:
        return Signature.UNCHECKED if signed.signatures else Signature.NONE, statement, odd
    return Signature.VALID if envelope.signed_by(data, key, payload) else Signature.INVALID, statement, odd


def _spelling(data: bytes, signed: Envelope) -> Iterator[str]:
    if not envelope.is_as_written(data, signed):
        yield "the bytes of its envelope are not those that this program writes for what it holds"


def _measured(path: Path) -> tuple[str, int]:
    """The SHA-256 and the size of a file; of what is no file, an empty digest."""
    return digest_and_size(path) if _is_file(path) else ("", 0)


def _is_file(path: Path) -> bool:
    return stat.S_ISREG(path.lstat().st_mode)


# faults --------------------------------------------------------------------------------------------------------------


def _manifest_faults(digest: str, signature: Signature, key: Path | None, expect: str | None) -> Iterator[Fault]:
    if expect is not None and expect.removeprefix("sha256:").lower() != digest:
        yield Fault(kind="unexpected_manifest", file=MANIFEST, message=f"its digest is sha256:{digest}, not {expect}")
    if signature is Signature.INVALID:
        yield Fault(kind="signature", file=MANIFEST, message="no signature in it is that of the key")
    if key is not None and signature is Signature.NONE:
        yield Fault(kind="signature", file=MANIFEST, message="it is not signed, and a key was given to check it with")


def _file_faults(
    statement: Statement, found: Mapping[str, Path], measured: Mapping[str, tuple[str, int]]
) -> Iterator[Fault]:
    listed = {one.name: one for one in statement.predicate.outputs}
    for name, output in sorted(listed.items()):
        if name not in found:
            yield Fault(kind=Kind.DELETED, file=name, message="the manifest lists it, and it is not there")
        elif measured[name] != (output.sha256, output.size):
            yield Fault(kind=Kind.EDITED, file=name, message=_edited(output, *measured[name]))
    for name in sorted(found.keys() - listed.keys() - {MANIFEST}):
        yield Fault(kind=Kind.INSERTED, file=name, message="it is there, and the manifest does not list it")


def _list_oddities(statement: Statement) -> Iterator[str]:
    """What is wrong with the lists of inputs and of files themselves."""
    names = [one.name for one in statement.predicate.outputs]
    events = statement.predicate.events
    if not names:
        yield "it lists no file"
    if not statement.predicate.inputs:
        yield "it names no input"
    if events is not None and not {events.file, events.digests} <= {*names}:
        yield "it tells of events in files that it does not list"
    yield from (f"it lists {name} more than once" for name, count in sorted(Counter(names).items()) if count > 1)


def _folder_faults(statement: Statement, folders: frozenset[str]) -> Iterator[Fault]:
    """Folders in which no file of the manifest lies, empty ones too."""
    needed = {parent.as_posix() for one in statement.predicate.outputs for parent in PurePosixPath(one.name).parents}
    for name in sorted(folders - needed):
        yield Fault(kind=Kind.INSERTED, file=f"{name}/", message="it is there, and no file of the manifest lies in it")


def _edited(output: Output, digest: str, size: int) -> str:
    if not digest:
        return "it is a link or a device, not a file"
    if size != output.size:
        return f"it has {size} bytes, and had {output.size}"
    return "its bytes are others, as many as before"


def _input_faults(statement: Statement) -> Iterator[Fault]:
    """What the manifest itself says against the examination: an evidence that changed meanwhile proves nothing."""
    for one in statement.predicate.inputs:
        after = (one.sha256_after, one.size_after)
        if None not in after and after != (one.sha256, one.size):
            yield Fault(kind="evidence", file=one.name, message="it changed while it was examined")


def _evidence_faults(statement: Statement, evidence: Sequence[Path]) -> Iterator[Fault]:
    known = {(one.sha256, one.size) for one in statement.predicate.inputs}
    for path in evidence:
        if _measured(path) not in known:
            yield Fault(kind="evidence", file=path.name, message="its bytes are not those of an input of the manifest")


def _event_faults(events: Events | None, found: Mapping[str, Path]) -> Iterator[Fault]:
    """What was done to the timeline, event by event; that its file differs is told already."""
    if events is None or not {events.file, events.digests} <= found.keys():
        return
    paths = found[events.file], found[events.digests]
    if not all(map(_is_file, paths)):
        return
    now = digests(paths[0].read_bytes())
    recorded = read_listing(paths[1].read_bytes())
    if recorded is None or (len(recorded), head(recorded)) != (events.count, events.head):
        yield Fault(kind=Kind.EDITED, file=events.digests, message="it is not the list whose head the manifest holds")
        return
    changed = change(recorded, now)
    if changed is not None:
        yield Fault(kind=changed.kind, file=events.file, event=changed.event, message=_said(changed, len(recorded)))


_SAID = {
    Kind.EDITED: "{count} of {total} events are others, from event {event} on",
    Kind.INSERTED: "{count} events were put in, the first as event {event}; {total} were recorded",
    Kind.DELETED: "{count} of {total} events are gone, the first is event {event}",
    Kind.REORDERED: "{count} of {total} events stand in another order, from event {event} on",
    Kind.CUT_TAIL: "the tail is cut: {count} of {total} events are gone, from event {event} on",
}


def _said(changed: Change, total: int) -> str:
    return _SAID[changed.kind].format(count=changed.count, event=changed.event, total=total)
