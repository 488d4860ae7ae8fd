"""What does a rerun give an agent, and where does it stop? With agents in this process: the cell has its own tests."""

from __future__ import annotations

import json
import shutil
import sqlite3
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import Options
from forensics.api_compare import compare_runs
from forensics.api_replay import prepare, replay_exit_code
from forensics.errors import (
    ConfigurationError,
    ForensicsError,
    InjectionMissError,
    NonReplayableTraceError,
    PausedRunError,
    ReplayFault,
    ReplayTimeoutError,
    ResultMismatchError,
    StaleClearanceError,
)
from forensics.replay.inline import here
from forensics.replay.plan import Code, Mode, Modifications, Override, Plan, Stub
from forensics.replay.ports import ModelRequest
from forensics.replay.recorded_answers import RecordedAnswers
from forensics.replay.script import RecordedTurn, Script
from forensics.replay.stops import Stopped
from tests.unit.replay import agents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from forensics.api_replay import Replayed
    from forensics.core.trace import Call
    from forensics.report.rerun_documents import RerunDocument

HANDED_IN = Code("agents:run", "0" * 64)
OWN_ID = "9f1c2b7e-3d52-4f0a-9b1e-77c0a1d2e3f4"
Rerun = "Callable[..., Replayed]"


@pytest.fixture
def rerun(samples: Path) -> Callable[..., Replayed]:
    def run(
        agent: Callable[[Any], Any],
        *,
        evidence: Path | None = None,
        present: Callable[[Call, Any], Any] | None = None,
        **plan: Any,
    ) -> Replayed:
        place = evidence or samples / "pager.db"
        prepared = prepare(place, Options(policy="inject"), Plan(agent=HANDED_IN, **plan))
        return prepared.run(runner=here(agent), present=present)

    return run


def dispositions(document: RerunDocument) -> list[tuple[str, str]]:
    return [(call.tool, call.disposition) for call in document.calls]


def fresh(page: str, call: Call, value: Any) -> Any:
    """A port that shows the agent another page than the recorded one."""
    return {**value, "id": page} if call.tool == "pager.trigger" else value


# injection -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", [agents.oncall, agents.silent, agents.prompting])
def test_an_agent_that_branches_on_the_handle_takes_the_recorded_path(
    rerun: Callable[..., Replayed], agent: Callable[[Any], Any]
) -> None:
    document = rerun(agent).document()
    assert dispositions(document) == [
        ("query_metrics", "injected"),
        ("pager.trigger", "injected"),
        ("incident.annotate", "injected"),
    ]
    assert document.comparison is not None
    assert document.comparison.result == "identical"
    assert document.output.new == "Paged on-call: pg_8812."


@pytest.mark.parametrize("agent", [agents.oncall, agents.silent])
def test_with_a_fresh_handle_another_branch_is_taken_and_the_handle_is_the_cause(
    rerun: Callable[..., Replayed], agent: Callable[[Any], Any]
) -> None:
    document = rerun(agent, present=partial(fresh, "pg_9147")).document()
    assert document.stopped is not None
    assert document.stopped.code == "replay_miss"
    assert dispositions(document)[-1] == ("escalate", "missed")
    compared = document.comparison
    assert compared is not None
    assert compared.first_divergence is not None
    assert compared.first_divergence.cause == "handle_changed"
    assert [(one.left, one.right) for one in compared.handles] == [("pg_8812", "pg_9147")]


def test_a_fresh_handle_that_changes_nothing_is_a_renaming(rerun: Callable[..., Replayed]) -> None:
    document = rerun(agents.silent, present=partial(fresh, "pg_9148")).document()
    assert document.comparison is not None
    assert document.comparison.result == "equal_modulo_handles"
    assert document.calls[-1].arguments["page_id"] == "pg_9148"
    assert document.calls[-1].disposition == "injected"


def test_two_calls_of_one_tool_get_their_own_results(rerun: Callable[..., Replayed], write: Any) -> None:
    rows: list[dict[str, Any]] = [{"type": "user", "text": "go"}, {"type": "model", "text": "Paging both."}]
    for number, team in enumerate(("web", "db")):
        rows.append({"type": "tool_call", "id": f"c{number}", "name": "page", "args": {"team": team}})
        rows.append({"type": "tool_result", "call_id": f"c{number}", "result": {"id": f"pg_{number}881"}})
    rows.append({"type": "model", "text": "Both are paged."})

    def backwards(ports: Any) -> Any:
        ports.model.ask()
        pages = {team: ports.tools.call("page", {"team": team})["id"] for team in ("db", "web")}
        ports.model.ask()
        return pages

    document = rerun(backwards, evidence=write("log.jsonl", rows)).document()
    assert document.output.new == {"db": "pg_1881", "web": "pg_0881"}
    assert "parallel_order_differs" in {one.code for one in document.findings}


def test_a_recording_answers_once(rerun: Callable[..., Replayed]) -> None:
    def twice(ports: Any) -> None:
        for _ in range(2):
            ports.tools.call("pager.trigger", agents.PAGE)

    stopped = rerun(twice).document().stopped
    assert stopped is not None
    assert "has answered already" in stopped.message
    assert stopped.nearest[0].step == 6


def test_an_id_excuses_no_difference(rerun: Callable[..., Replayed]) -> None:
    def with_its_id(ports: Any) -> None:
        ports.tools.call("pager.trigger", {**agents.PAGE, "severity": "sev2"}, call_id="call_1")

    stopped = rerun(with_its_id).document().stopped
    assert stopped is not None
    assert (stopped.code, stopped.nearest[0].pointer) == ("replay_miss", "/arguments/severity")


# misses --------------------------------------------------------------------------------------------------------------


def test_sev2_for_sev1_diverges_at_that_call_with_both_shown(rerun: Callable[..., Replayed]) -> None:
    document = rerun(agents.louder).document()
    assert dispositions(document) == [("query_metrics", "injected"), ("pager.trigger", "missed")]
    assert document.output.new is None
    first = None if document.comparison is None else document.comparison.first_divergence
    assert first is not None
    assert (first.kind, first.pointer, first.left, first.right) == ("arguments", "/severity", '"sev1"', '"sev2"')
    near = document.stopped.nearest[0] if document.stopped else None
    assert near is not None
    assert (near.step, near.pointer, near.recorded, near.asked) == (6, "/arguments/severity", '"sev1"', '"sev2"')


def test_after_a_miss_nothing_is_answered(rerun: Callable[..., Replayed]) -> None:
    replayed = rerun(agents.swallowing)
    assert dispositions(replayed.document()) == [("pager.trigger", "missed")]
    assert replayed.document().output.new is None


def test_what_was_never_asked_for_is_named(rerun: Callable[..., Replayed]) -> None:
    document = rerun(lambda ports: ports.tools.call("query_metrics", agents.METRICS)).document()
    assert document.unused.calls == [6, 9]
    assert "unused_recording" in {one.code for one in document.findings}
    assert document.comparison is not None
    assert document.comparison.result == "diverged"


def test_a_prompt_that_differs_and_was_not_declared_is_named_as_what_it_is(rerun: Callable[..., Replayed]) -> None:
    document = rerun(agents.other_prompt).document()
    assert document.stopped is not None
    assert document.stopped.code == "replay_miss"
    assert [(one.pointer, one.asked) for one in document.stopped.nearest] == [("/0/content", '"Be brief."')]
    assert "modification_without_effect" not in {one.code for one in document.findings}
    assert document.calls == []


@pytest.mark.parametrize("agent", [agents.other_prompt, agents.prompting])
def test_a_declared_change_has_no_effect_on_recorded_words(
    rerun: Callable[..., Replayed], agent: Callable[[Any], Any]
) -> None:
    document = rerun(agent, modifications=Modifications(prompt="Be brief.")).document()
    assert document.stopped is None
    assert "modification_without_effect" in {one.code for one in document.findings}
    assert document.reproduction is False


def test_a_stand_in_of_a_tool_that_is_never_called_is_told(rerun: Callable[..., Replayed]) -> None:
    document = rerun(agents.oncall, stubs=(Stub("pager.triger", ({"id": "pg_1"},)),)).document()
    said = [one for one in document.findings if one.code == "modification_without_effect"]
    assert ["pager.triger has a stand-in" in one.message for one in said] == [True]
    assert [one.steps for one in said] == [[0]]


def test_a_stand_in_that_a_rebuilt_agent_cannot_ask_for_is_a_wrong_use(samples: Path) -> None:
    def asked(policy: str = "inject", **told: Any) -> str:
        try:
            prepare(samples / "pager.db", Options(policy=policy), Plan(**told))
        except ConfigurationError as error:
            return f"{error.message}: {error.hint}"
        return ""

    unknown = (Stub("zzz", (1,)),)
    why = "has a stand-in, and the recorded run never calls a tool of that name: "
    assert asked(stubs=(Stub("pager.triger", (1,)),)) == f"pager.triger {why}did you mean pager.trigger?"
    assert asked(overrides=(Override("zzz", HANDED_IN),)).startswith(f"zzz {why}one of: incident.annotate, ")
    assert asked(stubs=(Stub("pager.trigger", (1,)),)) == ""
    assert asked(stubs=unknown, mode=Mode.LIVE, endpoint="https://localhost/v1") == ""
    assert asked(stubs=unknown, agent=HANDED_IN) == ""
    assert asked("strict", stubs=unknown) == "", "what is refused may hold calls that were not read"


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (agents.oncall, "a plan must be Plan, and is of type function"),
        ({"agent": agents.oncall}, "the agent of a plan must be Code, and is of type function"),
        ({"agent": "oncall:run"}, "the agent of a plan must be Code, and is of type str"),
        (
            {"overrides": (Override("search", print),)},  # type: ignore[arg-type]  # that is the point
            "the code that stands in for search must be Code, and is of type builtin_function_or_method",
        ),
        ({"overrides": ("search",)}, "what stands in plan.overrides must be Override, and is of type str"),
        ({"stubs": ({"search": 1},)}, "what stands in plan.stubs must be Stub, and is of type dict"),
        ({"modifications": {"prompt": "x"}}, "the modifications of a plan must be Modifications, and is of type dict"),
        ({"stubs": (Stub("search", ()),)}, "the stub of search holds no value"),
        ({"stubs": (Stub("search", (float("nan"),)),)}, "a plan holds NaN or an infinity, and JSON has no such number"),
        (
            {"stubs": (Stub("search", (object(),)),)},
            "a plan holds what it does not take: Encoding objects of type object is unsupported",
        ),
        ({"mode": "fast"}, "a plan holds what it does not take: Invalid enum value 'fast' - at `$.mode`"),
        ({"fork": "3"}, "a plan holds what it does not take: Expected `int | null`, got `str` - at `$.fork`"),
        ({"paths": "."}, "a plan holds what it does not take: Expected `array`, got `str` - at `$.paths`"),
    ],
)
def test_another_thing_than_a_plan_holds_is_told(plan: Any, why: str, samples: Path) -> None:
    asked = Plan(**plan) if isinstance(plan, dict) else plan
    with pytest.raises(ConfigurationError) as told:
        prepare(samples / "pager.db", Options(policy="inject"), asked)
    assert told.value.message == why
    assert ("code_of" in told.value.hint) is ("must be Code" in why or "function" in why)


def test_a_mode_may_be_named(samples: Path) -> None:
    asked: Any = {"mode": "recorded", "on_miss": "error"}
    assert prepare(samples / "pager.db", Options(policy="inject"), Plan(**asked)).plan.mode is Mode.RECORDED


def test_a_model_that_is_asked_once_more_stops(rerun: Callable[..., Replayed]) -> None:
    def greedy(ports: Any) -> None:
        for _ in range(5):
            ports.model.ask()

    stopped = rerun(greedy).document().stopped
    assert stopped is not None
    assert "here the recorded run ended" in stopped.message


# the agent's own values ----------------------------------------------------------------------------------------------


@pytest.fixture
def with_own_id(samples: Path, tmp_path: Path) -> Path:
    """The pager, whose code adds an id of its own to the page."""
    place = tmp_path / "local.db"
    shutil.copy(samples / "pager.db", place)
    with sqlite3.connect(place) as database:
        rows = database.execute("SELECT span_id, attributes FROM spans WHERE name = 'tool.pager.trigger'").fetchall()
        for span_id, text in rows:
            attributes = json.loads(text)
            told = {**json.loads(attributes["tool.args"]), "request_id": OWN_ID}
            attributes["tool.args"] = json.dumps(told)
            database.execute("UPDATE spans SET attributes = ? WHERE span_id = ?", (json.dumps(attributes), span_id))
    database.close()
    return place


def test_an_id_of_the_agents_own_making_that_differs_is_named(
    rerun: Callable[..., Replayed], with_own_id: Path
) -> None:
    def minting(ports: Any) -> None:
        ports.tools.call("pager.trigger", {**agents.PAGE, "request_id": "0b6e1c9a-58d4-4c0e-8a3f-1c2d3e4f5a6b"})

    document = rerun(minting, evidence=with_own_id).document()
    assert document.stopped is not None
    assert document.stopped.code == "generated_id_differs"
    assert "generated_id_differs" in {one.code for one in document.findings}


def test_the_port_gives_the_recorded_id(rerun: Callable[..., Replayed], with_own_id: Path) -> None:
    def minting(ports: Any) -> Any:
        return ports.tools.call("pager.trigger", {**agents.PAGE, "request_id": ports.random.new_id()})

    document = rerun(minting, evidence=with_own_id).document()
    assert dispositions(document) == [("pager.trigger", "injected")]
    assert [(one.value, one.from_record) for one in document.minted] == [(OWN_ID, True)]


def test_made_values_are_the_same_in_every_rerun(rerun: Callable[..., Replayed]) -> None:
    def drawing(ports: Any) -> Any:
        return [ports.clock.now(), ports.random.random(), ports.random.new_id(), ports.clock.now()]

    first, second = (rerun(drawing).document().output.new for _ in range(2))
    assert first == second
    assert first[0] < first[3]


# stand-ins -----------------------------------------------------------------------------------------------------------


def stub(tool: str, *values: Any, each: bool = False) -> dict[str, Any]:
    return {"stubs": (Stub(tool, values, each=each),)}


def test_a_fresh_handle_of_a_stand_in_is_mapped_back(rerun: Callable[..., Replayed]) -> None:
    document = rerun(agents.prompting, **stub("pager.trigger", {"status": "paged", "id": "pg_9147"})).document()
    call = document.calls[1]
    assert (call.disposition, call.renamed) == ("normalised", ["pg_8812"])
    assert (call.shown["id"], call.returned["id"]) == ("pg_8812", "pg_9147")
    assert document.comparison is not None
    assert document.comparison.result == "identical"


@pytest.mark.parametrize("severity", ["sev2", "pg_8812"])
def test_a_word_for_a_handle_is_no_renaming(rerun: Callable[..., Replayed], severity: str) -> None:
    document = rerun(agents.prompting, **stub("pager.trigger", {"status": severity, "id": "pg_8812"})).document()
    assert document.calls[1].disposition == "overridden"
    assert document.comparison is not None
    assert document.comparison.first_divergence is not None
    assert document.comparison.first_divergence.pointer == "/status"


def test_a_stand_in_that_says_otherwise_is_a_divergence(rerun: Callable[..., Replayed]) -> None:
    document = rerun(agents.prompting, **stub("pager.trigger", {"status": "down"})).document()
    assert document.calls[1].disposition == "overridden"
    assert document.comparison is not None
    assert document.comparison.result == "diverged"
    assert "modification_without_effect" in {one.code for one in document.findings}


def test_a_list_of_values_is_given_call_by_call_and_ends(rerun: Callable[..., Replayed]) -> None:
    def asking(ports: Any) -> Any:
        return [ports.tools.call("query_metrics", {"service": str(n)}) for n in range(3)]

    document = rerun(asking, **stub("query_metrics", "a", "b", each=True)).document()
    assert [(one.disposition, one.shown) for one in document.calls] == [
        ("overridden", "a"),
        ("overridden", "b"),
        ("missed", None),
    ]


def test_an_agent_that_fails_is_told_so(rerun: Callable[..., Replayed]) -> None:
    def failing(_ports: Any) -> None:
        raise ValueError("no luck")

    document = rerun(failing).document()
    assert document.agent_error == "ValueError: no luck"
    assert document.output.new is None


def test_an_agent_that_pauses_is_refused_by_name(rerun: Callable[..., Replayed]) -> None:
    class GraphInterrupt(Exception):  # noqa: N818 - as frameworks call it
        pass

    def pausing(_ports: Any) -> None:
        raise GraphInterrupt("a person must agree")

    stopped = rerun(pausing).document().stopped
    assert stopped is not None
    assert stopped.code == "run_paused"
    assert "--stub" in stopped.hint


# what a record may hold -----------------------------------------------------------------------------------------------


def blueprint(place: Path) -> RerunDocument:
    return prepare(place, Options(policy="inject")).run().document()


def log(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "user", "text": "go"}, *rows]


def test_texts_that_are_no_unicode_go_both_ways(rerun: Callable[..., Replayed], write: Any) -> None:
    call = {"type": "tool_call", "id": "c", "name": "read", "args": {"path": "a\udcb2"}}
    rows = log(
        {"type": "model", "text": "reading"},
        call,
        {"type": "tool_result", "call_id": "c", "result": {"text": "b\udcb3"}},
        {"type": "model", "text": "done \udcb4"},
    )
    document = blueprint(write("log.jsonl", rows))
    assert document.comparison is not None
    assert document.comparison.result == "identical"
    assert dispositions(document) == [("read", "injected")]


def test_an_error_that_the_run_got_over_and_what_was_said_at_its_end_are_told(write: Any) -> None:
    rows = log(
        {"type": "model", "text": "one"},
        {"type": "user", "text": "more"},
        {"type": "error", "text": "connection reset"},
        {"type": "model", "text": "two"},
        {"type": "user", "text": "thanks"},
    )
    document = blueprint(write("log.jsonl", rows))
    assert document.comparison is not None
    assert document.comparison.result == "identical"
    assert document.output.new == "two"


def test_a_user_who_goes_on_is_heard_in_the_next_input(rerun: Callable[..., Replayed], write: Any) -> None:
    rows = log({"type": "model", "text": "one"}, {"type": "user", "text": "more"}, {"type": "model", "text": "two"})

    def talking(ports: Any) -> Any:
        said, heard = ports.input, []
        while said is not None:
            heard.append((said, ports.model.ask().text))
            said = ports.next_input()
        return heard

    document = rerun(talking, evidence=write("log.jsonl", rows)).document()
    assert document.output.new == [["go", "one"], ["more", "two"]]


def test_each_agent_is_given_its_own_answers() -> None:
    said = (("a", "a one"), ("b", "b one"), ("a", "a two"))
    turns = tuple(
        RecordedTurn(number=n, lane=lane, step=n, model="", shown=(), text=text, calls=())
        for n, (lane, text) in enumerate(said)
    )
    answers = RecordedAnswers(Script(turns, ()), Modifications())
    lanes = ("b", "a", None)
    assert [answers.answer(ModelRequest(lane=lane)).text for lane in lanes] == ["b one", "a one", "a two"]
    with pytest.raises(InjectionMissError):
        answers.answer(ModelRequest(lane="b"))


def test_what_was_said_before_the_run_is_shown_and_told(write: Any) -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}]
    history = [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "rainy"},
    ]
    body = {
        "resourceSpans": [
            {
                "scopeSpans": [
                    {
                        "spans": [
                            {
                                "traceId": "1" * 32,
                                "spanId": "2" * 16,
                                "name": "chat",
                                "startTimeUnixNano": "1",
                                "endTimeUnixNano": "2",
                                "attributes": [
                                    {"key": key, "value": {"stringValue": value}}
                                    for key, value in (
                                        ("gen_ai.operation.name", "chat"),
                                        ("gen_ai.request.messages", json.dumps(history)),
                                        ("gen_ai.response.content", "It rains."),
                                    )
                                ],
                            }
                        ]
                    }
                ]
            }
        ]
    }
    document = blueprint(write("otlp.json", json.dumps(body)))
    assert document.comparison is not None
    assert document.comparison.result == "identical"
    assert [turn.text for turn in document.model_calls] == ["It rains."]
    assert document.calls == []


# whose value is it? --------------------------------------------------------------------------------------------------


@pytest.fixture
def of_messages(tmp_path: Path) -> Callable[..., Path]:
    """A recorded run as a list of messages: calls (tool, arguments, result), one a turn, and a last answer."""

    def written(*calls: tuple[str, dict[str, Any], Any], answer: str = "done") -> Path:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
        for number, (tool, arguments, result) in enumerate(calls):
            asked = {"name": tool, "arguments": json.dumps(arguments)}
            messages.append(
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": f"c{number}", "type": "function", "function": asked}],
                }
            )
            messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": json.dumps(result)})
        messages.append({"role": "assistant", "content": answer})
        place = tmp_path / "chat.json"
        place.write_text(json.dumps({"messages": messages}), encoding="utf-8")
        return place

    return written


def test_a_value_that_the_record_knows_already_is_no_fresh_handle(
    rerun: Callable[..., Replayed], of_messages: Callable[..., Path]
) -> None:
    """A stand-in for the first page returns the number of the second one: two recorded handles for one presented."""
    evidence = of_messages(
        ("page", {"team": "a"}, {"id": "pg_8812"}),
        ("page", {"team": "b"}, {"id": "pg_9147"}),
        ("annotate", {"page_id": "pg_8812"}, {"note": "of the first"}),
        ("annotate", {"page_id": "pg_9147"}, {"note": "of the second"}),
    )

    def agent(ports: Any) -> Any:
        ports.tools.call("page", {"team": "a"})
        return ports.tools.call("annotate", {"page_id": "pg_9147"})["note"]

    document = rerun(agent, evidence=evidence, **stub("page", {"id": "pg_9147"})).document()
    assert document.calls[0].disposition == "overridden"
    assert document.output.new == "of the second"
    assert document.comparison is not None
    assert document.comparison.result == "diverged"


def test_a_short_number_is_an_id_only_where_a_key_says_so(
    rerun: Callable[..., Replayed], of_messages: Callable[..., Path]
) -> None:
    """The order 6 stands for the order 5; an amount of 6 does not stand for an amount of 5."""
    evidence = of_messages(
        ("create_order", {"of": "tea"}, {"order_id": 5}),
        ("ship", {"order_id": 5}, {"ok": True}),
        ("refund", {"amount": 5}, {"ok": True}),
    )

    def agent(ports: Any) -> Any:
        ports.tools.call("create_order", {"of": "tea"})
        ports.tools.call("ship", {"order_id": 6})
        return ports.tools.call("refund", {"amount": 6})

    document = rerun(agent, evidence=evidence, **stub("create_order", {"order_id": 6})).document()
    assert [one for _, one in dispositions(document)] == ["normalised", "injected", "missed"]
    assert document.stopped is not None
    assert "/arguments/amount: recorded 5, asked 6" in document.stopped.message


@pytest.mark.parametrize(("recorded", "given"), [(True, 1), (0, False), ([True], [1])])
def test_a_truth_is_no_number(
    rerun: Callable[..., Replayed], of_messages: Callable[..., Path], recorded: Any, given: Any
) -> None:
    """Python takes them for equal; the agent, its model and JSON do not."""
    evidence = of_messages(("check", {}, {"ok": recorded}))

    def agent(ports: Any) -> Any:
        ports.model.ask()
        ports.tools.call("check", {})
        return ports.model.ask().text

    document = rerun(agent, evidence=evidence, **stub("check", {"ok": given})).document()
    assert dispositions(document) == [("check", "overridden")]
    assert document.comparison is not None
    assert document.comparison.first_divergence is not None
    assert document.comparison.first_divergence.kind == "result"


@pytest.mark.parametrize(("answer", "result"), [("done", "identical"), ("not done", "diverged"), (None, "identical")])
def test_the_answer_of_an_agent_without_a_model_counts(
    rerun: Callable[..., Replayed], of_messages: Callable[..., Path], answer: str | None, result: str
) -> None:
    """One that returns nothing tells no answer, and the document names what was compared."""

    def agent(ports: Any) -> Any:
        ports.tools.call("check", {})
        return answer

    document = rerun(agent, evidence=of_messages(("check", {}, {"ok": True}))).document()
    assert document.comparison is not None
    assert document.comparison.result == result
    assert document.compared == (["call"] if answer is None else ["call", "output"])
    first = document.comparison.first_divergence
    assert first is None if result == "identical" else first is not None and first.kind == "output"


def test_a_rerun_that_was_stopped_is_never_identical(
    rerun: Callable[..., Replayed], of_messages: Callable[..., Path]
) -> None:
    """Here it does all that was recorded and then asks for more, which is no event of a run."""

    def agent(ports: Any) -> Any:
        while True:
            for call in ports.model.ask().calls:
                ports.tools.call(call.name, call.arguments)

    document = rerun(agent, evidence=of_messages(("check", {}, {"ok": True}))).document()
    assert document.stopped is not None
    assert document.comparison is not None
    assert document.comparison.result == "not_comparable"
    assert "stopped there (replay_miss)" in document.comparison.not_compared[-1].why


def test_an_agent_that_fails_in_the_end_is_another_run(
    rerun: Callable[..., Replayed], of_messages: Callable[..., Path]
) -> None:
    """It did all that was recorded, and then did not answer."""

    def agent(ports: Any) -> Any:
        ports.model.ask()
        ports.tools.call("check", {})
        ports.model.ask()
        raise ValueError("no\x1b[2J answer")

    replayed = rerun(agent, evidence=of_messages(("check", {}, {"ok": True})))
    document = replayed.document()
    assert document.comparison is not None
    assert document.comparison.result == "diverged"
    first = document.comparison.first_divergence
    assert first is not None
    assert (first.kind, first.cause, first.left, first.right) == ("output", "agent_difference", '"done"', None)
    assert first.because == "the agent raised ValueError: no\\x1b[2J answer"
    assert replay_exit_code(replayed) == 1


@pytest.mark.parametrize("value", [float("nan"), object(), {"deep": float("inf")}])
def test_an_answer_that_no_port_carries_is_never_the_recorded_one(
    rerun: Callable[..., Replayed], of_messages: Callable[..., Path], value: Any
) -> None:
    def agent(ports: Any) -> Any:
        ports.model.ask()
        ports.tools.call("check", {})
        ports.model.ask()
        return value

    document = rerun(agent, evidence=of_messages(("check", {}, {"ok": True}))).document()
    assert document.comparison is not None
    assert document.comparison.result in {"diverged", "not_comparable"}


def test_a_call_that_the_agent_leaves_out_is_its_own_doing(
    rerun: Callable[..., Replayed], of_messages: Callable[..., Path]
) -> None:
    def agent(ports: Any) -> Any:
        ports.model.ask()
        return ports.model.ask().text

    document = rerun(agent, evidence=of_messages(("check", {}, {"ok": True}))).document()
    assert document.comparison is not None
    first = document.comparison.first_divergence
    assert first is not None
    assert (first.kind, first.cause, first.index) == ("missing", "agent_difference", 2)
    assert (first.left, first.right) == ("check({})", None)


def test_a_call_before_which_the_agent_raised_is_where_both_part(
    rerun: Callable[..., Replayed], of_messages: Callable[..., Path], tmp_path: Path
) -> None:
    def agent(ports: Any) -> Any:
        ports.model.ask()
        return 1 // 0

    evidence = of_messages(("check", {}, {"ok": True}))
    replayed = rerun(agent, evidence=evidence)
    compared = replayed.document().comparison
    assert compared is not None
    told = [(one.index, one.kind, one.explained_by) for one in compared.divergences]
    assert told == [(2, "missing", None), (4, "missing", 0)]
    written = tmp_path / "rerun.jsonl"
    written.write_bytes(replayed.trace_out() or b"")
    again = compare_runs(evidence, written).document().first_divergence
    assert again is not None
    assert (again.index, again.kind, again.cause) == (2, "missing", "agent_difference")


@pytest.mark.parametrize(("tool", "arguments"), [("chek", {}), ("check", {"deep": True})])
def test_what_an_agent_without_a_model_calls_is_its_own_doing(
    rerun: Callable[..., Replayed], of_messages: Callable[..., Path], tool: str, arguments: Any
) -> None:
    evidence = of_messages(("check", {"deep": False}, {"ok": True}))
    document = rerun(lambda ports: ports.tools.call(tool, arguments), evidence=evidence).document()
    assert document.comparison is not None
    assert {one.cause for one in document.comparison.divergences} == {"agent_difference"}
    assert document.model_calls == []


def test_a_call_more_is_the_first_difference(rerun: Callable[..., Replayed], of_messages: Callable[..., Path]) -> None:
    """The rerun stopped there: that its model was not asked again follows from it."""

    def agent(ports: Any) -> Any:
        ports.model.ask()
        ports.tools.call("check", {})
        ports.tools.call("check", {})

    document = rerun(agent, evidence=of_messages(("check", {}, {"ok": True}))).document()
    assert document.comparison is not None
    told = [(one.kind, one.cause, one.explained_by) for one in document.comparison.divergences]
    assert told == [("extra", "agent_difference", None), ("missing", "agent_difference", 0)]


@pytest.mark.parametrize(
    ("given", "became"),
    [("Charged. Receipt ch_9ZzPq9147def issued", "normalised"), ("Receipt ch_9ZzPq9147def issued", "overridden")],
)
def test_a_fresh_handle_in_a_sentence_is_mapped_back_where_the_words_around_it_are_the_recorded_ones(
    rerun: Callable[..., Replayed], of_messages: Callable[..., Path], given: str, became: str
) -> None:
    evidence = of_messages(
        ("charge_card", {"amount": "12.00"}, "Charged. Receipt ch_1QxYz8812abc issued"),
        ("mail", {"of": "ch_1QxYz8812abc"}, "sent"),
    )

    def agent(ports: Any) -> Any:
        ports.tools.call("charge_card", {"amount": "12.00"})
        return ports.tools.call("mail", {"of": "ch_1QxYz8812abc"})

    document = rerun(agent, evidence=evidence, **stub("charge_card", json.dumps(given))).document()
    assert dispositions(document)[0] == ("charge_card", became)


# the end -------------------------------------------------------------------------------------------------------------


def said_by_openhands(key: str, tool: str, action: str, cause: int) -> list[dict[str, Any]]:
    asked = {"id": f"c{key}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
    choice = {
        "index": 0,
        "finish_reason": "tool_calls",
        "message": {"role": "assistant", "content": key, "tool_calls": [asked]},
    }
    metadata = {
        "function_name": tool,
        "tool_call_id": f"c{key}",
        "model_response": {"id": f"r{key}", "choices": [choice]},
    }
    return [{"id": cause, "source": "agent", "action": action, "args": {}, "tool_call_metadata": metadata}]


def test_a_rebuilt_agent_ends_where_the_recorded_one_did(tmp_path: Path) -> None:
    go = {"id": 0, "source": "user", "action": "message", "args": {"content": "go"}}
    seen = {"id": 2, "source": "agent", "observation": "run", "content": "a.txt", "cause": 1}
    events = [go, *said_by_openhands("1", "look", "run", 1), seen, *said_by_openhands("2", "finish", "finish", 3)]
    evidence = tmp_path / "events.json"
    evidence.write_text(json.dumps(events), encoding="utf-8")
    document = blueprint(evidence)
    assert dispositions(document) == [("look", "injected")]
    assert document.comparison is not None
    assert document.comparison.result == "identical"


# what an agent may write ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", [["user"], {"is": "user"}, None, 1, True, [[]]])
def test_a_role_that_is_no_text_is_another_prompt(rerun: Callable[..., Replayed], role: Any) -> None:
    def odd(ports: Any) -> Any:
        return ports.model.ask([{"role": role, "content": "go"}]).text

    stopped = rerun(odd).document().stopped
    assert stopped is not None
    assert stopped.code == "replay_miss"


# the ids of calls ----------------------------------------------------------------------------------------------------


@pytest.fixture
def three_alike(tmp_path: Path) -> Path:
    """Three turns that ask for the same call, each with a result of its own."""
    events: list[dict[str, Any]] = [{"type": "user", "text": "go"}]
    for n in range(3):
        events += [
            {"type": "model", "text": f"look {n}"},
            {"type": "tool_call", "id": f"c{n}", "name": "look", "args": {"at": 1}},
            {"type": "tool_result", "call_id": f"c{n}", "result": {"seen": n}},
        ]
    path = tmp_path / "events.jsonl"
    lines = [*events, {"type": "model", "text": "done"}]
    path.write_text("".join(json.dumps({"seq": n, **one}) + "\n" for n, one in enumerate(lines)), "utf-8")
    return path


def looking(*ids: str | None) -> Callable[[Any], Any]:
    """An agent that makes the recorded calls, under these ids."""

    def agent(ports: Any) -> Any:
        for name in ids:
            ports.model.ask()
            ports.tools.call("look", {"at": 1}, call_id=name)
        return ports.model.ask().text

    return agent


@pytest.mark.parametrize("ids", [("c0", "c1", "c2"), ("my-0", "my-1", "my-2"), ("x", "x", "x"), (None, "", "c2")])
def test_an_agent_may_give_a_call_another_id(
    ids: tuple[str | None, ...], rerun: Callable[..., Replayed], three_alike: Path
) -> None:
    document = rerun(looking(*ids), evidence=three_alike).document()
    assert [call.shown for call in document.calls] == [{"seen": 0}, {"seen": 1}, {"seen": 2}]
    assert document.comparison is not None
    assert document.comparison.result == "identical"


def test_an_id_of_another_turn_is_told_where_its_result_came(rerun: Callable[..., Replayed], three_alike: Path) -> None:
    compared = rerun(looking("c1", "c0", "c2"), evidence=three_alike).document().comparison
    assert compared is not None
    assert [(one.index, one.kind, one.left, one.right) for one in compared.divergences] == [
        (3, "result", "0", "1"),
        (6, "result", "1", "0"),
    ]


# what comes when, and as whose result --------------------------------------------------------------------------------


def test_a_call_after_the_turn_that_had_its_result_is_another_run(rerun: Callable[..., Replayed]) -> None:
    def hasty(ports: Any) -> Any:
        said = [ports.model.ask() for _ in range(4)]
        for call in (call for turn in said for call in turn.calls):
            ports.tools.call(call.name, call.arguments, call_id=call.id)
        return said[-1].text

    document = rerun(hasty).document()
    assert dispositions(document) == [
        ("query_metrics", "injected"),
        ("pager.trigger", "injected"),
        ("incident.annotate", "injected"),
    ]
    assert document.comparison is not None
    first = document.comparison.first_divergence
    assert first is not None
    assert (document.comparison.result, first.kind, first.index) == ("diverged", "order", 3)
    assert "was made after the turn in step 11" in str(first.because)


@pytest.mark.parametrize(("shown", "stopped"), [((0, 1), False), ((1, 0), True)])
def test_a_result_is_that_of_the_call_under_whose_id_it_is_shown(
    shown: tuple[int, int], *, stopped: bool, rerun: Callable[..., Replayed], tmp_path: Path
) -> None:
    """Two calls of one turn: in whichever order their results are shown, each belongs to one of them."""
    made = [{"type": "tool_call", "id": f"c{n}", "name": "look", "args": {"at": n}} for n in range(2)]
    seen = [{"type": "tool_result", "call_id": f"c{n}", "result": {"seen": n}} for n in range(2)]
    go, done = {"type": "user", "text": "go"}, {"type": "model", "text": "done"}
    lines: list[dict[str, Any]] = [go, {"type": "model", "text": "two at once"}, *made, *seen, done]
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps({"seq": n, **one}) + "\n" for n, one in enumerate(lines)), "utf-8")

    def looking(ports: Any) -> Any:
        messages = [{"role": "user", "content": "go"}]
        calls = ports.model.ask(messages).calls
        results = [ports.tools.call(call.name, call.arguments, call_id=call.id) for call in calls]
        told = [
            {"role": "tool", "tool_call_id": calls[n].id, "content": results[of]}
            for n, of in reversed([*enumerate(shown)])
        ]
        return ports.model.ask([*messages, {"role": "assistant", "content": "two at once"}, *told]).text

    document = rerun(looking, evidence=path).document()
    assert (document.stopped is not None) is stopped
    assert document.comparison is not None
    assert document.comparison.result == ("diverged" if stopped else "identical")


# what is changed where nothing comes any more -------------------------------------------------------------------------


def changed_at_the_end(evidence: Path, **plan: Any) -> list[str]:
    """What is found of a change of that run at one of its last steps."""
    prepared = prepare(evidence, Options(policy="inject"), Plan(**plan))
    document = prepared.run(runner=here()).document()
    assert document.comparison is not None
    assert document.comparison.result == "identical"
    return [one.message for one in document.findings if one.code == "modification_without_effect"]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"prompt": "Page nobody."}, "prompt"),
        ({"settings": {"temperature": 0}}, "settings.temperature"),
        ({"state": {"/messages/0/content": "x"}}, "state/messages/0/content"),
    ],
)
def test_a_change_behind_the_last_turn_is_named(changes: dict[str, Any], name: str, samples: Path) -> None:
    told = f"{name} was to be changed at step 28, and no turn of the model comes after it"
    evidence = samples / "pager.codex.jsonl"
    assert changed_at_the_end(evidence, fork=28, modifications=Modifications(**changes)) == [told]


def test_a_stand_in_behind_the_last_call_is_named(samples: Path) -> None:
    told = "query_metrics has a stand-in, and the rerun never called a tool of that name from step 11 on"
    assert changed_at_the_end(samples / "pager.db", fork=11, stubs=(Stub("query_metrics", ("x",)),)) == [told]


# as an error ---------------------------------------------------------------------------------------------------------


def test_a_rerun_that_ended_raises_nothing(rerun: Callable[..., Replayed]) -> None:
    rerun(agents.oncall).raise_for_stop()


def test_a_rerun_that_stopped_raises_what_stopped_it(rerun: Callable[..., Replayed]) -> None:
    replayed = rerun(agents.oncall, present=partial(fresh, "pg_9147"))
    stopped = replayed.document().stopped
    assert stopped is not None
    with pytest.raises(InjectionMissError) as raised:
        replayed.raise_for_stop()
    assert (raised.value.code, raised.value.message) == (stopped.code, stopped.message)


def test_a_rerun_whose_agent_raised_raises_what_it_was(rerun: Callable[..., Replayed]) -> None:
    def broken(ports: Any) -> Any:
        ports.model.ask()
        return 1 / 0

    with pytest.raises(ReplayFault, match="the agent raised ZeroDivisionError"):
        rerun(broken).raise_for_stop()


def test_a_rerun_that_the_verdict_refuses_raises_the_verdict(samples: Path) -> None:
    prepared = prepare(samples / "pager.db", Options(), Plan())
    with pytest.raises(NonReplayableTraceError, match=r"pager\.trigger") as raised:
        prepared.run().raise_for_stop()
    assert raised.value.verdict == prepared.analysis.verdict


def test_a_rerun_that_was_refused_raises_why(samples: Path, tmp_path: Path) -> None:
    evidence = tmp_path / "pager.json"
    shutil.copy(samples / "pager.json", evidence)
    prepared = prepare(evidence, Options(policy="inject"), Plan(agent=HANDED_IN))
    evidence.write_bytes(evidence.read_bytes() + b" ")
    with pytest.raises(StaleClearanceError, match="evidence"):
        prepared.run(runner=here(agents.oncall)).raise_for_stop()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("replay_miss", InjectionMissError),
        ("result_mismatch", ResultMismatchError),
        ("replay_timeout", ReplayTimeoutError),
        ("run_paused", PausedRunError),
        ("effect_captured", ReplayFault),
    ],
)
def test_what_stopped_a_rerun_is_an_error_of_its_kind(code: str, kind: type[ForensicsError]) -> None:
    error = Stopped(code=code, message="it ended", hint="look").error()
    assert type(error) is kind
    assert (error.code, error.message, error.hint) == (code, "it ended", "look")
