"""Does a document that breaks off say all that stands before the damage, and nothing else?"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.formats.shared.mending import mend

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(VALUES, min_size=1, max_size=4), st.data())
def test_what_is_mended_begins_as_the_document_does(value: list[object], data: st.DataObject) -> None:
    whole = json.dumps({"items": value}).encode()
    cut = data.draw(st.integers(1, len(whole) - 1))
    mended = mend(memoryview(whole[:cut]))
    assert mended is not None
    assert whole.startswith(mended.text[: mended.kept])
    items = json.loads(mended.text).get("items", [])
    assert items[:-1] == value[: max(len(items) - 1, 0)]
    assert mended.code == "container_truncated"


@pytest.mark.parametrize(
    ("text", "mended", "code"),
    [
        (b'{"a": [1, 2, {"b": "x', b'{"a": [1, 2, {}]}', "container_truncated"),
        (b'{"a": 12', b"{}", "container_truncated"),
        (b'["a\\"]', b"[]", "container_truncated"),
        (b'{"a": 1} tail', b'{"a": 1}', "malformed_line"),
        (b'{"a": [1, 2}', b'{"a": [1, 2]}', "malformed_line"),
        (b'{"a": 1, "b": "\\q"}', b'{"a": 1}', "malformed_line"),
        (b'{"a": 1, "b": "\xff"}', b'{"a": 1}', "encoding"),
    ],
)
def test_damage_is_told_by_its_kind(text: bytes, mended: bytes, code: str) -> None:
    found = mend(memoryview(text))
    assert found is not None
    assert (found.text, found.code) == (mended, code)


@pytest.mark.parametrize("text", [b"", b"no JSON", b'"a text"', b"12"])
def test_what_has_no_bracket_is_no_document(text: bytes) -> None:
    assert mend(memoryview(text)) is None


def test_nesting_beyond_the_limit_ends_the_document() -> None:
    found = mend(memoryview(b'{"a": 1, "b": ' + b"[" * 60_000))
    assert found is not None
    assert found.code == "nesting_limit"
    assert json.loads(found.text)["a"] == 1
