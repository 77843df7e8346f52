"""Servers of real tools, each a process of its own on free ports."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from served import free_port

START_SECONDS = 300


@contextmanager
def tool(command: list[str], health: str, folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """A server of a tool, with all its processes."""
    folder.mkdir(exist_ok=True)
    with (folder / "tool.log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **environment}, stdout=log, stderr=log, start_new_session=True
        )
        try:
            deadline = time.monotonic() + START_SECONDS
            while not _answers(health):
                log_end = (folder / "tool.log").read_text()[-2000:]
                assert process.poll() is None, f"{command[0]} ended:\n{log_end}"
                assert time.monotonic() < deadline, f"{command[0]} does not answer at {health}:\n{log_end}"
                time.sleep(0.5)
            yield
        finally:
            with suppress(ProcessLookupError):  # it ended by itself
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _answers(address: str) -> bool:
    try:
        return httpx.get(address).is_success
    except httpx.TransportError:
        return False


@contextmanager
def phoenix(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A Phoenix: its address, and the headers that its exporters need."""
    port = str(free_port())
    own = {"PHOENIX_WORKING_DIR": str(folder), "PHOENIX_PORT": port, "PHOENIX_GRPC_PORT": str(free_port())}
    own |= {"PHOENIX_HOST": "127.0.0.1", "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false"}
    address = f"http://127.0.0.1:{port}"
    with tool(["phoenix", "serve"], f"{address}/healthz", folder, own):
        yield address, {}


@contextmanager
def mlflow(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """An MLflow: its address, and the headers that its exporters need."""
    address = f"http://127.0.0.1:{(port := free_port())}"
    database = f"sqlite:///{folder}/mlflow.db"
    command = ["mlflow", "server", "--port", str(port), "--backend-store-uri", database, "--workers", "1"]
    own = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    with tool(command, f"{address}/health", folder, own):
        yield address, {"x-mlflow-experiment-id": "0"}
