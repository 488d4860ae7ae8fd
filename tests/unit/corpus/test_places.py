"""What goes together? Batches and groups, and the names by which places are kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forensics.corpus.places import batches, kept_names, together


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(1, 60))
def test_batches_hold_every_unit_once_in_order_and_no_more_than_asked_for(sizes: list[int], most: int) -> None:
    units = [((f"{n}", f"{n}"),) for n in range(len(sizes))]
    size_of = {f"{n}": size for n, size in enumerate(sizes)}
    made = list(batches(units, size_of, most))
    assert [unit for batch in made for unit in batch] == units
    for batch in made:
        assert len(batch) == 1 or sum(size_of[unit[0][0]] for unit in batch) <= most


def test_places_that_tell_of_one_run_are_a_group_over_several_runs() -> None:
    places = [(name, name) for name in "abcdef"]
    traces = {"a": ["1"], "b": ["2"], "c": ["1", "3"], "d": ["3"], "e": [], "f": ["2"]}
    assert together(places, traces) == [
        (("a", "a"), ("c", "c"), ("d", "d")),
        (("b", "b"), ("f", "f")),
    ]


@given(st.lists(st.lists(st.sampled_from("1234"), max_size=3), max_size=8))
def test_two_places_stand_in_one_group_exactly_where_a_chain_of_runs_joins_them(runs: list[list[str]]) -> None:
    places = [(str(n), str(n)) for n in range(len(runs))]
    groups = together(places, {str(n): ids for n, ids in enumerate(runs)})
    group_of = {where: n for n, group in enumerate(groups) for where, _ in group}
    reached = {n: {n} for n in range(len(runs))}
    for _ in runs:  # the transitive closure, by brute force
        for known in reached.values():
            known |= {o for at in [*known] for o in range(len(runs)) if {*runs[at]} & {*runs[o]}}
    for one, other in ((a, b) for a in reached for b in reached if a < b):
        joined = str(one) in group_of and group_of[str(one)] == group_of.get(str(other))
        assert joined == (other in reached[one])


def test_places_are_kept_without_what_a_url_hides() -> None:
    urls = ["http://me:pass@host:1/a?sig=1", "http://host:1/a?sig=2#x", "s3://bucket/a", "/here/a"]
    assert kept_names(urls) == {
        urls[0]: "http://host:1/a",
        urls[1]: "http://host:1/a#2",
        urls[2]: "s3://bucket/a",
    }
