"""How well was a child kept from the world, what did it try, and how did it end?"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias

import msgspec


class Level(StrEnum):
    """What stood between the agent's code and the world, weakest first; each one includes those before it.

    `none`: nothing, the code ran in this process. `process`: a process of its own with an empty environment, no
    inherited file and limits. `tripwire`: it ends itself at the first audited act outside its channel (PEP 578).
    `wall`: the kernel shows it no network, no process and no file system but its own (Linux).
    """

    NONE = "none"
    PROCESS = "process"
    TRIPWIRE = "tripwire"
    WALL = "wall"

    @property
    def rank(self) -> int:
        """0 for the weakest, 3 for the strongest."""
        return list(Level).index(self)


Act = Literal["connection", "process", "file", "signal", "native", "introspection"]


Way: TypeAlias = Literal["root", "user", "bubblewrap"]
"""How a wall is raised: with the rights of root, in a user namespace, or by bubblewrap."""


class Denied(msgspec.Struct, frozen=True):
    """An act at which the tripwire ended the child: its kind, the audit event and its arguments as a short text. The
    child itself reports it, so that code which means harm can leave it out or make it up.
    """

    kind: Act
    event: str
    what: str


class Captured(msgspec.Struct, frozen=True):
    r"""A file that the child created, changed or deleted in its own view of the disk; nothing of it reached the disk.

    `path` is the one that the child used (bytes that are no UTF-8 are written `\xNN`). Of a file, `size` and `sha256`
    are those of what was written; of a folder (its path ends with `/`), a special file and something deleted, `sha256`
    is None; of a link, `to` is its target.
    """

    path: str
    kind: Literal["created", "changed", "deleted"]
    size: int = 0
    sha256: str | None = None
    to: str | None = None


class Isolation(msgspec.Struct, frozen=True, kw_only=True):
    """The level that was reached, the `way` in which a wall was raised, `missing` (why there is none), and what was
    denied and captured. `more` is the number of captured changes that are not listed. Behind bubblewrap only writes to
    folders for temporary files and to hidden places are captured; other ones are refused.
    """

    level: Level
    denied: tuple[Denied, ...] = ()
    captured: tuple[Captured, ...] = ()
    more: int = 0
    missing: tuple[str, ...] = ()
    way: Way | None = None


How = Literal[
    "returned",
    "raised",
    "tripped",
    "exited",
    "killed",
    "out_of_time",
    "out_of_threads",
    "closed",
    "lost",
]


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How the child ended.

    `returned`: its function did. `raised`: it raised, `what` is the traceback. `tripped`: the tripwire ended it.
    `exited`: it left by itself, with `code`. `killed`: by the signal `code`, from the kernel or by itself (SIGXCPU: the
    limit of CPU time). `out_of_time`, `out_of_threads`: by that limit. `closed`: it still ran when the cell was closed.
    `lost`: what watched over it died. `stdout` and `stderr` are their beginnings.
    """

    how: How
    code: int = 0
    what: str = ""
    stdout: str = ""
    stderr: str = ""
