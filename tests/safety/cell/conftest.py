"""How is an attempt made in a cell? `tried` runs one function of agents/escapes.py and gathers what it said."""

from __future__ import annotations

import functools
import os
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import forensics.replay.cell.cell as the_cell
from forensics.errors import IsolationUnavailableError
from forensics.replay.cell import CellPlan, Ending, Isolation, Limits, open_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from forensics.replay.cell.isolation import Way

FEW = 50
AGENTS = Path(__file__).parent / "agents"


class Tried(NamedTuple):
    """What the child said before it ended, how it ended, and how it was kept."""

    said: list[bytes]
    ending: Ending
    isolation: Isolation

    @property
    def went_on(self) -> bool:
        """Whether the agent had its way after the attempt."""
        return b"went on" in self.said

    @property
    def outcome(self) -> str:
        """What the attempt itself gave."""
        return self.said[1].decode() if len(self.said) > 1 else ""


def try_in_a_cell(
    function: str,
    argument: bytes | str = b"",
    *,
    wall: bool = False,
    tripwire: bool = True,
    limits: Limits | None = None,
    patience: float = 20.0,
) -> Tried:
    """Run one function of the escapes in a cell."""
    plan = CellPlan(
        target=function if ":" in function else f"escapes:{function}",
        paths=(str(AGENTS),),
        argument=argument.encode() if isinstance(argument, str) else argument,
        wall=wall,
        executes=wall,
        tripwire=tripwire,
        limits=limits or Limits(seconds=60.0, cpu_seconds=30),
    )
    said = []
    with open_cell(plan) as cell:
        while (message := cell.channel.receive(patience)) is not None:
            said.append(message)
    return Tried(said, cell.end(), cell.isolation())


@pytest.fixture(scope="session")
def tried() -> Callable[..., Tried]:
    return try_in_a_cell


@functools.cache
def missing(way: Way) -> str | None:
    """Why this machine can't raise a wall in that way; None if it can."""
    if sys.platform != "linux" or (way == "root" and os.geteuid()):
        return f"the way `{way}` needs Linux and its rights"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(the_cell, "ways", lambda _plan: (way,))
        try:
            open_cell(CellPlan(target="escapes:leave", argument=b"0", paths=(str(AGENTS),), executes=True)).end()
        except IsolationUnavailableError as error:
            return error.message
    return None


@pytest.fixture
def behind_way(monkeypatch: pytest.MonkeyPatch) -> Callable[[Way], Callable[..., Tried]]:
    """What makes attempts behind a wall of one way, without the tripwire. Skips by name where there is no such wall."""

    def behind(way: Way) -> Callable[..., Tried]:
        if why := missing(way):
            pytest.skip(why)
        monkeypatch.setattr(the_cell, "ways", lambda _plan: (way,))
        return functools.partial(try_in_a_cell, wall=True, tripwire=False)

    return behind


@pytest.fixture
def listener() -> Iterator[tuple[str, list[int]]]:
    """A server of the host, `address port`, and the connections that it got."""
    got: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    server.accept()[0].close()
                except OSError:
                    return
                got.append(1)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        host, port = server.getsockname()
        yield f"{host} {port}", got
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MODEL_API_KEY", "sk-of-the-parent")
    return "sk-of-the-parent"


@pytest.fixture
def host_process() -> str:
    """The number of a process of the host, which is no number of one in the cell."""
    if os.getpid() < FEW:
        pytest.skip("the processes of this container have the numbers of those in a cell")
    return str(os.getpid())
