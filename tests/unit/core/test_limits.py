"""Does every limit stop what exceeds it, in a sentence that names it, and does the page name every limit?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from forensics.api import Options, examine
from forensics.core.jsonvalue import decode
from forensics.core.limits import NAMES, Limits, parsed, under

_PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "limits.md"
_LINES = b'{"type":"user","text":"x"}\n{"type":"tool_call","id":"c","name":"get","args":{}}\n'
_UNITS = {"GiB": 1 << 30, "MiB": 1 << 20, "": 1}


@pytest.mark.parametrize("name", ["size", "line", "records"])
def test_what_exceeds_a_limit_is_not_read_and_says_which(tmp_path: Path, name: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(_LINES)
    (row,) = examine(path, Options(limits=Limits(**{name: 1}))).audit().evidence
    assert row.error is not None
    assert row.status == "refused"
    assert "more than the limit of 1" in row.error.message
    assert f"--limit {name}=NUMBER" in row.error.hint


def test_what_reaches_a_limit_and_no_more_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(_LINES)
    exact = Limits(size=len(_LINES), line=max(map(len, _LINES.splitlines())), records=2)
    (row,) = examine(path, Options(limits=exact)).audit().evidence
    assert (row.status, row.error) == ("read", None)


def test_a_value_beyond_the_nesting_limit_is_a_fault_that_names_it() -> None:
    deep = b"[" * 2000 + b"]" * 2000
    with under(Limits(nesting=1500)):
        (fault,) = decode(deep).faults
    assert (fault.code, "more than 1500" in fault.message) == ("nesting_limit", True)


@pytest.mark.parametrize(
    ("setting", "wanted"), [("size=8G", 8 << 30), ("line = 2m", 2 << 20), ("ratio-floor=1K", 1024)]
)
def test_a_setting_is_a_name_and_a_number(setting: str, wanted: int) -> None:
    assert parsed(setting)[1] == wanted


@pytest.mark.parametrize("setting", ["size", "size=", "size=0", "size=-1", "size=1.5G", "colour=1", "=1", "size=²"])
def test_other_settings_say_what_is_wrong(setting: str) -> None:
    with pytest.raises(ValueError, match=r"limit|number"):
        parsed(setting)


def test_the_page_names_every_limit_with_its_default() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) ?(\w*) \|", _PAGE.read_text("utf-8"), re.MULTILINE)
    told = {name: int(number.replace(",", "")) * _UNITS[unit] for name, number, unit in rows}
    assert told == {name: getattr(Limits(), name) for name in NAMES}
