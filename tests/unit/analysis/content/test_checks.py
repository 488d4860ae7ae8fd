"""The checks that a pattern can't make hold at their margins."""

from __future__ import annotations

import pytest

from forensics.analysis.content.checks import address, card, digits, given, iban, name_and_password, phone, varied
from forensics.analysis.content.checks import random_looking as random
from forensics.analysis.content.names import secret_name


@pytest.mark.parametrize("value", ["abc", "hunter2", "correct horse battery staple", "a/b+c==", "x" * 30 + "y"])
def test_what_was_filled_in_is_given(value: str) -> None:
    assert given(value)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "ab",
        "aaaa",
        "Password",
        "changeme",
        "${TOKEN}",
        "$TOKEN",
        "<token>",
        "{{ secret }}",
        "%(password)s",
        "*****",
        "...",
        "xxxx",
        "[REDACTED]",
        "/run/secrets/db",
        "./secret.txt",
        "https://h.example/reset",
        "secret:jwt:0011aabbccdd",
        "x" * 5000,
    ],
)
def test_a_placeholder_is_not(value: str) -> None:
    assert not given(value)


@pytest.mark.parametrize("value", ["hunter2", "a1b2c3", "S3cr3t-Pw"])
def test_letters_beside_digits_are_varied(value: str) -> None:
    assert varied(value)


@pytest.mark.parametrize(
    "value", ["str", "secret", "123456", "abcdef", "get_token(1)", "self.token1", "os.environ['A1']", "a1b"]
)
def test_words_numbers_and_code_are_not(value: str) -> None:
    assert not varied(value)


@pytest.mark.parametrize(
    ("value", "told"), [("8c6f1e2d9b7a4f3e", True), ("aaaaaaaaaaa1", False), ("a1 b2 c3 d4 e5", False)]
)
def test_random_values_have_entropy(value: str, *, told: bool) -> None:
    assert random(value) is told


@pytest.mark.parametrize(
    ("number", "told"),
    [("4539148803436467", True), ("4539148803436466", False), ("378282246310005", True), ("0000000000000000", False)],
)
def test_the_check_digit_of_a_card(number: str, *, told: bool) -> None:
    assert card(number) is told


@pytest.mark.parametrize(("number", "told"), [("DE89370400440532013000", True), ("DE88370400440532013000", False)])
def test_the_check_digits_of_an_account(number: str, *, told: bool) -> None:
    assert iban(number) is told


@pytest.mark.parametrize(
    ("mail", "told"),
    [
        ("ada@engines.co.uk", True),
        ("git@github.com", False),
        ("a@example.com", False),
        ("a@b.example", False),
        ("x@2x.png", False),
        ("noreply@corp.io", False),
        ("svc@p.iam.gserviceaccount.com", False),
    ],
)
def test_an_address_of_a_person(mail: str, *, told: bool) -> None:
    assert address(mail) is told


@pytest.mark.parametrize(("number", "told"), [("+442071838750", True), ("+1-702-555-1212", True), ("+12345678", False)])
def test_a_telephone_number(number: str, *, told: bool) -> None:
    assert phone(number) is told


@pytest.mark.parametrize(("packed", "told"), [("dXNlcjpwYXNz", True), ("dXNlcg==", False), ("understanding", False)])
def test_a_name_and_a_password(packed: str, *, told: bool) -> None:
    assert name_and_password(packed) is told


def test_digits() -> None:
    assert digits("a1")
    assert not digits("a")


@pytest.mark.parametrize(
    "key", ["apiKey", "API_KEY", "x-api-key", "stripe.secret_key", "DB_PASSWORD_1", "client_secret_value"]
)
def test_names_that_say_credential(key: str) -> None:
    assert secret_name(key) is not None


@pytest.mark.parametrize(
    "key", ["", "name", "max_tokens", "nextPageToken", "secretary", "public_key", "cache_key", "is_secret"]
)
def test_names_that_do_not(key: str) -> None:
    assert secret_name(key) is None
