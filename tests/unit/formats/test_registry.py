"""Do all lists of the readers name the same readers? The registry is the source; the others are compared with it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import forensics.formats
from forensics.formats.registry import SHIPPED, reader

_ROOT = Path(__file__).resolve().parents[3]
_MODULES = {where.partition(":")[0] for where in SHIPPED.values()}


def test_each_reader_is_called_as_the_registry_calls_it() -> None:
    assert {name: reader(name).NAME for name in SHIPPED} == {name: name for name in SHIPPED}


def test_the_registry_is_sorted() -> None:
    assert list(SHIPPED) == sorted(SHIPPED)


def test_each_module_that_reads_is_in_the_registry() -> None:
    folder = Path(forensics.formats.__file__ or "").parent
    reads = {path.stem for path in folder.glob("*.py") if "RECORDS_CALLS" in path.read_text()} - {"registry"}
    assert {f"forensics.formats.{name}" for name in reads} == _MODULES


def test_the_import_contract_names_each_reader() -> None:
    settings = tomllib.loads((_ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    (named,) = (one["modules"] for one in contracts if one["id"] == "readers")
    assert named == sorted(_MODULES)


def test_the_readme_names_each_format_once() -> None:
    part = (_ROOT / "README.md").read_text().partition("\n## What is read\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*) \|", part, re.MULTILINE)
    assert sorted(name.strip("`") for row in rows for name in row.split(", ")) == sorted(SHIPPED)


def test_the_reference_has_a_section_for_each_format() -> None:
    heads = re.findall(r"^## (.*)$", (_ROOT / "docs/reference/formats.md").read_text(), re.MULTILINE)
    named = [name for head in heads for name in head.split(", ")]
    assert sorted(set(named) - {"What disagrees"}) == sorted(SHIPPED)
    assert len(named) == len(set(named))
