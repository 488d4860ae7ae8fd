"""What of the disk does a child see?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forensics.replay.cell.wall import bubblewrap
from forensics.replay.cell.wall.layout import Layout, _unescaped, layout, needed, outermost, within

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def disk(tmp_path: Path) -> Callable[..., Path]:
    def made(*folders: str) -> Path:
        for folder in folders:
            (tmp_path / folder).mkdir(parents=True)
        return tmp_path

    return made


def of(home: Path, *needed: Path) -> Layout:
    return layout(str(home), tuple(map(str, needed)), ())


def test_a_home_is_hidden_and_what_is_needed_in_it_shown(disk: Callable[..., Path]) -> None:
    home = disk("code/agent", ".ssh")
    assert of(home, home / "code" / "agent", Path("/usr")) == Layout((str(home),), (f"{home}/code/agent",), {})


def test_of_folders_in_one_another_the_outer_one_is_shown(disk: Callable[..., Path]) -> None:
    home = disk("code/agent", "codec")
    seen = of(home, home / "code" / "agent", home / "code", home / "codec")
    assert seen.shown == (f"{home}/code", f"{home}/codec")


def test_links_are_followed_each_step_of_the_way(disk: Callable[..., Path]) -> None:
    home = disk("versions/3.11.7/lib", "opt")
    (home / "versions" / "3.11").symlink_to("3.11.7")
    (home / "opt" / "python").symlink_to(home / "versions" / "3.11")
    seen = of(home, home / "opt" / "python" / "lib")
    assert seen.shown == (f"{home}/versions/3.11.7/lib",)
    assert seen.links == {f"{home}/versions/3.11": "3.11.7", f"{home}/opt/python": f"{home}/versions/3.11"}
    assert {f"{home}/versions", f"{home}/opt/python", f"{home}/versions/3.11.7/lib"} <= seen.led_through()


def test_links_in_a_circle_end(disk: Callable[..., Path]) -> None:
    home = disk()
    (home / "a").symlink_to("b")
    (home / "b").symlink_to("a")
    assert of(home, home / "a" / "x").shown == ()


def test_what_is_not_there_is_not_shown(disk: Callable[..., Path]) -> None:
    assert of(disk(), Path("/nowhere/at/all")).shown == ()
    assert layout("/nowhere", (), ("/nowhere-either",)) == Layout()


def test_the_home_of_nobody_in_particular_hides_nothing() -> None:
    assert layout("/", (), ()).hidden == ()


@pytest.mark.parametrize(
    ("path", "folder", "is_within"),
    [("/a", "/a", True), ("/a/b", "/a", True), ("/ab", "/a", False), ("/a", "/", True), ("/", "/a", False)],
)
def test_within(path: str, folder: str, *, is_within: bool) -> None:
    assert within(path, folder) is is_within


def test_outermost_does_not_mistake_a_name_for_a_folder() -> None:
    assert outermost(("/a-b", "/a", "/a/c", "/b")) == ("/a", "/a-b", "/b")


def test_names_of_mount_points_are_unescaped() -> None:
    assert _unescaped("/a\\040b\\134c\\011d") == "/a b\\c\td"
    assert _unescaped("/a\\134040b") == "/a\\040b"


def test_the_interpreter_is_needed() -> None:
    import sys

    assert {sys.prefix, sys.base_prefix, "/agent"} <= set(needed(("/agent",)))


def test_bubblewrap_is_told_the_same(disk: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    home = disk("code")
    (home / "link").symlink_to("code")
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    seen = of(home, home / "link")
    line = bubblewrap.command(seen, 1000)
    assert line[0] == "/usr/bin/bwrap"
    mounts = ["--size", "1000", "--tmpfs", str(home), "--symlink", "code", f"{home}/link"]
    assert line[-11:] == [*mounts, "--ro-bind", f"{home}/code", f"{home}/code", "--"]
    assert {"--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-user", "--new-session"} <= set(line)
