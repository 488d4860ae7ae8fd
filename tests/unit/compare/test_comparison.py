"""Where do two runs part, and is the cause named?"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

import forensics
from forensics.api import Options
from forensics.api_compare import Compared, Other, compare_exit_code, compare_runs
from forensics.errors import ConfigurationError
from tests.unit.compare.conftest import chat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.unit.compare.conftest import Call, Runs

PAGE = ("page", {"severity": "sev1"}, '{"page_id": "pg_8812"}')
NOTE = ("note", {"page_id": "pg_8812"}, "noted")
DONE: tuple[str, tuple[()]] = ("done", ())


def told(compared: Compared) -> list[tuple[str, str, int | None]]:
    return [(one.kind.value, one.cause.value, one.explained_by) for one in compared.comparison.divergences]


def turn(tool: str) -> tuple[str, list[Call]]:
    return "", [(tool, {}, "ok")]


def codes(compared: Compared) -> list[str]:
    return [one.code for one in compared.comparison.findings]


def test_results_in_completion_order_are_equivalent(runs: Runs) -> None:
    calls: list[Call] = [("slow", {}, "S"), ("fast", {}, "F")]
    compared = runs(chat((None, calls), DONE), chat((None, calls), DONE, order=[1, 0]))
    assert compared.comparison.result == "equivalent"
    assert codes(compared) == ["parallel_order_differs"]
    assert "slow, fast in the left run, fast, slow in the right" in compared.comparison.findings[0].message


def test_calls_asked_for_in_another_order_are_equivalent(runs: Runs) -> None:
    calls = [("read", {"path": "a"}, "A"), ("read", {"path": "b"}, "B")]
    compared = runs(chat((None, calls), DONE), chat((None, calls[::-1]), DONE))
    assert compared.comparison.result == "equivalent"


def test_results_that_changed_places_are_no_order(runs: Runs) -> None:
    calls = [("read", {"path": "a"}, "A"), ("read", {"path": "b"}, "B")]
    swapped = [("read", {"path": "a"}, "B"), ("read", {"path": "b"}, "A")]
    compared = runs(chat((None, calls)), chat((None, swapped)))
    assert told(compared) == [("result", "tool_difference", None), ("result", "tool_difference", None)]


def test_a_renamed_handle_is_no_difference(runs: Runs) -> None:
    other = json.dumps(chat((None, [PAGE]), (None, [NOTE]), DONE)).replace("pg_8812", "pg_9147")
    compared = runs(chat((None, [PAGE]), (None, [NOTE]), DONE), other)
    assert compared.comparison.result == "equal_modulo_handles"
    assert [(one.left, one.right) for one in compared.comparison.handles] == [("pg_8812", "pg_9147")]
    assert codes(compared) == ["handle_changed"]


@pytest.mark.parametrize(
    ("mine", "text"),
    [
        (("pg_8812", "pg_9147"), "https%3A%2F%2Fpages.test%2F{}%2Fack"),
        (("88123456", "91472233"), "like '%{}%'"),
        (("88123456", "91472233"), "next=%2F{}"),
    ],
)
def test_an_escape_before_a_handle_is_no_part_of_it(mine: tuple[str, str], text: str, runs: Runs) -> None:
    both = [
        chat((None, [("page", {}, json.dumps({"page_id": one}))]), (None, [("ack", {"at": text.format(one)}, "ok")]))
        for one in mine
    ]
    assert runs(*both).comparison.result == "equal_modulo_handles"


def test_an_argument_that_no_result_brought_is_never_a_renaming(runs: Runs) -> None:
    other = ("page", {"severity": "sev2"}, '{"page_id": "pg_8812"}')
    compared = runs(chat((None, [PAGE]), DONE), chat((None, [other]), DONE))
    first = compared.comparison.first
    assert first is not None
    assert (first.kind, first.cause, first.pointer) == ("arguments", "model_difference", "/severity")
    assert (first.index, first.left, first.right) == (2, '"sev1"', '"sev2"')


def test_one_handle_for_two_is_a_difference(runs: Runs) -> None:
    left = chat((None, [PAGE]), (None, [("page", {"severity": "sev3"}, '{"page_id": "pg_8813"}')]), DONE)
    right = chat((None, [PAGE]), (None, [("page", {"severity": "sev3"}, '{"page_id": "pg_8812"}')]), DONE)
    assert told(runs(left, right)) == [("result", "tool_difference", None)]


def test_the_old_name_of_a_renamed_handle_is_told_with_its_cause(runs: Runs) -> None:
    right = chat((None, [(*PAGE[:2], '{"page_id": "pg_9147"}')]), (None, [NOTE]), DONE)
    compared = runs(chat((None, [PAGE]), (None, [NOTE]), DONE), right)
    first = compared.comparison.first
    assert first is not None
    assert (first.kind, first.cause, first.because) == (
        "arguments",
        "handle_changed",
        (
            "pg_8812 is pg_9147 in the right run; the text is the same in both, so in one of them it names a value of "
            "the other run"
        ),
    )


def test_a_branch_on_a_handle_names_the_handle(runs: Runs) -> None:
    right = chat((None, [(*PAGE[:2], '{"page_id": "pg_9147"}')]), ("Somebody else is on it.", ()))
    first = runs(chat((None, [PAGE]), (None, [NOTE]), DONE), right).comparison.first
    assert first is not None
    assert first.cause == "handle_changed"


def test_what_follows_from_a_difference_is_explained_by_it(runs: Runs) -> None:
    left = chat((None, [("read", {"p": 1}, "A")]), (None, [("note", {"text": "A"}, "ok")]), ("A", ()))
    right = chat((None, [("read", {"p": 1}, "B")]), (None, [("note", {"text": "B"}, "ok")]), ("B", ()))
    assert told(runs(left, right)) == [
        ("result", "tool_difference", None),
        ("arguments", "model_difference", 0),
        ("model_output", "model_difference", 0),
    ]


def test_another_answer_to_the_same_read_has_a_cause_of_its_own(runs: Runs) -> None:
    left = chat(("one", [("get_a", {}, "1")]), ("two", [("get_b", {}, "1")]), DONE)
    right = chat(("ONE", [("get_a", {}, "1")]), ("two", [("get_b", {}, "2")]), DONE)
    assert told(runs(left, right)) == [("model_output", "model_difference", None), ("result", "tool_difference", None)]


def test_missing_extra_and_moved_turns(runs: Runs) -> None:
    a, b, c = [turn("alpha"), turn("beta"), turn("gamma")]
    assert told(runs(chat(a, b, c), chat(a, c))) == [("missing", "model_difference", None)]
    assert told(runs(chat(a, c), chat(a, b, c))) == [("extra", "model_difference", None)]
    assert [kind for kind, *_ in told(runs(chat(a, b, c), chat(a, c, b)))] == ["order"]


def test_a_masked_failure_is_named(runs: Runs) -> None:
    left = chat((None, [("read", {"p": 1}, "A")]), DONE)
    right = chat((None, [("read", {"p": 1}, '{"error": "permission denied"}')]), DONE)
    compared = runs(left, right)
    assert told(compared)[0][1] == "masked_failure"
    assert codes(compared) == ["masked_failure"]


def test_an_id_that_the_run_itself_made_is_named_and_followed(runs: Runs) -> None:
    one, other = "0b7f3a52-6c1d-4e8f-9a2b-1c3d5e7f9a0b", "5d2e8c14-9f3b-4a7d-8e6c-2b4f6a8c0d1e"
    left = chat((None, [("order", {"key": one}, "ok")]), (None, [("check", {"key": one}, "ok")]), DONE)
    compared = runs(left, json.dumps(left).replace(one, other))
    assert told(compared) == [("arguments", "generated_id_differs", None)]
    assert codes(compared) == ["generated_id_differs"]
    assert compared.comparison.result == "diverged"


def test_another_question_is_an_input_difference(runs: Runs) -> None:
    compared = runs(chat(DONE, user="pay 10"), chat(DONE, user="pay 11"))
    assert told(compared) == [("input", "input_difference", None)]


# what can not be compared --------------------------------------------------------------------------------------------


def openai_image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def anthropic_image(data: str, **more: object) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}, **more}


def gemini_image(data: str) -> dict[str, Any]:
    return {"inlineData": {"mimeType": "image/png", "data": data}}


@pytest.mark.parametrize("image", [openai_image, anthropic_image])
@pytest.mark.parametrize("words", [[{"type": "text", "text": "what is this?"}], []])
def test_another_picture_is_another_question(
    runs: Runs, image: Callable[[str], dict[str, Any]], words: list[dict[str, Any]]
) -> None:
    def asked(data: str) -> dict[str, Any]:
        run = chat(("a cat", []))
        run["messages"][0]["content"] = [*words, image(data)]
        return run

    assert runs(asked("QUFB"), asked("QUFB")).comparison.result == "identical"
    found = runs(asked("QUFB"), asked("QkJC")).comparison
    assert found.first is not None
    assert (found.result, found.first.what, found.first.cause) == (
        "diverged",
        "the pictures, sounds and files in a message",
        "input_difference",
    )
    assert runs(asked("QUFB"), chat(("a cat", []), user="what is this?")).comparison.result == "diverged"


def test_another_picture_among_the_parts_of_gemini_is_another_question(runs: Runs) -> None:
    def asked(data: str) -> dict[str, Any]:
        question = {"role": "user", "parts": [{"text": "what is this?"}, gemini_image(data)]}
        return {"contents": [question, {"role": "model", "parts": [{"text": "a cat"}]}]}

    assert runs(asked("QUFB"), asked("QUFB")).comparison.result == "identical"
    assert runs(asked("QUFB"), asked("QkJC")).comparison.result == "diverged"


def test_where_a_prompt_may_be_cached_is_no_part_of_a_picture(runs: Runs) -> None:
    plain, cached = chat(("a cat", [])), chat(("a cat", []))
    plain["messages"][0]["content"] = [anthropic_image("QUFB")]
    cached["messages"][0]["content"] = [anthropic_image("QUFB", cache_control={"type": "ephemeral"})]
    assert runs(plain, cached).comparison.result == "identical"


def test_what_one_format_does_not_tell_is_not_compared(samples: Path) -> None:
    compared = compare_runs(samples / "pager.db", samples / "pager.mcp.jsonl")
    assert compared.comparison.result == "not_comparable"
    assert [one.what for one in compared.comparison.not_compared] == [
        "what the model said",
        "what the system says",
        "what the user says",
    ]


@pytest.mark.parametrize("other", ["pager.chat.json", "pager.otlp.jsonl", "pager.inspect.json", "pager.vcr.yaml"])
def test_one_run_in_two_formats_is_identical(samples: Path, other: str) -> None:
    assert compare_runs(samples / "pager.db", samples / other).comparison.result == "identical"


def test_a_difference_between_formats_is_told(samples: Path, runs: Runs) -> None:
    text = (samples / "pager.chat.json").read_text(encoding="utf-8")
    compared = runs(samples / "pager.db", text.replace("sev1", "sev2"))
    first = compared.comparison.first
    assert first is not None
    assert (first.kind, first.pointer) == ("arguments", "/severity")


def test_an_answer_that_nobody_recorded_is_not_the_same(runs: Runs) -> None:
    left = chat((None, [PAGE]))
    del left["messages"][-1]
    right: dict[str, Any] = json.loads(json.dumps(left))
    right["extra"] = 1  # another file of the same run
    compared = runs(left, right)
    assert compared.comparison.result == "not_comparable"
    assert [one.what for one in compared.comparison.not_compared] == ["the result of page"]


def test_a_gap_that_may_hide_something_is_not_compared_unless_the_bytes_are_the_same(runs: Runs) -> None:
    lines = [json.dumps(one) for one in ({"type": "user", "text": "go"}, {"type": "model", "text": "done"})]
    whole, damaged = "\n".join(lines) + "\n", "\n".join((lines[0], '{"type": "tool_ca', lines[1])) + "\n"
    assert runs(whole, whole).comparison.result == "identical"
    assert runs(damaged, damaged).comparison.result == "identical"
    for compared in (runs(whole, damaged), runs(damaged, whole)):
        assert compared.comparison.result == "not_comparable"
        assert compare_exit_code(compared.comparison.result) == 3


# which runs ----------------------------------------------------------------------------------------------------------


def test_two_runs_of_one_file(samples: Path) -> None:
    compared = compare_runs(samples / "pager.db", samples / "pager.db", Options(), Other(trace="b8e63f8c"))
    assert compared.comparison.result == "diverged"
    assert compared.comparison.first is not None
    assert compared.comparison.first.cause == "handle_changed"


def test_a_run_is_not_set_beside_itself_where_its_file_holds_another(samples: Path, tmp_path: Path) -> None:
    """Unless somebody asks for just that; a copy is another file."""
    pager, link = samples / "pager.db", tmp_path / "link.db"
    link.symlink_to(pager)
    for other in (pager, link):
        with pytest.raises(ConfigurationError, match="both sides are the run") as refused:
            compare_runs(pager, other)
        assert "b8e63f8c" in str(refused.value.hint)
    assert compare_runs(pager, pager, Options(), Other(trace="7ef89abc")).comparison.result == "identical"
    copy = tmp_path / "copy.db"
    copy.write_bytes(pager.read_bytes())
    assert compare_runs(pager, copy).comparison.result == "identical"
    alone = samples / "readonly.db"
    assert compare_runs(alone, alone).comparison.result == "identical"


def test_both_can_not_come_from_standard_input() -> None:
    with pytest.raises(ConfigurationError):
        compare_runs("-", "-")


def test_the_verb_of_the_library_is_found_again_after_it_was_loaded() -> None:
    assert forensics.compare_runs is forensics.compare_runs is compare_runs


def order(number: int, **more: Any) -> list[tuple[str | None, list[tuple[str, dict[str, Any], str]]]]:
    """A run that makes an order of that number and then does something with it."""
    made = ("create_order", {"of": "tea"}, json.dumps({"order_id": number}))
    return [(None, [made]), (None, [("act", more, "ok")]), ("done", [])]


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ({"order_id": 5}, {"order_id": 6}, "equal_modulo_handles"),
        ({"order": {"ids": [5]}}, {"order": {"ids": [6]}}, "equal_modulo_handles"),
        ({"amount": 5}, {"amount": 6}, "diverged"),
        ({"amount": 5}, {"amount": 5}, "equal_modulo_handles"),
        ({"order_id": 5}, {"order_id": 5}, "diverged"),
        ({"statement": "refund 5 for order 5"}, {"statement": "refund 6 for order 6"}, "diverged"),
    ],
)
def test_a_short_number_is_an_id_only_where_a_key_says_so(
    runs: Runs, left: dict[str, Any], right: dict[str, Any], result: str
) -> None:
    """The order is 5 in one run and 6 in the other; that says nothing of amounts."""
    found = runs(chat(*order(5, **left)), chat(*order(6, **right))).comparison
    assert found.result == result
    assert [(one.left, one.right) for one in found.handles] == [("5", "6")]


def test_a_number_of_more_digits_is_known_wherever_it_stands(runs: Runs) -> None:
    left, right = (order(n, statement=f"ship order {n}", of=n) for n in (88123, 99127))
    assert runs(chat(*left), chat(*right)).comparison.result == "equal_modulo_handles"


def test_a_digit_in_a_text_names_no_handle(runs: Runs) -> None:
    """What differs is blamed on a renamed handle only where it stands there by itself."""

    def sent(number: int, year: int) -> dict[str, Any]:
        made, act, end = order(number, sent=f"in {year}")
        return chat(made, (None, [("look", {}, "ok")]), act, end)

    first = runs(sent(5, 2025), sent(6, 2026)).comparison.first
    assert first is not None
    assert (first.kind, first.cause) == ("arguments", "model_difference")


def test_what_a_block_holds_beside_its_text_is_said_too(tmp_path: Path, runs: Runs) -> None:
    def events(file: str) -> Path:
        said = [{"type": "text", "text": "pay this", "file_id": file}]
        lines = [
            {"type": "user", "text": said},
            {"type": "tool_call", "id": "1", "name": "pay", "args": {}},
            {"type": "tool_result", "call_id": "1", "result": "ok"},
            {"type": "model", "text": "done"},
        ]
        place = tmp_path / f"{file}.jsonl"
        place.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return place

    assert runs(events("bill-1"), events("bill-1")).comparison.result == "identical"
    assert runs(events("bill-1"), events("bill-2")).comparison.result == "diverged"


def test_a_turn_after_the_other_runs_last_is_no_word_of_its_model(runs: Runs) -> None:
    shorter, longer = chat(turn("alpha")), chat(turn("alpha"), turn("beta"))
    assert told(runs(longer, shorter)) == [("missing", "agent_difference", None)]
    assert told(runs(shorter, longer)) == [("extra", "agent_difference", None)]


def in_one_turn(page: str, *, shown: str = "", key: str = "page_id") -> str:
    """A log whose one turn asks for two calls, the second after the first was answered and with what it returned."""
    events = (
        {"type": "user", "text": "go"},
        {"type": "model", "text": "paging"},
        {"type": "tool_call", "call_id": "c1", "name": "page", "args": {"severity": "sev1"}},
        {"type": "tool_result", "call_id": "c1", "result": {key: page}},
        {"type": "tool_call", "call_id": "c2", "name": "note", "args": {key: shown or page}},
        {"type": "tool_result", "call_id": "c2", "result": "noted"},
        {"type": "model", "text": f"Paged: {page}"},
    )
    return "".join(json.dumps(one) + "\n" for one in events)


def test_a_later_call_of_a_turn_may_rest_on_what_an_earlier_one_returned(runs: Runs) -> None:
    compared = runs(in_one_turn("pg_8812"), in_one_turn("pg_9147"))
    assert compared.comparison.result == "equal_modulo_handles"
    assert told(runs(in_one_turn("pg_8812"), in_one_turn("pg_8812", shown="pg_9147")))[0][0] == "arguments"


def test_of_two_calls_in_one_turn_the_earlier_result_differs_first(runs: Runs) -> None:
    found = told(runs(in_one_turn("high", key="load"), in_one_turn("low", key="load")))
    assert [kind for kind, *_ in found] == ["result", "arguments", "model_output"]
    assert [explained for *_, explained in found] == [None, 0, 0]


def test_a_handle_in_base64_is_that_handle(runs: Runs) -> None:
    def log(page: str) -> Any:
        token = base64.b64encode(page.encode()).decode()
        done = ("done", ())
        return chat((None, [(*PAGE[:2], json.dumps({"page_id": page}))]), (None, [("ack", {"id": token}, "ok")]), done)

    for other in ("pg_9147", "pg_91470"):  # with padding and without
        assert runs(log("pg_8812"), log(other)).comparison.result == "equal_modulo_handles"


def test_a_turn_that_says_the_same_and_does_not_call_is_that_turn(runs: Runs) -> None:
    """What is missing is its call, not the turn, though the other run's last words are as free of calls."""
    whole = in_one_turn("pg_8812").splitlines(keepends=True)
    first = runs("".join(whole), "".join(whole[:2])).comparison.first
    assert first is not None
    assert (first.kind, first.what, first.index) == ("missing", "a call of page", 2)
