"""Which options come from a configuration file, and from which file? Never from the folder of the evidence.

`forensics.toml`, or `[tool.forensics]` in `pyproject.toml`, of the working folder or the nearest folder above it, up to
the root of the git checkout or the home folder. Whoever wrote the trace may have written a file beside it, so a file
in the folder of the evidence, or below it, is never read.
"""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forensics.cli.options import Settings
from forensics.cli.output import note
from forensics.core.late import late
from forensics.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic_core import ErrorDetails

FILE, PROJECT = "forensics.toml", "pyproject.toml"
_STDIN = "-"
# Every way in which TOML can spell the table `tool.forensics`, and more. Most projects say nothing of this tool, and
# reading their file as TOML would take a twentieth of the audit of a small trace.
_NAMES_US = late(
    r"""tool["']?\s*\.\s*["']?forensics  # [tool.forensics], tool.forensics.policy = ...
    | \[\s*["']?tool["']?\s*\]          # [tool], and forensics below it
    | (?<![\w-])tool["']?\s*=           # tool = {forensics = ...}
    | \\[uUx]                           # an escape, which can stand for any letter of them""",
    re.VERBOSE,
)

Evidence = str | tuple[str, ...] | None


def settle(asked: dict[str, Any], detail: int, evidence: Evidence) -> Settings:
    """What was asked for on the command line and, where it says nothing, in the configuration file.

    Raises ConfigurationError for a file that can't be read, an unknown key or a wrong value.
    """
    given = {name: value for name, value in asked.items() if value not in (None, ())}
    quiet = Settings(detail=detail)
    found = _find(Path.cwd(), _folders_of(evidence), quiet)
    configured = {} if found is None else _checked(*found)
    used = {key: value for key, value in configured.items() if key in asked and key not in given}
    if "limit" in given:  # by name, so that one on the command line leaves the others as configured
        given["limit"] = (*configured.get("limit", ()), *given["limit"])
    if found is not None and used:
        note(f"{', '.join(used)} from {found[0].name}", quiet)
    return Settings(**{**used, **given, "detail": detail})


# where ---------------------------------------------------------------------------------------------------------------


def _folders_of(evidence: Evidence) -> list[Path]:
    """The folders that hold the evidence, links followed."""
    places: Sequence[str] = [] if evidence is None else [evidence] if isinstance(evidence, str) else evidence
    return [_folder_of(place) for place in places if place != _STDIN]


def _folder_of(place: str) -> Path:
    path = Path(place)
    if os.path.isdir(place):  # noqa: PTH112 - Path.is_dir raises where a folder above may not be entered
        return _followed(path)
    while glob.has_magic(str(path)):
        path = path.parent
        if not glob.has_magic(str(path)):
            return _followed(path)
    return _followed(path).parent


def _followed(path: Path) -> Path:
    """Where its links lead; `Path.resolve` raises where they run in a circle."""
    return Path(os.path.realpath(path))


def _find(start: Path, evidence: list[Path], quiet: Settings) -> tuple[Path, dict[str, Any]] | None:
    """The nearest configuration file with its table."""
    for folder in _upwards(start.resolve()):
        if any(folder.is_relative_to(place) for place in evidence):
            _say_skipped(folder, quiet)
            continue
        found = _in_folder(folder)
        if found is not None:
            return found
    return None


def _say_skipped(folder: Path, quiet: Settings) -> None:
    own, project = folder / FILE, folder / PROJECT
    if own.is_file() or (project.is_file() and b"tool.forensics" in project.read_bytes()):
        name = FILE if own.is_file() else PROJECT
        note(f"{name} is not read: it stands in the folder of the evidence", quiet)


def _upwards(start: Path) -> Iterator[Path]:
    """The working folder and those above it, up to a git root or the home folder; where neither is above, only the
    working folder, so that nobody's file in a shared folder such as /tmp is picked up.
    """
    home = Path.home()
    chain = [start, *start.parents]
    end = next((n for n, folder in enumerate(chain) if folder == home or (folder / ".git").exists()), 0)
    yield from chain[: end + 1]


def _in_folder(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    own, project = folder / FILE, folder / PROJECT
    if own.is_file():
        return own, _toml(own)
    table = _toml(project, only_if=_NAMES_US).get("tool", {}).get("forensics") if project.is_file() else None
    return None if table is None else (project, table)


def _toml(path: Path, only_if: re.Pattern[str] | None = None) -> dict[str, Any]:
    """What the file says; nothing where it lacks what could name a table of ours: then it is not read as TOML."""
    try:
        text = path.read_text("utf-8")
        if only_if is not None and not only_if.search(text):
            return {}
        import tomllib

        return tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path.name} can't be read: {error}", hint="correct it or move it away") from None


# what ----------------------------------------------------------------------------------------------------------------


def _checked(path: Path, table: object) -> dict[str, Any]:
    """The options of a table, its paths seen from its file. Raises ConfigurationError with every fault at once."""
    from pydantic import ValidationError

    from forensics.cli.config_table import KEYS, Table

    try:
        options = Table.model_validate(table).options()
    except ValidationError as error:
        text = f"{path.name}: {'; '.join(map(_fault, error.errors()))}"
        raise ConfigurationError(text, hint=f"the keys are: {', '.join(KEYS)}") from None
    return {key: _beside(path, key, value) for key, value in options.items()}


def _fault(fault: ErrorDetails) -> str:
    where = ".".join(map(str, fault["loc"])) or "the table"
    return f"{where}: {'unknown key' if fault['type'] == 'extra_forbidden' else fault['msg']}"


def _beside(path: Path, key: str, value: Any) -> Any:
    if key == "limit":
        return tuple(value.items())
    if key == "rules":
        return tuple(path.parent / rule for rule in value)
    if key == "tools" or (key == "policy" and not _is_shipped(value)):
        return str(path.parent / value)
    return value


def _is_shipped(policy: str) -> bool:
    from forensics.rules.policy_file import SHIPPED

    return policy in SHIPPED
