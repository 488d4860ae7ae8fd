"""Is every engine told the same, and is what goes wrong with a worker told as what it is?"""

from __future__ import annotations

import shutil
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from forensics.api import Options
from forensics.core.evidence import Severity
from forensics.corpus.engines import Engine, Workers, serial
from forensics.corpus.job import answer, question, results_in, terms_of
from forensics.corpus.named_engines import engine_named
from forensics.errors import ConfigurationError, EngineUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.corpus.engines import Batch, Done

ROOT = Path(__file__).parents[3]
NAMES = ("pager.chat.json", "pager.db", "pager.json", "readonly.db")
TERMS = terms_of(Options(), Severity.HIGH)


@pytest.fixture
def batches(tmp_path: Path) -> list[Batch]:
    """One file a batch."""
    for name in NAMES:
        shutil.copy(ROOT / "samples" / name, tmp_path / name)
    return [(((str(tmp_path / name), name),),) for name in NAMES]


class Fleet:
    """Makes executors that end by an error where `ends` says so: by the number of the executor and of its task, and the
    names of the batch.
    """

    def __init__(self, ends: Callable[[int, int, list[str]], Exception | None]) -> None:
        self.ends, self.started, self.ended = ends, 0, 0

    def engine(self, **more: Any) -> Engine:
        return Engine("fleet", self._start, 2, **more)

    def _start(self, _workers: int) -> Executor:
        self.started += 1
        return _One(self, self.started)


class _One(Executor):
    def __init__(self, fleet: Fleet, number: int) -> None:
        self.fleet, self.number, self.tasks = fleet, number, 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.tasks += 1
        future: Future[Any] = Future()
        error = self.fleet.ends(self.number, self.tasks, [name for unit in args[0] for _, name in unit])
        if error is None:
            future.set_result(fn(*args, **kwargs))
        else:
            future.set_exception(error)
        return future

    def shutdown(self, *args: Any, **kwargs: Any) -> None:
        self.fleet.ended += 1


def _done(engine: Engine, batches: list[Batch]) -> list[Done]:
    with Workers(engine, TERMS) as workers:
        return [done for results in workers.audit(batches) for done in results]


def _codes(done: list[Done]) -> dict[str, str]:
    return {unit[0][1]: result.evidence[0].error.code if result.evidence[0].error else "" for unit, result in done}


def test_what_was_lost_is_done_again_and_nothing_twice(batches: list[Batch]) -> None:
    whole = dict(_done(serial(), batches))
    fleet = Fleet(lambda number, task, _: BrokenExecutor() if (number, task) == (1, 2) else None)
    done = _done(fleet.engine(), batches)
    assert sorted(unit[0][1] for unit, _ in done) == sorted(NAMES)
    assert dict(done) == whole
    assert fleet.ended == fleet.started == 2


def test_a_batch_that_is_lost_alone_takes_no_other_with_it(batches: list[Batch]) -> None:
    fleet = Fleet(lambda _number, task, _names: CancelledError() if task == 1 else None)
    assert dict(_done(fleet.engine(), batches)) == dict(_done(serial(), batches))
    assert fleet.started == 1, "the executor was whole"


def test_what_breaks_an_executor_counts_only_where_it_was_new(batches: list[Batch]) -> None:
    fleet = Fleet(lambda number, task, _: BrokenExecutor() if number == 1 or (number, task) == (2, 2) else None)
    assert set(_codes(_done(fleet.engine(), batches)).values()) == {""}
    lethal = Fleet(lambda _number, _task, names: BrokenExecutor() if "pager.db" in names else None)
    assert _codes(_done(lethal.engine(), batches)) == {**dict.fromkeys(NAMES, ""), "pager.db": "worker_lost"}
    assert lethal.ended == lethal.started


def test_what_an_engine_calls_a_lost_worker_is_one(batches: list[Batch]) -> None:
    class KilledError(Exception):
        pass

    fleet = Fleet(lambda _number, _task, names: KilledError() if "pager.db" in names else None)
    engine = fleet.engine(lost=(KilledError,))
    assert _codes(_done(engine, batches)) == {**dict.fromkeys(NAMES, ""), "pager.db": "worker_lost"}
    assert _codes(_done(fleet.engine(), batches)) == {**dict.fromkeys(NAMES, ""), "pager.db": "fault"}


def test_a_fault_of_ours_is_a_row_on_another_machine_too(batches: list[Batch], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr("forensics.corpus.job.examine_by", fail)
    done = _done(msgspec.structs.replace(serial(), elsewhere=True), batches)
    assert _codes(done) == dict.fromkeys(NAMES, "fault")
    assert "RecursionError" in str(done[0][1].evidence[0].error)


def test_workers_elsewhere_that_can_not_begin_end_the_run(batches: list[Batch]) -> None:
    fleet = Fleet(lambda *_: ModuleNotFoundError("forensics"))
    with pytest.raises(EngineUnavailableError, match="ModuleNotFoundError"):
        _done(fleet.engine(elsewhere=True), batches)
    assert fleet.ended == fleet.started


def test_workers_elsewhere_that_do_not_see_a_file_end_the_run(batches: list[Batch], tmp_path: Path) -> None:
    class Elsewhere(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            moved = [
                tuple((where.replace(str(tmp_path), "/nowhere"), name) for where, name in unit) for unit in args[0]
            ]
            future.set_result(fn(moved, args[1]))
            return future

    engine = Engine("elsewhere", lambda _: Elsewhere(), 1, elsewhere=True)
    with pytest.raises(ConfigurationError, match=r"does not see pager\.chat\.json"):
        _done(engine, batches)
    for name in NAMES:
        (tmp_path / name).unlink()
    assert set(_codes(_done(engine, batches)).values()) == {"evidence_missing"}, "a file that is nowhere is a row"


def test_who_waits_for_nothing_is_told(batches: list[Batch], monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            return Future()

    def check(_: Executor) -> None:
        raise EngineUnavailableError("nobody is left")

    monkeypatch.setattr("forensics.corpus.engines.PATIENCE", 0.01)
    with pytest.raises(EngineUnavailableError, match="nobody is left"):
        _done(Engine("silent", lambda _: Silent(), 1, check=check), batches)


def test_nothing_is_started_where_there_is_no_work() -> None:
    fleet = Fleet(lambda *_: None)
    assert _done(fleet.engine(), []) == []
    assert fleet.started == 0


# terms ---------------------------------------------------------------------------------------------------------------


def test_a_worker_of_another_version_says_so_whatever_the_terms_hold(batches: list[Batch]) -> None:
    for asked in (
        question(msgspec.structs.replace(TERMS, program="9.9.9")),
        b'{"something": "of tomorrow", "program": "9.9.9"}',
    ):
        with pytest.raises(ConfigurationError, match=r"and 9\.9\.9 asks it"):
            results_in(answer(batches[0], asked))


@pytest.mark.parametrize("changed", [{"rules": "sha256:other"}, {"policy": "sha256:other"}])
def test_a_worker_with_other_rules_or_policy_refuses(batches: list[Batch], changed: dict[str, str]) -> None:
    terms = msgspec.structs.replace(TERMS, **changed)
    with pytest.raises(ConfigurationError, match="other rules or another policy"):
        results_in(answer(batches[0], question(terms)))


def test_terms_travel_whole(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("schema: forensics/policy/v1\nname: mine\nextends: strict\n", "utf-8")
    terms = terms_of(Options(policy=policy, input_format="otlp", redact=False), Severity.LOW)
    assert msgspec.json.decode(question(terms), type=type(terms)) == terms
    policy.unlink()
    assert terms.judges().policy.name == "mine"


def test_an_engine_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (engine_named("process", 3).workers, engine_named("serial").name) == (3, "serial")
    with pytest.raises(ConfigurationError, match="no engine"):
        engine_named("spark")
    for name in ("dask", "ray"):
        monkeypatch.setitem(__import__("sys").modules, f"forensics.corpus.{name}_engine", None)
        with pytest.raises(ConfigurationError, match=f"needs the extra {name}") as raised:
            engine_named(name)
        assert raised.value.hint == f"pip install 'trace-forensics[{name}]'"
