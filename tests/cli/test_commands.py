"""What is said to somebody who names a command that there is not?"""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from forensics.cli.program import program


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["repaly"], "replay"), (["AUDIT"], "audit"), (["rules", "shwo"], "show"), (["case", "runs"], "run")],
)
def test_the_nearest_command_is_named(words: list[str], meant: str) -> None:
    ended = CliRunner().invoke(program, words)
    assert ended.exit_code == 2
    assert ended.stderr.endswith(f"There is no command {words[-1]!r}; did you mean {meant}?\n")


def test_where_none_is_near_all_are_named() -> None:
    ended = CliRunner().invoke(program, ["zzzz"])
    assert ended.exit_code == 2
    assert "one of: audit, inspect" in ended.stderr
    assert "did you mean" not in ended.stderr
