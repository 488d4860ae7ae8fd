"""Is what `report --bundle` hands over what `verify` takes, and is every change to it found?"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]
PAGER = ROOT / "samples" / "pager.db"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of the pager incident, made once; each test changes a copy."""
    import subprocess
    import sys

    folder = tmp_path_factory.mktemp("made") / "bundle"
    command = [sys.executable, "-m", "forensics", "report", str(PAGER), "--bundle", str(folder)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    assert ended.stdout.decode() == f"sha256:{_sha256(folder / 'manifest.intoto.json')}  bundle/manifest.intoto.json\n"
    return folder


@pytest.fixture
def bundle(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "bundle"))


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _verified(forensics: Run, bundle: Path, *more: object) -> tuple[int, dict[str, Any]]:
    ended = forensics("verify", bundle, "--format", "json", *map(str, more))
    document: dict[str, Any] = json.loads(ended.stdout)
    return ended.returncode, document


def test_every_form_stands_in_it_and_its_manifest_tells_where_it_comes_from(bundle: Path, forensics: Run) -> None:
    manifest = json.loads((bundle / "manifest.intoto.json").read_bytes())
    said = manifest["predicate"]
    assert {path.name for path in bundle.iterdir()} - {"manifest.intoto.json"} == {
        one["name"] for one in said["outputs"]
    }
    assert {"report.html", "report.md", "findings.sarif", "timeline.csv", "audit.json"} < {
        p.name for p in bundle.iterdir()
    }
    digest, size = _sha256(PAGER), PAGER.stat().st_size
    assert said["inputs"] == [
        {"name": "pager.db", "sha256": digest, "size": size, "sha256_after": digest, "size_after": size}
    ]
    assert said["command"][1:3] == ["report", str(PAGER)]
    assert said["events"]["count"] == len((bundle / "timeline.jsonl").read_bytes().splitlines())
    assert _verified(forensics, bundle, "--evidence", PAGER)[0] == 0


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("edited", lambda lines: [*lines[:4], lines[4].replace(b"pager", b"p4ger"), *lines[5:]]),
        ("inserted", lambda lines: [*lines[:4], lines[0], *lines[4:]]),
        ("deleted", lambda lines: [*lines[:4], *lines[5:]]),
        ("reordered", lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]]),
        ("cut_tail", lambda lines: lines[:4]),
    ],
)
def test_what_was_done_to_the_timeline_is_named(
    kind: str, change: Callable[[list[bytes]], list[bytes]], bundle: Path, forensics: Run
) -> None:
    path = bundle / "timeline.jsonl"
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    code, document = _verified(forensics, bundle)
    assert code == 1
    assert (kind, 5) in {(one["kind"], one.get("event")) for one in document["faults"]}


def test_a_timeline_in_another_form_is_named_as_a_file(bundle: Path, forensics: Run) -> None:
    (bundle / "timeline.csv").write_bytes((bundle / "timeline.csv").read_bytes().replace(b"pager", b"p4ger", 1))
    _, document = _verified(forensics, bundle)
    assert [(one["kind"], one["file"], one.get("event")) for one in document["faults"]] == [
        ("edited", "timeline.csv", None)
    ]
    told = b" ".join(forensics("verify", "--help").stdout.split())
    assert b"Of timeline.jsonl the events are compared too" in told


@pytest.mark.parametrize("name", ["report.html", "report.json", "findings.sarif", "audit.json", "timeline.sha256"])
def test_one_bit_in_any_output_is_found(name: str, bundle: Path, forensics: Run) -> None:
    path = bundle / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    code, document = _verified(forensics, bundle)
    assert code == 1
    assert name in {one["file"] for one in document["faults"]}


def test_a_signed_bundle(tmp_path: Path, forensics: Run) -> None:
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization", reason="the extra sign")
    pytest.importorskip("securesystemslib", reason="the extra sign")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate()
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (tmp_path / "key.pem").write_bytes(private.private_bytes(pem, pkcs8, serialization.NoEncryption()))
    subject = serialization.PublicFormat.SubjectPublicKeyInfo
    (tmp_path / "key.pub").write_bytes(private.public_key().public_bytes(pem, subject))
    made = forensics("report", PAGER, "--bundle", tmp_path / "b", "--key", tmp_path / "key.pem")
    assert made.returncode == 0, made.stderr
    code, document = _verified(forensics, tmp_path / "b", "--key", tmp_path / "key.pub")
    assert (code, document["signature"]) == (0, "valid")


def test_standard_input_can_not_be_read_again_and_that_is_said(tmp_path: Path, forensics: Run) -> None:
    made = forensics("report", "-", "--bundle", tmp_path / "b", stdin=(ROOT / "samples/pager.json").read_bytes())
    assert made.returncode == 0, made.stderr
    code, document = _verified(forensics, tmp_path / "b")
    assert code == 0
    assert [one["unchanged"] for one in document["inputs"]] == [None]
    assert any("could not be read a second time" in note for note in document["notes"])


def test_a_bundle_is_never_written_over_anything_or_among_the_evidence(tmp_path: Path, forensics: Run) -> None:
    (tmp_path / "there").mkdir()
    own = tmp_path / "evidence"
    own.mkdir()
    shutil.copy(PAGER, own / "pager.db")
    for evidence, folder in ((PAGER, tmp_path / "there"), (own / "pager.db", own / "b")):
        ended = forensics("report", evidence, "--bundle", folder, "--force")
        assert (ended.returncode, ended.stdout) == (2, b"")
    assert sorted(path.name for path in own.iterdir()) == ["pager.db"]
    assert list((tmp_path / "there").iterdir()) == []


def test_a_key_without_a_bundle_is_a_wrong_use(tmp_path: Path, forensics: Run) -> None:
    (tmp_path / "key.pem").write_bytes(b"")
    assert forensics("report", PAGER, "--key", tmp_path / "key.pem").returncode == 2


def test_oscal_is_printed_or_written_by_its_suffix(tmp_path: Path, forensics: Run) -> None:
    printed = forensics("report", PAGER, "--export", "oscal")
    forensics("report", PAGER, "--to", tmp_path / "out.oscal.json")
    assert printed.returncode == 0
    assert json.loads(printed.stdout)["assessment-results"]["metadata"]["oscal-version"] == "1.2.3"
    assert (tmp_path / "out.oscal.json").read_bytes() == printed.stdout
