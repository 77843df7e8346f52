"""A webhook on this machine that keeps what it gets."""

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Hook:
    """What came, and what is answered."""

    url: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    requests: list[dict[str, str]] = field(default_factory=list)

    @property
    def kinds(self):
        return [body["kind"] for body in self.bodies]


@contextmanager
def hook_server():
    """Serve it on a free port."""
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            hook.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            hook.requests.append(
                {name.lower(): value for name, value in self.headers.items()} | {"path": self.path}
            )
            self.send_response(hook.status)
            for name, value in hook.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_words): ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        hook.url = f"http://127.0.0.1:{server.server_address[1]}/services/T0/S3CRET"
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        thread.start()
        yield hook
        server.shutdown()
        thread.join()
