"""The operators of a rule: globs, pointers, value tests, and all, any, not."""

from __future__ import annotations

import pytest

from forensics.rules.conditions import compile_condition, glob, needed_keys, same_json
from forensics.rules.model import Condition

SUBJECT: dict[str, object] = {
    "tool": "files.read",
    "server": "disk",
    "arguments": {
        "mode": "read",
        "outputPath": "a",
        "n": 1,
        "list": [{"k": "v"}],
        "a/b": {"~": 2},
        "none": None,
        "long": "a" * 65_537,
    },
}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (Condition(tool="files.*"), True),
        (Condition(tool="files"), False),
        (Condition(tool="files.????", server="disk"), True),
        (Condition(server="other"), False),
        (Condition(at="/arguments/mode", equals="read"), True),
        (Condition(at="/arguments/n", equals=True), False),
        (Condition(at="/arguments/n", equals=1.0), True),
        (Condition(at="/arguments/none", equals=None), True),
        (Condition(at="/arguments/missing", equals=None), False),
        (Condition(at="/arguments/none", present=True), False),
        (Condition(at="/arguments/none", present=False), True),
        (Condition(at="/arguments/missing", present=False), True),
        (Condition(at="/arguments/mode", in_=("read", "list")), True),
        (Condition(at=("/arguments/x", "/arguments/mode"), equals="read"), True),
        (Condition(at="/arguments/mode", matches="re.d"), True),
        (Condition(at="/arguments/mode", matches="rea"), False),
        (Condition(at="/arguments", keys=("output_path",)), True),
        (Condition(at="/arguments", keys=("output_path",), equals="b"), False),
        (Condition(at="/arguments/list/*/k", equals="v"), True),
        (Condition(at="/arguments/long", unseen=True), True),
        (Condition(at="/arguments/long", unseen=True, matches="a+"), True),
        (Condition(at="/arguments/long", unseen=True, matches="b+"), False),
        (Condition(at="/arguments/mode", unseen=True), False),
        (Condition(at="/arguments/n", unseen=True), False),
        (Condition(at="/arguments/missing", unseen=True), False),
        (Condition(at="/arguments/*", equals="a"), True),
        (Condition(at="/tool", words=("read",)), True),
        (Condition(at="/tool", verbs=("read",)), False),
        (Condition(at="/tool", phrases=("files",)), True),
        (Condition(not_=Condition(tool="files.*")), False),
        (Condition(any=(Condition(tool="no"), Condition(server="disk"))), True),
        (Condition(all=(Condition(tool="no"), Condition(server="disk"))), False),
    ],
)
def test_conditions(condition: Condition, holds: bool) -> None:  # noqa: FBT001 - a table of expected answers
    assert compile_condition(condition)(SUBJECT) is holds


@pytest.mark.parametrize(
    ("condition", "keys"),
    [
        (Condition(at="/arguments", keys=("output_path", "outFile")), {"output path", "out file"}),
        (Condition(at="/arguments/mode", equals="x"), {"mode"}),
        (Condition(at=("/arguments/a", "/arguments/b"), equals="x"), {"a", "b"}),
        (Condition(any=(Condition(at="/arguments/a", equals=1), Condition(at="/arguments/b", equals=1))), {"a", "b"}),
        (Condition(all=(Condition(tool="x"), Condition(at="/arguments/b", equals=1))), {"b"}),
        (Condition(any=(Condition(tool="x"), Condition(at="/arguments/b", equals=1))), None),
        (Condition(at="/arguments/a", present=False), None),
        (Condition(at="/arguments/*", equals=1), None),
        (Condition(at="/tool", words=("a",)), None),
        (Condition(not_=Condition(at="/arguments/a", equals=1)), None),
    ],
)
def test_keys_without_which_a_condition_cannot_hold(condition: Condition, keys: set[str] | None) -> None:
    assert needed_keys(condition, "arguments") == keys


def test_json_equality_keeps_types_apart() -> None:
    assert same_json({"a": [1, 2.0]}, {"a": [1.0, 2]})
    assert not same_json([True], [1])
    assert not same_json("1", 1)
    assert not same_json([1], [1, 2])
    assert not same_json({"a": 1}, {"b": 1})


def test_globs_are_whole_and_linear() -> None:
    assert glob("a.b")("a.b")
    assert not glob("a.b")("axb")
    assert glob("*")("line\nbreak")
    assert not glob("*a" * 12 + "b")("a" * 200)
