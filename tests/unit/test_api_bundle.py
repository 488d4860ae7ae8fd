"""Does a bundle tell of the evidence that was examined, and of no other?"""

from __future__ import annotations

import datetime
import json
import shutil
from pathlib import Path

import pytest

from forensics.api import examine
from forensics.api_bundle import Commission, write_bundle
from forensics.errors import EvidenceError

ROOT = Path(__file__).parents[2]
_COMMISSION = Commission(command=("forensics",), started=datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC))


def test_an_evidence_that_changed_since_it_was_examined_makes_no_bundle(tmp_path: Path) -> None:
    evidence = tmp_path / "pager.json"
    shutil.copy(ROOT / "samples" / "pager.json", evidence)
    examination = examine(evidence)
    with evidence.open("ab") as stream:
        stream.write(b"\n")
    with pytest.raises(EvidenceError) as caught:
        write_bundle(tmp_path / "out" / "b", [evidence], examination, examination.report(), _COMMISSION)
    assert caught.value.code == "evidence_changed"
    assert not (tmp_path / "out").exists()


def test_a_name_that_holds_a_credential_is_hidden_and_its_file_hashed_again_all_the_same(tmp_path: Path) -> None:
    secret = "ghp_" + "Zk3" * 12
    evidence = tmp_path / f"run-{secret}.json"
    shutil.copy(ROOT / "samples" / "pager.json", evidence)
    examination = examine(evidence)
    write_bundle(tmp_path / "out" / "b", [evidence], examination, examination.report(), _COMMISSION)
    manifest = (tmp_path / "out" / "b" / "manifest.intoto.json").read_bytes()
    [said] = json.loads(manifest)["predicate"]["inputs"]
    assert said["sha256_after"] == said["sha256"]
    assert secret.encode() not in manifest


def test_what_a_url_hides_is_no_part_of_the_command(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="the extra urls is not installed")
    system = fsspec.filesystem("memory")
    system.pipe({"/bundled/pager.json": (ROOT / "samples" / "pager.json").read_bytes()})
    url = "memory://bundled/pager.json"
    examination = examine(url)
    given = ("forensics", "report", f"https://me:s3cr3t@host{url[8:]}?sig=s3cr3t", "--bundle", "b")
    commission = Commission(command=given, started=_COMMISSION.started)
    write_bundle(tmp_path / "b", [url], examination, examination.report(), commission)
    system.store.clear()
    manifest = (tmp_path / "b" / "manifest.intoto.json").read_bytes()
    assert b"s3cr3t" not in manifest
    assert json.loads(manifest)["predicate"]["command"][2].startswith("https://host/")
