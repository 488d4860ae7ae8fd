"""Is it seen that a place changed, and is nothing trusted that was not to be?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from forensics.corpus.ledger import Stamp
from forensics.corpus.stamps import looks, stamp, stamps_of
from forensics.formats.shared.remote import Found

if TYPE_CHECKING:
    from pathlib import Path


def _stamped(file: Path) -> Stamp:
    """The stamp of a file that was just audited."""
    looked = looks([Found(f"{file}", file.name)])
    read = stamps_of(looked, {f"{file}": Stamp("other", 0, "")}, trust_marks=False)
    return read[f"{file}"]


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_a_stamp_is_that_of_the_bytes_and_of_what_stands_beside_a_database(tmp_path: Path, end: str) -> None:
    base = tmp_path / "local.db"
    base.write_bytes(b"pages")
    before = _stamped(base)
    (tmp_path / f"local.db{end}").write_bytes(b"newer pages")
    after = _stamped(base)
    assert before.evidence != after.evidence
    assert after.evidence.startswith(f"{before.evidence}+")
    assert before.mark != after.mark, "a trusted time is that of both"


def test_size_and_time_are_trusted_only_where_that_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"one")
    at = file.stat().st_mtime_ns
    known = {f"{file}": _stamped(file)}
    file.write_bytes(b"two")
    os.utime(file, ns=(at, at))
    looked = looks([Found(f"{file}", "a")])
    (trusted,) = stamps_of(looked, known, trust_marks=True).values()
    assert trusted == known[f"{file}"]._replace(trusted=True)
    (read,) = stamps_of(looked, known, trust_marks=False).values()
    assert read.evidence != known[f"{file}"].evidence
    assert not read.trusted
    os.utime(file, ns=(at + 1, at + 1))
    (later,) = stamps_of(looks([Found(f"{file}", "a")]), known, trust_marks=True).values()
    assert (later.evidence, later.trusted) == (read.evidence, False)


def test_what_no_ledger_knows_is_not_read_and_what_can_not_be_read_has_no_digest(tmp_path: Path) -> None:
    looked = looks([Found(f"{tmp_path / 'none'}", "none")])
    assert stamps_of(looked, {}, trust_marks=True) == {}
    unread = {f"{tmp_path / 'none'}": Stamp("", 0, "")}
    assert stamps_of(looked, unread, trust_marks=True) == {}
    known = {f"{tmp_path / 'none'}": Stamp("digest", 0, "")}
    assert [one.evidence for one in stamps_of(looked, known, trust_marks=True).values()] == [""]


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_the_digest_is_that_of_all_bytes(tmp_path: Path, size: int) -> None:
    import hashlib

    file = tmp_path / "a"
    file.write_bytes(b"x" * size)
    assert _stamped(file).evidence == hashlib.sha256(b"x" * size).hexdigest()


def test_a_part_that_can_not_be_read_leaves_no_stamp(tmp_path: Path) -> None:
    base = tmp_path / "local.db"
    base.write_bytes(b"pages")
    (tmp_path / "local.db-wal").write_bytes(b"")
    (look,) = looks([Found(f"{base}", "local.db")]).values()
    (tmp_path / "local.db-wal").unlink()
    assert stamp("digest", look).evidence == ""
    (alone,) = looks([Found(f"{base}", "local.db")]).values()
    assert (stamp("", alone).evidence, stamp("digest", alone).evidence) == ("", "digest")


def test_a_part_is_seen_beside_a_file_that_was_named_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = tmp_path / "local.db"
    base.write_bytes(b"pages")
    (tmp_path / "local.db-wal").write_bytes(b"newer")
    monkeypatch.chdir(tmp_path)
    (look,) = looks([Found("local.db", "local.db")]).values()
    assert look.beside == ("local.db-wal",)


def test_a_part_is_seen_in_a_folder_that_may_not_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = tmp_path / "local.db"
    base.write_bytes(b"pages")
    (tmp_path / "local.db-journal").write_bytes(b"older")

    def refuse(folder: str) -> list[str]:
        raise PermissionError(13, "Permission denied", folder)

    monkeypatch.setattr(os, "listdir", refuse)
    (look,) = looks([Found(f"{base}", "local.db")]).values()
    assert look.beside == (f"{base}-journal",)
