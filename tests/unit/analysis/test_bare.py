"""Is a value found where the agent leaves out the prefix of its kind, and only there?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.analysis.bare import bare
from forensics.api import examine
from forensics.report.jsonout import json_bytes

if TYPE_CHECKING:
    from pathlib import Path

Fields = dict[str, Any]


def uses(folder: Path, returned: str, arguments: Fields, said: str = "Done.", asked: str = "page them") -> list[Fields]:
    """The uses of what a pager returned, but for the turn that was shown it."""
    records = [
        {"kind": "user", "text": asked},
        {"kind": "model", "text": "ok", "tool": "pager.trigger", "args": {"service": "db"}, "call": "c1"},
        {"kind": "tool", "tool": "pager.trigger", "result": {"id": returned}, "call": "c1"},
        {"kind": "model", "text": "noted", "tool": "incident.annotate", "args": arguments, "call": "c2"},
        {"kind": "tool", "tool": "incident.annotate", "result": {"seen": "8812 and 9s8dkk"}, "call": "c2"},
        {"kind": "model", "text": said},
    ]
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    handles = json.loads(json_bytes(examine(path).audit()))["traces"][0]["handles"]
    found = [use for handle in handles if handle["value"] == returned for use in handle["uses"]]
    return [use for use in found if use["role"] != "branch"]


@pytest.mark.parametrize(
    ("value", "rest"),
    [
        ("pg_8812", "8812"),
        ("INC-20418", "20418"),
        ("dpl_3NmwpJMUxiGQ8msi", "3NmwpJMUxiGQ8msi"),
        ("cus_live_9s8d", "live_9s8d"),
        ("pg_881", None),  # too little is left
        ("8812", None),
        ("pg8812", None),
        ("a1-b2_c3", None),  # no word stands before it
        ("to_be_told", None),  # no digit
        ("pg__8812", None),
    ],
)
def test_what_is_left(value: str, rest: str | None) -> None:
    assert bare(value.encode()) == (None if rest is None else rest.encode())


def test_an_argument_and_an_answer_name_a_page_by_its_number(tmp_path: Path) -> None:
    argument, answer = uses(tmp_path, "pg_8812", {"page": "8812"}, "I paged them, see 8812.")
    assert argument == {"step": 5, "role": "argument", "as": "embedded", "pointer": "/page", "basis": "inferred"}
    assert answer == {"step": 7, "role": "final_answer", "as": "embedded", "basis": "inferred"}


@pytest.mark.parametrize(
    ("returned", "arguments", "said"),
    [
        ("on_2024", {"note": "in 2024"}, "It was 2024."),  # a year
        ("item_5000", {"limit": "5000"}, "5000 of them."),  # a round number
        ("pg_8812", {"limit": 88120}, "88 12"),  # another number
        ("key_9S8DKK", {"note": "none"}, "9s8dkk"),  # another case: too far from what was returned
    ],
)
def test_what_may_be_something_else_is_no_use(returned: str, arguments: Fields, said: str, tmp_path: Path) -> None:
    assert uses(tmp_path, returned, arguments, said) == []


def test_a_number_under_a_key_that_names_an_id(tmp_path: Path) -> None:
    (use,) = uses(tmp_path, "item_5000", {"item_id": 5000, "limit": 5000})
    assert use["pointer"] == "/item_id"


def test_a_number_that_was_there_before_is_no_use(tmp_path: Path) -> None:
    assert uses(tmp_path, "pg_8812", {"page": "8812"}, asked="page room 8812") == []


def test_a_result_that_holds_the_number_is_no_use(tmp_path: Path) -> None:
    assert uses(tmp_path, "pg_8812", {"note": "none"}) == []


def test_a_use_in_full_says_more_than_one_without_the_prefix(tmp_path: Path) -> None:
    (use,) = uses(tmp_path, "pg_8812", {"page": "pg_8812, not 8812"})
    assert (use["as"], use.get("basis")) == ("verbatim", None)
