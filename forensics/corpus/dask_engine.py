"""How does a Dask cluster do the work? Its scheduler is asked through the executor that `distributed` itself has; where
none is named, a cluster of processes is started on this machine, on loopback, and ended with the work.

Dask gives a batch whose worker died to another one by itself, and says KilledWorker when several died with it. Needs
the extra `dask`: imported only where this engine is asked for.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pkgutil
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from dask import config
from distributed import Client, LocalCluster
from distributed.core import connect
from distributed.scheduler import KilledWorker
from distributed.security import Security

from forensics.corpus.engines import PATIENCE, Engine, processors
from forensics.corpus.reach import ANSWERS_WITHIN, VERSION, agreed, deserted, reached, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LOOPBACK = "127.0.0.1"
_BACK_WITHIN = 60.0  # seconds, in which a worker that died is begun again, also where there is much to do
_LOST = (BrokenExecutor, CancelledError, KilledWorker)


def dask_engine(scheduler: str | None = None, workers: int | None = None) -> Engine:
    """The cluster with this scheduler (`tcp://HOST:PORT`), or one of `workers` processes on this machine.

    Of a cluster elsewhere, `workers` is how many are kept busy (None: as many as it has now). Raises
    EngineUnavailableError where no scheduler or no worker answers, and ConfigurationError where versions differ.
    """
    if scheduler is None:
        return Engine("dask", _here, workers or processors(), _LOST, check=_check)
    with _there(scheduler) as cluster:
        found = cluster.workers(PATIENCE)
        cluster.compare()
    return Engine("dask", lambda _: _there(scheduler), workers or found, _LOST, elsewhere=True, check=_check)


def _here(workers: int) -> _Cluster:
    with contextlib.ExitStack() as made:
        local = made.enter_context(local_cluster(workers))
        client = made.enter_context(Client(local, set_as_default=False))
        return _Cluster(client, local.scheduler_address, made.pop_all())


@contextlib.contextmanager
def local_cluster(workers: int) -> Iterator[LocalCluster]:
    """Processes of this machine under a scheduler, all on loopback: without a page to look at them, and its server of
    HTTP, which it starts all the same, at any free port. One that dies is begun again however long that takes.
    """
    with (
        config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"}),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=_LOOPBACK,
            dashboard_address=f"{_LOOPBACK}:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        ) as local,
    ):
        yield local


def _there(scheduler: str) -> _Cluster:
    reached(scheduler, "--scheduler")
    with contextlib.ExitStack() as made:
        try:
            with ThreadPoolExecutor(1) as aside:  # a loop may run in this thread
                aside.submit(asyncio.run, _greeted(scheduler)).result()
            client = made.enter_context(Client(scheduler, timeout=ANSWERS_WITHIN, set_as_default=False))
        except (OSError, ValueError) as error:
            raise silent(scheduler, type(error).__name__) from None
        return _Cluster(client, scheduler, made.pop_all())


async def _greeted(scheduler: str) -> None:
    """Greet and be greeted. A client would wait without end for whoever takes its connection and says nothing."""
    security = Security().get_connection_args("client")
    comm = await asyncio.wait_for(connect(scheduler, ANSWERS_WITHIN, **security), ANSWERS_WITHIN)
    await comm.close()


class _Cluster(Executor):
    """A cluster of Dask through a client of its own; `ending` holds what ends with it."""

    def __init__(self, client: Client, address: str, ending: contextlib.ExitStack) -> None:
        self._client, self._address, self._ending = client, address, ending
        self._inner = client.get_executor(pure=False)  # the same batch in another run is another task

    def workers(self, within: float) -> int:
        """How many processes work there. Raises EngineUnavailableError where there is none for so many seconds, or
        where the scheduler is gone.
        """
        try:
            self._client.wait_for_workers(1, timeout=within)
            return len(self._client.scheduler_info(n_workers=-1)["workers"])
        except TimeoutError:
            raise (deserted(self._address) if self._connected() else silent(self._address, "it is gone")) from None
        except OSError:
            raise silent(self._address, "it is gone") from None

    def compare(self) -> None:
        """Raise ConfigurationError where the scheduler or a worker has another version of this program, or none."""
        found = self._client.run(pkgutil.resolve_name, VERSION, on_error="return")
        try:
            found["the scheduler"] = self._client.run_on_scheduler(pkgutil.resolve_name, VERSION)
        except ImportError as error:
            found["the scheduler"] = error
        agreed(found)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Give it to the scheduler. Raises BrokenExecutor where the client lost it, which would wait for its return."""
        if not self._connected():
            raise BrokenExecutor("the connection to the scheduler was lost")
        try:
            future: Future[Any] = self._inner.submit(fn, *args, **kwargs)
        except Exception as error:  # its releases raise several kinds where it is closed meanwhile
            raise BrokenExecutor("the connection to the scheduler was lost") from error
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - the signature of an executor
        """Give up what is not done, and leave."""
        with self._ending, contextlib.suppress(Exception):  # it can't tell a scheduler that is gone
            self._inner.shutdown(wait=False)

    def _connected(self) -> bool:
        return bool(self._client.status == "running")


def _check(executor: Executor) -> None:
    if isinstance(executor, _Cluster):
        executor.workers(_BACK_WITHIN)
