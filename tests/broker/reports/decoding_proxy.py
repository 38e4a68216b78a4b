"""A reverse proxy that undoes percent-encoding in paths, as some do: `/api/queues/%2F` arrives as `/api/queues//`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import requests


@contextmanager
def decoding_proxy(target: str) -> Iterator[tuple[str, list[str]]]:
    """(its URL, the paths it was asked for as they arrived at the target). Passes on GET requests alone."""
    passed: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            passed.append(unquote(path))
            url = f"{target}{unquote(path)}?{query}"
            answer = requests.get(url, headers={"Authorization": self.headers["Authorization"]}, timeout=60)
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers.get("Content-Type", ""))
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_: object) -> None:
            """Nothing on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", passed
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
