"""Walks through Judgeboard by keys alone as three people, on real answers, and prints what each step took.

A newcomer installs the wheel in a new environment, runs `judgeboard quickstart FILE` and decides a first answer. Two
reviewers review answers in a blind queue, with label and groundedness; they differ on some. A lead adjudicates the
conflicts and makes the report. An empty Streamlit page beside the queue shows the share of Streamlit itself, as in
queue_keys.py.

    python benchmarks/walk.py FILE [--answers 50] [--wheel WHEEL]

FILE is a log of at least as many answers, for example RAGTruth as JSON lines. Without --wheel nothing is installed.
Exit code 1 if a press was lost.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from pathlib import Path
from statistics import median

from pages_in_browser import launch
from playwright.sync_api import Browser, Page, sync_playwright
from presses import NOTE, READ, REVIEWS, next_screen
from queue_keys import EMPTY, opened, press, times
from servers import JUDGEBOARD, serving
from sqlalchemy import text

from judgeboard.store.engine import Store, open_store

QUEUE, REVIEWERS, LEAD = "walk", ("Ann", "Ben"), "Lea"
DIFFER = 0.2  # share of the answers on which the second reviewer differs
# keys -> label, groundedness and decision that they store
KEYS = {"wsy": ("hallucinated", 0.2, "confirm"), "qgy": ("grounded", 1.0, "dismiss")}
LIMIT = 1.5  # times an empty page


def main() -> int:
    """Walk as each person, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--answers", type=int, default=50)
    parser.add_argument("--wheel", type=Path)
    arguments = parser.parse_args()
    lost = 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        database = Path(folder) / "walk.db"
        os.environ["JUDGEBOARD_DB"] = str(database)
        empty = Path(folder) / "empty.py"
        empty.write_text(EMPTY, encoding="utf-8")
        streamlit = [sys.executable, "-m", "streamlit", "run", str(empty), "--server.headless", "true"]
        browser = launch(playwright)
        begun = time.perf_counter()
        judgeboard = JUDGEBOARD if arguments.wheel is None else installed(arguments.wheel, Path(folder) / "new")
        with serving([*judgeboard, "quickstart", str(arguments.file.resolve())]) as url:
            print_time("newcomer: log imported, judged and served", begun)
            newcomer(browser, url)
            print_time("newcomer: empty folder to first decision", begun)
            command("queue", "create", QUEUE, "--all-answers", "--limit", str(arguments.answers), "--order", "random",
                    "--needed", "2", "--blind-judge", "--blind-people", "--assign", ",".join(REVIEWERS))  # fmt: skip
            store = open_store(database)
            with serving(streamlit, "--server.port", "/_stcore/health") as empty_url:
                beside = opened(browser, empty_url, "/")
                for name in REVIEWERS:
                    lost += reviewer(browser, url, store, name, arguments.answers, beside)
            lost += lead(browser, url, store)
            store.close()
        browser.close()
        begun = time.perf_counter()
        report = Path(folder) / "report.html"
        command("agreement", "--report", str(report))
        print_time(f"lead: report of {report.stat().st_size / 1000:,.0f} kB", begun)
    return int(lost > 0)


def newcomer(browser: Browser, url: str) -> None:
    """Open the pages, go to the first flagged answer, and confirm under the suggested name."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}, base_url=url).new_page()
    page.goto("/")
    go_to(page, "Start reviewing")
    page.wait_for_selector(".jb-head[data-row]", timeout=60_000)
    page.wait_for_selector(".st-key-decide button kbd")
    time.sleep(READ)
    page.keyboard.press("y")  # asks once whether the decision implies a label
    page.get_by_role("button", name="Yes, store the label").wait_for()
    time.sleep(READ)
    page.keyboard.press("Enter")  # Y and N never answer a question about labels
    page.wait_for_selector(".jb-head .jb-saved")
    page.context.close()


def reviewer(browser: Browser, url: str, store: Store, name: str, answers: int, beside: Page) -> int:
    """Review all items of the queue, each key beside one on the empty page; return how many reviews are wrong."""
    page = opened(browser, url, "/", name)
    begun, expected, stuck = time.perf_counter(), Counter[tuple[object, ...]](), 0
    go_to(page, QUEUE)
    page.wait_for_selector(".st-key-decide button kbd", timeout=60_000)
    for _ in range(answers):
        keys = keys_for(name, page.locator(".jb-answer").first.inner_text())
        page.bring_to_front()
        for screen, stage in ((keys, "blind"), ("y", "revealed")):
            stuck += not next_screen(page, screen)
            label, groundedness, decision = KEYS[keys]
            expected[decision, stage, groundedness, label] += 1
        press(beside)
    print_time(f"{name}: {answers} answers reviewed", begun)
    # Each item has two screens. The first time, to the first revealed judge, is not among the times.
    to_next, to_judge, empty = median(times(page)[::2]), median(times(page)[1::2]), median(times(beside))
    mark = "ok" if to_next <= LIMIT * empty else "OVER"
    print(f"{name}: key to next item {to_next:.0f} ms, empty page {empty:.0f} ms: {to_next / empty:.2f} times {mark}")
    print(f"{name}: the third of three keys to the judge: {to_judge:.0f} ms")
    page.context.close()
    return compared(store, name, expected, stuck)


def lead(browser: Browser, url: str, store: Store) -> int:
    """Adjudicate all conflicts; return how many adjudications are wrong."""
    with store.reading() as connection:
        conflicts = connection.execute(text("SELECT count(*) FROM queue_item WHERE state = 'conflict'")).scalar_one()
    if conflicts == 0:
        return 0
    page = opened(browser, url, "/", LEAD)
    begun = time.perf_counter()
    go_to(page, "Adjudicate conflicts")
    page.wait_for_url("**/conflicts*")
    page.get_by_role("button", name="Start").press("Enter")
    page.wait_for_selector(".st-key-decide button kbd", timeout=60_000)
    stuck = sum(not next_screen(page, f"{NOTE}wsy") for _ in range(conflicts))
    print_time(f"{LEAD}: {conflicts} conflicts adjudicated", begun)
    page.context.close()
    return compared(store, LEAD, Counter({("confirm", "adjudication", 0.2, "hallucinated"): conflicts}), stuck)


def keys_for(name: str, answer: str) -> str:
    """Return what a person presses on an answer: the same each time, and another person differs on some."""
    number = zlib.crc32(answer.encode())
    differs = name != REVIEWERS[0] and number % 1000 < DIFFER * 1000
    return list(KEYS)[(number // 1000 + differs) % 2]


def compared(store: Store, name: str, expected: Counter[tuple[object, ...]], stuck: int) -> int:
    """Print how far the stored reviews of a person are those that were pressed; return how many are not."""
    with store.reading() as connection:
        rows = connection.execute(text(REVIEWS), {"name": name, "after": 0}).all()
    stored = Counter((row.decision, row.stage, row.groundedness, row.label) for row in rows)
    lost, doubled = (expected - stored).total(), (stored - expected).total()
    print(f"{name}: {lost} lost, {doubled} doubled, {stuck} stuck", flush=True)
    return lost + doubled


def go_to(page: Page, words: str) -> None:
    """Open what the command palette finds first."""
    page.wait_for_selector(".st-key-palette button", timeout=60_000)
    page.keyboard.press("/")
    page.wait_for_selector("[role=dialog] .st-key-palette_text input:focus")
    page.keyboard.type(words)
    page.wait_for_selector(f'[role=dialog] [class*="st-key-palette_to_"] button:has-text("{words}")')
    page.keyboard.press("Enter")


def installed(wheel: Path, folder: Path) -> list[str]:
    """Install a wheel in a new environment; return the command."""
    begun = time.perf_counter()
    subprocess.run(["uv", "venv", "--quiet", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    subprocess.run(["uv", "pip", "install", "--quiet", "--python", python, str(wheel)], check=True)
    print_time("newcomer: wheel installed", begun)
    return [str(folder / "bin" / "judgeboard")]


def command(*words: str) -> None:
    """Run a command; end where it fails."""
    subprocess.run([*JUDGEBOARD, *words], check=True, stdout=subprocess.DEVNULL)


def print_time(what: str, begun: float) -> None:
    """Print how long something took."""
    print(f"{what}: {time.perf_counter() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
