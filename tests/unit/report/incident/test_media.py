"""Are media in texts named by kind, size and digest, and is nothing else taken for one?"""

from __future__ import annotations

import base64
import json
import random
from hashlib import sha256

import pytest

from forensics.report.incident.content import Content, Level
from forensics.report.incident.media import without_media

NOISE = random.Random(7).randbytes(3_000)  # noqa: S311 - any bytes will do


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\x00\x00\x00\x00WEBP", "image/webp"),
        (b"%PDF-1.7", "application/pdf"),
        (b"", "base64"),
    ],
)
def test_a_medium_is_named_in_its_place(head: bytes, kind: str) -> None:
    data = head + NOISE
    text = json.dumps({"type": "image", "data": base64.b64encode(data).decode(), "after": 1})
    said = without_media(text)
    assert json.loads(said)["data"] == f"({kind}, {len(data)} bytes, sha256:{sha256(data).hexdigest()})"
    assert json.loads(said)["after"] == 1


def test_escaped_slashes_the_other_alphabet_and_missing_padding_are_read() -> None:
    named = without_media(base64.b64encode(NOISE).decode())
    assert without_media(base64.b64encode(NOISE).decode().replace("/", "\\/")) == named
    assert without_media(base64.urlsafe_b64encode(NOISE).decode()) == named
    odd = NOISE[:-1]
    assert f"{len(odd)} bytes" in without_media(base64.b64encode(odd).decode().rstrip("="))


@pytest.mark.parametrize(
    "text",
    [
        "x" * 5_000,
        "0123456789abcdef" * 100,
        "an ordinary sentence, which goes on and on. " * 50,
        base64.b64encode(NOISE[:200]).decode(),
        ("Aa1" * 200)[:401],  # decodes to no whole number of bytes
    ],
)
def test_nothing_else_is_taken_for_one(text: str) -> None:
    assert without_media(text) == text


def test_only_a_report_of_everything_holds_the_bytes() -> None:
    letters = base64.b64encode(NOISE).decode()
    assert Content(Level.PREVIEW, 400).text(letters) == without_media(letters)
    assert Content(Level.FULL, None).text(letters) == letters
    assert Content(Level.NONE, 0).text(letters) is None
