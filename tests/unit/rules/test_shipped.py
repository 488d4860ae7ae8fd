"""Is what was read before what the shipped files say?"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from forensics.errors import RuleError
from forensics.rules import engine, shipped
from forensics.rules.lints.refusing import REFUSING
from forensics.rules.packfile import read_pack_file
from forensics.rules.packs import read_packs, shipped_files
from forensics.rules.shipped import FOLDERS, VALUES, shipped_folder, value_read_before, values_of
from forensics.rules.yaml_strict import load_strict, read_strict

FILES = sorted(file for folder in FOLDERS for file in (Path(str(shipped_folder())) / folder).glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_what_was_read_before_is_what_the_file_says(file: Path) -> None:
    data = file.read_bytes()
    strictly, before = read_strict(data, file.name), load_strict(data, file.name)
    assert repr(before.value) == repr(strictly.value)
    assert before.positions == strictly.positions


def test_what_was_read_before_is_refused_by_no_lint() -> None:
    files = shipped_files()
    assert read_packs(files, lints=REFUSING)[1] == read_packs(files)[1]


def test_packs_that_are_refused_are_not_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shipped, "shipped_folder", lambda: tmp_path)
    (tmp_path / "words").mkdir()
    data = next(file for file in FILES if file.parent.name == "words").read_bytes()
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / "words" / name).write_bytes(data)
    with pytest.raises(RuleError, match=r"words/b\.yaml"):
        shipped.write_values()
    assert not (tmp_path / VALUES).exists()


def test_shipped_packs_of_which_a_byte_is_another_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    files = shipped_files()
    name, data = files[0]
    twice = (*files, (f"{name}.again", data + b"# more\n"))
    monkeypatch.setattr(engine, "shipped_files", lambda: twice)
    with pytest.raises(RuleError, match="again"):
        engine._shipped.__wrapped__()  # noqa: SLF001 - not the one that is remembered


def test_most_of_the_rules_were_read_before() -> None:
    known = [file for file in FILES if value_read_before(file.read_bytes()) is not None]
    assert len(known) > len(FILES) / 2, "write them anew (CONTRIBUTING: add a rule)"


def test_values_are_written_under_the_digests_of_their_files(tmp_path: Path) -> None:
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "a.yaml").write_text("b: [1, 1.0, no, null]\na: 'x'\n", "utf-8")
    data = (tmp_path / "words" / "a.yaml").read_bytes()
    assert msgspec.json.decode(values_of(tmp_path)) == {sha256(data).hexdigest(): {"b": [1, 1.0, "no", None], "a": "x"}}


def test_they_are_written_where_the_rules_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shipped, "shipped_folder", lambda: tmp_path)
    shipped.write_values()
    assert msgspec.json.decode((tmp_path / VALUES).read_bytes()) == {}


def test_a_file_of_which_a_byte_is_another_is_read_as_ever() -> None:
    data = next(file for file in FILES if file.parent.name == "tools").read_bytes()
    pack = read_pack_file("a.yaml", data).pack
    assert value_read_before(data + b"\n") is None
    assert read_pack_file("a.yaml", data + b"\n").pack == pack


def test_without_the_values_everything_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shipped, "shipped_folder", lambda: tmp_path)
    assert not (tmp_path / VALUES).exists()
    shipped.values_by_digest.cache_clear()
    try:
        assert value_read_before(FILES[0].read_bytes()) is None
        assert load_strict(FILES[0].read_bytes(), "a.yaml").value == read_strict(FILES[0].read_bytes(), "a.yaml").value
    finally:
        shipped.values_by_digest.cache_clear()
