"""What is to run in a cell, and how much may it use?"""

from __future__ import annotations

import msgspec

_MIB = 1 << 20


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much the child may use, in bytes, seconds and numbers.

    `memory` is address space, `storage` everything written behind the wall together, `file` the largest file, `output`
    what is kept of standard output and of standard error, `message` the largest message on the channel in either
    direction, and `captured` the number of written files that are listed. `seconds` count from the start, by the clock.
    """

    memory: int = 4096 * _MIB
    cpu_seconds: int = 300
    seconds: float = 900.0
    file: int = 64 * _MIB
    storage: int = 256 * _MIB
    open_files: int = 256
    threads: int = 256
    message: int = 64 * _MIB
    output: int = 64 * 1024
    captured: int = 1000


class CellPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What runs in the cell: `target` (`package.module:function`) is imported there and called as
    `function(channel, argument)`.

    `paths` are put before the child's `sys.path`; what lies in them can be read. `folder` is the working folder, `/` by
    default. A plan that `executes` anything starts behind the wall or not at all. `wall` and `tripwire` say what is
    tried; tests of one without the other, and nobody else, leave one out.
    """

    target: str
    paths: tuple[str, ...] = ()
    argument: bytes = b""
    folder: str = "/"
    executes: bool = False
    wall: bool = True
    tripwire: bool = True
    limits: Limits = Limits()
