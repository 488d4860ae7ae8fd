"""Is Python's notation read as the value that it spells, and nothing else as a value?"""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.formats.shared.python_repr import as_json

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), PLAIN, max_size=4))
def test_what_repr_writes_is_read_back(value: dict[str, Any]) -> None:
    body = as_json(repr(value))
    assert body is not None
    assert json.loads(body) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': (1, 2)}", {"a": [1, 2]}),
        ("{'a': (1,)}", {"a": [1]}),
        ("['it\\'s', \"x'y\"]", ["it's", "x'y"]),
        (" {'n': 1.5e3, 'f': False} ", {"n": 1500.0, "f": False}),
        ("{'u': '\\x41\\u00e9\\U0001f600'}", {"u": "Aé😀"}),
    ],
)
def test_notations(text: str, value: object) -> None:
    body = as_json(text)
    assert body is not None
    assert json.loads(body) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "'a'",
        "{'a': f(1)}",
        "{'a': 1",
        "__import__('os')",
        "{1, 2}",
        "[<object at 0x1>]",
        "{'a' 1}",
        "{True: 1}",
    ],
)
def test_what_is_no_literal_is_no_value(text: str) -> None:
    assert as_json(text) is None


def test_deep_and_long_texts_cost_no_more_than_their_length() -> None:
    started = time.process_time()
    assert as_json("[" * 200_000) is None
    as_json("['" + "\\'" * 200_000)
    as_json("{'a': '" + "x" * 1_000_000 + "'}")
    assert time.process_time() - started < 5
