"""Which model answers on loopback, and what was it asked? One that always says the same."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class Model:
    """A model behind HTTP, for the length of a `with` block."""

    def __init__(self, says: str) -> None:
        self.asked: list[dict[str, Any]] = []
        answer = {"choices": [{"message": {"role": "assistant", "content": says}, "finish_reason": "stop"}]}
        data, asked = json.dumps(answer).encode(), self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                self.send_response(200)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
