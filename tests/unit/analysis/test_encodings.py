"""What is encoded in a text is read where it can be nothing else, and nowhere else."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.analysis.encodings import base64_runs, decodings, in_base64
from forensics.analysis.runs import all_runs

IDS = ["pg_8812", "0b9f3a54-6d5e-4a8e-9a51-0d2f6a1f7c11", "2026-11-13T10:00:01.312Z", "ord_3NfG7uiPwguoM3XG"]


def told(text: bytes) -> list[tuple[str, bytes]]:
    return list(decodings(text, all_runs(text)))


@pytest.mark.parametrize("value", IDS)
def test_an_id_in_base64_is_read_with_its_padding_and_without(value: str) -> None:
    wrapped = base64.b64encode(value.encode())
    assert told(b'{"cursor":"%b"}' % wrapped) == [("base64", value.encode())]
    assert told(b"next: %b" % wrapped.rstrip(b"=")) == [("base64", value.encode())]


@pytest.mark.parametrize(
    "run", [b"a1b2c3d4e5f6", b"A1B2C3D4", b"cGdf", b"pg_8812", b"cGdfODgxM", b"gICAgICAgICA1", b"x" * 5000]
)
def test_what_is_no_text_in_base64_is_left_alone(run: bytes) -> None:
    assert in_base64(run) is None


def test_only_the_words_that_hold_an_escape_are_decoded() -> None:
    text = b'{"url":"https://x.test/a?b=id%3Apg%5F8812","note":"50% of 100%25"}'
    assert told(text) == [("url", b"https://x.test/a?b=id:pg_8812"), ("url", b"100%")]


@given(st.binary(max_size=60))
def test_any_bytes_are_read(text: bytes) -> None:
    for how, said in told(text):
        assert how == "url" or said.isascii()


def test_of_many_runs_those_in_base64_are_told() -> None:
    runs = [base64.b64encode(b"order %d" % number).rstrip(b"=") for number in range(30)]
    others = [b"id_%d" % number for number in range(30)] + [b"DEADBEEF01", b"deadbeef01", b"Ab1"]
    told = b" ".join([*runs, *others])
    assert base64_runs(told) == {run for run in (*runs, *others) if in_base64(run) is not None}
    assert len(base64_runs(told)) > 15
