"""Do blocks of lines say what line by line would, with every line in its place?"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.formats.shared.fields import fields_of, says_each_key_once
from forensics.formats.shared.line_fields import lines_with_fields
from forensics.formats.shared.lines import lines
from forensics.formats.shared.source import Source

compact = st.dictionaries(st.sampled_from(["a", "b", "é", 'q"', "\ud800"]), st.integers(0, 9) | st.text(max_size=3))
objects = compact.map(lambda one: json.dumps(one, separators=(",", ":")))
broken = ['{"a":', "1}", '1} {"b":2}', '{"b":2}{"c":3}', '{"a":{}', '} {"b":2}', '{"a":1,"a":2}', '{"a": 1}', "{"]
unusual = ["", " ", "\r", '{"a":1}\r', ' {"a":1}', '{"a":1} ', "{}", "1", '[{"a":1}]', "\ufeff{}", '{"a":"\u2028"}']
odd = st.sampled_from([*broken, *unusual])
marks = st.sampled_from([b"", b"\xef\xbb\xbf"])
ends = st.sampled_from([b"", b"\n", b"\xff"])


def source_of(data: bytes) -> Source:
    return Source("x", memoryview(data), "")


@given(st.lists(objects | odd, max_size=8), marks, ends)
def test_as_line_by_line(texts: list[str], mark: bytes, end: bytes) -> None:
    data = mark + "\n".join(texts).encode("utf-8", "surrogatepass") + end
    told = list(lines_with_fields(source_of(data)))
    assert [span for span, _ in told] == [
        (line.number, line.offset, line.offset + len(line.data)) for line in lines(source_of(data))
    ]
    for (_, start, stop), fields in told:
        if fields is not None:
            assert {k: bytes(v) for k, v in fields.items()} == {
                k: bytes(v) for k, v in fields_of(data[start:stop]).items()
            }
            assert says_each_key_once(fields, data[start:stop])


@pytest.mark.parametrize("count", [1, 255, 256, 257, 600])
def test_ordinary_lines_are_told_at_once(count: int) -> None:
    data = b"\n".join(b'{"i":%d,"kind":"user"}' % number for number in range(count))
    told = [fields for _, fields in lines_with_fields(source_of(data))]
    assert [bytes(fields["i"]) for fields in told if fields] == [b"%d" % number for number in range(count)]


def test_a_line_that_breaks_off_leaves_the_others_of_its_block_in_their_places() -> None:
    data = b'{"a":0}\n{"a":\n1} {"b":2}\n{"a":3}\n'
    assert [fields is None for _, fields in lines_with_fields(source_of(data))] == [False, True, True, False]
