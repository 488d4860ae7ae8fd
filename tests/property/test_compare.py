"""What holds of every comparison of two runs?"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.api_compare import Compared, compare_runs
from forensics.compare.alignment import aligned
from forensics.core.renaming import Renaming


class Call(msgspec.Struct, frozen=True):
    """A call of a story: the tool, what it is asked, and whether it names the newest ticket. It mints a ticket itself,
    where it has a number for one.
    """

    tool: str
    amount: int
    names: bool
    mints: int | None


Turn = tuple[str, tuple[Call, ...]]
Story = list[Turn]

calls = st.builds(
    Call,
    tool=st.sampled_from(["create_ticket", "update_ticket", "read_status"]),
    amount=st.integers(0, 3),
    names=st.booleans(),
    mints=st.one_of(st.none(), st.integers(1000, 9999)),
)
turns = st.tuples(st.sampled_from(["", "ok", "next"]), st.lists(calls, min_size=1, max_size=3).map(tuple))
stories = st.lists(turns, min_size=1, max_size=4)
few = settings(max_examples=40)


def messages(story: Story, offset: int = 0, order: int = 0) -> dict[str, Any]:
    """The story as a list of messages. Tickets count from `offset`; results come turned round `order` times."""
    told: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    newest = "none"
    for number, (text, asked) in enumerate(story):
        requests, results = [], []
        minted = newest
        for n, call in enumerate(asked):
            arguments = {"amount": call.amount, "n": n, **({"ticket": newest} if call.names else {})}
            function = {"name": call.tool, "arguments": json.dumps(arguments)}
            requests.append({"id": f"c{number}_{n}", "type": "function", "function": function})
            result: dict[str, Any] = {"done": True}
            if call.mints is not None and call.tool == "create_ticket":
                minted = f"tk_{number}{n}{call.mints + offset}"
                result["ticket_id"] = minted
            results.append({"role": "tool", "tool_call_id": f"c{number}_{n}", "content": json.dumps(result)})
        newest = minted
        told.append({"role": "assistant", "content": text or None, "tool_calls": requests})
        turned = order % len(results)
        told += results[turned:] + results[:turned]
    told.append({"role": "assistant", "content": f"finished, see {newest}"})
    return {"messages": told}


def compared(left: dict[str, Any], right: dict[str, Any]) -> Compared:
    with tempfile.TemporaryDirectory() as folder:
        places = Path(folder) / "a.json", Path(folder) / "b.json"
        for place, one in zip(places, (left, right), strict=True):
            place.write_text(json.dumps(one), encoding="utf-8")
        return compare_runs(*places)


def mints(story: Story) -> bool:
    return any(call.mints is not None and call.tool == "create_ticket" for _, asked in story for call in asked)


@few
@given(stories)
def test_a_run_is_identical_to_itself(story: Story) -> None:
    again = compared(messages(story), messages(story)).comparison
    assert (again.result, again.divergences, again.handles, again.findings) == ("identical", (), (), ())


@few
@given(stories, stories)
def test_to_swap_the_runs_swaps_the_sides(one: Story, other: Story) -> None:
    there = compared(messages(one), messages(other, offset=20_000)).comparison
    back = compared(messages(other, offset=20_000), messages(one)).comparison
    assert there.result == back.result
    assert {(h.left, h.right) for h in there.handles} == {(h.right, h.left) for h in back.handles}
    assert Counter((d.left, d.right) for d in there.divergences) == Counter((d.right, d.left) for d in back.divergences)


@few
@given(stories)
def test_to_rename_every_handle_leaves_the_run_equal_modulo_handles(story: Story) -> None:
    again = compared(messages(story), messages(story, offset=20_000)).comparison
    assert again.result == ("equal_modulo_handles" if mints(story) else "identical")
    assert again.divergences == ()


@few
@given(stories, st.integers(1, 2))
def test_to_permute_the_results_of_a_batch_leaves_the_run_equivalent(story: Story, order: int) -> None:
    moved = any(order % len(asked) for _, asked in story)
    again = compared(messages(story), messages(story, order=order)).comparison
    assert again.result == ("equivalent" if moved else "identical")


@few
@given(stories, st.data())
def test_to_change_one_argument_diverges_there(story: Story, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(story) - 1))
    text, asked = story[number]
    n = data.draw(st.integers(0, len(asked) - 1))
    changed = msgspec.structs.replace(asked[n], amount=7)
    other = [*story[:number], (text, (*asked[:n], changed, *asked[n + 1 :])), *story[number + 1 :]]
    first = compared(messages(story), messages(other)).comparison.first
    assert first is not None
    assert (first.occurrence, first.kind, first.cause, first.pointer, first.right) == (
        f"{number}.{n}",
        "arguments",
        "model_difference",
        "/amount",
        "7",
    )


keys = st.lists(st.sampled_from(["ax", "bx", "cx", "ay", "by"]).map(lambda key: (key, key[1])), max_size=12)


@given(keys, keys)
def test_an_alignment_holds_every_event_once_and_keeps_both_orders(
    left: list[tuple[str, str]], right: list[tuple[str, str]]
) -> None:
    pairs = list(aligned(left, right))
    assert [i for i, _ in pairs if i is not None] == list(range(len(left)))
    assert [j for _, j in pairs if j is not None] == list(range(len(right)))
    assert all(left[i][1] == right[j][1] for i, j in pairs if i is not None and j is not None)


@given(keys)
def test_a_sequence_is_aligned_with_itself_in_full(events: list[tuple[str, str]]) -> None:
    assert list(aligned(events, events)) == [(n, n) for n in range(len(events))]


names = st.text("ab1_-", min_size=1, max_size=4).filter(lambda name: any(c.isalnum() for c in name))
texts = st.text("ab1_- /Ü", max_size=20)


@given(st.lists(st.tuples(names, names), max_size=4), texts)
def test_a_renaming_is_undone_by_its_inverse_where_only_names_of_one_run_stand(
    pairs: list[tuple[str, str]], text: str
) -> None:
    renaming = Renaming(lambda _key: True)
    for one, other in pairs:
        renaming.join(f"L{one}", f"R{other}")
    told = " ".join((text, *(f"L{one}" for one, _ in pairs)))
    assert renaming.leftward(renaming.rightward(told)) == told
