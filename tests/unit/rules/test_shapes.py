"""Shapes of opaque values and keys that identify."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.rules import load_rules

RULES = load_rules()


@pytest.mark.parametrize(
    ("value", "key", "kind"),
    [
        ("pg_8812", "id", "prefixed-id"),
        ("ch_501", None, "prefixed-id"),
        ("rf-1", None, "prefixed-id"),
        ("f4af", "id", "id"),
        ("f4af", "colour", None),
        ("42", "order_id", "number"),
        ("42", "count", None),
        ("1763028000", "at", "timestamp"),
        ("1763028000", "id", "number"),
        ("2026-11-13T10:00:00Z", "created", "timestamp"),
        ("2026-11-13", "day", None),
        ("0b9f3a54-6d5e-4a8e-9a51-0d2f6a1f7c11", None, "uuid"),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", None, "ulid"),
        ("d41d8cd98f00b204e9800998ecf8427e", None, "hash"),
        ('W/"a1b2"', "etag", "etag"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", None, "token"),
        ("arn:aws:sns:eu-west-1:123456789012:topic", None, "arn"),
        ("https://b.example.org/o?X-Amz-Signature=abc", None, "url"),
        ("https://example.org/docs?page=2", None, None),
        ("Y3Vyc29yOnYyOpK5MjAyNi0xMS0xM1Q=", None, "cursor"),
        ("utf-8", "ref", None),
        ("ca12fe", "id", "id"),
        ("v4f3b2a", "id", "id"),
        ("us-east-1", None, None),
        ("hello world", "id", None),
        ("", "id", None),
        ("x" * 5000, "id", None),
    ],
)
def test_kinds(value: str, key: str | None, kind: str | None) -> None:
    assert RULES.handle_kind(value, key) == kind


@pytest.mark.parametrize(
    "key", ["id", "pageId", "page_id", "IDs", "issue_number", "nextCursor", "eTag", "orderid", "ref"]
)
def test_keys_that_identify(key: str) -> None:
    assert RULES.is_id_key(key)


@pytest.mark.parametrize("key", ["paid", "name", "valid", "grid", "idea", "", "identity_of"])
def test_keys_that_do_not(key: str) -> None:
    assert not RULES.is_id_key(key)


@given(st.text(max_size=5000), st.none() | st.text(max_size=40))
def test_any_value_gets_an_answer(value: str, key: str | None) -> None:
    kind = RULES.handle_kind(value, key)
    assert kind is None or kind


@pytest.mark.parametrize("unit", ["a", "a-", "a_", "A0", "-0", "=", "eyJ.", "https://a?", "a1_", "0"])
def test_hostile_values_cost_linear_time(unit: str) -> None:
    value = (unit * 4096)[:4096]
    began = time.process_time()
    for tail in ("", "\n", "!", " "):
        RULES.handle_kind(value[:-1] + tail, "id")
    assert time.process_time() - began < 5  # measured: a few hundredths; quadratic time would be minutes


DIGITS = st.from_regex(r"1?[0-9]{1,13}|[a-z]{0,3}_?[0-9]{1,20}|[0-9a-f]{32}", fullmatch=True)


@given(st.lists(st.text(max_size=90) | DIGITS, max_size=6), st.sampled_from([None, "id", "count", "order_id", "at"]))
def test_many_values_are_told_as_each_by_itself(values: list[str], key: str | None) -> None:
    assert RULES.handle_kinds(values, key) == [RULES.handle_kind(value, key) for value in values]


def test_a_shape_of_other_keys_leaves_the_value_to_the_next_one() -> None:
    digest = "1763028000" + "0" * 22  # digits in the length of a digest; a number only under a key that names an id
    assert RULES.handle_kinds([digest, "1763028000"], "order_id") == ["number", "number"]
    assert RULES.handle_kinds([digest, "1763028000"], "at") == ["hash", "timestamp"]
