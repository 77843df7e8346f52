"""Measures the CPU use of an idle server: `uv run python benchmarks/idle_server.py [SECONDS]`."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

WARM_UP_SECONDS = 15.0
LIMIT_PERCENT = 1.0


def main() -> int:
    """Serve the demo's data, wait until the start is over, and print the CPU time of all its processes."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder) / "demo.db")
        judgeboard = str(Path(sys.executable).with_name("judgeboard"))
        subprocess.run([judgeboard, "demo", "--no-serve", "--db", database], check=True, stdout=subprocess.DEVNULL)
        server = subprocess.Popen(
            [judgeboard, "serve", "--db", database, "--port", str(port)], stdout=subprocess.DEVNULL
        )
        try:
            _wait_until_served(port)
            time.sleep(WARM_UP_SECONDS)
            before = _cpu_seconds(server.pid)
            time.sleep(seconds)
            percent = (_cpu_seconds(server.pid) - before) / seconds * 100
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
    print(f"idle server: {percent:.2f} % of a core over {seconds:g} s (limit {LIMIT_PERCENT:g} %)")
    return 0 if percent <= LIMIT_PERCENT else 1


def _wait_until_served(port: int) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise SystemExit("the server did not start")


def _cpu_seconds(pid: int) -> float:
    """CPU time of a process and of all that it started."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{pid}/task/{pid}/children")
    started = children.read_text(encoding="utf-8").split() if children.exists() else []
    return own + sum(_cpu_seconds(int(child)) for child in started)


if __name__ == "__main__":
    sys.exit(main())
