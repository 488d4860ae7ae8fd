"""Which values of an evidence are secret, and how is one named without showing it? By its kind and a keyed fingerprint.

The key is a BLAKE2b over what the steps of the evidence say, under a personalisation of its own, and stands in no
output. So the same run gives the same fingerprints, in whatever order and encoding its records are written. A value
that comes back is seen to come back, and only who holds the evidence, and with it the value, can try guesses: a plain
digest of a card number or a short password is read back in seconds (docs/adr/0017).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from forensics.core.late import late

if TYPE_CHECKING:
    from collections.abc import Iterable

_PERSON = b"forensics-secret"  # 16 bytes at most
_KEY = 32  # bytes
_DIGITS = 6  # bytes of a fingerprint: enough to tell values apart, too few to be worth storing
CREDENTIAL, PERSONAL = "credential", "personal"
_WORDS = {CREDENTIAL: "secret", PERSONAL: "personal"}
NAME = late(rb"(?:secret|personal):[a-z0-9-]+:(?:[0-9a-f]{12}|-)")
"""How the name of a value is written."""


class Secret(msgspec.Struct, frozen=True, gc=False):
    """A value that is not shown: its kind, its group (credential or personal), and its fingerprint."""

    kind: str
    group: str
    fingerprint: str

    @property
    def name(self) -> str:
        """How it stands in outputs (CONTRACT: `secret:KIND:FINGERPRINT`)."""
        return f"{_WORDS[self.group]}:{self.kind}:{self.fingerprint}"


class Secrets(msgspec.Struct, frozen=True):
    """The secret values of one evidence, each with its name. `key` is that of the fingerprints; `packed` are texts,
    such as base64, that hold one; `ids` are values that look like one and link records: they stay as they are.
    `sought` says that somebody looked for them, and `complete` that every byte of the evidence was looked through, so
    that no output about it can hold another.
    """

    key: bytes = b""
    known: Mapping[str, Secret] = {}
    packed: Mapping[str, Secret] = {}
    ids: frozenset[str] = frozenset()
    complete: bool = False
    sought: bool = False

    def secret(self, value: str, kind: str, group: str) -> Secret:
        """The name that a value has, or one of that kind; without a fingerprint where there is no key."""
        known = self.known.get(value)
        if known is not None:
            return known
        return Secret(kind, group, fingerprint(value, self.key) if self.key else "-")


NO_SECRETS = Secrets()


def key_of(told: Iterable[bytes]) -> bytes:
    """The key of the fingerprints of an evidence that says this; order and repetition count for nothing."""
    total = 0
    for digest in {hashlib.blake2b(one, digest_size=_KEY, person=_PERSON).digest() for one in told}:
        total += int.from_bytes(digest, "big")
    data = (total % (1 << 8 * _KEY)).to_bytes(_KEY, "big")
    return hashlib.blake2b(data, digest_size=_KEY, person=_PERSON).digest()


def fingerprint(value: str, key: bytes) -> str:
    """Twelve hexadecimal digits that stand for a value under this key."""
    data = value.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=_DIGITS, key=key, person=_PERSON).hexdigest()
