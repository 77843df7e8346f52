"""A reverse proxy that serves a server below a path, and removes the path: like nginx with ``proxy_pass …/``."""

import shutil
import socket
import socketserver
import threading
from contextlib import contextmanager, suppress

from served import free_port


@contextmanager
def prefix_proxy(prefix, upstream_port, port=None):
    """Serve a port of this machine below ``prefix``; gives the address. All other paths are not found."""

    class Passing(socketserver.StreamRequestHandler):
        def handle(self):
            head = _head(self.rfile)
            method, _, rest = head.partition(" ")
            if not rest.startswith(f"{prefix}/"):
                self.wfile.write(
                    b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                )
                return
            request = f"{method} {rest.removeprefix(prefix)}".encode("latin-1")
            with socket.create_connection(("127.0.0.1", upstream_port)) as upstream:
                upstream.sendall(request)
                sending = threading.Thread(target=self._send, args=(upstream,), daemon=True)
                sending.start()
                with suppress(OSError), upstream.makefile("rb", buffering=0) as replies:
                    shutil.copyfileobj(replies, self.wfile, 65536)
                with suppress(OSError):
                    self.connection.shutdown(socket.SHUT_RDWR)
                sending.join(10)

        def _send(self, upstream):
            with suppress(OSError):
                while more := self.rfile.read1(65536):
                    upstream.sendall(more)
                upstream.shutdown(socket.SHUT_WR)

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

    own_port = port or free_port()
    with Server(("127.0.0.1", own_port), Passing) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://localhost:{own_port}{prefix}"
        server.shutdown()


def _head(request):
    """Return the head of a request; a request without an upgrade is the last one on its connection."""
    lines = list[str]()
    while (line := request.readline().decode("latin-1")) not in {"\r\n", ""}:
        lines.append(line)
    if not any(line.lower().startswith("upgrade:") for line in lines):
        lines = [line for line in lines if not line.lower().startswith("connection:")] + [
            "Connection: close\r\n"
        ]
    return "".join(lines) + "\r\n"
