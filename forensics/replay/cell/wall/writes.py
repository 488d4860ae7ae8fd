"""Where may a child without a wall write? In its scratch folder alone, where the kernel has Landlock (Linux 5.13).

The tripwire hears of what Python tells; this refuses the rest: files that a library opens by itself (a database that is
attached, a log of keys), special files, and names below an open folder. What a process in such a domain has no part in,
it can neither look into (/proc/PID/environ, /proc/PID/mem) nor, on newer kernels, send signals.
https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import os
import struct

from forensics.replay.cell.wall.kernel import system_call

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_ASK_VERSION, _BENEATH = 1, 1
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_CHANGES = sum(1 << bit for bit in (1, *range(4, 13)))  # write; remove and make whatever there is
_SINCE = {2: 1 << 13, 3: _TRUNCATE}  # rename into another folder
_SIGNALS_AND_ABSTRACT_SOCKETS = 0b11


def keep_writes_in(folder: str) -> None:
    """From now on let this process change files below that folder alone. Raises OSError where the kernel can't."""
    version = system_call(_CREATE, None, 0, _ASK_VERSION)
    handled = _CHANGES | sum(right for since, right in _SINCE.items() if version >= since)
    scoped = _SIGNALS_AND_ABSTRACT_SOCKETS if version >= 6 else 0  # noqa: PLR2004 - the version that brought it
    rules = struct.pack("=QQQ", handled, 0, scoped) if scoped else struct.pack("=Q", handled)
    ruleset = system_call(_CREATE, rules, len(rules), 0)
    try:
        _allow(ruleset, folder, handled)
        _allow(ruleset, os.devnull, handled & (_WRITE_FILE | _TRUNCATE))
        system_call(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, place: str, rights: int) -> None:
    opened = os.open(place, os.O_PATH | os.O_CLOEXEC)
    try:
        system_call(_ADD, ruleset, _BENEATH, struct.pack("=Qi", rights, opened), 0)
    finally:
        os.close(opened)
