"""How do the two sides of a cell talk? In whole messages over one inherited socket pair, each within a limit.

A frame is a length (four bytes), a kind (one byte) and a body. What comes from the child is hostile: a length beyond
the limit or a kind that there is not ends the conversation.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import suppress

from forensics.errors import CellFaultError

MESSAGE, TRIPPED, RAISED = 0, 1, 2
_HEAD = struct.Struct(">IB")
_KINDS = frozenset((MESSAGE, TRIPPED, RAISED))
_CHUNK = 1 << 18
_REPORTS, _LONGEST_REPORT = 16, 1 << 16


class Channel:
    """One side of the conversation. `ended` is set once the other side has closed or the time of `send` is over."""

    def __init__(self, sock: socket.socket, limit: int) -> None:
        self._sock = sock
        self._limit = limit
        self._read = bytearray()
        self._sending = threading.Lock()
        self.ended = False
        self.reports: list[tuple[int, bytes]] = []

    def send(self, message: bytes, timeout: float | None = None) -> None:
        """Send one message. To a side that is gone nothing is sent, and the next `receive` says so.

        Raises CellFaultError if it is too large, or was not taken in `timeout` seconds (the channel is then of no use).
        """
        if len(message) > self._limit:
            raise CellFaultError(f"a message of {len(message)} bytes, and {self._limit} is the limit")
        with self._sending:
            self._send(MESSAGE, message, timeout)

    def report(self, kind: int, body: bytes, patience: float) -> None:
        """Send what is no message, unless another thread is in the middle of one for longer than `patience`."""
        if self._sending.acquire(timeout=patience):
            try:
                self._send(kind, body, patience)
            finally:
                self._sending.release()

    def receive(self, timeout: float | None = None) -> bytes | None:
        """The next message; None if none came in `timeout` seconds, or the other side is gone (`ended`).

        Raises CellFaultError where what came is no message.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            frame = self._frame()
            if frame is None:
                if not self._more(until):
                    return None
            elif frame[0] == MESSAGE:
                return frame[1]
            elif len(self.reports) < _REPORTS:
                self.reports.append(frame)

    def drain(self) -> None:
        """Read what still lies in the socket, for the reports in it."""
        while not self.ended and self.receive(0.0) is not None:
            pass

    def finish(self) -> None:
        """Say that no more messages come. The other side reads what was sent, and then hears that this one is gone."""
        with suppress(OSError):  # it is gone itself
            self._sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close this side."""
        self.ended = True
        self._sock.close()

    def _send(self, kind: int, body: bytes, timeout: float | None) -> None:
        try:
            self._sock.settimeout(timeout)
            self._sock.sendall(_HEAD.pack(len(body), kind) + body)
        except TimeoutError:
            self.ended = True
            raise CellFaultError("the other side of the cell's channel takes no message") from None
        except OSError:
            self.ended = True

    def _frame(self) -> tuple[int, bytes] | None:
        read = self._read
        if len(read) < _HEAD.size:
            return None
        length, kind = _HEAD.unpack_from(read)
        if length > (self._limit if kind == MESSAGE else _LONGEST_REPORT) or kind not in _KINDS:
            self.ended = True
            read.clear()
            raise CellFaultError("what came out of the cell is no message")
        end = _HEAD.size + length
        if len(read) < end:
            return None
        body = bytes(read[_HEAD.size : end])
        del read[:end]
        return kind, body

    def _more(self, until: float | None) -> bool:
        if self.ended:
            return False
        try:
            self._sock.settimeout(None if until is None else max(until - time.monotonic(), 0.0))
            chunk = self._sock.recv(_CHUNK)
        except (TimeoutError, BlockingIOError):
            return False
        except OSError:
            chunk = b""
        self._read += chunk
        self.ended = not chunk
        return bool(chunk)
