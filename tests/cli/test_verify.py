"""`forensics verify`: what does a person see of a bundle, whole or not?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from jsonschema import Draft202012Validator

from forensics.report.schemas import schema
from tests.unit.custody.bundles import bundle

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


def test_an_untouched_bundle(forensics: Run, tmp_path: Path) -> None:
    ended = forensics("verify", bundle(tmp_path / "handed"))
    assert ended.returncode == 0
    assert ended.stdout.startswith(b"VERIFIED 4 of 4 files as the manifest lists them, for which nothing vouches\n")
    assert b"whoever can write the folder" in ended.stdout
    assert b"the evidence of 1 of 1 inputs was not given" in ended.stdout
    quiet = forensics("verify", tmp_path / "handed", "-q").stdout
    assert quiet == b"VERIFIED 4 of 4 files as the manifest lists them, for which nothing vouches\n"


def test_a_bundle_whose_manifest_is_the_noted_one(forensics: Run, tmp_path: Path) -> None:
    noted = json.loads(forensics("verify", bundle(tmp_path / "handed"), "--format", "json").stdout)
    assert noted["vouched"] is False
    ended = forensics("verify", tmp_path / "handed", "--expect", noted["manifest"], "-q")
    assert ended.stdout == b"VERIFIED 4 of 4 files as the manifest lists them\n"


def test_a_bundle_that_was_changed(forensics: Run, tmp_path: Path) -> None:
    (bundle(tmp_path / "handed") / "report.json").write_bytes(b"{}")
    ended = forensics("verify", tmp_path / "handed", "--format", "json")
    document = json.loads(ended.stdout)
    Draft202012Validator(schema("verification")).validate(document)
    assert ended.returncode == 1
    assert document["faults"] == [{"kind": "edited", "file": "report.json", "message": "it has 2 bytes, and had 16"}]


def test_a_folder_that_is_no_bundle_can_not_be_told(forensics: Run, tmp_path: Path) -> None:
    ended = forensics("verify", tmp_path)
    assert (ended.returncode, ended.stdout) == (3, b"")
    assert b"holds no manifest.intoto.json" in ended.stderr
