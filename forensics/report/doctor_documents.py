"""Which fields has the document of `forensics doctor`? Frozen types, as those of every document."""

from __future__ import annotations

from forensics.report.documents import Document, Program

DOCTOR = "forensics/doctor/v1"


class SystemRow(Document, frozen=True):
    """What this program runs on."""

    platform: str
    machine: str
    python: str


class WayRow(Document, frozen=True):
    """One way to isolate a rerun: `root`, `user` and `bubblewrap` raise the wall, `process` is the way without one.
    `level` is what it reaches here; null where it can't be taken, with the reason in `why` and what helps in `hint`.
    """

    way: str
    about: str
    level: str | None
    why: str | None = None
    hint: str | None = None


class ReachRow(Document, frozen=True):
    """What this machine can isolate: the highest level (null: a rerun can't start at all), whether a rerun that
    executes something can start, and every way in the order in which it would be tried.
    """

    level: str | None
    executes: bool
    ways: list[WayRow]


class ExtraRow(Document, frozen=True):
    """One optional part: what it gives, the version that is installed (null: none), and the command to install it."""

    name: str
    gives: str
    version: str | None
    install: str


class DoctorDocument(Document, frozen=True):
    """What this machine can isolate, and which optional parts are there."""

    schema: str
    tool: Program
    system: SystemRow
    isolation: ReachRow
    extras: list[ExtraRow]


DOCTOR_DOCUMENTS: dict[str, type[Document]] = {"doctor": DoctorDocument}
