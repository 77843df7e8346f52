"""Measures the time of a page of a large log in a real browser, from the click in the navigation to its last element.

Serves a database (for example of million_rows.py), opens each page once, and then goes back and
forth. Prints the median in milliseconds. The settings page, which reads almost nothing, shows the
share of Streamlit itself.

    python benchmarks/pages_in_browser.py --db PATH [--turns 5]
"""

import argparse
import shutil
import time
from statistics import median

from playwright.sync_api import Browser, Page, Playwright, sync_playwright
from servers import JUDGEBOARD, serving

# page in the navigation -> what is there when it is complete
PAGES = {
    "Settings": "text=Rules",
    "Review": "[data-testid=stDataFrame] canvas",
    "Trends": "[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg",
}
LIMIT_MS = {"Review": 1000, "Trends": 1000}
# The shell draws the same pages with a seventh less work: it has no window of its own.
CHROMIUM = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def launch(playwright: Playwright, *options: str) -> Browser:
    """Start Chromium as the system has it, none is downloaded; raise FileNotFoundError where it is missing."""
    path = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if path is None:
        raise FileNotFoundError("Chromium is missing: apt-get install chromium-headless-shell")
    return playwright.chromium.launch(executable_path=path, args=(*OPTIONS, *options))


def main() -> None:
    """Serve, visit, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--db", required=True)
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    with (
        serving([*JUDGEBOARD, "serve", "--db", arguments.db]) as address,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{address}/settings")
        page.wait_for_selector(PAGES["Settings"], timeout=60_000)
        times = {name: [visit(page, name)] for name in ("Review", "Trends", "Settings")}
        for _ in range(arguments.turns):
            for name in ("Review", "Settings", "Trends", "Settings"):
                times[name].append(visit(page, name))
        browser.close()
    for name, taken in times.items():
        limit = f"   limit {LIMIT_MS[name]}" if name in LIMIT_MS else ""
        print(
            f"{name:10} first {taken[0]:6.0f} ms   then median {median(taken[1:]):6.0f} ms{limit}"
        )


def visit(page: Page, name: str) -> float:
    """Click a page's name in the menu and return the milliseconds until it is complete."""
    link = page.locator("[data-testid=stTopNavLink]").get_by_text(name, exact=True)
    link.wait_for()
    started = time.perf_counter()
    link.click()
    page.wait_for_selector(f"h1:has-text('{name}')")
    page.wait_for_selector(PAGES[name], timeout=60_000)
    page.wait_for_function(
        "!document.querySelector('[data-testid=stStatusWidget]')", timeout=60_000
    )
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
