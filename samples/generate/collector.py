"""What does an SDK post to its vendor's trace service? A loopback stand-in that keeps the bodies and says yes."""

from __future__ import annotations

import gzip
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from loopback import Quiet, listening

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PORT = 48813  # fixed, as in stub.py


class Posted:
    """The JSON bodies that were posted, in order, and the address to post them to."""

    def __init__(self) -> None:
        self.address = f"http://127.0.0.1:{PORT}"
        self.bodies: list[Any] = []


def chunks(stream: BinaryIO, length: str | None) -> Iterator[bytes]:
    """The body of a request: of the length that is told, or chunk by chunk (each with its size and an empty line)."""
    if length is not None:
        yield stream.read(int(length))
        return
    while size := int(stream.readline().partition(b";")[0], 16):
        yield stream.read(size)
        stream.readline()
    stream.readline()


def handler(posted: Posted, answers: Mapping[str, object]) -> type[Quiet]:
    """The request handler: any POST is kept, a GET is answered with what `answers` holds for its path."""

    class Handler(Quiet):
        def do_POST(self) -> None:  # noqa: N802 - the name that http.server calls
            body = b"".join(chunks(self.rfile, self.headers.get("Content-Length")))
            posted.bodies.append(json.loads(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body))
            self.reply(b"{}")

        def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
            self.reply(json.dumps(answers.get(self.path, {})).encode())

    return Handler


@contextmanager
def collecting(answers: Mapping[str, object] | None = None) -> Iterator[Posted]:
    """Collect for the length of a `with` block."""
    posted = Posted()
    with listening(PORT, handler(posted, answers or {})):
        yield posted
