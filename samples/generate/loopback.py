"""How does a generator serve HTTP to an SDK? On 127.0.0.1 alone, for the length of a `with` block, and quietly."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Quiet(BaseHTTPRequestHandler):
    """A request handler that answers and says nothing: the generators print their own result."""

    def reply(self, body: bytes, content_type: str = "application/json") -> None:
        """Answer with these bytes."""
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


@contextmanager
def listening(port: int, handler: type[Quiet]) -> Iterator[str]:
    """Serve on loopback; gives the base address."""
    with HTTPServer(("127.0.0.1", port), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.shutdown()
            thread.join()
