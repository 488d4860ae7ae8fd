"""Does a Dask cluster of separate processes come to the same bytes as one process, where its workers die too?"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from forensics.api import Options
from forensics.core.evidence import Severity
from forensics.corpus import reach
from forensics.corpus.engines import Engine, Workers, serial
from forensics.corpus.job import terms_of
from forensics.corpus.named_engines import engine_named
from forensics.corpus.run import LEDGER, Corpus, audit_corpus
from forensics.errors import ConfigurationError, EngineUnavailableError

pytest.importorskip("distributed", reason="needs the extra dask")

import cloudpickle
import dask
from distributed import Client

from forensics.corpus.dask_engine import local_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from distributed import LocalCluster

ROOT = Path(__file__).parents[3]
SAMPLES = ("pager.db", "pager.otlp.jsonl", "double_charge.chat.json", "readonly.db", "pager.chat.json", "pager.json")
LETHAL = "readonly.db"

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # a worker can't import a test


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two workers, each a process, on loopback; a batch is given up when its worker died once."""
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), local_cluster(2) as local:
        yield local


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "traces"
    folder.mkdir()
    for name in SAMPLES:
        shutil.copy(ROOT / "samples" / name, folder / name)
    (folder / "broken.json").write_bytes(b'{"no": "trace"}')
    return folder


def _outputs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if not path.name.startswith(LEDGER)}


class _Through(Executor):
    """An executor that has each batch go through another function first, in the worker."""

    def __init__(self, inner: Executor, first: Callable[..., Any], *told: object) -> None:
        self.inner, self._first, self._told = inner, first, told

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self.inner.submit(self._first, fn, *args, *self._told)

    def shutdown(self, *args: Any, **kwargs: Any) -> None:
        self.inner.shutdown(*args, **kwargs)


def _through(engine: Engine, first: Callable[..., Any], *told: object) -> Engine:
    return msgspec.structs.replace(
        engine,
        start=lambda count: _Through(engine.start(count), first, *told),
        check=lambda executor: engine.check(executor.inner) if isinstance(executor, _Through) else None,
    )


def _dies(fn: Callable[..., Any], units: Any, asked: bytes, mark: str) -> Any:
    """Kill this worker in the middle of the batch with the lethal file: always, or where there is a mark, only once."""
    if any(name == LETHAL for unit in units for _, name in unit) and not (mark and Path(mark).exists()):
        if mark:
            Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return fn(units, asked)


def _at(cluster: LocalCluster) -> Engine:
    return engine_named("dask", at=cluster.scheduler_address)


def test_separate_processes_write_the_same_bytes_as_one(cluster: LocalCluster, corpus: Path, tmp_path: Path) -> None:
    audit_corpus([corpus], tmp_path / "one", Corpus(engine=serial()))
    with Client(cluster, set_as_default=False) as client:
        assert os.getpid() not in client.run(os.getpid).values()
    audit_corpus([corpus], tmp_path / "two", Corpus(engine=_at(cluster), batch_bytes=1))
    assert _outputs(tmp_path / "one") == _outputs(tmp_path / "two")


def test_a_cluster_is_started_here_where_none_is_named(corpus: Path, tmp_path: Path) -> None:
    audit_corpus([corpus], tmp_path / "one", Corpus(engine=serial()))
    audit_corpus([corpus], tmp_path / "two", Corpus(engine=engine_named("dask", workers=2)))
    assert _outputs(tmp_path / "one") == _outputs(tmp_path / "two")


@pytest.mark.parametrize("batch_bytes", [1, 1 << 20], ids=["one a batch", "all in one batch"])
def test_a_worker_that_is_killed_in_the_middle_loses_nothing(
    cluster: LocalCluster, corpus: Path, tmp_path: Path, batch_bytes: int
) -> None:
    audit_corpus([corpus], tmp_path / "one", Corpus(engine=serial()))
    mark = tmp_path / "was killed"
    engine = _through(_at(cluster), _dies, str(mark))
    document = audit_corpus([corpus], tmp_path / "two", Corpus(engine=engine, batch_bytes=batch_bytes))
    assert mark.exists(), "a worker was killed"
    assert document.counts.files == len(SAMPLES) + 1
    assert _outputs(tmp_path / "one") == _outputs(tmp_path / "two")


def test_what_kills_every_worker_is_a_row_and_nothing_else_is_lost(
    cluster: LocalCluster, corpus: Path, tmp_path: Path
) -> None:
    engine = _through(_at(cluster), _dies, "")
    document = audit_corpus([corpus], tmp_path / "out", Corpus(engine=engine))
    assert document.counts.files == len(SAMPLES) + 1
    assert {(row.name, row.count) for row in document.errors} == {("worker_lost", 1), ("format_unknown", 1)}
    again = audit_corpus([corpus], tmp_path / "out", Corpus(engine=_at(cluster)))
    assert {row.name for row in again.errors} == {"format_unknown"}, "what was lost is tried again the next time"
    audit_corpus([corpus], tmp_path / "one", Corpus(engine=serial()))
    assert _outputs(tmp_path / "one") == _outputs(tmp_path / "out")


def test_rules_and_policy_go_with_the_work_and_are_not_read_there(
    cluster: LocalCluster, corpus: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "base.yaml").write_text(
        "schema: forensics/policy/v1\nname: base\nextends: inject\n"
        "tools:\n  - {tool: charge_card, effect: none, result: stable, because: b, by: me}\n"
    )
    (folder / "policy.yaml").write_text("schema: forensics/policy/v1\nname: mine\nextends: base.yaml\n")
    shutil.copy(ROOT / "rules" / "tools" / "shell.yaml", folder / "pack.yaml")
    text = (folder / "pack.yaml").read_text()
    (folder / "pack.yaml").write_text(text.replace("pack: shell", "pack: mine").replace("id: shell.", "id: mine."))
    options = Options(policy=folder / "policy.yaml", rules=(folder / "pack.yaml",))
    audit_corpus([corpus], tmp_path / "one", Corpus(engine=serial(), options=options))

    def start(count: int) -> Executor:
        shutil.rmtree(folder)
        return there.start(count)

    there = _at(cluster)
    engine = msgspec.structs.replace(there, start=start)
    document = audit_corpus([corpus], tmp_path / "two", Corpus(engine=engine, options=options))
    assert document.policy.name == "mine"
    assert not folder.exists()
    assert _outputs(tmp_path / "one") == _outputs(tmp_path / "two")


def test_a_place_is_the_same_for_a_worker_that_stands_elsewhere(
    cluster: LocalCluster, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(corpus.parent)
    document = audit_corpus([corpus.name], tmp_path / "out", Corpus(engine=_at(cluster)))
    assert document.counts.read == len(SAMPLES)
    assert not [name for name, data in _outputs(tmp_path / "out").items() if str(tmp_path).encode() in data]


# clusters that can't do it -------------------------------------------------------------------------------------------


def _other_version(version: str) -> None:
    import forensics
    import forensics.corpus.job

    forensics.__version__ = version
    vars(forensics.corpus.job)["__version__"] = version


def test_a_worker_of_another_version_is_not_asked(cluster: LocalCluster, corpus: Path) -> None:
    terms = terms_of(Options(), Severity.HIGH)
    unit = ((str(corpus / "pager.db"), "pager.db"),)
    engine = _at(cluster)
    with Client(cluster, set_as_default=False) as client:
        client.run(_other_version, "0.0.0")
        with pytest.raises(ConfigurationError, match=r"has version 0\.0\.0"):
            _at(cluster)
        with Workers(engine, terms) as workers, pytest.raises(ConfigurationError, match=r"has version 0\.0\.0"):
            list(workers.audit([(unit,)]))
        client.run(_other_version, terms.program)
    with Workers(engine, terms) as workers:
        assert [name for ((_, name),), _ in next(iter(workers.audit([(unit,)])))] == ["pager.db"]


def test_a_worker_with_other_rules_is_not_believed(cluster: LocalCluster, corpus: Path) -> None:
    terms = msgspec.structs.replace(terms_of(Options(), Severity.HIGH), rules="sha256:other")
    unit = ((str(corpus / "pager.db"), "pager.db"),)
    with Workers(_at(cluster), terms) as workers, pytest.raises(ConfigurationError, match="other rules"):
        list(workers.audit([(unit,)]))


def test_an_address_where_nobody_answers_is_said_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forensics.corpus.dask_engine.ANSWERS_WITHIN", 0.5)
    with socket.socket() as shut, socket.socket() as dumb:
        shut.bind(("127.0.0.1", 0))
        dumb.bind(("127.0.0.1", 0))
        dumb.listen()
        for one in (shut, dumb):
            with pytest.raises(EngineUnavailableError, match="nobody answers at"):
                engine_named("dask", at="tcp://{}:{}".format(*one.getsockname()))
    for address in ("nonsense", "tcp://:8786", "127.0.0.1", "tcp://127.0.0.1:port"):
        with pytest.raises(ConfigurationError, match="no address"):
            engine_named("dask", at=address)
    with pytest.raises(EngineUnavailableError):
        reach.reached("127.0.0.1:99999", "--scheduler")


def test_a_cluster_without_a_worker_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forensics.corpus.dask_engine.PATIENCE", 0.1)
    with (
        local_cluster(0) as empty,
        pytest.raises(EngineUnavailableError, match="has no worker"),
    ):
        engine_named("dask", at=empty.scheduler_address)


def test_a_scheduler_that_goes_in_the_middle_ends_the_run_and_the_next_goes_on(corpus: Path, tmp_path: Path) -> None:
    told = [0]
    with local_cluster(1) as local:

        def tell(_: object) -> None:
            told[0] += 1
            if told[0] == 3:
                local.close()

        engine = engine_named("dask", at=local.scheduler_address)
        with pytest.raises(EngineUnavailableError):
            audit_corpus([corpus], tmp_path / "out", Corpus(engine=engine, batch_bytes=1), tell)
    document = audit_corpus([corpus], tmp_path / "out", Corpus(engine=serial()))
    assert document.counts.files == len(SAMPLES) + 1
    audit_corpus([corpus], tmp_path / "one", Corpus(engine=serial()))
    assert _outputs(tmp_path / "one") == _outputs(tmp_path / "out")
