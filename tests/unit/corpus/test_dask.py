"""Does a Dask cluster of separate processes come to the same bytes as one process, where its workers die too?"""

from __future__ import annotations

import os
import shutil
import socket
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest

from forensics.api import Options
from forensics.core.evidence import Severity
from forensics.corpus import reach
from forensics.corpus.engines import Engine, Workers, serial
from forensics.corpus.job import terms_of
from forensics.corpus.named_engines import engine_named
from forensics.corpus.run import Corpus, audit_corpus
from forensics.errors import ConfigurationError, EngineUnavailableError
from tests.unit.corpus import several_processes
from tests.unit.corpus.several_processes import ROOT, SAMPLES, dies, fill, outputs, through

pytest.importorskip("distributed", reason="needs the extra dask")

import cloudpickle
import dask
from distributed import Client

from forensics.corpus.dask_engine import local_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor
    from pathlib import Path

    from distributed import LocalCluster

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # a worker can't import a test
cloudpickle.register_pickle_by_value(several_processes)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two workers, each a process, on loopback; a batch is given up when its worker died once."""
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), local_cluster(2) as local:
        yield local


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return fill(tmp_path / "traces")


def _at(cluster: LocalCluster) -> Engine:
    return engine_named("dask", at=cluster.scheduler_address)


def test_separate_processes_write_the_same_bytes_as_one(cluster: LocalCluster, corpus: Path, tmp_path: Path) -> None:
    audit_corpus([corpus], tmp_path / "one", Corpus(engine=serial()))
    with Client(cluster, set_as_default=False) as client:
        assert os.getpid() not in client.run(os.getpid).values()
    audit_corpus([corpus], tmp_path / "two", Corpus(engine=_at(cluster), batch_bytes=1))
    assert outputs(tmp_path / "one") == outputs(tmp_path / "two")


def test_a_cluster_is_started_here_where_none_is_named(corpus: Path, tmp_path: Path) -> None:
    audit_corpus([corpus], tmp_path / "one", Corpus(engine=serial()))
    audit_corpus([corpus], tmp_path / "two", Corpus(engine=engine_named("dask", workers=2)))
    assert outputs(tmp_path / "one") == outputs(tmp_path / "two")


@pytest.mark.parametrize("batch_bytes", [1, 1 << 20], ids=["one a batch", "all in one batch"])
def test_a_worker_that_is_killed_in_the_middle_loses_nothing(
    cluster: LocalCluster, corpus: Path, tmp_path: Path, batch_bytes: int
) -> None:
    audit_corpus([corpus], tmp_path / "one", Corpus(engine=serial()))
    mark = tmp_path / "was killed"
    engine = through(_at(cluster), dies, str(mark))
    document = audit_corpus([corpus], tmp_path / "two", Corpus(engine=engine, batch_bytes=batch_bytes))
    assert mark.exists(), "a worker was killed"
    assert document.counts.files == len(SAMPLES) + 1
    assert outputs(tmp_path / "one") == outputs(tmp_path / "two")


def test_what_kills_every_worker_is_a_row_and_nothing_else_is_lost(
    cluster: LocalCluster, corpus: Path, tmp_path: Path
) -> None:
    engine = through(_at(cluster), dies, "")
    document = audit_corpus([corpus], tmp_path / "out", Corpus(engine=engine))
    assert document.counts.files == len(SAMPLES) + 1
    assert {(row.name, row.count) for row in document.errors} == {("worker_lost", 1), ("format_unknown", 1)}
    again = audit_corpus([corpus], tmp_path / "out", Corpus(engine=_at(cluster)))
    assert {row.name for row in again.errors} == {"format_unknown"}, "what was lost is tried again the next time"
    audit_corpus([corpus], tmp_path / "one", Corpus(engine=serial()))
    assert outputs(tmp_path / "one") == outputs(tmp_path / "out")


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
    assert outputs(tmp_path / "one") == outputs(tmp_path / "two")


def test_a_place_is_the_same_for_a_worker_that_stands_elsewhere(
    cluster: LocalCluster, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(corpus.parent)
    document = audit_corpus([corpus.name], tmp_path / "out", Corpus(engine=_at(cluster)))
    assert document.counts.read == len(SAMPLES)
    assert not [name for name, data in outputs(tmp_path / "out").items() if str(tmp_path).encode() in data]


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
    assert outputs(tmp_path / "one") == outputs(tmp_path / "out")
