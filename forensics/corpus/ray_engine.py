"""How does a Ray cluster do the work? Each batch is a task of Ray, and its future is the one that a task has anyway;
where no address is given, Ray is started on this machine and ended with the work.

A task is never tried again by Ray itself: what a lost worker means is decided in one place for all engines. Needs the
extra `ray`: imported only where this engine is asked for.
"""

from __future__ import annotations

import multiprocessing
import os
import pkgutil
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import TYPE_CHECKING, Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read on import: an audit tells nobody of itself
import ray
import ray.exceptions

from forensics.corpus.engines import Engine, processors
from forensics.corpus.reach import VERSION, agreed, deserted, reached, silent

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

_LOCAL, _AUTO = "local", "auto"  # what Ray itself calls a cluster of this machine: one to start, one that runs
BEGINS_WITHIN = 60.0  # seconds, in which Ray is imported, joins a cluster and runs one task
_OBJECTS = 100 << 20  # bytes; batches and answers are small, and Ray would take a third of the memory for them
_QUIET = {"log_to_driver": False, "logging_level": "ERROR"}
_LOST = (
    BrokenExecutor,
    CancelledError,
    ray.exceptions.WorkerCrashedError,
    ray.exceptions.OutOfMemoryError,
    ray.exceptions.NodeDiedError,
    ray.exceptions.LocalRayletDiedError,
    ray.exceptions.ObjectLostError,
)


def ray_engine(address: str | None = None, workers: int | None = None) -> Engine:
    """The cluster at this address (`HOST:PORT` of its head, `auto`), or `workers` processes on this machine.

    Of a cluster elsewhere, `workers` is how many are kept busy (None: as many as it has processors now). Raises
    EngineUnavailableError where no cluster answers, and ConfigurationError where one has another version.
    """
    if address is None or address == _LOCAL:
        return Engine("ray", _here, workers or processors(), _LOST, check=_check)
    if address != _AUTO:
        reached(address, "--address")
    found, version = _said(address) if ray.is_initialized() else _said_aside(address)
    if found < 1:
        raise deserted(address)
    agreed({f"the cluster at {address}": version})
    return Engine("ray", lambda _: _Tasks(address), workers or found, _LOST, elsewhere=True, check=_check)


def _here(workers: int) -> _Tasks:
    return _Tasks(_LOCAL, num_cpus=workers, object_store_memory=_OBJECTS, include_dashboard=False)


def _said_aside(address: str) -> tuple[int, str | None]:
    """What `_said` says, in a process of its own that can be ended: Ray asks for a quarter of an hour whoever says
    nothing, and tells of it on standard error. Raises EngineUnavailableError where it says nothing for a while.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    asking = context.Process(target=_say, args=(address, theirs), daemon=True)
    asking.start()
    theirs.close()
    try:
        said: tuple[int, str | None] = ours.recv() if ours.poll(BEGINS_WITHIN) else (0, "")
    except EOFError:
        raise silent(address, "no Ray, or one that wants a token (RAY_AUTH_MODE)") from None
    finally:
        asking.kill()
        asking.join()
    if said == (0, ""):
        raise silent(address, f"nothing was said in {BEGINS_WITHIN:.0f} s")
    return said


def _say(address: str, there: Connection) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    there.send(_said(address))


def _said(address: str) -> tuple[int, str | None]:
    """How many processors a cluster has, and which version of this program (None: it has none)."""
    with _Tasks(address) as cluster:
        there = cluster.workers()
        return there, cluster.version() if there else None


class _Tasks(Executor):
    """What this process runs on Ray. A process has one Ray: one that was begun before is used, and not ended."""

    def __init__(self, address: str, **more: Any) -> None:
        self.address = address
        self._ours = not ray.is_initialized()
        if self._ours:
            try:
                ray.init(address=address, **_QUIET, **more)
            except Exception as error:  # noqa: BLE001 - Ray raises just that where a node does not start in its time
                ray.shutdown()
                raise silent(address, f"Ray did not begin ({type(error).__name__})") from None

    def workers(self) -> int:
        """How many batches it can do at once."""
        return int(ray.cluster_resources().get("CPU", 0))

    def version(self) -> str | None:
        """The version of this program that a worker has (None: none)."""
        try:
            return str(self.submit(pkgutil.resolve_name, VERSION).result())
        except ray.exceptions.RayTaskError:
            return None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Make a task of it. Raises BrokenExecutor where Ray is gone."""
        try:
            task = ray.remote(max_retries=0, num_cpus=1)(fn)
            future: Future[Any] = task.remote(*args, **kwargs).future()
        except ray.exceptions.RayError as error:
            raise BrokenExecutor("Ray is gone") from error
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - the signature of an executor
        """Leave; a Ray that was started for this ends."""
        if self._ours:
            ray.shutdown()


def _check(executor: Executor) -> None:
    if isinstance(executor, _Tasks) and executor.workers() < 1:
        raise deserted(executor.address)
