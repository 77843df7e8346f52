"""Measures the CPU use of an idle server, compared with a server of Streamlit that has one empty page.

    uv run python benchmarks/idle_server.py [SECONDS]

Both run at the same time, without a browser, and Judgeboard has the demo's data.
"""

import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from servers import JUDGEBOARD, free_port, served

WARM_UP_SECONDS = 75.0  # the queue of background work ends 60 s after it has begun
LIMIT = 1.5  # times as much as Streamlit alone
EMPTY_PAGE = "import streamlit as st\n\nst.write('Nothing.')\n"
QUIET = (
    "--server.headless=true",
    "--browser.gatherUsageStats=false",
    "--server.fileWatcherType=none",
)


def busy_seconds(session: int) -> float:
    """Return the processor time of all threads of a session. The times of `usage` are counted in steps of 10 ms."""
    nanoseconds = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                threads = (stat.parent / "task").glob("*/schedstat")
                nanoseconds += sum(int(thread.read_text().split()[0]) for thread in threads)
    return nanoseconds / 1e9


def main() -> int:
    """Serve both, wait until their start is over, and print the CPU time of their processes."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 120.0
    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder) / "demo.db")
        subprocess.run(
            [*JUDGEBOARD, "quickstart", "--no-serve", "--db", database],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        page = Path(folder) / "empty.py"
        page.write_text(EMPTY_PAGE)
        port, streamlit_port = free_port(), free_port()
        streamlit = [
            sys.executable,
            "-m",
            "streamlit",
            "run",
            str(page),
            f"--server.port={streamlit_port}",
            *QUIET,
        ]
        with (
            served(
                [*JUDGEBOARD, "serve", "--db", database, "--port", str(port)],
                f"http://localhost:{port}/healthz",
            ) as ours,
            served(
                streamlit, f"http://localhost:{streamlit_port}/_stcore/health", folder=Path(folder)
            ) as empty,
        ):
            time.sleep(WARM_UP_SECONDS)
            before = {session: busy_seconds(session) for session in (ours, empty)}
            time.sleep(seconds)
            percents = {
                session: (busy_seconds(session) - before[session]) / seconds * 100
                for session in (ours, empty)
            }
    ratio = percents[ours] / percents[empty] if percents[empty] else float("inf")
    print(f"empty page of Streamlit: {percents[empty]:.2f} % of a core over {seconds:g} s")
    print(
        f"idle server: {percents[ours]:.2f} % of a core, {ratio:.2f} times as much (limit {LIMIT:g})"
    )
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
