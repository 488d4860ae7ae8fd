"""What can this machine isolate, and which optional parts are there? The document of `forensics doctor`."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sys
from typing import TYPE_CHECKING, NamedTuple

from forensics import __version__
from forensics.report.doctor_documents import (
    DOCTOR,
    DoctorDocument,
    ExtraRow,
    ReachRow,
    SystemRow,
    WayRow,
)
from forensics.report.documents import Program

if TYPE_CHECKING:
    from forensics.replay.cell.survey import Tried


class Extra(NamedTuple):
    """An extra of the package: its name, what it gives, the distribution that brings it, and a module of Python's own
    that does in its place.
    """

    name: str
    gives: str
    distribution: str
    built_in: str = ""


EXTRAS = (
    Extra("zstd", "reads archives packed with Zstandard", "zstandard", "compression.zstd"),
    Extra("urls", "reads evidence behind a URL", "fsspec"),
    Extra("http", "reads evidence from a web server", "aiohttp"),
    Extra("s3", "reads evidence out of S3", "s3fs"),
    Extra("gs", "reads evidence out of Google Cloud Storage", "gcsfs"),
    Extra("az", "reads evidence out of Azure storage", "adlfs"),
    Extra("live", "asks a model again in a rerun", "httpx"),
    Extra("sign", "signs an evidence bundle, and checks its signature", "securesystemslib"),
    Extra("parquet", "asks a corpus in SQL, and writes its rows as Parquet", "duckdb"),
    Extra("dask", "audits a corpus on a Dask cluster", "distributed"),
    Extra("ray", "audits a corpus on a Ray cluster", "ray"),
)
_ABOUT = {
    "root": "the wall, raised with the rights of root",
    "user": "the wall, raised in a user namespace",
    "bubblewrap": "the wall, raised by bubblewrap; writes outside of temporary folders are refused, not captured",
    "process": "a process of its own with a tripwire, and no wall",
}
_HINTS = {
    "root": "In a container, root needs CAP_SYS_ADMIN and a seccomp profile that lets it make namespaces.",
    "user": "Let users make namespaces: user.max_user_namespaces above 0, and where the system has them"
    " kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0 (sysctl).",
    "bubblewrap": "Install bubblewrap (apt-get install bubblewrap, dnf install bubblewrap). It needs what `user` needs,"
    " or to be set-uid root.",
}


def doctor_document(tried: tuple[Tried, ...]) -> DoctorDocument:
    """The document for what a survey of the cell found, on this machine and in this environment."""
    return DoctorDocument(
        schema=DOCTOR,
        tool=Program(name="forensics", version=__version__),
        system=SystemRow(platform=sys.platform, machine=platform.machine(), python=platform.python_version()),
        isolation=_isolation(tried),
        extras=[_extra(extra) for extra in EXTRAS],
    )


def _isolation(tried: tuple[Tried, ...]) -> ReachRow:
    levels = [one.level for one in tried if one.level is not None]
    highest = max(levels, key=lambda level: level.rank, default=None)
    return ReachRow(level=highest, executes=highest == "wall", ways=[_way(one) for one in tried])


def _way(tried: Tried) -> WayRow:
    way = tried.way or "process"
    hint = None if tried.level else _HINTS.get(way)
    return WayRow(way=way, about=_ABOUT[way], level=tried.level, why=tried.why, hint=hint)


def _extra(extra: Extra) -> ExtraRow:
    return ExtraRow(
        name=extra.name,
        gives=extra.gives,
        version=_version(extra),
        install=f"pip install 'trace-forensics[{extra.name}]'",
    )


def _version(extra: Extra) -> str | None:
    package = extra.built_in.partition(".")[0]
    if package and importlib.util.find_spec(package) and importlib.util.find_spec(extra.built_in):
        return f"{extra.built_in} of Python {platform.python_version()}"
    try:
        return importlib.metadata.version(extra.distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
