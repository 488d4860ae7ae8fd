"""Are lines taken only where they are written just as objects of their form are, and what do the others teach?"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import msgspec
import pytest

from forensics.formats.shared.forms import ABSENT, FLAG, TEXT, Form, Items, Spellings

PART = Form("part", {"kind": TEXT, "body": msgspec.Raw}, sought=frozenset({"body"}))
LINE = Form(
    "line",
    {"id": TEXT, "mine": FLAG, "parts": Items(PART), "about": Form("about", {"name": TEXT})},
    sought=frozenset({"parts"}),
    never=frozenset({"odd"}),
)
MANY = 24  # lines that are enough to learn from
USUAL = {"id": "a", "n": 1, "parts": [{"kind": "x", "body": {"b": 2}}], "about": {"name": "c"}, "rest": [{}]}


def written(*values: Any) -> list[bytes]:
    return [json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() for value in values]


def learned(lines: list[bytes]) -> tuple[Spellings, list[Any]]:
    """The spellings of some lines, learned from each of them, and their objects."""
    spellings = Spellings(LINE)
    return spellings, spellings.each(lines * MANY)[: len(lines)]


def test_objects_have_what_their_lines_say() -> None:
    _, (one,) = learned(written(USUAL))
    assert (one.id, one.mine, one.parts[0].kind, one.about.name) == ("a", ABSENT, "x", "c")
    assert bytes(one.parts[0].body) == b'{"b":2}'
    assert one.free["parts"](one)


def test_lines_of_one_spelling_are_taken_all_together() -> None:
    lines = written(USUAL, {"id": "b", "parts": "text"}, {"id": None, "n": "x", "rest": 2, "mine": True})
    spellings, each = learned(lines)
    assert spellings.whole(b"\n".join(lines)) == spellings.whole(b"\n".join(lines) + b"\n") == each
    assert [one.id for one in each] == ["a", "b", None]


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":"a","id":"a"}', b'{"id": "a"}', b'{"\\u0069d":"a"}', b'{"id":"\\u0061"}', b'{"id":"a"} ', b"", b"[]",
        b'{"id":3}', b'{"id":"a","mine":"yes"}', b'{"n":1,"id":"a"}', b'{"id":"a","n":1.50}', b'{"id":"a","new":1}',
        b'{"id":"a","n":[1]}', b'{"id":"a"}{"id":"b"}', b'{"id":"\\ud800"}', b'{"parts":[{"kind":"x","kind":"y"}]}',
        b'{"id":"a","odd":1}', b'{"id":"\xff"}', b'{"id":"a"',
    ],
)  # fmt: skip
def test_a_line_that_is_written_otherwise_is_for_others(line: bytes) -> None:
    spellings, _ = learned(written(USUAL))
    usual = written(USUAL)[0]
    assert spellings.whole(usual + b"\n" + line) is None or line == b""
    assert [one is None for one in spellings.each([usual, line])] == [False, True]


def test_what_stands_before_a_field_that_is_sought_is_a_scalar_or_said() -> None:
    lines = written({"n": 1, "parts": []}, {"about": {}, "id": "x"}, {"n": {"parts": 1}, "parts": []})
    spellings, (scalar, _, opened) = learned(lines)
    assert scalar is not None
    assert opened is None
    (both,) = spellings.each(written({"n": 2, "about": {}, "parts": []}))
    assert both is None or not both.free["parts"](both)


def test_keys_that_stand_in_two_orders_make_two_spellings() -> None:
    lines = written(
        {"id": "a", "mine": True}, {"mine": True, "id": "a"}, {"parts": [{"a": 1, "b": 2}, {"b": 1, "a": 2}]}
    )
    _, (one, other, contradicts) = learned(lines)
    assert (one.id, other.id, contradicts) == ("a", "a", None)
    assert type(one) is not type(other)


def test_orders_that_agree_make_one_spelling_however_they_are_met() -> None:
    _, found = learned(written({"a": 1, "c": 2}, {"a": 1, "b": 2}, {"b": 1, "c": 2}, {"c": 1, "z": 2}))
    assert len({type(one) for one in found}) == 1
    assert None not in found


@pytest.mark.parametrize("key", ['a"b', "a\\b", "a\nb", "\u2028"])
def test_keys_that_no_type_can_have_are_for_others(key: str) -> None:
    assert learned(written({"id": "a", key: 1}))[1] == [None]


def test_nothing_is_learned_from_a_few_lines_or_of_too_many_keys() -> None:
    spellings = Spellings(LINE)
    assert spellings.each(written(USUAL)) == [None]
    assert learned(written({f"k{number}": 1 for number in range(300)}))[1] == [None]
    _, found = learned(written(*({f"k{number}": 1, f"l{number}": 2} for number in range(300))))
    assert max(Counter(map(type, found)).values()) <= 128


def test_what_is_learned_has_an_end() -> None:
    spellings = Spellings(LINE)
    for number in range(100):
        spellings.each(written(*({f"k{number}": 1} for _ in range(MANY))))
    assert spellings.each(written({"k99": 1})) == [None]


@pytest.mark.parametrize(
    "value", [r'"\ud800"', r'"\uDFFF"', r'"\ud83d\u0041"', r'{"a":["\uD83Dx"]}', r'{"\udc00":1}', r'["\ud83d\ud83d"]']
)
def test_the_decoder_refuses_lone_surrogates_in_what_it_passes_over(value: str) -> None:
    """What is told at once rests on it: nobody looks for them in a text that was decoded."""
    decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    with pytest.raises(msgspec.DecodeError):
        decode(f'{{"held":{value}}}')
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(f'{{"held":{value}}}', type=msgspec.defstruct("nothing", []))
    assert decode(r'{"held":"\ud83d\ude00"}')
