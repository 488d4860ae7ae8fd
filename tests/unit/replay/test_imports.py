"""Which modules come along with an agent? Those that import statements name out of its folders, and no others."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec
import pytest

from forensics.errors import StaleClearanceError
from forensics.replay.code import code_of
from forensics.replay.imports import imports_of
from forensics.replay.plan import Code, Imported, Override, Plan
from forensics.replay.running import check_code

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / (name.replace("__", "/").replace("/init/", "__init__") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def found(folder: Path, module: str = "agent") -> list[str]:
    return [one.module for one in imports_of(module, (str(folder),))]


def test_imports_are_followed_to_their_end(tmp_path: Path) -> None:
    write(tmp_path, agent="import words\n", words="from numbers_ import pick\n", numbers_="import agent\n", other="1\n")
    assert imports_of("agent", (str(tmp_path),)) == tuple(
        Imported(name, hashlib.sha256((tmp_path / f"{name}.py").read_bytes()).hexdigest())
        for name in ("numbers_", "words")
    )


@pytest.mark.parametrize(
    ("statement", "modules"),
    [
        ("import tools.search", ["tools", "tools.search"]),
        ("import tools.search as s, words", ["tools", "tools.search", "words"]),
        ("from tools import search", ["tools", "tools.search"]),
        ("from tools.search import run", ["tools", "tools.search"]),
        ("from tools import *", ["tools"]),
        ("def run(ports):\n    import words", ["words"]),
        ("if True:\n    import words", ["words"]),
        ("import json, msgspec, nowhere.to_be_found", []),
        ("from . import words", []),
        ("from .... import words", []),
        ("name = 'words'", []),
        ("import ", []),
        ("\0", []),
        ("x = " + "(" * 5_000, []),
    ],
)
def test_what_a_statement_brings_along(tmp_path: Path, statement: str, modules: list[str]) -> None:
    write(tmp_path, agent=statement, words="1\n")
    for name, text in {"tools/__init__.py": "", "tools/search.py": "run = 1\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert found(tmp_path) == modules


def test_a_module_of_a_package_brings_along_the_package_and_its_neighbours(tmp_path: Path) -> None:
    for name, text in {
        "team/__init__.py": "from . import common",
        "team/common.py": "",
        "team/agents/__init__.py": "",
        "team/agents/oncall.py": "from ..common import x\nfrom . import words\nfrom .words import y",
        "team/agents/words.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert found(tmp_path, "team.agents.oncall") == ["team", "team.agents", "team.agents.words", "team.common"]


def test_nothing_is_run(tmp_path: Path) -> None:
    write(tmp_path, agent="import words\n", words="raise SystemExit(9)\n")
    assert found(tmp_path) == ["words"]


def test_the_plan_is_bound_to_what_is_imported(tmp_path: Path) -> None:
    write(tmp_path, agent="import words\nimport gone\nrun = 1\n", words="a = 1\n")
    paths = (str(tmp_path),)
    plan = Plan(agent=code_of("agent:run", paths), paths=paths)
    check_code(plan)
    write(tmp_path, words="a = 2\n", gone="")
    assert Plan(agent=code_of("agent:run", paths)).digest != plan.digest
    with pytest.raises(StaleClearanceError, match="the source of gone, words, which agent:run imports, changed"):
        check_code(plan)
    tool = msgspec.structs.replace(
        plan, agent=None, overrides=(Override("pager.trigger", code_of("agent:run", paths)),)
    )
    write(tmp_path, agent="import words\nrun = 1\n")
    with pytest.raises(StaleClearanceError, match="the source of agent:run changed"):
        check_code(tool)


def test_a_plan_without_imports_is_told_as_before() -> None:
    assert msgspec.to_builtins(Code("a:b", "0")) == {"target": "a:b", "source_sha256": "0"}
