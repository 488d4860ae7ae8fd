"""How does a Ray cluster do the work? Each batch is a task of Ray, and its future is the one that a task has anyway;
where no address is given, Ray is started on this machine and ended with the work.

A task is never tried again by Ray itself: what a lost worker means is decided in one place for all engines. Needs the
extra `ray`: imported only where this engine is asked for.
"""

from __future__ import annotations

import os
import pkgutil
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import TYPE_CHECKING, Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read on import: an audit tells nobody of itself
import ray
import ray.exceptions

from forensics.corpus.engines import PATIENCE, Engine, processors
from forensics.corpus.reach import VERSION, agreed, deserted, reached, silent

if TYPE_CHECKING:
    from collections.abc import Callable

_LOCAL, _AUTO = "local", "auto"  # what Ray itself calls a cluster of this machine: one to start, one that runs
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
    """The cluster at this address (`HOST:PORT` of its head, `ray://HOST:PORT`, `auto`), or `workers` processes on this
    machine.

    Of a cluster elsewhere, `workers` is how many are kept busy (None: as many as it has processors now). Raises
    EngineUnavailableError where no cluster answers, and ConfigurationError where one has another version.
    """
    if address in (None, _LOCAL):
        return Engine("ray", _here, workers or processors(), _LOST, check=_check)
    with _there(address) as cluster:
        found = cluster.workers()
        cluster.compare()
    return Engine("ray", lambda _: _there(address), workers or found, _LOST, elsewhere=True, check=_check)


def _here(workers: int) -> _Tasks:
    return _Tasks(_LOCAL, num_cpus=workers, object_store_memory=_OBJECTS, include_dashboard=False)


def _there(address: str) -> _Tasks:
    if address != _AUTO:
        reached(address, "--address")
    return _Tasks(address)


class _Tasks(Executor):
    """What this process runs on Ray. A process has one Ray: one that was begun before is used, and not ended."""

    def __init__(self, address: str, **more: Any) -> None:
        self._address = address
        self._ours = not ray.is_initialized()
        if self._ours:
            try:
                ray.init(address=address, **_QUIET, **more)
            except (OSError, RuntimeError, ValueError) as error:
                raise silent(address, type(error).__name__) from None

    def workers(self) -> int:
        """How many batches it can do at once. Raises EngineUnavailableError where there is no processor for one."""
        there = int(ray.cluster_resources().get("CPU", 0))
        if there < 1:
            raise deserted(self._address)
        return there

    def compare(self) -> None:
        """Raise ConfigurationError where the worker that answers has another version of this program, or none."""
        try:
            found = self.submit(pkgutil.resolve_name, VERSION).result(PATIENCE)
        except TimeoutError:
            raise deserted(self._address) from None
        except ray.exceptions.RayTaskError as error:
            found = error
        agreed({f"the cluster at {self._address}": found})

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
    if isinstance(executor, _Tasks):
        executor.workers()
