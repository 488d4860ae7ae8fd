"""Who vouches for a manifest? A DSSE envelope with an ed25519 signature, written and checked by securesystemslib.

https://github.com/secure-systems-lab/dsse/blob/master/envelope.md; the key identifiers are securesystemslib's own. The
library comes with the extra `sign` and is imported only where a key is given.
"""

from __future__ import annotations

import base64
import json
import os
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

    from securesystemslib.signer import CryptoSigner, SSlibKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
PASSWORD = "FORENSICS_KEY_PASSWORD"  # noqa: S105 - the name of an environment variable


class Envelope(msgspec.Struct, frozen=True):
    """A DSSE envelope: the payload as base64, its type, and the signatures."""

    payload: bytes
    payload_type: str = msgspec.field(name="payloadType")
    signatures: tuple[dict[str, str], ...]


def sign(payload: bytes, key: Path) -> bytes:
    """The payload in an envelope signed with the private key of a PEM file (PKCS #8, ed25519), as JSON.

    Raises ConfigurationError for a key that can't be used, and where the extra is missing.
    """
    signer = _signer(key)
    from securesystemslib.dsse import Envelope as Dsse

    envelope = Dsse(payload, PAYLOAD_TYPE, {})
    envelope.sign(signer)
    return _encode(envelope.to_dict())


def _encode(envelope: dict[str, Any]) -> bytes:
    return json.dumps(envelope, indent=1).encode() + b"\n"


def is_as_written(data: bytes, envelope: Envelope) -> bool:
    """Whether the bytes of an envelope are those that this program writes for it: a space more verifies as well, and is
    an edit.
    """
    payload = base64.b64encode(envelope.payload).decode()
    return data == _encode({"payload": payload, "payloadType": PAYLOAD_TYPE, "signatures": list(envelope.signatures)})


def opened(data: bytes) -> Envelope | None:
    """The envelope that this is, unchecked; None where it is none. Raises ValueError for one of another payload."""
    try:
        envelope = msgspec.json.decode(data, type=Envelope)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if envelope.payload_type != PAYLOAD_TYPE:
        message = f"the envelope holds {envelope.payload_type[:80]!r}, not {PAYLOAD_TYPE}"
        raise ValueError(message)
    return envelope


def signed_by(data: bytes, key: Path, payload: bytes) -> bool:
    """Whether one of the envelope's signatures is that of the public key in a PEM file, over just this payload, which
    was read out of it.

    Raises ConfigurationError for a key that can't be used, and where the extra is missing.
    """
    trusted = _public(key)
    from securesystemslib.dsse import Envelope as Dsse
    from securesystemslib.exceptions import VerificationError

    try:
        envelope = Dsse.from_dict(json.loads(data))
        envelope.verify([trusted], threshold=1)
    except (VerificationError, ValueError, KeyError, TypeError, AttributeError):  # whatever a hostile envelope holds
        return False
    return bool(envelope.payload == payload)


def _signer(key: Path) -> CryptoSigner:
    serialization, ed25519 = _cryptography()
    from securesystemslib.signer import CryptoSigner

    password = os.environ.get(PASSWORD)
    try:
        private = serialization.load_pem_private_key(_read(key), password.encode() if password else None)
    except (ValueError, TypeError) as error:
        raise ConfigurationError(
            f"{key.name} is no private key in PEM that can be opened",
            hint=f"make one: openssl genpkey -algorithm ed25519 -out key.pem; a password comes from {PASSWORD}",
        ) from error
    if not isinstance(private, ed25519.Ed25519PrivateKey):
        raise ConfigurationError(
            f"{key.name} is no ed25519 key", hint="openssl genpkey -algorithm ed25519 -out key.pem"
        )
    return CryptoSigner(private)


def _public(key: Path) -> SSlibKey:
    serialization, _ = _cryptography()
    from securesystemslib.signer import SSlibKey

    try:
        return SSlibKey.from_crypto(serialization.load_pem_public_key(_read(key)))
    except ValueError as error:
        raise ConfigurationError(
            f"{key.name} is no public key in PEM",
            hint="openssl pkey -in key.pem -pubout -out key.pub",
        ) from error


def _read(key: Path) -> bytes:
    try:
        return key.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"the key {key.name} can't be read: {error.strerror}") from error


def _cryptography() -> tuple[Any, Any]:
    """The modules that load keys, or a clear error where the extra is not installed."""
    try:
        import securesystemslib.signer  # noqa: F401 - the extra is both
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise ConfigurationError("a key needs the extra 'sign'", hint="pip install 'trace-forensics[sign]'") from error
    return serialization, ed25519
