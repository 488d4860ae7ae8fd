"""Which spellings of an address or a form are one, and which differences always stay?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.replay import spelling

FORM = "application/x-www-form-urlencoded; charset=utf-8"


@pytest.mark.parametrize(
    ("address", "spelled"),
    [
        ("HTTPS://API.Example:443/v1?q=a%2db&x=%2F#top", "https://api.example/v1?q=a-b&x=%2F"),
        ("http://host", "http://host/"),
        ("http://host:8080/A%c3%a9", "http://host:8080/A%C3%A9"),
        ("http://User:Pass@Host/", "http://User:Pass@host/"),
        ("http://[::1]:80/x", "http://[::1]/x"),
        ("http://host:port/x", "http://host:port/x"),
        ("http://[broken/x", "http://[broken/x"),
        ("/relative?b=1&a=2", "/relative?b=1&a=2"),
        ("https://h/?b=1&a=2&b=0", "https://h/?a=2&b=1&b=0"),
        ("https://h/A/../b//c", "https://h/A/../b//c"),
    ],
)
def test_addresses_in_one_spelling(address: str, spelled: str) -> None:
    assert spelling.address(address) == spelled
    assert spelling.address(spelled) == spelled


@given(st.text())
def test_one_spelling_is_enough_for_any_text(text: str) -> None:
    once = spelling.address(f"http://h/?{text}")
    assert spelling.address(once) == once


def test_forms_have_their_parameters_by_name() -> None:
    assert spelling.body("b=1&a=2&b=0", FORM) == "a=2&b=1&b=0"
    assert spelling.body("b=1&a=2", "text/plain") == "b=1&a=2"


def multipart(boundary: str, value: str) -> tuple[str, str]:
    body = f'--{boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n{value}\r\n--{boundary}--\r\n'
    return body, f'multipart/form-data; boundary="{boundary}"'


def test_the_boundary_of_a_multipart_body_is_drawn_and_its_parts_are_not() -> None:
    one, other = multipart("x1", "value"), multipart("--y.2", "value")
    assert spelling.body(*one) == spelling.body(*other)
    assert spelling.body(*one) != spelling.body(*multipart("x1", "other"))
    assert spelling.body(*multipart("a", "see a")) != spelling.body(*multipart("b", "see b"))
    assert spelling.body(one[0], "multipart/form-data") == one[0]
