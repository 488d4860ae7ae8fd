"""Is anybody at the address of a cluster who can do the work? Asked first and shortly: a library would try for minutes,
and a worker that is given what it can't load may end.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from forensics import __version__
from forensics.errors import ConfigurationError, EngineUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

ANSWERS_WITHIN = 10.0  # seconds
VERSION = "forensics:__version__"
"""What `pkgutil.resolve_name` is asked for there: it is Python's own, so that whoever has no `forensics` can say so."""


def reached(address: str, option: str) -> None:
    """Open and close a connection to `HOST:PORT`, with or without `SCHEME://`. Raises ConfigurationError where that is
    no address, and EngineUnavailableError where nobody takes the connection.
    """
    host, _, port = address.rpartition("://")[2].partition("/")[0].rpartition(":")
    if not host or not port.isdecimal():
        raise ConfigurationError(f"{option} is no address: {address}", hint="give it as tcp://HOST:PORT or HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWERS_WITHIN).close()
    except (OSError, OverflowError) as error:
        raise silent(address, type(error).__name__) from None


def agreed(found: Mapping[str, object]) -> None:
    """Raise ConfigurationError unless each of these has this version of the program: who, and what it answered."""
    for who, version in sorted(found.items()):
        if version != __version__:
            has = f"has version {version}" if isinstance(version, str) else "does not have this program"
            message = f"{who} {has}; this is {__version__}"
            raise ConfigurationError(message, hint="install the same version, with the same extras, on every machine")


def silent(address: str, why: str) -> EngineUnavailableError:
    """The error for an address at which nobody answers."""
    hint = "check that it runs there, and that this machine may reach it"
    return EngineUnavailableError(f"nobody answers at {address}: {why}", hint=hint)


def deserted(address: str) -> EngineUnavailableError:
    """The error for a cluster without a worker."""
    hint = "start workers, and run the same command again: it goes on where it ended"
    return EngineUnavailableError(f"the cluster at {address} has no worker", hint=hint)
