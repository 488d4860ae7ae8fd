"""Are the members of a hostile object read without a fault?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from forensics.formats.shared.fields import is_like_calls, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.reading import Reading


@pytest.mark.parametrize(
    ("told", "number"),
    [("7", 7), ('"7"', 7), ("-7", 0), ("7.5", 0), ("null", 0), ("[7]", 0), ("9" * 18, 10**18 - 1), ("9" * 5000, 0)],
)
def test_a_count_is_a_number_that_a_count_may_be(told: str, number: int) -> None:
    assert whole_number({"n": msgspec.Raw(told.encode())}, "absent", "n") == number


def test_a_usage_of_thousands_of_digits_is_no_usage(read_text: Callable[[str], Reading]) -> None:
    answer = {"choices": [{"message": {"role": "assistant", "content": "done"}}], "usage": {"prompt_tokens": 1}}
    whole = {"request": {"messages": [{"role": "user", "content": "x"}]}, "response": answer}
    reading = read_text(json.dumps(whole).replace('"prompt_tokens": 1', f'"prompt_tokens": {"1" * 5000}'))
    assert (len(reading.traces[0]), reading.counts.input_tokens) == (2, 0)


@pytest.mark.parametrize(
    ("value", "looks"),
    [
        ({"function": {"name": "rm", "arguments": "{}"}}, True),
        ([[{"id": "c1", "type": "function", "function": {"arguments": {"path": "/"}, "name": "rm"}}]], True),
        ([{"type": "function", "function": {"name": "rm", "description": "d", "parameters": {}}}], False),
        ({"function": "rm"}, False),
    ],
)
def test_a_function_with_its_arguments_is_a_call(value: object, looks: bool) -> None:  # noqa: FBT001 - a parameter
    assert is_like_calls(msgspec.Raw(msgspec.json.encode(value))) is looks
