"""At which act does the child end itself? A table over CPython's audit events (PEP 578).

The hook runs inside the process that it watches, so it is a net for honest code and no border for code that means harm:
such code can reach around it (a C extension, `_posixsubprocess`, a changed closure). What holds then is the wall. Where
the wall stands, files, native code and introspection are left to it; without it they end the child as well.

It reports over the channel and calls `os._exit`: no `except BaseException`, no `finally`, no `atexit` runs after that.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec

from forensics.replay.cell.acts import kind_of
from forensics.replay.cell.channel import TRIPPED, Channel
from forensics.replay.cell.harmless import harmless
from forensics.replay.cell.isolation import Act, Denied

EXIT_TRIPPED = 97
LEFT_TO_THE_WALL: frozenset[Act] = frozenset(("file", "native", "introspection"))
_PATIENCE, _SHOWN = 1.0, 300


def _shown(value: object) -> str:
    """A value as a text, without a call into a class of the agent's."""
    if type(value) in (str, bytes, int, float, bool, type(None)):
        return repr(value)[:_SHOWN]
    if type(value) in (tuple, list):
        return f"({', '.join(_shown(item) for item in list(value)[:8])})"  # type: ignore[call-overload]  # it is one
    return f"<{type(value).__name__}>"


def set_tripwire(channel: Channel, *, scratch: str, behind_wall: bool) -> None:
    """Set the tripwire of this process. It can't be removed.

    `scratch` is where files may be written without a wall.
    """
    allowed = harmless(scratch)
    left = LEFT_TO_THE_WALL if behind_wall else frozenset[Act]()
    leave, report, encode = os._exit, channel.report, msgspec.json.encode

    def trip(kind: Act, event: str, args: tuple[Any, ...]) -> None:
        try:
            told = Denied(kind=kind, event=event, what=", ".join(_shown(arg) for arg in args)[:_SHOWN])
            report(TRIPPED, encode(told), _PATIENCE)
        finally:
            leave(EXIT_TRIPPED)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        kind = kind_of(event)
        if kind is None or kind in left:
            return
        try:
            fine = event in allowed and allowed[event](*args)
        except BaseException:  # noqa: BLE001 - what can't be judged is not let go
            fine = False
        if not fine:
            trip(kind, event, args)

    sys.addaudithook(hook)
