"""Measures the CPU use of an idle server: `uv run python benchmarks/idle_server.py [SECONDS]`."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from servers import JUDGEBOARD, free_port, served, usage

WARM_UP_SECONDS = 15.0
LIMIT_PERCENT = 1.0


def main() -> int:
    """Serve the demo's data, wait until the start is over, and print the CPU time of all its processes."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder) / "demo.db")
        subprocess.run(
            [*JUDGEBOARD, "quickstart", "--no-serve", "--db", database], check=True, stdout=subprocess.DEVNULL
        )
        address = f"http://localhost:{(port := free_port())}"
        with served([*JUDGEBOARD, "serve", "--db", database, "--port", str(port)], f"{address}/healthz") as session:
            time.sleep(WARM_UP_SECONDS)
            _, before = usage(session)
            time.sleep(seconds)
            percent = (usage(session)[1] - before) / seconds * 100
    print(f"idle server: {percent:.2f} % of a core over {seconds:g} s (limit {LIMIT_PERCENT:g} %)")
    return 0 if percent <= LIMIT_PERCENT else 1


if __name__ == "__main__":
    sys.exit(main())
