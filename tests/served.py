"""Serves a database to a browser, in a process of its own."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

START_SECONDS = 60
SERVE = "import sys; from judgeboard_dashboard.server import serve; serve(sys.argv[1], port=int(sys.argv[2]))"


class serving:  # noqa: N801 - reads as what it does in a with statement
    """Serves a database in a process of its own."""

    def __init__(self, database: Path | str, **environment: str) -> None:
        self.database = database
        self.port = free_port()
        self.environment = {**os.environ, **environment}
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> str:
        """Start, wait until it answers, return its address."""
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(self.database), str(self.port)], env=self.environment
        )
        url = f"http://localhost:{self.port}"
        deadline = time.monotonic() + START_SECONDS
        while not answers(f"{url}/healthz"):
            assert self.process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.05)
        return url

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        assert self.process is not None
        self.process.terminate()
        self.process.wait(timeout=30)


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(url: str) -> bool:
    """Whether a server answers at this address."""
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
