"""Which entries of a policy contradict each other, and which one vouches for too much?"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pytest

from forensics.rules import load_policy
from forensics.rules.policy_doubts import policy_doubts

if TYPE_CHECKING:
    from pathlib import Path

DAY = datetime.date(2026, 11, 30)
HEAD = "schema: forensics/policy/v1\nname: team\n"


def doubts(folder: Path, *entries: str, extends: str = "strict") -> tuple[str, ...]:
    """The first entry stands in line 5."""
    listed = "".join(f"  - {{{entry}, because: b, by: m}}\n" for entry in entries)
    path = folder / "policy.yaml"
    path.write_text(f"{HEAD}extends: {extends}\ntools:\n{listed}", "utf-8")
    return policy_doubts(load_policy(path, DAY))


def test_two_entries_for_one_tool_name_what_counts(tmp_path: Path) -> None:
    (text,) = doubts(tmp_path, "tool: lookup, effect: none", "tool: lookup, effect: repeating")
    assert text == (
        "line 5 (tool lookup) and line 6 (tool lookup) speak of the same calls: "
        "effect repeating counts, and effect none never"
    )


def test_every_axis_is_compared(tmp_path: Path) -> None:
    (text,) = doubts(
        tmp_path,
        "tool: t, effect: repeating, result: stable, scope: external",
        "tool: t, effect: overwriting, result: volatile, scope: local",
    )
    assert "effect repeating counts, and effect overwriting never" in text
    assert "result volatile counts, and result stable never" in text
    assert "scope external counts, and scope local never" in text


@pytest.mark.parametrize(
    ("one", "other", "counts"),
    [
        ("tool: get_user, effect: none", "tool: '*_user', effect: repeating", "and effect none never"),
        ("tool: 'get_*', effect: none", "tool: '*_user', effect: repeating", "repeating counts"),
        ("tool: q, arguments: {/mode: r}, effect: none", "tool: q, effect: repeating", "and effect none never"),
        ("tool: q, server: a, effect: none", "tool: q, effect: repeating", "and effect none never"),
        ("tool: q, server: a, effect: none", "tool: q, server: 'a*', effect: repeating", "and effect none never"),
        (
            "tool: q, arguments: {/mode: r}, effect: none",
            "tool: q, arguments: {/user: x}, effect: repeating",
            "repeating counts",
        ),
    ],
)
def test_a_contradiction_is_told_in_either_order(tmp_path: Path, one: str, other: str, counts: str) -> None:
    for entries in ((one, other), (other, one)):
        (text,) = doubts(tmp_path, *entries)
        assert text.endswith(counts)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tool: 'get_*', effect: none", "tool: get_next, effect: repeating"),  # an exception
        ("tool: q, effect: none", "tool: q, arguments: {/mode: w}, effect: repeating"),
        ("tool: a, effect: none", "tool: b, effect: repeating"),
        ("tool: 'a*', effect: none", "tool: 'b*', effect: repeating"),
        ("tool: q, server: a, effect: none", "tool: q, server: b, effect: repeating"),
        ("tool: q, arguments: {/mode: r}, effect: none", "tool: q, arguments: {/mode: w}, effect: repeating"),
        ("tool: q, effect: none", "tool: q, result: volatile"),
        ("tool: q, effect: none", "tool: q, effect: none, expires: 2999-01-01"),
        ("tool: q, effect: none", "tool: q, effect: repeating, expires: 2020-01-01"),
    ],
)
def test_what_is_meant_is_no_contradiction(tmp_path: Path, one: str, other: str) -> None:
    assert doubts(tmp_path, one, other) == ()
    assert doubts(tmp_path, other, one) == ()


def test_an_entry_of_another_file_is_named_with_its_file(tmp_path: Path) -> None:
    base = f"{HEAD}tools:\n  - {{tool: q, effect: repeating, because: b, by: m}}\n"
    (tmp_path / "base.yaml").write_text(base, "utf-8")
    (text,) = doubts(tmp_path, "tool: q, effect: none", extends="base.yaml")
    assert text.startswith("line 5 (tool q) and line 4 of base.yaml (tool q) speak of the same calls")


def test_who_vouches_for_every_tool_is_told(tmp_path: Path) -> None:
    assert doubts(tmp_path, "tool: '*', effect: none") == (
        "line 5 (tool *) vouches for every tool, for those too that nobody has seen yet: name them",
    )
    (of_server,) = doubts(tmp_path, "tool: '**', server: docs, arguments: {/dry: true}, effect: none")
    assert "vouches for every tool of docs that is called with these arguments" in of_server
    assert doubts(tmp_path, "tool: '*', effect: repeating") == doubts(tmp_path, "tool: 'get_*', effect: none") == ()


@pytest.mark.parametrize("pattern", ["**", "?*", "*?", "?*?", "*?*", "??*"])
def test_every_pattern_that_fits_all_names_is_like_a_star(tmp_path: Path, pattern: str) -> None:
    (text,) = doubts(tmp_path, f"tool: '{pattern}', effect: none")
    assert text.startswith(f"line 5 (tool {pattern}) vouches for every tool")


@pytest.mark.parametrize("pattern", ["?", "???", "a*", "*_*"])
def test_a_pattern_that_leaves_names_out_is_not(tmp_path: Path, pattern: str) -> None:
    assert doubts(tmp_path, f"tool: '{pattern}', effect: none") == ()


def test_a_long_list_of_names_is_no_slow_one(tmp_path: Path) -> None:
    """Two million pairs would be looked at otherwise; what is said is what counts here."""
    entries = [f"tool: tool_{n}, effect: none" for n in range(2_000)]
    (text,) = doubts(tmp_path, *entries, "tool: tool_7, effect: repeating")
    assert text.startswith("line 12 (tool tool_7) and line 2005 (tool tool_7) speak of the same calls")
