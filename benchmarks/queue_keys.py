"""Measures the time from a decision to the next item of a queue, in a real browser on a large database.

Fills the database if it is empty (as million_rows.py) and makes a queue of its flags. Then it opens
the queue as a reviewer and decides items with a key. The page itself measures from the key press to
the second frame that shows the text of the next item. An empty Streamlit page with one button and a
key is measured in the same browser and run: it shows the share of Streamlit itself.

    python benchmarks/queue_keys.py [--db PATH|URL] [--rows 1000000] [--turns 25] [--blind]
"""

import argparse
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from million_rows import fill
from pages_in_browser import launch
from playwright.sync_api import Browser, Page, sync_playwright
from servers import JUDGEBOARD, serving

from judgeboard.domain import QueueOrder
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.queues import create_queue
from judgeboard.store.opening import open_store
from judgeboard.store.queues import new_queue
from judgeboard_dashboard.sign_in import own_cookie

LIMIT_MS = 300
REST_MS = 1_000  # somebody reads: nothing is decided on an item that just appeared
EMPTY = """
import streamlit as st
n = st.session_state.setdefault("n", 0)
st.button("Next", shortcut="y", on_click=lambda: st.session_state.update(n=n + 1))
st.html(f'<div class="jb-head" data-row="{n}">{n}</div>')
"""
# From the press to the second frame after the row changed, as the page's own clock has it.
MEASURE = """() => {
  window.measured = [];
  let begun = null, before = null;
  const row = () => document.querySelector('.jb-head')?.dataset.row;
  window.addEventListener('keydown', (event) => {
    if (event.isTrusted && /^Key[YN]$/.test(event.code)) { begun = performance.now(); before = row(); }
  }, true);
  const look = () => {
    if (begun !== null && row() !== undefined && row() !== before) {
      const from = begun;
      begun = null;
      requestAnimationFrame(() => requestAnimationFrame(() => window.measured.push(performance.now() - from)));
    }
    requestAnimationFrame(look);
  };
  look();
}"""


def main() -> None:
    """Make what is missing, serve, press, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--db", default=str(Path(tempfile.gettempdir()) / "judgeboard-million.db"))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=25)
    parser.add_argument(
        "--blind", action="store_true", help="a queue that is blind and shows the judge afterwards"
    )
    arguments = parser.parse_args()
    name = make_queue(arguments.db, arguments.rows, blind=arguments.blind)
    serve = [*JUDGEBOARD, "serve", "--db", arguments.db]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        script = Path(folder) / "empty.py"
        script.write_text(EMPTY, encoding="utf-8")
        empty = [sys.executable, "-m", "streamlit", "run", str(script), "--server.headless", "true"]
        browser = launch(playwright)
        with (
            serving(serve) as url,
            serving(empty, "--server.port", "/_stcore/health") as empty_url,
        ):
            of_queue = opened(browser, url, f"/item?queue={name.replace(' ', '+')}")
            of_empty = opened(browser, empty_url, "/")
            for _ in range(
                arguments.turns
            ):  # in turns: what else the machine does falls on both alike
                press(of_queue)
                press(of_empty)
            took, base = times(of_queue), times(of_empty)
        browser.close()
    for what, measured in (("next item", took), ("empty page", base)):
        print(
            f"{what:<12} median {median(measured):6.0f} ms   max {max(measured):6.0f} ms   n {len(measured)}"
        )
    said = "ok" if median(took) <= LIMIT_MS else "OVER"
    print(f"ratio        {median(took) / median(base):.2f}   limit {LIMIT_MS} ms  {said}")


def make_queue(database: str, rows: int, *, blind: bool) -> str:
    """Make the rows where there are none, and a queue of all flagged answers; return its name."""
    store = open_store(database, create=True)
    fill(store, rows)
    name = f"keys {datetime.now(UTC):%d %b %H:%M:%S}"
    order = QueueOrder.RANDOM if blind else QueueOrder.SEVERITY
    begun = time.perf_counter()
    rules = new_queue(
        name, order=order, blind_judge=blind, blind_people=blind, grades=(), implied_labels=False
    )
    made = create_queue(
        store, rules, by="benchmark", assigned=[ensure_reviewer(store, "page", "Mara")]
    )
    print(
        f"{store.shown_url}: {made.joined:,} answers joined the queue in {time.perf_counter() - begun:.1f} s"
    )
    store.close()
    return name


def opened(browser: Browser, url: str, address: str, name: str = "Mara") -> Page:
    """Open a page as a reviewer; it measures from its start."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, base_url=url)
    context.add_cookies(
        [{"name": own_cookie("judgeboard_reviewer", url), "value": name, "url": url}]
    )
    context.add_init_script(
        f"({MEASURE})()"
    )  # before the scripts of the page: they keep keys from those after them
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector(".jb-head, h1", timeout=120_000)
    page.wait_for_timeout(3 * REST_MS)
    return page


def press(page: Page) -> None:
    """Press the key that decides, wait for what follows, and let the page rest."""
    page.bring_to_front()
    before: Any = page.evaluate("window.measured.length")
    page.keyboard.press("y")
    page.wait_for_function("before => window.measured.length > before", arg=before, timeout=60_000)
    page.wait_for_timeout(REST_MS)


def times(page: Page) -> list[float]:
    """Return what was measured, in ms, without the first."""
    return [float(each) for each in page.evaluate("window.measured")][1:]


if __name__ == "__main__":
    main()
