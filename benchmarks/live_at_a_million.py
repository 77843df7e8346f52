"""Measures pages of figures on a log that grows, in a server and a real browser: at the first look, after each change.

Opens each page, opens it again, stores one answer, opens it, decides one flag, and opens it. Prints
the server's CPU seconds of each look, the time in Chromium until the page is complete, and the
memory of the server after the last look. Fills the database if it is empty, as million_rows.py
does, and changes it. With ``--alone`` each page has a new server.

    python benchmarks/live_at_a_million.py [--db PATH] [--rows 1000000] [--only PAGE] [--alone]
"""

import argparse
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from million_rows import fill
from pages_in_browser import launch
from playwright.sync_api import Browser, sync_playwright
from servers import JUDGEBOARD, free_port, served, usage
from sqlalchemy import text

from judgeboard.domain import Decision, Response
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.bulk import decide_many
from judgeboard.store.engine import Store
from judgeboard.store.opening import open_store
from judgeboard.store.storing import store_responses

PAGES = {
    "thresholds": "thresholds",
    "overview": "",
    "agreement": "agreement",
    "judges": "judges",
    "trends": "trends",
}
PAGES |= {"plan": "queues?new=plan"}
QUIET = 1.0  # seconds without work of the server after which a look is over


def main() -> None:
    """Fill what is empty, then open pages between changes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--db", default=str(Path(tempfile.gettempdir()) / "judgeboard-million.db"))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", choices=PAGES, action="append", help="only this page")
    parser.add_argument("--alone", action="store_true", help="a new server for each page")
    asked = parser.parse_args()

    if Path(asked.db).exists():
        subprocess.run([*JUDGEBOARD, "db", "migrate", "--db", asked.db], check=True)
    store = open_store(asked.db, create=True)
    fill(store, asked.rows)
    subprocess.run(
        [*JUDGEBOARD, "db", "migrate", "--db", asked.db], check=True
    )  # stores what texts tell
    pages = asked.only or [*PAGES]
    print(
        f"{'':<12}{'first':>14}{'again':>14}{'+ answer':>14}{'+ review':>14}   CPU seconds, seconds in Chromium"
    )
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for group in [[page] for page in pages] if asked.alone else [pages]:
            measure(store, asked.db, group, browser)
        browser.close()
    store.close()


def measure(store: Store, db: str, pages: Sequence[str], browser: Browser) -> None:
    """Start a server, open these pages between changes, and print what each look took."""
    port = free_port()
    address = f"http://localhost:{port}"
    command = [*JUDGEBOARD, "serve", "--db", db, "--port", str(port)]
    with served(command, f"{address}/healthz") as session:
        for name in pages:

            def look(name: str = name) -> str:
                cpu, seconds = seconds_of(f"{address}/{PAGES[name]}", session, browser)
                return f"{cpu:7.2f}{seconds:7.2f}"

            looks = [look(), look()]
            add_answer(store)
            looks.append(look())
            decide_flag(store)
            looks.append(look())
            print(f"{name:<12}" + "".join(looks) + f"{usage(session)[0]:8.0f} MB", flush=True)


def seconds_of(address: str, session: int, browser: Browser) -> tuple[float, float]:
    """Open a page, and return the server's CPU seconds and the seconds until the page was complete."""
    _, before = usage(session)
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    started = time.monotonic()
    page.goto(address)
    page.wait_for_selector("[data-testid=stMain] h1", timeout=60_000)
    page.wait_for_selector("[data-testid=stStatusWidget]", state="detached", timeout=120_000)
    seconds = time.monotonic() - started
    cpu = usage(session)[1]
    while True:
        time.sleep(QUIET)
        _, now = usage(session)
        if now - cpu < 0.05 * QUIET:
            break
        cpu, seconds = now, time.monotonic() - started
    assert not page.locator("[data-testid=stException]").count(), page.inner_text("body")
    page.close()
    return now - before, seconds


def add_answer(store: Store) -> None:
    """Store one answer, as an import does."""
    answer = Response(
        "live",
        f"live-{time.time_ns()}",
        "How is the route?",
        "It is open.",
        ("The route is open.",),
    )
    with store.writing() as connection:
        assert store_responses(connection, [answer]).new


def decide_flag(store: Store) -> None:
    """Decide the flags of one answer, as a lead."""
    with store.reading() as connection:
        flagged = connection.execute(
            text("SELECT response_id FROM flag WHERE state = 'open' LIMIT 1")
        ).scalar_one()
    lead = ensure_reviewer(store, "page", "Lead")
    decide_many(
        store, {flagged}, reviewer=lead, decision=Decision.CONFIRM, bulk_id=f"live:{time.time_ns()}"
    )


if __name__ == "__main__":
    main()
