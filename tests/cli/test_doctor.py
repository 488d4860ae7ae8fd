"""What does `forensics doctor` say of this machine, and of one that can do nothing?"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema

from forensics.replay.cell.isolation import Level
from forensics.replay.cell.survey import Tried, survey
from forensics.report.doctor import EXTRAS, doctor_document
from forensics.report.schemas import schema
from forensics.report.terminal import lines_of
from forensics.report.terminal_draw import plain

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    import pytest

ROOT = Path(__file__).resolve().parents[2]
BARE = (
    Tried("root", None, "unshare: Operation not permitted"),
    Tried("user", None, "unshare: No space left on device"),
    Tried("bubblewrap", None, "it is not installed"),
    Tried(None, Level.TRIPWIRE),
)


def test_the_document_is_what_its_schema_says(forensics: Callable[..., subprocess.CompletedProcess[bytes]]) -> None:
    ended = forensics("doctor", "--format", "json")
    assert (ended.returncode, ended.stderr) == (0, b"")
    document = json.loads(ended.stdout)
    jsonschema.validate(document, schema("doctor"))
    assert document["schema"] == "forensics/doctor/v1"
    assert [way["way"] for way in document["isolation"]["ways"]] == ["root", "user", "bubblewrap", "process"]
    assert all(way["level"] or way["why"] for way in document["isolation"]["ways"])


def test_every_extra_is_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [extra.name for extra in EXTRAS] == [name for name in project["optional-dependencies"] if name != "dev"]
    for extra in EXTRAS:
        (needs, *_) = project["optional-dependencies"][extra.name]
        assert needs.startswith(extra.distribution)


def test_an_extra_that_is_not_there_has_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forensics.report.doctor._version", lambda _extra: None)
    text = plain(lines_of(doctor_document(BARE)))
    assert "not there: reads evidence behind a URL" in text
    assert "pip install 'trace-forensics[urls]'" in text


def test_a_machine_without_a_wall_says_why_and_what_helps() -> None:
    document = doctor_document(BARE)
    assert (document.isolation.level, document.isolation.executes) == ("tripwire", False)
    text = plain(lines_of(document))
    assert "isolation: tripwire, a rerun can start here if it only injects what is recorded" in text
    assert "unshare: Operation not permitted" in text
    assert "apt-get install bubblewrap" in text


def test_a_machine_without_a_cell_says_so() -> None:
    document = doctor_document(tuple(Tried(one.way, None, "this system has no fork") for one in BARE))
    assert (document.isolation.level, document.isolation.executes) == (None, False)
    assert "isolation: none, a rerun can not start here" in plain(lines_of(document))


def test_systems_without_a_wall_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert [one.why for one in survey()] == ["this system is not Linux"] * 3 + [None]


def test_nothing_of_a_cell_can_be_had_without_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.fork")
    assert {one.why for one in survey()} == {"this system has no fork"}
