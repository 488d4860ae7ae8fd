"""Which engine is meant by a name, and where is it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.meant import meant
from forensics.corpus.engines import Engine, processes, serial
from forensics.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def engine_named(name: str, workers: int | None = None, at: str | None = None) -> Engine:
    """The engine `process`, `serial`, `dask` or `ray`, with that many workers; the last two at an address, or started
    here.

    Raises ConfigurationError for another name, for an engine whose extra is missing and for a cluster that differs,
    and EngineUnavailableError where none answers.
    """
    if name not in _ENGINES:
        raise ConfigurationError(f"there is no engine {name}", hint=meant(name, _ENGINES))
    try:
        return _ENGINES[name](workers, at)
    except ImportError:
        hint = f"pip install 'trace-forensics[{name}]'"
        raise ConfigurationError(f"the engine {name} needs the extra {name}", hint=hint) from None


def _dask(workers: int | None, at: str | None) -> Engine:
    from forensics.corpus.dask_engine import dask_engine

    return dask_engine(at, workers)


def _ray(workers: int | None, at: str | None) -> Engine:
    from forensics.corpus.ray_engine import ray_engine

    return ray_engine(at, workers)


_ENGINES: Mapping[str, Callable[[int | None, str | None], Engine]] = {
    "process": lambda workers, _: processes(workers),
    "serial": lambda _workers, _: serial(),
    "dask": _dask,
    "ray": _ray,
}
