"""Do blocks of lines say what line by line would, with every line in its place?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.core.limits import Limits, under
from forensics.errors import LimitExceededError
from forensics.formats.shared.fields import fields_of, says_each_key_once
from forensics.formats.shared.line_fields import blocks_of_lines
from forensics.formats.shared.lines import lines
from forensics.formats.shared.source import Source

if TYPE_CHECKING:
    from forensics.formats.shared.fields import Fields
    from forensics.formats.shared.lines import Span

compact = st.dictionaries(st.sampled_from(["a", "b", "é", 'q"', "\ud800"]), st.integers(0, 9) | st.text(max_size=3))
objects = compact.map(lambda one: json.dumps(one, separators=(",", ":")))
broken = ['{"a":', "1}", '1} {"b":2}', '{"b":2}{"c":3}', '{"a":{}', '} {"b":2}', '{"a":1,"a":2}', '{"a": 1}', "{"]
moved = ['{"a": 1', "}", '}{"b":2}', '{"a":    1', '}{"b":[1', ']}{"c":[[[1', "]]]}", '{"":0}{"":0}', "{}{}"]
unusual = ["", " ", "\r", '{"a":1}\r', ' {"a":1}', '{"a":1} ', "{}", "1", '[{"a":1}]', "\ufeff{}", '{"a":"\u2028"}']
odd = st.sampled_from([*broken, *moved, *unusual])
marks = st.sampled_from([b"", b"\xef\xbb\xbf"])
ends = st.sampled_from([b"", b"\n", b"\xff"])


def source_of(data: bytes) -> Source:
    return Source("x", memoryview(data), "")


def told_of(data: bytes, block: int = 1 << 18) -> list[tuple[Span, Fields | None]]:
    """Each line with its fields, told in blocks of about that many bytes."""
    module = "forensics.formats.shared.line_fields"
    with mock.patch(f"{module}._BLOCK", block), mock.patch(f"{module}._SMALLEST", block // 4):
        blocks = list(blocks_of_lines(source_of(data)))
    return [pair for one in blocks for pair in zip(one.spans(), one.fields or one.mixed, strict=True)]


@given(st.lists(objects | odd, max_size=8), marks, ends, st.sampled_from([16, 60, 1 << 18]))
def test_as_line_by_line(texts: list[str], mark: bytes, end: bytes, block: int) -> None:
    data = mark + "\n".join(texts).encode("utf-8", "surrogatepass") + end
    told = told_of(data, block)
    assert [span for span, _ in told] == [
        (line.number, line.offset, line.offset + len(line.data)) for line in lines(source_of(data))
    ]
    for (_, start, stop), fields in told:
        if fields is not None:
            assert {k: bytes(v) for k, v in fields.items()} == {
                k: bytes(v) for k, v in fields_of(data[start:stop]).items()
            }
            assert says_each_key_once(fields, data[start:stop])


@pytest.mark.parametrize("template", [b'{"i":%d,"kind":"user"}', b'{"i": %d, "kind": "user"}'])
@pytest.mark.parametrize("count", [1, 255, 256, 257, 600])
def test_ordinary_lines_are_told_at_once(count: int, template: bytes) -> None:
    data = b"\n".join(template % number for number in range(count))
    (block,) = blocks_of_lines(source_of(data))
    assert [bytes(fields["i"]) for fields in block.fields] == [b"%d" % number for number in range(count)]
    assert list(block.texts) == data.split(b"\n")
    assert block.is_compact is (b" " not in template)


def test_an_odd_line_leaves_all_but_the_lines_near_it_to_their_blocks() -> None:
    usual = [b'{"i":%d,"says":"%s"}' % (number, b"x" * 80) for number in range(600)]
    blocks = list(blocks_of_lines(source_of(b"\n".join([*usual[:200], b'{"i":', *usual[200:]]))))
    assert sum(len(block.fields) for block in blocks) > 500
    assert [number for block in blocks for number, _, _ in block.spans()] == list(range(1, 602))


def test_a_line_that_breaks_off_leaves_the_others_of_its_block_in_their_places() -> None:
    data = b'{"a":0}\n{"a":\n1} {"b":2}\n{"a":3}\n'
    assert [fields is None for _, fields in told_of(data)] == [False, True, True, False]


def test_a_line_that_is_too_long_is_named_by_its_number() -> None:
    data = b'{"a":0}\n' * 3 + b'{"a":"%s"}\n' % (b"x" * 200)
    with under(Limits(line=100)), pytest.raises(LimitExceededError, match="line 4 of x has 208 bytes"):
        list(blocks_of_lines(source_of(data)))
