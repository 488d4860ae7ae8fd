"""Agents of the sample `mailing.events.jsonl` that return while something of theirs still goes on."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from forensics.replay import child_ports

if TYPE_CHECKING:
    from forensics.replay.ports import Ports

POOL = ThreadPoolExecutor(2)
FOUND = ("find_contact", {"name": "Ana"})
SENT = ("send_email", {"to": "ana@example.com", "subject": "Review moved to Friday"})


def _mailing(ports: Ports) -> Any:
    for call in (FOUND, SENT):
        ports.model.ask()
        ports.tools.call(*call)
    return ports.model.ask().text


def _once_more(ports: Ports) -> None:
    time.sleep(0.1)  # until the agent has most likely returned
    ports.tools.call(*SENT)


def thread(ports: Ports) -> Any:
    said = _mailing(ports)
    threading.Thread(target=_once_more, args=(ports,)).start()
    return said


def timer(ports: Ports) -> Any:
    threading.Timer(0.1, ports.tools.call, SENT).start()
    return _mailing(ports)


def pool(ports: Ports) -> Any:
    said = _mailing(ports)
    POOL.submit(_once_more, ports)
    return said


def idle_pool(ports: Ports) -> Any:
    """Workers that nobody has dismissed and that have nothing to do."""
    return POOL.submit(_mailing, ports).result()


def last_call(ports: Ports) -> Any:
    """The last recorded call is made by a thread that outlives the agent."""
    ports.model.ask()
    ports.tools.call(*FOUND)
    ports.model.ask()

    def rest() -> None:
        time.sleep(0.1)
        ports.tools.call(*SENT)
        ports.model.ask()

    threading.Thread(target=rest).start()


def heartbeat(ports: Ports) -> Any:
    """A thread without an end; the test need not wait for it as long as a rerun does."""
    child_ports.wait_for_threads = partial(child_ports.wait_for_threads, patience=0.2)  # type: ignore[attr-defined]
    threading.Thread(target=_beat, name="heart\x1bbeat").start()
    return _mailing(ports)


def daemon(ports: Ports) -> Any:
    threading.Thread(target=_beat, daemon=True).start()
    return _mailing(ports)


def _beat() -> None:
    while True:
        time.sleep(0.05)
