"""Servers in processes of their own, from their first answer on, and what they use."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

JUDGEBOARD = [sys.executable, "-c", "from judgeboard.cli import main; main()"]
START_SECONDS = 600.0


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(
    command: Sequence[str], port_option: str = "--port", health: str = "/healthz"
) -> Iterator[str]:
    """Serve at a free port until the end of the block; yields the address."""
    address = f"http://localhost:{(port := free_port())}"
    with served([*command, port_option, str(port)], address + health):
        yield address


@contextmanager
def served(
    command: Sequence[str],
    health: str,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Iterator[int]:
    """Run a server with all its processes, by default in the current folder; yields its session."""
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            end = time.monotonic() + START_SECONDS
            while not _answers(health):
                if process.poll() is not None or time.monotonic() > end:
                    log.seek(0)
                    raise SystemExit(f"{command[0]} did not start:\n{log.read()[-2000:]}")
                time.sleep(0.1)
            yield process.pid
        finally:
            with suppress(ProcessLookupError):  # it ended by itself
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:  # Phoenix may still be busy with what it acknowledged
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@contextmanager
def tool_server(name: str, folder: Path) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Run Phoenix or MLflow, of this environment or of the group `integrations`, on SQLite in a folder.

    Yields its address, its session, and the headers that its exporters need.
    """
    if name not in {"phoenix", "mlflow"}:
        raise SystemExit(f"unknown tool {name!r}: use phoenix or mlflow")
    port, headers = str(free_port()), {}
    address = f"http://127.0.0.1:{port}"
    project = [
        "uv",
        "run",
        "--project",
        str(Path(__file__).parents[1]),
        "--isolated",
        "--group",
        "integrations",
    ]
    command = [name] if shutil.which(name) else [*project, name]
    environment = {"PYTHONPATH": ""}
    if name == "phoenix":
        command, health = [*command, "serve"], "/healthz"
        environment |= {
            "PHOENIX_WORKING_DIR": str(folder),
            "PHOENIX_PORT": port,
            "PHOENIX_GRPC_PORT": str(free_port()),
        }
        environment |= {"PHOENIX_HOST": "127.0.0.1", "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false"}
    else:
        database = f"sqlite:///{folder}/mlflow.db"
        command += ["server", "--port", port, "--backend-store-uri", database, "--workers", "1"]
        environment |= {
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
            "MLFLOW_DISABLE_TELEMETRY": "true",
        }
        health, headers = "/health", {"x-mlflow-experiment-id": "0"}
    folder.mkdir(exist_ok=True)
    with served(command, address + health, environment, folder) as session:
        yield address, session, headers


def _answers(address: str) -> bool:
    try:
        urllib.request.urlopen(address, timeout=2).close()
    except OSError:
        return False
    return True


def usage(session: int) -> tuple[float, float]:
    """Return the resident memory in MB and the processor time in seconds of all processes of a session.

    Other load on the machine hardly changes the processor time.
    """
    memory = seconds = 0.0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == session:
            memory += int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6
            seconds += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return memory, seconds
