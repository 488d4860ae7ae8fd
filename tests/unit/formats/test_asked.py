"""A value that comes again is asked about once, and what is kept of the answers has an end."""

from __future__ import annotations

from forensics.formats.shared.asked import Asked


def _counted() -> tuple[Asked[int], list[bytes]]:
    asked: list[bytes] = []

    def ask(value: bytes) -> int:
        asked.append(value)
        return len(value)

    return Asked(ask), asked


def test_each_short_value_is_asked_about_once() -> None:
    answers, asked = _counted()
    assert [answers[value] for value in (b"a", b"bc", b"a", b"bc")] == [1, 2, 1, 2]
    assert asked == [b"a", b"bc"]


def test_a_long_value_is_not_kept() -> None:
    answers, asked = _counted()
    assert [answers[b"x" * 65], answers[b"x" * 65]] == [65, 65]
    assert len(asked) == 2
    assert not answers


def test_no_more_are_kept_than_that() -> None:
    answers, asked = _counted()
    for number in range(5000):
        assert answers[b"%d" % number] == len(str(number))
    assert len(asked) == 5000
    assert len(answers) <= 4096
    assert answers[b"4999"] == 4
    assert len(asked) == 5000
