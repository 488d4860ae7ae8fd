"""Texts are told as they were kept."""

from __future__ import annotations

import gc
import tracemalloc

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


def test_a_pointer_into_one_list_costs_some_bytes() -> None:
    kept = Numbered()
    kept.add_all([_pointer(number) for number in range(10_000)])
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(10_000, 40_000):
            kept.add(_pointer(number))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 30 * 30_000
    assert kept[kept.add(_pointer(25_000))] == _pointer(25_000)


def _pointer(number: int) -> str:
    return f"/spans/{number}/attributes/{number % 3}"


def test_no_text_has_the_number_0() -> None:
    kept = Numbered()
    kept.add("/a")
    assert kept.add("") == 0
    assert kept[0] == ""
