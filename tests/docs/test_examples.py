"""Do the examples in the README and in docs/ do what they say?

Every page gets a folder of its own with a copy of samples/. Its marked blocks run there in their order:

```console            `$ forensics …` lines are run. Exit code 0, or the one of `exit=N` behind the word. The output
                      begins with the lines shown; a line `...` stands for any lines. `> NAME` at the end of a command
                      keeps its output in a file.
```yaml file=NAME     is written to that file; with the word `policy`, `forensics policy check` must accept it.
```json file=NAME     is written to that file, and so is every other block that has `file=`.
```python             is executed; the blocks of one page share their names.

All other blocks are for reading. A block with `needs=MODULE` is passed over where that module is not installed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(?P<info>\S[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
WORLD = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONUTF8": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
RUN = "import sys; from forensics.cli.main import main; sys.argv[0] = 'forensics'; sys.exit(main())"


class Block(NamedTuple):
    """One fenced block: its language, the words and settings behind it, its text and its line in the page."""

    language: str
    words: frozenset[str]
    settings: dict[str, str]
    body: str
    line: int


class Command(NamedTuple):
    """One `$ forensics …` line, the lines shown below it, and the file that keeps its output ("" for none)."""

    arguments: list[str]
    shown: list[str]
    keep: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        language, *rest = match["info"].split()
        settings = dict(word.split("=", 1) for word in rest if "=" in word)
        words = frozenset(word for word in rest if "=" not in word)
        found.append(Block(language, words, settings, match["body"], text.count("\n", 0, match.start()) + 1))
    return found


def commands(body: str) -> list[Command]:
    found = []
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        line, *shown = part.rstrip("\n").split("\n")
        words = shlex.split(line)
        keep = words[-1] if len(words) > 2 and words[-2] == ">" else ""
        found.append(Command(words[:-2] if keep else words, shown, keep))
    return found


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    program, *rest = arguments
    assert program == "forensics", f"an example runs forensics and nothing else: {arguments}"
    return subprocess.run(
        [sys.executable, "-c", RUN, *rest],
        cwd=folder,
        env=WORLD,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def begins_as_shown(output: str, shown: list[str]) -> bool:
    """Whether the output begins with these lines, `...` standing for any number of lines."""
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + r" *\n" for line in shown)
    return re.match(pattern, output.rstrip("\n") + "\n") is not None


def check_console(block: Block, folder: Path) -> None:
    for command in commands(block.body):
        ended = run(command.arguments, folder)
        told = f"line {block.line}: {shlex.join(command.arguments)}\n{ended.stdout}{ended.stderr}"
        assert ended.returncode == int(block.settings.get("exit", "0")), told
        assert begins_as_shown(ended.stdout, command.shown), told
        if command.keep:
            (folder / command.keep).write_text(ended.stdout, encoding="utf-8")


def check_file(block: Block, folder: Path) -> None:
    name = block.settings.get("file")
    if name is None:
        return
    (folder / name).write_text(block.body, encoding="utf-8")
    if "policy" in block.words:
        ended = run(["forensics", "policy", "check", name], folder)
        assert ended.returncode == 0, f"line {block.line}: {ended.stdout}{ended.stderr}"


def check_python(block: Block, page: Path, names: dict[str, object]) -> None:
    code = compile("\n" * block.line + block.body, str(page), "exec")
    exec(code, names)  # noqa: S102 - running the page's own example is the test


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_examples_of_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "samples", tmp_path / "samples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page):
        needed = block.settings.get("needs")
        if needed is not None and importlib.util.find_spec(needed) is None:
            continue
        if block.language == "console":
            check_console(block, tmp_path)
        elif block.language == "python":
            check_python(block, page, names)
        else:
            check_file(block, tmp_path)


LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (?P<title>.+)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings: lower case, punctuation dropped, hyphens for blanks."""
    titles = (match["title"] for match in HEADING.finditer(page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for match in LINK.finditer(page.read_text(encoding="utf-8")):
        path, _, anchor = match["target"].partition("#")
        if "://" in path:
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {match['target']}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {match['target']}"


def test_every_page_is_reached_from_the_readme() -> None:
    reached, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        targets = (m["target"].partition("#")[0] for m in LINK.finditer(page.read_text(encoding="utf-8")))
        ahead += [(page.parent / target).resolve() for target in targets if target and "://" not in target]
    assert set(PAGES) <= reached
