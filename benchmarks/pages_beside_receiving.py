"""Measures the queue page in a real browser without load, and while the same server receives spans at a steady rate.

Fills a new database with answers, flags and reviews (or takes --db), serves it, and opens the queue
again and again. Prints the median times in milliseconds and their ratio.

    python benchmarks/pages_beside_receiving.py [--db PATH|URL] [--rows 20000] [--rate 2000] [--turns 9]
"""

import argparse
import shutil
import tempfile
from pathlib import Path
from statistics import median

from million_rows import fill
from pages_in_browser import PAGES, launch, visit
from playwright.sync_api import Page, sync_playwright
from servers import JUDGEBOARD, free_port, served, usage
from span_load import Load, start_sending

from judgeboard.store.opening import open_store

LIMIT = 2.0  # the time under load may be this many times that without
BATCH = 20  # traces in a request


def main() -> None:
    """Serve, visit without and with load, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--db", help="database (default: a new SQLite file)")
    parser.add_argument("--rows", type=int, default=20_000, help="answers in a new database")
    parser.add_argument("--rate", type=int, default=2_000, help="spans per second")
    parser.add_argument("--turns", type=int, default=9)
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="pages-"))
    database = chosen.db or str(folder / "pages.db")
    try:
        if chosen.db is None:
            store = open_store(database, create=True)
            fill(store, chosen.rows)
            store.close()
        measure(chosen, database, folder)
    finally:
        shutil.rmtree(folder)


def measure(chosen: argparse.Namespace, database: str, folder: Path) -> None:
    """Visit the queue before, during and after the load."""
    port = free_port()
    address = f"http://localhost:{port}"
    command = [*JUDGEBOARD, "serve", "--db", database, "--port", str(port)]
    with (
        served(command, f"{address}/healthz", {}, folder) as session,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{address}/settings")
        page.wait_for_selector(PAGES["Settings"], timeout=60_000)
        visits(page, 2)  # the first take longer
        alone = visits(page, chosen.turns)
        used = usage(session)[1]
        sending = start_sending(
            Load(f"{address}/v1/traces", 10**9, BATCH, 4, 3 * chosen.turns + 10, chosen.rate / 3)
        )
        visits(page, 1)
        beside = visits(page, chosen.turns)
        busy = sending.busy
        traces, seconds, refused, _ = sending.result()
        used = usage(session)[1] - used
        browser.close()
    print(
        f"load: {3 * traces / seconds:,.0f} spans/s in {seconds:.0f} s, refused and sent again: {refused}"
    )
    if not busy:
        print("the load ended before the last visit: the machine is too slow for these figures")
    print(f"processor time of the server under load: {used / seconds:.2f} of a core")
    print(f"queue page: {alone:.0f} ms without load, {beside:.0f} ms with it")
    print(f"ratio: {beside / alone:.2f}   limit {LIMIT:g}")


def visits(page: Page, turns: int) -> float:
    """Open the queue several times, each time from the settings, and return the median in milliseconds."""
    times = []
    for _ in range(turns):
        visit(page, "Settings")
        times.append(visit(page, "Review"))
    return median(times)


if __name__ == "__main__":
    main()
