"""What is listed of a folder that took a child's writes?"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from forensics.replay.cell.isolation import Captured
from forensics.replay.cell.plan import Limits
from forensics.replay.cell.written import Layer, Written

if TYPE_CHECKING:
    from pathlib import Path


def digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def listed(layer: Layer, limits: Limits | None = None) -> tuple[tuple[Captured, ...], int]:
    written = Written(limits or Limits())
    written.add(layer)
    return written.listed(), written.more


@pytest.fixture
def upper(tmp_path: Path) -> Path:
    folder = tmp_path / "upper"
    folder.mkdir()
    return folder


@pytest.fixture
def lower(tmp_path: Path) -> Path:
    folder = tmp_path / "lower"
    folder.mkdir()
    return folder


def test_files_folders_links_and_pipes(upper: Path) -> None:
    (upper / "b" / "c").mkdir(parents=True)
    (upper / "b" / "file").write_bytes(b"text")
    (upper / "a").symlink_to("/nowhere")
    os.mkfifo(upper / "p")
    assert listed(Layer(str(upper), "/shown", None)) == (
        (
            Captured("/shown/a", "created", to="/nowhere"),
            Captured("/shown/b/", "created"),
            Captured("/shown/b/c/", "created"),
            Captured("/shown/b/file", "created", 4, digest(b"text")),
            Captured("/shown/p", "created"),
        ),
        0,
    )


def test_over_a_file_of_that_name_it_is_a_change(upper: Path, lower: Path) -> None:
    for name in ("same", "other", "mode"):
        (lower / name).write_text("before")
        (upper / name).write_text("before")
        before = (lower / name).stat()
        os.utime(upper / name, ns=(before.st_atime_ns, before.st_mtime_ns))
    (upper / "other").write_text("after!")
    (upper / "mode").chmod(0o600 if (lower / "mode").stat().st_mode & 0o777 != 0o600 else 0o640)
    changes, _ = listed(Layer(str(upper), "/", str(lower)))
    assert [(change.path, change.kind) for change in changes] == [("/mode", "changed"), ("/other", "changed")]


def test_a_file_in_the_place_of_a_folder_is_a_change_and_so_the_other_way(upper: Path, lower: Path) -> None:
    (lower / "was-folder" / "inner").mkdir(parents=True)
    (lower / "was-file").write_text("")
    (upper / "was-folder").write_text("")
    (upper / "was-file").mkdir()
    (upper / "was-file" / "inner").write_text("")
    changes, _ = listed(Layer(str(upper), "/", str(lower)))
    assert [(change.path, change.kind) for change in changes] == [
        ("/was-file/", "changed"),
        ("/was-file/inner", "created"),
        ("/was-folder", "changed"),
    ]


def test_what_was_there_before_is_not_listed_and_what_is_in_it_is(upper: Path) -> None:
    (upper / "way" / "there").mkdir(parents=True)
    (upper / "link").symlink_to("way")
    (upper / "way" / "new").write_text("")
    known = frozenset(f"/shown/{name}" for name in ("way", "way/there", "link"))
    changes, _ = listed(Layer(str(upper), "/shown", None, known))
    assert [change.path for change in changes] == ["/shown/way/new"]


def test_beyond_the_limits_it_is_counted_and_not_read(upper: Path) -> None:
    for name in "abcde":
        (upper / name).write_text("x")
    changes, more = listed(Layer(str(upper), "/", None), Limits(captured=2))
    assert ([change.path for change in changes], more) == (["/a", "/b"], 3)


def test_a_file_with_a_hole_is_listed_without_a_digest(upper: Path) -> None:
    with (upper / "hole").open("wb") as file:
        file.truncate(1 << 40)
    assert listed(Layer(str(upper), "/", None)) == ((Captured("/hole", "created", 1 << 40),), 0)


def test_a_link_to_a_folder_is_not_entered(upper: Path, lower: Path) -> None:
    (lower / "secret").write_text("")
    (upper / "link").symlink_to(lower)
    changes, _ = listed(Layer(str(upper), "/", None))
    assert [change.path for change in changes] == ["/link"]


def test_names_that_are_no_text_are_spelled(upper: Path) -> None:
    (upper / os.fsdecode(b"\xff")).write_text("")
    assert [change.path for change in listed(Layer(str(upper), "/", None))[0]] == ["/\\xff"]
