"""Whoever writes a name that is not there is told the nearest, else which names there are."""

from __future__ import annotations

import pytest

from forensics.core.meant import FEW, meant


@pytest.mark.parametrize(
    ("name", "names", "hint"),
    [
        ("repaly", ["report", "replay"], "did you mean replay?"),
        ("REPLAY", ["report", "replay"], "did you mean replay?"),
        ("getuser", ["getUser", "setMode"], "did you mean getUser?"),
        ("zzz", ["second", "first"], "one of: second, first"),
        ("zzz", [], ""),
        ("ab\x1b[2J", ["ab\x1b[2K"], "did you mean ab\\x1b[2K?"),
    ],
)
def test_what_was_meant(name: str, names: list[str], hint: str) -> None:
    assert meant(name, names) == hint


def test_a_long_table_is_listed_as_far_as_it_is_asked_for() -> None:
    names = [f"tool_{number}" for number in range(9)]
    assert meant("zzz", names, listed=FEW) == "one of: tool_0, tool_1, tool_2, tool_3, tool_4, …"
    assert meant("zzz", names, listed=0) == ""
    assert meant("zzz", names).endswith("tool_8")
