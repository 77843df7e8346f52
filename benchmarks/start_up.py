"""Measures the start-up time of short commands, best of ten: `uv run python benchmarks/start_up.py`."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

TURNS = 10
LIMITS = {"--help": 0.3, "stats": 1.5}


def main() -> int:
    """Print the seconds of each command beside its limit; exit code 1 where one is over it."""
    judgeboard = str(Path(sys.executable).with_name("judgeboard"))
    late = False
    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder) / "demo.db")
        subprocess.run([judgeboard, "demo", "--no-serve", "--db", database], check=True, stdout=subprocess.DEVNULL)
        for command, limit in LIMITS.items():
            given = [command, "--db", database] if command != "--help" else [command]
            seconds = min(_seconds([judgeboard, *given]) for _ in range(TURNS))
            late = late or seconds > limit
            print(f"judgeboard {command}: {seconds:.2f} s (limit {limit:g} s)")
    return int(late)


def _seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
