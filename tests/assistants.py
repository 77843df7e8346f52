"""Runs the assistants of `examples/assistants` with real packages, as the README tells their users."""

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "examples" / "assistants"
EXPORTER = ("opentelemetry-distro", "opentelemetry-exporter-otlp-proto-http")
OPENINFERENCE = ("openai", "openinference-instrumentation-openai")
# What it needs beside these is missing in its own requirements.
GENAI = ("openai", "opentelemetry-instrumentation-openai-v2", "opentelemetry-util-genai<1", "httpx")


def ask(script: str, packages: tuple[str, ...], *questions: str, **environment: str) -> str:
    """Ask an assistant in an environment of its own, and return what it prints."""
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        [
            *(os.environ.get("UV", "uv"), "run", "--isolated", "--no-project", "--python", sys.executable),
            *(f"--with={package}" for package in (*EXPORTER, *packages)),
            *("opentelemetry-instrument", "--exporter_otlp_protocol", "http/protobuf", "--metrics_exporter", "none"),
            *("python", FOLDER / script, *questions),
        ],
        env={**kept, "OPENAI_API_KEY": "none", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
