"""Is every JSON text read exactly, with what it says twice? RFC 8259's grey zones, one by one."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.core.depth import nesting
from forensics.core.jsonvalue import (
    canonical,
    decode,
    decode_embedded,
    equal_values,
    short_json,
    spell_surrogates,
    strict_value,
    text_of,
    unfold,
)
from forensics.core.limits import Limits

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(max_size=5), v, max_size=4), max_leaves=12
)


@given(values)
def test_what_python_writes_is_read_back_without_a_fault(value: object) -> None:
    decoded = decode(json.dumps(value).encode())
    assert decoded.value == value
    assert {f.code for f in decoded.faults} <= {"lone_surrogate"}


@given(values, st.integers(2, 40))
def test_a_value_is_shown_as_its_whole_text_would_begin(value: object, limit: int) -> None:
    whole = json.dumps(value, ensure_ascii=False)
    assert short_json(value, limit) == (whole if len(whole) <= limit else whole[: limit - 1] + "…")


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('{"a":1,"a":2}', ["duplicate_key"]),
        ('{"a":1,"b":{"x":1,"y":2,"x":3}}', ["duplicate_key"]),
        ('{"a":1,"a":1}', ["duplicate_key"]),
        ('{"a":"\\u0022\\u0022","b":1,"b":2}', ["duplicate_key"]),
        ('[{"k":1},{"k":2}]', []),
        ('{"a":NaN}', ["non_finite_number"]),
        ('{"a":1e999}', ["non_finite_number"]),
        ('{"a":"\\udcb2"}', ["lone_surrogate"]),
    ],
)
def test_faults_are_named(text: str, codes: list[str]) -> None:
    assert [f.code for f in decode(text.encode()).faults] == codes


def test_a_duplicate_key_keeps_both_values() -> None:
    (fault,) = decode(b'{"role":"viewer","user":8,"role":"admin"}').faults
    assert fault.values == ('"viewer"', '"admin"')
    assert "viewer" in fault.message
    assert "admin" in fault.message


@given(st.dictionaries(st.text(max_size=4), st.integers(), min_size=1, max_size=4), st.integers(0, 3))
def test_any_repeated_key_is_seen(value: dict[str, int], at: int) -> None:
    pairs = [(json.dumps(k), str(v)) for k, v in value.items()]
    pairs.append(pairs[at % len(pairs)])
    text = "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
    assert [f.code for f in decode(text.encode()).faults if f.code == "duplicate_key"] == ["duplicate_key"]


def test_integers_are_exact_however_long() -> None:
    long = "9" * 5_000
    assert decode(b"12345678901234567890123456789012345678").value == 12345678901234567890123456789012345678
    decoded = decode(long.encode())
    assert decoded.value == long
    assert [f.code for f in decoded.faults] == ["large_integer"]


def test_what_is_nested_too_deep_is_kept_as_the_text_that_it_is() -> None:
    deep = b"[" * 60_000 + b"]" * 60_000
    decoded = decode(b'{"a": 1, "b": ' + deep + b', "c": "[[{"}')
    assert decoded.error is None
    assert [f.code for f in decoded.faults] == ["nesting_limit"]
    assert (decoded.value["a"], decoded.value["c"]) == (1, "[[{")
    kept, levels = decoded.value["b"], 0
    while isinstance(kept, list):
        (kept,), levels = kept, levels + 1
    assert isinstance(kept, str)
    assert b"[" * levels + kept.encode() + b"]" * levels == deep


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")])
@pytest.mark.parametrize("beyond", [1, 100, 400, 900])
def test_the_limit_holds_where_the_decoder_would_go_deeper(opening: bytes, closing: bytes, beyond: int) -> None:
    levels = opening.count(b"[") + opening.count(b"{")
    kept, deep = Limits().nesting // levels, Limits().nesting // levels + beyond
    assert decode(opening * kept + b"1" + closing * kept).faults == ()
    decoded = decode(b'[1, "[[", ' + opening * deep + b"1" + closing * deep + b"]")
    assert [f.code for f in decoded.faults] == ["nesting_limit"]
    assert f"nested {levels * deep + 1} deep" in decoded.faults[0].message
    assert decoded.value[:2] == [1, "[["]


def test_many_brackets_side_by_side_are_not_deep() -> None:
    wide = b'[{"a": [], "b": "[{"}' + b', {"a": [[1], [2]]}' * 2_000 + b"]"
    assert decode(wide).faults == ()
    assert decode(b'"' + b"[" * 2_000 + b'"').faults == ()


@pytest.mark.parametrize(
    "text", [b"[" * 60_000, b"[" * 60_000 + b"]" * 59_999, b"]" * 60_000, b"[" * 600 + b"\xff" + b"]" * 600]
)
def test_deep_text_that_is_no_json_says_why(text: bytes) -> None:
    decoded = decode(text)
    assert (decoded.value, bool(decoded.error)) == (None, True)


def test_nesting_counts_brackets_outside_of_texts() -> None:
    assert nesting(b"[" * 60_000 + b"]" * 60_000) == 60_000
    assert nesting(b'{"a":"[[[[","b":[{}]}') == 3
    assert decode(b"[" * Limits().nesting + b"]" * Limits().nesting).faults == ()


@pytest.mark.parametrize("text", [b"", b"{", b'{"a":}', b"\xff\xfe", b"nul", b'{"a":1}x', b'"\x00"'])
def test_what_is_no_json_says_why(text: bytes) -> None:
    decoded = decode(text)
    assert decoded.value is None
    assert decoded.error


def test_a_text_that_holds_json_is_unfolded_and_other_texts_are_not() -> None:
    assert unfold('{"a": [1, 2]}') == {"a": [1, 2]}
    assert unfold("17") == "17"
    assert unfold("{not json") == "{not json"
    assert decode_embedded("true") is None


def test_equal_values_knows_numbers_and_booleans() -> None:
    assert equal_values({"a": 9.0, "b": [1]}, {"b": [1], "a": 9})
    assert not equal_values({"a": True}, {"a": 1})
    assert not equal_values([1, 2], [2, 1])
    assert not equal_values({"a": 7312292042121000001}, {"a": 7312292042121000000})
    assert canonical({"b": 1, "a": 2}) == canonical({"a": 2, "b": 1})


def test_documents_hold_strict_json_only() -> None:
    strict = strict_value({"n": 2**60, "f": float("inf"), "s": "a\udcb2", "l": (1, 2.5), "t": True})
    assert strict == {"n": str(2**60), "f": "inf", "s": "a\\udcb2", "l": [1, 2.5], "t": True}
    json.dumps(strict, allow_nan=False).encode("utf-8")
    assert spell_surrogates("plain") == "plain"


def test_text_of_a_payload() -> None:
    assert text_of(msgspec.Raw(b'"a\\nb"')) == "a\nb"
    assert text_of(msgspec.Raw(b'{"a": 1}')) == '{"a": 1}'
    assert text_of(msgspec.Raw(b'"\\udcb2"')) == "\udcb2"
