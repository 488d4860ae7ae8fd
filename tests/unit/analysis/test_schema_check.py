"""Is a breach of a declared schema found, and is a hostile schema judged in bounded time or not at all?"""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from forensics.analysis.plain_schema import surely_fits
from forensics.analysis.schema_check import LARGEST_SCHEMA, SchemaCheck

Schema = dict[str, Any]
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
NUMBERED: Schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def breach(schema: Schema, arguments: Any) -> tuple[str, str] | None:
    found = SchemaCheck(schema).breach(arguments)
    return None if found is None else (found.pointer, found.keyword)


@pytest.mark.parametrize(
    ("schema", "arguments", "expected"),
    [
        (NUMBERED, {"n": "7"}, ("/n", "type")),
        (NUMBERED, {}, ("", "required")),
        (NUMBERED, {"n": True}, ("/n", "type")),
        ({**NUMBERED, "additionalProperties": False}, {"n": 1, "m": 2}, ("", "additionalProperties")),
        ({"properties": {"l": {"items": {"enum": ["a"]}}}}, {"l": ["a", "b"]}, ("/l/1", "enum")),
        ({"properties": {"a/b": {"type": "null"}}}, {"a/b": 0}, ("/a~1b", "type")),
        ({"properties": {"a": {"pattern": "^x"}}}, {"a": "y"}, ("/a", "pattern")),
        ({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}, {"a": 3}, ("/a", "anyOf")),
        ({"$defs": {"s": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/s"}}}, {"a": 3}, ("/a", "type")),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"const": 1}}},
            {"a": 2},
            ("/a", "const"),
        ),
    ],
)
def test_a_breach_is_named_with_its_place(schema: Schema, arguments: Any, expected: tuple[str, str]) -> None:
    assert breach(schema, arguments) == expected


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (NUMBERED, {"n": 7}),
        (NUMBERED, {"n": 7.0}),
        (NUMBERED, {"n": 7, "more": "allowed"}),
        ({"properties": {"a": {"type": "string", "nullable": True}}}, {"a": None}),
        ({"properties": {"a": {"enum": ["x"], "nullable": True}}}, {"a": None}),
        ({"properties": {"a": {"format": "email"}}}, {"a": "no mail"}),
        ({"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}}}, {"n": "7"}),
        ({"properties": {"n": {"minimum": 3, "exclusiveMinimum": True}}}, {"n": 1}),
        ({"properties": {"a": {"pattern": "^(?=x)"}}}, {"a": "y"}),
        ({"patternProperties": {"^x": {"type": "null"}}}, {"x": 1}),
        ({"properties": "none"}, {"n": 1}),
    ],
)
def test_what_fits_or_can_not_be_judged_breaks_nothing(schema: Schema, arguments: Any) -> None:
    assert breach(schema, arguments) is None


def deep(levels: int) -> Schema:
    schema: Schema = {}
    for _ in range(levels):
        schema = {"properties": {"a": schema}}
    return schema


DOUBLING = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(60)} | {"d60": {"type": "null"}}
LETTERS = {"a": "a" * 4000 + "!"}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"$ref": "http://127.0.0.1:9/schema.json"}, {"a": 1}),
        ({"$ref": "file:///etc/passwd"}, {"a": 1}),
        ({"$schema": "http://127.0.0.1:9/dialect", "$id": "http://127.0.0.1:9/", "$ref": "other"}, {"a": 1}),
        ({"$ref": "#"}, {"a": 1}),
        ({"$defs": DOUBLING, "$ref": "#/$defs/d0"}, {"a": 1}),
        ({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, {"a": 1}),
        ({"properties": {"a": {"pattern": "^(?:a+)+$(?!x)"}}}, LETTERS),
        ({"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}, {"a" * 40 + "!": 1}),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [{"x": n} for n in range(20_000)]}),
        ({"properties": {"a": {"multipleOf": 0.1}}}, {"a": 10**400}),
        ({"description": "x" * LARGEST_SCHEMA, "required": ["b"]}, {"a": 1}),
        (deep(450), {"a": 1}),
    ],
)
def test_a_hostile_schema_is_given_up(schema: Schema, arguments: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a schema made a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    began = time.process_time()
    assert breach(schema, arguments) is None
    assert time.process_time() - began < 5


def test_a_pattern_of_a_part_with_a_dialect_of_its_own_runs_under_re2_too() -> None:
    part = {"$schema": DRAFT_7, "pattern": "^(a+)+$"}
    began = time.process_time()
    assert breach({"properties": {"a": part}}, LETTERS) == ("/a", "pattern")
    assert time.process_time() - began < 5


_KEYS = st.sampled_from("ab")
_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(allow_nan=False, width=16), _KEYS)
_VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner))
_TYPES = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
_ONE_OR_MORE = _TYPES | st.lists(_TYPES, min_size=1, unique=True)
_SCHEMAS = st.recursive(
    st.fixed_dictionaries({}, optional={"type": _ONE_OR_MORE, "title": st.just("t")}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": _TYPES,
            "items": inner,
            "enum": st.lists(_SCALARS, min_size=1, max_size=3),
            "required": st.lists(_KEYS, unique=True),
            "properties": st.dictionaries(_KEYS, inner),
            "additionalProperties": st.booleans() | inner,
        },
    ),
)


@given(schema=_SCHEMAS, value=_VALUES)
def test_what_surely_fits_is_valid(schema: Schema, value: Any) -> None:
    if surely_fits(schema, value):
        assert Draft202012Validator(schema).is_valid(value)


@given(schema=_SCHEMAS, value=_VALUES)
def test_the_check_says_what_the_validator_says(schema: Schema, value: Any) -> None:
    assert (breach(schema, value) is None) is Draft202012Validator(schema).is_valid(value)
