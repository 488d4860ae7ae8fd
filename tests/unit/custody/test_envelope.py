"""Who vouches for a manifest? Signed bundles, checked by our own verification and by those who wrote the formats."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("securesystemslib", reason="the extra sign")
pytest.importorskip("cryptography", reason="the extra sign")

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

from forensics.custody.bundle import sealed
from forensics.custody.events import Kind
from forensics.custody.statement import EVENTS, MANIFEST
from forensics.custody.verify import Signature, verify
from forensics.errors import ConfigurationError
from tests.unit.custody.bundles import CUSTODY, OUTPUTS, bundle, faults

if TYPE_CHECKING:
    from pathlib import Path


def _keys(folder: Path, name: str = "key") -> tuple[Path, Path]:
    private = ed25519.Ed25519PrivateKey.generate()
    secret, public = folder / f"{name}.pem", folder / f"{name}.pub"
    secret.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    public.write_bytes(
        private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return secret, public


def test_a_signed_bundle_verifies_by_its_key_and_by_no_other(tmp_path: Path) -> None:
    secret, public = _keys(tmp_path)
    _, other = _keys(tmp_path, "other")
    folder = bundle(tmp_path / "bundle", secret)
    assert verify(folder).signature is Signature.UNCHECKED
    assert verify(folder, key=public).verified
    assert verify(folder, key=public).signature is Signature.VALID
    assert faults(verify(folder, key=other)) == {("signature", MANIFEST)}


def test_securesystemslib_itself_accepts_the_envelope(tmp_path: Path) -> None:
    secret, public = _keys(tmp_path)
    folder = bundle(tmp_path / "bundle", secret)
    envelope = Envelope.from_dict(json.loads((folder / MANIFEST).read_bytes()))
    key = SSlibKey.from_crypto(serialization.load_pem_public_key(public.read_bytes()))
    assert list(envelope.verify([key], threshold=1)) == [key.keyid]


def test_in_toto_itself_accepts_the_statement(tmp_path: Path) -> None:
    pytest.importorskip("in_toto_attestation", reason="a development dependency")
    from google.protobuf import json_format
    from in_toto_attestation.v1 import statement_pb2
    from in_toto_attestation.v1.statement import Statement

    written = (bundle(tmp_path) / MANIFEST).read_bytes()
    statement = Statement.copy_from_pb(json_format.Parse(written, statement_pb2.Statement()))
    statement.validate()
    assert {one.name for one in statement.pb.subject} == {*OUTPUTS, EVENTS}


def test_an_envelope_of_another_bundle_does_not_verify(tmp_path: Path) -> None:
    secret, public = _keys(tmp_path)
    folder = bundle(tmp_path / "bundle", secret)
    swapped = sealed({**OUTPUTS, "report.json": b"{}\n"}, CUSTODY, timeline="timeline.jsonl", key=secret)
    (folder / MANIFEST).write_bytes(swapped[MANIFEST])
    assert faults(verify(folder, key=public)) == {(Kind.EDITED, "report.json")}


def test_an_envelope_whose_signature_is_taken_away_or_replaced_does_not_verify(tmp_path: Path) -> None:
    secret, public = _keys(tmp_path)
    folder = bundle(tmp_path / "bundle", secret)
    whole: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())
    for signatures in ([], [{"keyid": "0", "sig": "AAAA"}], [{"keyid": whole["signatures"][0]["keyid"], "sig": "!"}]):
        (folder / MANIFEST).write_bytes(_as_written({**whole, "signatures": signatures}))
        assert faults(verify(folder, key=public)) == {("signature", MANIFEST)}
    bundle(folder)
    assert faults(verify(folder, key=public)) == {("signature", MANIFEST)}


def test_an_envelope_holds_nothing_that_nobody_signed(tmp_path: Path) -> None:
    """Neither members of its own nor those of a manifest beside the signed one."""
    secret, public = _keys(tmp_path)
    folder = bundle(tmp_path / "bundle", secret)
    signed: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())
    plain: dict[str, Any] = json.loads((bundle(tmp_path / "plain") / MANIFEST).read_bytes())
    assert verify(folder, key=public).vouched
    for more in ({"note": "checked"}, plain):
        (folder / MANIFEST).write_bytes(json.dumps({**more, **signed}).encode())
        found = verify(folder, key=public)
        assert (found.signature, faults(found)) == (Signature.VALID, {("edited", MANIFEST)})


def _as_written(envelope: dict[str, Any]) -> bytes:
    return json.dumps(envelope, indent=1).encode() + b"\n"


def test_an_envelope_is_byte_for_byte_what_this_program_writes(tmp_path: Path) -> None:
    """What is signed is the payload: spaces around it verify as well, and are an edit all the same."""
    secret, public = _keys(tmp_path)
    folder = bundle(tmp_path / "bundle", secret)
    data = (folder / MANIFEST).read_bytes()
    for edited in (data + b" ", data[:-1], data.replace(b"\n", b"\r\n"), json.dumps(json.loads(data)).encode()):
        (folder / MANIFEST).write_bytes(edited)
        found = verify(folder, key=public)
        assert (found.signature, faults(found)) == (Signature.VALID, {("edited", MANIFEST)})


def test_a_second_signature_is_no_edit(tmp_path: Path) -> None:
    """DSSE lets others sign as well; whose signature counts says the key."""
    secret, public = _keys(tmp_path)
    folder = bundle(tmp_path / "bundle", secret)
    whole: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())
    signatures = [*whole["signatures"], {"keyid": "another", "sig": "AAAA"}]
    (folder / MANIFEST).write_bytes(_as_written({**whole, "signatures": signatures}))
    assert verify(folder, key=public).vouched


def test_an_envelope_without_a_signature_is_not_signed(tmp_path: Path) -> None:
    secret, _ = _keys(tmp_path)
    folder = bundle(tmp_path / "bundle", secret)
    whole: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())
    (folder / MANIFEST).write_bytes(_as_written({**whole, "signatures": []}))
    assert verify(folder).signature is Signature.NONE


def test_a_key_with_a_password_takes_it_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = ed25519.Ed25519PrivateKey.generate()
    path = tmp_path / "key.pem"
    encryption = serialization.BestAvailableEncryption(b"open")
    path.write_bytes(private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption))
    with pytest.raises(ConfigurationError, match="can be opened"):
        sealed(OUTPUTS, CUSTODY, key=path)
    monkeypatch.setenv("FORENSICS_KEY_PASSWORD", "open")
    assert b"signatures" in sealed(OUTPUTS, CUSTODY, key=path)[MANIFEST]


def test_what_is_no_ed25519_key_is_an_error_that_says_how_to_make_one(tmp_path: Path) -> None:
    secret, public = _keys(tmp_path)
    path = tmp_path / "rsa.pem"
    path.write_bytes(
        rsa.generate_private_key(65537, 2048).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    for wrong in (path, public, tmp_path / "none.pem"):
        with pytest.raises(ConfigurationError):
            sealed(OUTPUTS, CUSTODY, key=wrong)
    folder = bundle(tmp_path / "bundle", secret)
    with pytest.raises(ConfigurationError, match="no public key"):
        verify(folder, key=secret)
