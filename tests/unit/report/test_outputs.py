"""Do outputs appear whole or not at all, over nothing, and never among the evidence?"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from forensics.errors import ReportError
from forensics.report.outputs import check_outputs, write_folder, write_output


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    folder = tmp_path / "evidence"
    folder.mkdir()
    (folder / "trace.json").write_text("{}")
    return folder / "trace.json"


def test_an_output_is_written_whole_and_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "made" / "out.html"
    write_output(path, b"whole")
    assert path.read_bytes() == b"whole"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names(path.parent) == ["out.html"]


def test_nothing_that_stands_is_written_over_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    path.write_bytes(b"old")
    with pytest.raises(ReportError, match="exists already"):
        write_output(path, b"new")
    with pytest.raises(ReportError, match="exists already"):
        check_outputs([path], [])
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["out.html"]
    check_outputs([path], [], force=True)
    write_output(path, b"new", force=True)
    assert path.read_bytes() == b"new"


def test_what_a_link_names_is_left_alone(tmp_path: Path) -> None:
    kept, path = tmp_path / "kept", tmp_path / "out.html"
    kept.write_bytes(b"kept")
    path.symlink_to(kept)
    with pytest.raises(ReportError, match="exists already"):
        write_output(path, b"new")
    write_output(path, b"new", force=True)
    assert (kept.read_bytes(), path.read_bytes(), path.is_symlink()) == (b"kept", b"new", False)


def test_a_fault_leaves_neither_the_output_nor_a_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ReportError, match="can't be written: No space left"):
        write_output(tmp_path / "out.html", b"x")
    assert names(tmp_path) == []


def test_a_file_system_without_links_is_written_to_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_given: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refused)
    write_output(tmp_path / "out.html", b"x")
    assert (tmp_path / "out.html").read_bytes() == b"x"
    with pytest.raises(ReportError, match="exists already"):
        write_output(tmp_path / "out.html", b"y")


@pytest.mark.parametrize("force", [False, True])
def test_no_output_stands_beside_an_evidence_or_below_its_folder(
    evidence: Path, tmp_path: Path, *, force: bool
) -> None:
    folder = evidence.parent
    places: list[tuple[Path, str | Path]] = [
        (folder / "out.html", evidence),
        (evidence, evidence),
        (folder / "out.html", folder),
        (folder / "below" / "out.html", folder),
        (tmp_path / "evidence" / ".." / "evidence" / "out.html", folder),
        (folder / "out.html", str(folder / "*.json")),
    ]
    for output, given in places:
        with pytest.raises(ReportError, match="folder of the evidence"):
            check_outputs([output], [given], force=force)
    check_outputs([tmp_path / "out.html", folder / "below" / "out.html"], [evidence, "-", "s3://a/b"], force=force)


def test_a_link_to_the_evidence_is_no_way_round(evidence: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(evidence.parent)
    with pytest.raises(ReportError, match="folder of the evidence"):
        check_outputs([tmp_path / "link" / "out.html"], [evidence])


def test_a_folder_and_a_name_given_twice_are_no_outputs(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="is a folder"):
        check_outputs([tmp_path], [], force=True)
    with pytest.raises(ReportError, match="named twice"):
        check_outputs([tmp_path / "a.md", tmp_path / "x" / ".." / "a.md"], [])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system with pipes that have names")
def test_nothing_that_is_no_file_is_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for path in (tmp_path / "pipe", tmp_path / "link", Path("/dev/null"), Path("/dev/new.md"), Path("/proc/self/x.md")):
        with pytest.raises(ReportError, match="a device or a pipe"):
            check_outputs([path], [], force=True)


def test_a_fault_names_the_output_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("monday", "tuesday"):
        write_output(Path(folder, "s.html"), b"one")
        with pytest.raises(ReportError, match=rf"^{folder}/s\.html exists already$"):
            check_outputs([Path(folder, "s.html")], [])
    with pytest.raises(ReportError, match=r"^monday exists already$"):
        write_folder(Path("monday"), {})
    write_output(Path("mon\x1b[2Jday\n", "s.html"), b"one")
    with pytest.raises(ReportError) as raised:
        check_outputs([Path("mon\x1b[2Jday\n", "s.html")], [])
    assert raised.value.args[0].isprintable()


@pytest.mark.parametrize("below", ["s.html", "of/that/s.html"])
def test_a_file_in_the_place_of_a_folder_is_named(below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("out").write_bytes(b"a file")
    wanted = Path("out", below)
    said = rf"^out/{below} can't be written: out is no folder$"
    with pytest.raises(ReportError, match=said):
        check_outputs([wanted], [])
    with pytest.raises(ReportError, match=said):
        write_output(wanted, b"new")
    with pytest.raises(ReportError, match=said):
        write_folder(wanted, {"a": b"new"})
    assert Path("out").read_bytes() == b"a file"


def test_a_folder_that_can_not_be_filled_is_named_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ReportError, match=r"^bundle can't be written: No space left on device$"):
        write_folder(Path("bundle"), {"a/b.json": b"x"})
    assert names(tmp_path) == []
