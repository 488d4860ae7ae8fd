"""Is a pattern that is made late the same pattern?"""

from __future__ import annotations

import re

import pytest

from forensics.core.late import late


def test_nothing_is_compiled_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []

    def compile_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(pattern)
        return _compile(pattern, flags)

    _compile = re.compile
    monkeypatch.setattr("forensics.core.late.re.compile", compile_pattern)
    one = late("a+", re.IGNORECASE)
    assert compiled == []
    assert one.fullmatch("aAa") is not None
    assert one.search("b") is None
    assert compiled == ["a+"]


@pytest.mark.parametrize("flags", [0, re.IGNORECASE])
def test_it_answers_as_the_pattern_does(flags: int) -> None:
    made, soon = re.compile("(a)|b", flags), late("(a)|b", flags)
    assert soon.findall("abAB") == made.findall("abAB")
    assert [m.span() for m in soon.finditer("xabA")] == [m.span() for m in made.finditer("xabA")]
    assert soon.sub("-", "xab") == made.sub("-", "xab")
    assert soon.subn("-", "xab") == made.subn("-", "xab")
    assert soon.split("xayb") == made.split("xayb")
    assert soon.match("ab", 1) is not None
    assert (soon.pattern, soon.flags, soon.groups) == (made.pattern, made.flags, made.groups)
    assert soon.groupindex == made.groupindex


def test_a_pattern_over_bytes() -> None:
    found = late(rb"\d+").search(b"a12")
    assert found is not None
    assert found.group() == b"12"


def test_what_is_no_pattern_is_said_when_it_is_asked() -> None:
    wrong = late("(")
    with pytest.raises(re.error):
        wrong.search("")
    assert not hasattr(wrong, "__wrapped__")
