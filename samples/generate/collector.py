"""What does an SDK post to its vendor's trace service? A loopback stand-in that keeps the bodies and says yes."""

from __future__ import annotations

import gzip
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any, BinaryIO

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


def handler(posted: Posted, answers: Mapping[str, object]) -> type[BaseHTTPRequestHandler]:
    """The request handler: any POST is kept, a GET is answered with what `answers` holds for its path."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = b"".join(chunks(self.rfile, self.headers.get("Content-Length")))
            posted.bodies.append(json.loads(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body))
            self.answer({})

        def do_GET(self) -> None:
            self.answer(answers.get(self.path, {}))

        def answer(self, what: object) -> None:
            body = json.dumps(what).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    return Handler


@contextmanager
def collecting(answers: Mapping[str, object] | None = None) -> Iterator[Posted]:
    """Collect for the length of a `with` block."""
    posted = Posted()
    with HTTPServer(("127.0.0.1", PORT), handler(posted, answers or {})) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield posted
        finally:
            server.shutdown()
            thread.join()
