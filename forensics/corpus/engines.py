"""Who does the work, and what if a worker dies? Any `concurrent.futures.Executor`; a lost batch is tried in pieces.

A batch whose worker died (killed for its memory, mostly) is given to a new executor one unit at a time; the unit that
loses its worker again is recorded as lost, and no other is.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.process
import os
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from forensics.corpus.job import Terms, Unit, audit_batch
from forensics.corpus.result import Result, unread
from forensics.errors import ForensicsError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

Batch: TypeAlias = tuple[Unit, ...]
Done: TypeAlias = tuple[Unit, Result]


class Engine(msgspec.Struct, frozen=True):
    """An executor by name. `start` makes one with that many workers; `workers` is how many there are."""

    name: str
    start: Callable[[int], Executor]
    workers: int


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
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    return ProcessPoolExecutor(workers, multiprocessing.get_context(method), _end_with_the_one_that_asks)


def _end_with_the_one_that_asks() -> None:
    """A worker begins with this. Whoever is killed can't tell its workers to end, and they would wait for ever."""
    threading.Thread(target=_end_after, args=(multiprocessing.parent_process(),), daemon=True).start()


def _end_after(parent: multiprocessing.process.BaseProcess | None) -> None:
    if parent is not None:
        parent.join()
        os._exit(1)


def serial() -> Engine:
    """This process alone."""
    return Engine("serial", lambda _workers: _Here(), 1)


def processes(workers: int | None = None) -> Engine:
    """A pool of processes on this machine, as many as it has processors."""
    return Engine("process", _pool, workers or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)


def run(engine: Engine, batches: Iterable[Batch], terms: Terms) -> Iterator[list[Done]]:
    """The results of the batches as they come; few are in flight at once, so that memory does not grow with the corpus.

    Raises whatever a worker raises of this library (a broken rule pack, other rules than here).
    """
    waiting = iter(batches)
    while (first := next(waiting, None)) is not None:
        lost = yield from _until_broken(engine, chain([first], waiting), terms)
        for unit in (unit for batch in lost for unit in batch):
            yield [(unit, _alone(engine, unit, terms))]


def _until_broken(engine: Engine, batches: Iterator[Batch], terms: Terms) -> Generator[list[Done], None, list[Batch]]:
    """The results up to where the executor breaks, if it does; returns the batches that were lost with it."""
    with engine.start(engine.workers) as executor:
        flying = {_given(executor, batch, terms): batch for batch in islice(batches, 2 * engine.workers)}
        while flying:
            for future in wait(flying, return_when=FIRST_COMPLETED).done:
                batch = flying.pop(future)
                error = future.exception()
                if isinstance(error, ForensicsError):
                    raise error
                if error is not None:
                    return [batch, *flying.values()]
                yield list(zip(batch, future.result(), strict=True))
                flying |= {_given(executor, one, terms): one for one in islice(batches, 1)}
    return []


def _given(executor: Executor, batch: Batch, terms: Terms) -> Future[list[Result]]:
    """The batch on its way; an executor that broke meanwhile takes none, which its future says."""
    try:
        return executor.submit(audit_batch, batch, terms)
    except BrokenExecutor as error:
        refused: Future[list[Result]] = Future()
        refused.set_exception(error)
        return refused


def _alone(engine: Engine, unit: Unit, terms: Terms) -> Result:
    """The result of a unit that has an executor to itself; where that is lost too, a row that says so."""
    name = unit[0][1]
    with engine.start(1) as executor:
        try:
            return executor.submit(audit_batch, (unit,), terms).result()[0]
        except ForensicsError:
            raise
        except BrokenExecutor:
            message = f"the process that read {name} was killed, alone too, mostly for the memory it took"
            return unread(name, "worker_lost", message, "audit it by itself on a machine with more memory")
        except Exception as error:  # noqa: BLE001 - one file that we fail on is a row, and ends no corpus
            message = f"a fault of this program while it read {name}: {type(error).__name__}"
            return unread(name, "fault", message, "audit it by itself, and report what that prints")
