"""Measures the start-up time of short commands and of the first page: `uv run python benchmarks/start_up.py`.

A command is the best of ten. The first page is the best of three, from the first answer of the
server to its last chart.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pages_in_browser import launch
from playwright.sync_api import Browser, sync_playwright
from servers import serving

TURNS = 10
LAST_CHART = ".st-key-signals [data-testid=stVegaLiteChart] :is(canvas, svg)"
LIMITS = {"--help": 0.3, "stats": 1.5, "first page": 2.0}


def main() -> int:
    """Print the seconds of each command and of the first page beside its limit; exit code 1 where one is over it."""
    judgeboard = str(Path(sys.executable).with_name("judgeboard"))
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        database = str(Path(folder) / "demo.db")
        subprocess.run(
            [judgeboard, "quickstart", "--no-serve", "--db", database],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        for command in ([judgeboard, "--help"], [judgeboard, "stats", "--db", database]):
            seconds[command[1]] = min(_seconds(command) for _ in range(TURNS))
        browser = launch(playwright)
        serve = [judgeboard, "serve", "--db", database]
        seconds["first page"] = min(_first_page(browser, serve) for _ in range(3))
        browser.close()
    for name, limit in LIMITS.items():
        print(f"{name}: {seconds[name]:.3f} s (limit {limit:g} s)")
    return int(any(seconds[name] > limit for name, limit in LIMITS.items()))


def _seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def _first_page(browser: Browser, serve: list[str]) -> float:
    """Return the seconds from the first answer of the server to the last chart of its first page."""
    with serving(serve) as url:
        page = browser.new_page()
        started = time.perf_counter()
        page.goto(url)
        page.wait_for_selector(LAST_CHART, timeout=60_000)
        page.wait_for_selector(
            "[data-testid=stApp][data-test-script-state=notRunning]", timeout=60_000
        )
        seconds = time.perf_counter() - started
        page.close()
        return seconds


if __name__ == "__main__":
    sys.exit(main())
