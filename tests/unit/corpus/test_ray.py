"""Does Ray come to the same bytes as one process, where its workers die too?"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import tempfile
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from forensics.api import Options
from forensics.core.evidence import Severity
from forensics.corpus.engines import Engine, Workers, serial
from forensics.corpus.job import terms_of
from forensics.corpus.named_engines import engine_named
from forensics.corpus.run import LEDGER, Corpus, audit_corpus
from forensics.errors import ConfigurationError, EngineUnavailableError

pytest.importorskip("ray", reason="needs the extra ray, which is too slow to begin on a busy machine for CI (ADR 0022)")

import ray

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[3]
SAMPLES = ("pager.db", "pager.otlp.jsonl", "double_charge.chat.json", "readonly.db", "pager.chat.json", "pager.json")
LETHAL = "readonly.db"

ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # a worker can't import a test
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
        self._inner, self._first, self._told = inner, first, told

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._inner.submit(self._first, fn, *args, *self._told)

    def shutdown(self, *args: Any, **kwargs: Any) -> None:
        self._inner.shutdown(*args, **kwargs)


def _dies(fn: Callable[..., Any], units: Any, asked: bytes, mark: str) -> Any:
    """Kill this worker in the middle of the batch with the lethal file: always, or where there is a mark, only once."""
    if any(name == LETHAL for unit in units for _, name in unit) and not (mark and Path(mark).exists()):
        if mark:
            Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return fn(units, asked)


def _killing(mark: str) -> Engine:
    engine = engine_named("ray", at="auto")
    return msgspec.structs.replace(engine, start=lambda count: _Through(engine.start(count), _dies, mark))


def test_processes_of_ray_write_the_same_bytes_as_one(here: None, corpus: Path, tmp_path: Path) -> None:
    audit_corpus([corpus], tmp_path / "one", Corpus(engine=serial()))
    engine = engine_named("ray", at="auto")
    assert engine.workers == 2
    audit_corpus([corpus], tmp_path / "two", Corpus(engine=engine, batch_bytes=1))
    assert _outputs(tmp_path / "one") == _outputs(tmp_path / "two")
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
    assert _outputs(tmp_path / "one") == _outputs(tmp_path / "two")


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
