"""Texts are told as they were kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forensics.core.strings import Numbered

pointers = st.from_regex(r"(/[a-z]{1,3}|/[0-9]{1,12}|/0{1,2}[0-9]){0,5}", fullmatch=True) | st.text(max_size=20)


@given(st.lists(pointers, max_size=40))
def test_numbered_texts_are_told_as_they_were_kept(texts: list[str]) -> None:
    kept = Numbered()
    for number in range(300):  # from then on they are parted at their numbers
        kept.add(f"/{number}/")
    numbers = kept.add_all(texts)
    assert [kept[number] for number in numbers] == texts
    assert kept.add_all(texts) == numbers


def test_pointers_into_one_list_share_their_forms() -> None:
    kept = Numbered()
    texts = [f"/spans/{number}/attributes/{number % 3}" for number in range(20_000)]
    numbers = kept.add_all(texts)
    assert [kept[number] for number in numbers] == texts
    assert len(kept._parts) < 400


def test_no_text_has_the_number_0() -> None:
    kept = Numbered()
    kept.add("/a")
    assert kept.add("") == 0
    assert kept[0] == ""
