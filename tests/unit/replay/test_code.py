"""Which file does `module:function` stand for? The one that Python would load, and no other."""

from __future__ import annotations

import hashlib
import py_compile
from typing import TYPE_CHECKING

import pytest

from forensics.errors import ConfigurationError
from forensics.replay.code import code_of

if TYPE_CHECKING:
    from pathlib import Path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_package_stands_before_a_module_of_its_name(tmp_path: Path) -> None:
    write(tmp_path / "mine.py", "def run(ports): return 1\n")
    package = write(tmp_path / "mine/__init__.py", "def run(ports): return 2\n")
    assert code_of("mine:run", (str(tmp_path),)).source_sha256 == sha256(package)


def test_an_extension_stands_before_a_source(tmp_path: Path) -> None:
    write(tmp_path / "mine.py", "def run(ports): return 1\n")
    extension = write(tmp_path / "mine.abi3.so", "native code")
    assert code_of("mine:run", (str(tmp_path),)).source_sha256 == sha256(extension)


def test_the_first_folder_that_has_it_counts(tmp_path: Path) -> None:
    first = write(tmp_path / "a/mine.py", "run = 1\n")
    write(tmp_path / "b/mine/__init__.py", "run = 2\n")
    folders = (str(tmp_path / "a"), str(tmp_path / "b"))
    assert code_of("mine:run", folders).source_sha256 == sha256(first)


def test_a_folder_without_an_init_gives_way_to_a_module_in_a_later_folder(tmp_path: Path) -> None:
    write(tmp_path / "a/mine/other.py", "run = 1\n")
    module = write(tmp_path / "b/mine.py", "run = 2\n")
    folders = (str(tmp_path / "a"), str(tmp_path / "b"))
    assert code_of("mine:run", folders).source_sha256 == sha256(module)
    with pytest.raises(ConfigurationError, match=r"no module mine\.other"):  # Python would not find it either
        code_of("mine.other:run", folders)


def test_a_module_in_a_package_and_in_a_folder_without_an_init(tmp_path: Path) -> None:
    inner = write(tmp_path / "team/agents/oncall.py", "run = 1\n")
    assert code_of("team.agents.oncall:run", (str(tmp_path),)).source_sha256 == sha256(inner)


def test_a_source_stands_before_compiled_code_beside_it(tmp_path: Path) -> None:
    source = write(tmp_path / "mine.py", "run = 1\n")
    py_compile.compile(str(source), cfile=str(tmp_path / "mine.pyc"))
    assert code_of("mine:run", (str(tmp_path),)).source_sha256 == sha256(source)


@pytest.mark.parametrize("name", ["json", "forensics.mine", "msgspec", "os.path"])
def test_a_name_that_is_taken_is_refused(name: str, tmp_path: Path) -> None:
    """The cell has such a module already, so that the file of that name would never run."""
    write(tmp_path / f"{name.replace('.', '/')}.py", "def run(ports): return 1\n")
    with pytest.raises(ConfigurationError, match="brings along"):
        code_of(f"{name}:run", (str(tmp_path),))


@pytest.mark.parametrize("target", ["mine", "mine:", ":run", "mine.py:run", "../mine:run", "mine:run()"])
def test_what_is_no_target_is_refused(target: str, tmp_path: Path) -> None:
    write(tmp_path / "mine.py", "run = 1\n")
    with pytest.raises(ConfigurationError):
        code_of(target, (str(tmp_path),))


def refused(tmp_path: Path, source: str, target: str = "mine:run") -> str:
    """Why a target in this module is refused; "" where it is not."""
    write(tmp_path / "mine.py", source)
    try:
        code_of(target, (str(tmp_path),))
    except ConfigurationError as error:
        return f"{error.message}: {error.hint}"
    return ""


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("def ran(ports): return 1\n", "did you mean ran?"),
        ("class Agent:\n    def run(self, ports): return 1\n", "one of: Agent"),
        ("def outer():\n    run = 1\n", "one of: outer"),
        ("raise SystemExit(9)\n", ""),
    ],
)
def test_a_function_that_the_module_does_not_have_is_told_without_running_it(
    source: str, hint: str, tmp_path: Path
) -> None:
    assert refused(tmp_path, source) == f"there is no run in the module mine: {hint}"


@pytest.mark.parametrize(
    "source",
    [
        "async def run(ports): return 1\n",
        "class run:\n    pass\n",
        "if 1:\n    from other import go as run\n",
        "import run.deeper\n",
        "for a, (run, *b) in []: pass\n",
        "def make():\n    global run\n    run = print\n",
        "from other import *\n",
        "def __getattr__(name): return print\n",
        "globals()['r' + 'un'] = print\n",
        "import sys\nsetattr(sys.modules[__name__], 'r' + 'un', print)\n",
        "match 1:\n    case run: pass\n",
        "match {}:\n    case {**run}: pass\n",
        "this is no Python\n",
    ],
)
def test_a_function_that_the_module_has_or_may_have_is_let_be(source: str, tmp_path: Path) -> None:
    assert refused(tmp_path, source) == ""


def test_a_module_in_a_package_is_a_name_of_it(tmp_path: Path) -> None:
    write(tmp_path / "team/__init__.py", "from .oncall import other\n")
    write(tmp_path / "team/oncall.py", "def run(ports): return 1\n")
    assert code_of("team:oncall.run", (str(tmp_path),)).target == "team:oncall.run"
    with pytest.raises(ConfigurationError, match="there is no nosuch in the module team"):
        code_of("team:nosuch.run", (str(tmp_path),))
