"""A JSON Pointer is written and followed as RFC 6901 says."""

from __future__ import annotations

import pytest

from forensics.core.pointers import escape, place_in, pointer_tokens, resolve_pointer

_VALUE = {"a/b": {"~": 2}, "list": [{"k": "v"}], "": None}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [("/a~1b/~0", 2), ("/list/0/k", "v"), ("", _VALUE), ("/", None), (f"/{escape('a/b')}/{escape('~')}", 2)],
)
def test_what_stands_there(pointer: str, value: object) -> None:
    assert resolve_pointer(_VALUE, pointer, "default") == value


@pytest.mark.parametrize("pointer", ["/list/1/k", "/list/-1", "/list/\u0661", "/list/0/k/0", "/b", "/list/-"])
def test_where_nothing_stands(pointer: str) -> None:
    assert resolve_pointer(_VALUE, pointer, "default") == "default"


def test_a_pointer_begins_with_a_slash() -> None:
    with pytest.raises(ValueError, match="not a JSON Pointer"):
        pointer_tokens("mode")


@pytest.mark.parametrize(("token", "place"), [("0", 0), ("9", 9), ("11", 11)])
def test_digits_name_a_place(token: str, place: int) -> None:
    assert place_in(12, token) == place


@pytest.mark.parametrize("token", ["12", "-1", "01", "00", "", "-", "1.0", " 1", "+1", "\u0661", "\u00b2", "9" * 5_000])
def test_everything_else_names_none(token: str) -> None:
    assert place_in(12, token) is None
    assert resolve_pointer({"l": list("abcdefghijkl")}, f"/l/{token}", "nothing") == "nothing"
