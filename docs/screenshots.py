"""Makes the screenshots of the documentation from the sample log: `uv run --group test python docs/screenshots.py`.

Needs Chromium (`apt-get install chromium`). Each page is stored in docs/images/ as NAME-light.png
and NAME-dark.png.
"""

import argparse
import io
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from judgeboard.cli.app import run

IMAGES = Path(__file__).with_name("images")
CHROMIUM = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
SERVE = "import sys; from judgeboard_dashboard.server import serve; serve(sys.argv[1], port=int(sys.argv[2]))"
WIDTH, HEIGHT = 1440, 900
COLOURS = 128
REVIEWER, BLIND_REVIEWER = "Ann", "Jon"
ADDRESSES = {
    "overview": "/",
    "review": "/open_flags",
    "item": "/item?query_type=complex&rule=feedback_gap&rule=low_groundedness&user=up",
    "blind": "/item?queue=Blind",
    "agreement": "/agreement",
    "trends": "/trends",
    "pairs": "/pairs",
    "suites": "/suites",
}


def main() -> int:
    """Make all screenshots, or those that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help=f"Pages: {', '.join(ADDRESSES)} (default: all).")
    names = parser.parse_args().names or list(ADDRESSES)
    browser_path = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if browser_path is None:
        sys.exit("Chromium is missing: apt-get install chromium")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        database = f"{folder}/sample.db"
        fill(database)
        with served(database) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"]
            )
            for scheme in ("light", "dark"):
                for name in names:
                    picture = shoot(browser, url, ADDRESSES[name], scheme)
                    file = IMAGES / f"{name}-{scheme}.png"
                    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
                    print(
                        f"{file.relative_to(IMAGES.parent)}: {file.stat().st_size / 1000:,.0f} kB"
                    )
            browser.close()
    return 0


def fill(database: str) -> None:
    """Store the sample log, and a blind queue."""
    queue = ["queue", "create", "Blind", "--where", "query_type=complex", "--where", "state=open"]
    for words in (
        ["quickstart", "--no-serve"],
        [*queue, "--blind-judge", "--blind-people", "--assign", BLIND_REVIEWER],
    ):
        if run([*words, "--db", database]):
            sys.exit(f"judgeboard {' '.join(words)} failed")


@contextmanager
def served(database: str) -> Iterator[str]:
    """Serve the database on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", SERVE, database, str(port)])
    try:
        url = f"http://localhost:{port}"
        for _ in range(120):
            if answers(f"{url}/healthz"):
                break
            time.sleep(0.5)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)


def answers(url: str) -> bool:
    """Return whether a server answers at this address."""
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def shoot(browser: Browser, url: str, address: str, scheme: str) -> Image.Image:
    """Return the picture of a page once it is complete."""
    context = browser.new_context(
        base_url=url,
        viewport={"width": WIDTH, "height": HEIGHT},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    reviewer = (
        BLIND_REVIEWER if "Blind" in address else REVIEWER
    )  # whose blind items are left out everywhere else
    context.add_cookies([{"name": "judgeboard_reviewer", "value": reviewer, "url": url}])
    page = context.new_page()
    page.goto(address)
    wait(page)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    context.close()
    return picture


def wait(page: Page) -> None:
    """Wait until the page has run and its charts are drawn."""
    page.locator("[data-testid=stMain]").wait_for(timeout=60_000)
    for _ in range(2):  # a page runs again when the browser has sent its theme
        page.locator('[data-testid=stApp][data-test-script-state="notRunning"]').wait_for(
            timeout=60_000
        )
        page.wait_for_timeout(2_000)


if __name__ == "__main__":
    sys.exit(main())
