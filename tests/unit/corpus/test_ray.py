"""Does Ray come to the same bytes as one process, where its workers die too?"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from typing import TYPE_CHECKING

import msgspec
import pytest

from forensics.api import Options
from forensics.core.evidence import Severity
from forensics.corpus.engines import Engine, Workers, serial
from forensics.corpus.job import terms_of
from forensics.corpus.named_engines import engine_named
from forensics.corpus.run import Corpus, audit_corpus
from forensics.errors import ConfigurationError, EngineUnavailableError
from tests.unit.corpus import several_processes
from tests.unit.corpus.several_processes import SAMPLES, dies, fill, outputs, through

pytest.importorskip("ray", reason="needs the extra ray, which is too slow to begin on a busy machine for CI (ADR 0022)")

import ray

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # a worker can't import a test
ray.cloudpickle.register_pickle_by_value(several_processes)
pytestmark = pytest.mark.filterwarnings("ignore:.*accelerator visible devices.*:FutureWarning")


@pytest.fixture(scope="module")
def here() -> Iterator[None]:
    """A Ray of two processes that was started for an engine; what it writes is gone with it."""
    home = tempfile.mkdtemp(prefix="ray")  # short: it makes sockets there
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "RAY_TMPDIR"):
            patch.setenv(name, home)
        patch.delenv("RAY_AUTH_MODE", raising=False)
        try:
            begun = engine_named("ray", workers=2).start(2)
        except EngineUnavailableError:
            pytest.skip("this machine is too busy for Ray: it gives its node 30 s to begin")
        with begun:
            yield
        assert not ray.is_initialized()
        os.environ.pop("RAY_AUTH_MODE", None)  # Ray sets it
    shutil.rmtree(home)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return fill(tmp_path / "traces")


def _killing(mark: str) -> Engine:
    return through(engine_named("ray", at="auto"), dies, mark)


def test_processes_of_ray_write_the_same_bytes_as_one(here: None, corpus: Path, tmp_path: Path) -> None:
    audit_corpus([corpus], tmp_path / "one", Corpus(engine=serial()))
    engine = engine_named("ray", at="auto")
    assert engine.workers == 2
    audit_corpus([corpus], tmp_path / "two", Corpus(engine=engine, batch_bytes=1))
    assert outputs(tmp_path / "one") == outputs(tmp_path / "two")
    assert ray.is_initialized(), "a Ray that was begun before is not ended"


@pytest.mark.parametrize("batch_bytes", [1, 1 << 20], ids=["one a batch", "all in one batch"])
def test_a_worker_that_is_killed_in_the_middle_loses_nothing(
    here: None, corpus: Path, tmp_path: Path, batch_bytes: int
) -> None:
    audit_corpus([corpus], tmp_path / "one", Corpus(engine=serial()))
    mark = tmp_path / "was killed"
    document = audit_corpus([corpus], tmp_path / "two", Corpus(engine=_killing(str(mark)), batch_bytes=batch_bytes))
    assert mark.exists(), "a worker was killed"
    assert document.counts.files == len(SAMPLES) + 1
    assert outputs(tmp_path / "one") == outputs(tmp_path / "two")


def test_what_kills_every_worker_is_a_row_and_nothing_else_is_lost(here: None, corpus: Path, tmp_path: Path) -> None:
    document = audit_corpus([corpus], tmp_path / "out", Corpus(engine=_killing("")))
    assert document.counts.files == len(SAMPLES) + 1
    assert {(row.name, row.count) for row in document.errors} == {("worker_lost", 1), ("format_unknown", 1)}


def test_a_worker_of_another_version_refuses(here: None, corpus: Path) -> None:
    terms = msgspec.structs.replace(terms_of(Options(), Severity.HIGH), program="9.9.9")
    unit = ((str(corpus / "pager.db"), "pager.db"),)
    with Workers(engine_named("ray", at="auto"), terms) as workers, pytest.raises(ConfigurationError, match=r"9\.9\.9"):
        list(workers.audit([(unit,)]))


def test_an_address_where_nobody_answers_is_said_soon() -> None:
    with socket.socket() as shut:
        shut.bind(("127.0.0.1", 0))
        with pytest.raises(EngineUnavailableError, match="nobody answers at"):
            engine_named("ray", at="{}:{}".format(*shut.getsockname()))
    with pytest.raises(ConfigurationError, match="no address"):
        engine_named("ray", at="nonsense")


def test_who_takes_the_connection_and_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forensics.corpus.ray_engine.BEGINS_WITHIN", 0.5)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)  # as where no other test left it begun
    with socket.socket() as dumb:
        dumb.bind(("127.0.0.1", 0))
        dumb.listen()
        with pytest.raises(EngineUnavailableError, match="nothing was said"):
            engine_named("ray", at="{}:{}".format(*dumb.getsockname()))
