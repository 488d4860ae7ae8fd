"""Who does the work, and what if a worker dies? Any `concurrent.futures.Executor`; a lost batch is tried in pieces.

A batch whose worker died (killed for its memory, mostly) is given to the engine again, one unit at a time; the unit
that loses its worker again is recorded as lost, and no other is. The engines of one machine are here, those of a
cluster in `dask_engine` and `ray_engine`, and `named_engines` finds one by its name.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from itertools import chain, islice
from typing import TYPE_CHECKING, Self, TypeAlias
from weakref import WeakKeyDictionary

import msgspec

from forensics.corpus.job import FailedError, Terms, Unit, answer, question, results_in
from forensics.corpus.result import Result, unread
from forensics.errors import ConfigurationError, EngineUnavailableError, ForensicsError
from forensics.formats.places import is_there
from forensics.formats.shared.remote import is_url

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Iterator
    from multiprocessing.connection import Connection
    from types import TracebackType

Batch: TypeAlias = tuple[Unit, ...]
Done: TypeAlias = tuple[Unit, Result]

PATIENCE = 10.0  # seconds without any answer, after which an engine is asked whether it is still there
_MISSING = "evidence_missing"


class Engine(msgspec.Struct, frozen=True):
    """An executor by name. `start` makes one with that many workers; `workers` is how many there shall be.

    `lost` are the errors by which a future of it says that the worker died and not that the work is at fault; after a
    BrokenExecutor a new one is started, after the others it goes on. `elsewhere` says that workers may stand on other
    machines: they may not see a file that is here, or not have this program. `check` is asked from time to time while
    nothing comes back, and raises a ForensicsError where nothing will. `stop` ends the work that was given already.
    """

    name: str
    start: Callable[[int], Executor]
    workers: int
    lost: tuple[type[Exception], ...] = (BrokenExecutor, CancelledError)
    elsewhere: bool = False
    check: Callable[[Executor], None] = lambda _: None
    stop: Callable[[Executor], None] = lambda executor: executor.shutdown(cancel_futures=True)


class _Here(Executor):
    """This very process, one batch after the other."""

    def submit(self, fn: Callable[..., object], /, *args: object, **kwargs: object) -> Future[object]:  # type: ignore[override]  # a narrower signature says what is used
        """Run it now."""
        future: Future[object] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - it belongs to the future, as in every executor
            future.set_exception(error)
        return future


def _pool(workers: int) -> Executor:
    """Processes that inherit nothing of this one: a fork of a process with threads may hang."""
    import multiprocessing  # where nothing changed there is no work, and what makes processes is not loaded
    from concurrent.futures import ProcessPoolExecutor

    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    asks, held = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, context, _end_with_the_one_that_asks, (asks,))
    _HELD[pool] = held
    return pool


_HELD: WeakKeyDictionary[Executor, Connection] = WeakKeyDictionary()
"""By pool, this end of a pipe: its workers end when it is closed, by whom and for whatever reason."""


def _stop_pool(pool: Executor) -> None:
    _HELD[pool].close()
    pool.shutdown(cancel_futures=True)


def _end_with_the_one_that_asks(asks: Connection) -> None:
    """A worker begins with this. Whoever is killed can't tell its workers to end, and they would wait for ever; an
    interrupt is for the one that asks, who tells them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_after, args=(asks,), daemon=True).start()


def _end_after(asks: Connection) -> None:
    from multiprocessing.connection import wait as wait_for

    wait_for([asks])
    os._exit(1)


def serial() -> Engine:
    """This process alone."""
    return Engine("serial", lambda _workers: _Here(), 1)


def processes(workers: int | None = None) -> Engine:
    """A pool of processes on this machine, as many as it has processors."""
    return Engine("process", _pool, workers or processors(), stop=_stop_pool)


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers:
    """The workers of an engine under some terms: started when there is work, anew where they broke, and ended with the
    block. `number` is how many there are.
    """

    def __init__(self, engine: Engine, terms: Terms) -> None:
        self._engine, self._question = engine, question(terms)
        self.number = engine.workers
        self._executor: Executor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and self._executor is not None:
            self._engine.stop(self._executor)
        else:
            self._end()

    def audit(self, batches: Iterable[Batch]) -> Iterator[list[Done]]:
        """The results of the batches as they come; few are in flight at once, so that memory does not grow with the
        corpus.

        Raises ConfigurationError where a worker refuses (other rules than here, another version) or does not see the
        corpus, and EngineUnavailableError where none is there, or none can do this work at all.
        """
        waiting = iter(batches)
        while (first := next(waiting, None)) is not None:
            lost = yield from self._until_broken(chain([first], waiting))
            yield from self._alone(unit for batch in lost for unit in batch)

    def _until_broken(self, batches: Iterator[Batch]) -> Generator[list[Done], None, list[Batch]]:
        """The results up to where the executor breaks, if it does; returns the batches that were lost till then."""
        flying = {self._given(batch): batch for batch in islice(batches, 2 * self._engine.workers)}
        lost: list[Batch] = []
        while flying:
            for future in self._back(flying):
                batch = flying.pop(future)
                came = self._came(future, batch)
                if isinstance(came, BrokenExecutor):
                    self._end()
                    return [*lost, batch, *flying.values()]
                if isinstance(came, Exception):
                    lost.append(batch)
                else:
                    yield came
                flying |= {self._given(one): one for one in islice(batches, 1)}
        return lost

    def _alone(self, units: Iterable[Unit]) -> Iterator[list[Done]]:
        """The result of each unit in a task of its own; of one that loses its worker again, a row that says so. Where
        the executor breaks, that counts only if it was new: what was done before may have worn it out.
        """
        waiting = deque(units)
        while waiting:
            new, unit = self._executor is None, waiting.popleft()
            future = self._given((unit,))
            self._back({future})
            came = self._came(future, (unit,))
            if isinstance(came, BrokenExecutor):
                self._end()
            if isinstance(came, BrokenExecutor) and not new:
                waiting.appendleft(unit)
            else:
                yield came if isinstance(came, list) else [(unit, self._row(unit, came))]

    def _end(self) -> None:
        if self._executor is not None:
            self._executor.shutdown()
            self._executor = None

    def _given(self, batch: Batch) -> Future[bytes]:
        """The batch on its way; an executor that broke meanwhile takes none, which its future says."""
        if self._executor is None:
            self._executor = self._engine.start(self._engine.workers)
        try:
            return self._executor.submit(answer, _absolute(batch), self._question)
        except BrokenExecutor as error:
            refused: Future[bytes] = Future()
            refused.set_exception(error)
            return refused

    def _back(self, flying: Collection[Future[bytes]]) -> list[Future[bytes]]:
        """Those that are done, once there are any, in the order in which they were given."""
        while not (done := wait(flying, PATIENCE, FIRST_COMPLETED).done):
            if self._executor is not None:
                self._engine.check(self._executor)
        return [future for future in flying if future in done]

    def _came(self, future: Future[bytes], batch: Batch) -> list[Done] | Exception:
        """What came of a batch, or the error by which it did not."""
        try:
            done = list(zip(batch, results_in(future.result()), strict=True))
        except ForensicsError:
            raise
        except Exception as error:  # noqa: BLE001 - the batch is tried in pieces, whatever it was
            return error
        if self._engine.elsewhere:
            for unit, result in done:
                _seen(unit, result)
        return done

    def _row(self, unit: Unit, error: Exception) -> Result:
        """The row of a unit that was lost by itself. Raises EngineUnavailableError where no worker could begin."""
        name = unit[0][1]
        if isinstance(error, self._engine.lost):
            message = f"the process that read {name} was killed, alone too, mostly for the memory it took"
            return unread(name, "worker_lost", message, "audit it by itself on a machine with more memory")
        if self._engine.elsewhere and not isinstance(error, FailedError):
            message = f"a worker can't do this work at all: {type(error).__name__}"
            raise EngineUnavailableError(message, hint="install the same version on the scheduler and on every machine")
        kind = str(error) if isinstance(error, FailedError) else type(error).__name__
        message = f"a fault of this program while it read {name}: {kind}"
        return unread(name, "fault", message, "audit it by itself, and report what that prints")


def _absolute(batch: Batch) -> Batch:
    """The batch for a worker, which may stand in another folder."""
    return tuple(tuple((where if is_url(where) else os.path.abspath(where), name) for where, name in u) for u in batch)  # noqa: PTH100 - a Path may spell it otherwise, and a hundred thousand times


def _seen(unit: Unit, result: Result) -> None:
    """Raise ConfigurationError where a worker did not find a file that stands here: it can audit nothing, and a corpus
    of rows that say so would be no answer.
    """
    if not any(row.error is not None and row.error.code == _MISSING for row in result.evidence):
        return
    for where, name in unit:
        if not is_url(where) and is_there(where):
            message = f"a worker does not see {name}, which is here"
            raise ConfigurationError(message, hint="put the corpus where all workers see it: a shared folder, or a URL")
