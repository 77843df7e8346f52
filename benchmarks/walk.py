"""Walks through Judgeboard on real answers, by clicks and by keys, and prints what each walk took.

Five walks take the shortest way with the mouse, as somebody does who knows where everything is.
Each prints its clicks, its key presses (in text fields only) and its seconds, and fails if what it
came for is not on the screen:

- first: from an empty folder to the first decision. It starts with the installation of the wheel
  (with --wheel) and `judgeboard quickstart FILE`, which no clicks are needed for.
- trust: from an own CSV file with people's labels, through import and judging, to the figure that
  shows whether the judge can be trusted.
- week: from a bad week on Trends to its answers, an issue about them, and the issue fixed.
- queue: a queue of 20 answers for two people, who review all of them, and a conflict to its gold
  label.
- worry: which judge and which query type to worry about, from the first page.

The last three are on the sample data. The dialog in which the system asks for a file is not
counted.

The walk `keys` is by keys alone, as three people. A newcomer runs `judgeboard quickstart FILE` and
decides a first answer. Two reviewers review answers in a blind queue, with label and groundedness;
they differ on some. A lead adjudicates the conflicts and makes the report. An empty Streamlit page
beside the queue shows the share of Streamlit itself, as in queue_keys.py.

    python benchmarks/walk.py FILE [--walk NAME ...] [--answers 50] [--wheel WHEEL] [--pictures FOLDER]

FILE is a log of at least as many answers, for example RAGTruth as JSON lines. A field `label` has
people's labels; without it, they are made up. Without --wheel nothing is installed. With
--pictures, the end of each walk by clicks is stored as a picture. Exit code 1 if a press was lost.
"""

import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import median
from urllib.parse import quote

from pages_in_browser import launch
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from presses import NOTE, READ, REVIEWS, next_screen
from queue_keys import EMPTY, opened, press, times
from servers import JUDGEBOARD, serving
from sqlalchemy import text

from judgeboard.store.engine import Store
from judgeboard.store.opening import open_store
from judgeboard_dashboard.sign_in import own_cookie

QUEUE, REVIEWERS, LEAD = "walk", ("Ann", "Ben"), "Lea"
DIFFER = 0.2  # share of the answers on which the second reviewer differs
# keys -> label, groundedness and decision that they store
KEYS = {"wsy": ("hallucinated", 0.2, "confirm"), "qgy": ("grounded", 1.0, "dismiss")}
LIMIT = 1.5  # times an empty page


ROWS = 60  # of the own CSV file
ITEMS = 20  # of the queue for two people
BAD_WEEK, BAD_POINT = "12 Oct 2026", 7  # in which the groundedness of the sample data falls
HAND = 0.3  # seconds from one click to the next; nobody is faster
SECONDS = 60  # until what a walk waits for must be there


def main() -> int:
    """Walk, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--walk", choices=WALKS, nargs="+", default=list(WALKS))
    parser.add_argument("--answers", type=int, default=50)
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--pictures", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    expect.set_options(timeout=SECONDS * 1000)
    lost = 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = launch(playwright)
        for name in arguments.walk:
            place = Place(
                browser,
                Path(folder),
                arguments.file.resolve(),
                arguments.wheel,
                arguments.pictures,
                arguments.answers,
            )
            lost += WALKS[name](place)
        browser.close()
    return int(lost > 0)


@dataclass(frozen=True, slots=True)
class Place:
    """What the walks share: the browser, a folder that is removed at the end, and the arguments of the command."""

    browser: Browser
    folder: Path
    log: Path
    wheel: Path | None
    pictures: Path | None
    answers: int

    def database(self, name: str) -> Path:
        """Make a database the one that all commands use; return its path."""
        path = self.folder / f"{name}.db"
        os.environ["JUDGEBOARD_DB"] = str(path)
        return path

    def sample(self, name: str) -> Path:
        """Make a copy of the sample data the database that all commands use; return its path."""
        original = self.folder / "sample.db"
        if not original.exists():
            command("quickstart", "--no-serve", "--db", str(original))
        path = self.database(name)
        shutil.copy(original, path)
        return path

    def serving(self) -> AbstractContextManager[str]:
        """Serve the database until the end of the block; yields the address."""
        return serving([*JUDGEBOARD, "serve"])


@dataclass
class Clicks:
    """People with a mouse: their windows, and what they clicked and pressed together."""

    name: str
    place: Place
    url: str
    clicks: int = 0
    keys: int = 0
    begun: float = field(default_factory=time.perf_counter)

    def window(self, person: str | None = None) -> Page:
        """Open the first page in a new window, as a person whose name is known, or as a new one."""
        context = self.place.browser.new_context(
            viewport={"width": 1440, "height": 900}, base_url=self.url
        )
        if person is not None:
            name = own_cookie("judgeboard_reviewer", self.url)
            context.add_cookies([{"name": name, "value": person, "url": self.url}])
        page = context.new_page()
        page.goto("/")
        return page

    def click(self, target: Locator) -> None:
        """Wait until the page is drawn and the hand is there, then click."""
        time.sleep(HAND)
        idle(target.page)
        target.click(timeout=SECONDS * 1000)
        self.clicks += 1

    def type(self, page: Page, words: str, *keys: str) -> None:
        """Type into the field that has the focus, then press the keys."""
        page.keyboard.type(words)
        for key in keys:
            page.keyboard.press(key)
        self.keys += len(words) + len(keys)

    def upload(self, page: Page, file: Path) -> None:
        """Click the button of the field for a file, and choose the file in the dialog of the system."""
        with page.expect_file_chooser() as chooser:
            self.click(
                page.get_by_test_id("stFileUploaderDropzone").get_by_text("Upload", exact=True)
            )
        chooser.value.set_files(file)

    def arrived(self, *figures: Locator) -> None:
        """End the walk: what it came for must be on the screen. Then print what it took."""
        for each in figures:
            expect(each).to_be_visible()
        seconds = time.perf_counter() - self.begun
        print(f"{self.name}: {self.clicks} clicks, {self.keys} keys, {seconds:.1f} s", flush=True)
        page = figures[0].page
        if self.place.pictures is not None:
            self.place.pictures.mkdir(parents=True, exist_ok=True)
            idle(page)
            page.set_viewport_size({"width": 1440, "height": 1900})
            idle(page)
            page.screenshot(path=self.place.pictures / f"{self.name}.png")
        page.context.close()


def idle(page: Page) -> None:
    """Wait until the page is drawn."""
    page.wait_for_selector(
        "[data-testid=stApp][data-test-script-state=notRunning]", timeout=SECONDS * 1000
    )
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)


def menu(page: Page, name: str) -> Locator:
    """Return a page in the menu."""
    return page.get_by_test_id("stTopNavLink").get_by_text(name, exact=True)


def tab(page: Page, name: str) -> Locator:
    """Return a tab of a page, beside its title."""
    return page.locator(".st-key-page_head").get_by_role("link", name=name, exact=True)


def button(page: Page, name: str | re.Pattern[str]) -> Locator:
    """Return the first button with these words."""
    return page.get_by_role("button", name=name).first


def choice(page: Page, name: str) -> Locator:
    """Return one of a few choices that are side by side."""
    return page.get_by_test_id("stButtonGroup").get_by_text(name, exact=True)


def keyed(page: Page, key: str) -> Locator:
    """Return the button in the container with a key, whatever its words are."""
    return page.locator(f".st-key-{key} button").first


def first(place: Place) -> int:
    """Install, run quickstart, open the pages, and decide the first flagged answer."""
    begun = time.perf_counter()
    place.database("first")
    judgeboard = (
        JUDGEBOARD if place.wheel is None else installed(place.wheel, place.folder / "first")
    )
    with serving([*judgeboard, "quickstart", str(place.log)]) as url:
        walk = Clicks("first", place, url, begun=begun)
        page = walk.window()
        walk.click(button(page, "Start reviewing"))
        page.wait_for_selector(".jb-head[data-row]")
        time.sleep(READ)
        walk.click(keyed(page, "confirm"))
        walk.arrived(page.locator(".jb-head .jb-saved").get_by_text("Saved: confirmed"))
    return 0


def trust(place: Place) -> int:
    """Import an own file of answers and grades, judge the answers by word overlap, and open Agreement."""
    place.database("trust")
    file = own_csv(place.log, place.folder / "own.csv")
    with place.serving() as url:
        walk = Clicks("trust", place, url)
        page = walk.window()
        walk.click(button(page, "Import a log"))
        walk.upload(page, file)
        walk.click(keyed(page, "import_start"))
        walk.click(button(page, "Show agreement"))
        walk.click(button(page, "Judge answers"))
        walk.click(page.get_by_label("Judge version"))
        walk.click(page.get_by_role("option", name="New judge: word overlap, offline"))
        walk.click(button(page, f"Judge {ROWS} answers"))
        expect(page.get_by_text(re.compile("^Done"))).to_be_visible()
        walk.click(menu(page, "Judges"))
        walk.arrived(page.get_by_text(re.compile("kappa is")))
    return 0


def own_csv(log: Path, file: Path) -> Path:
    """Write the first answers of a log with people's labels; return the file."""
    with log.open(encoding="utf-8") as lines, file.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(("id", "question", "answer", "contexts", "annotator", "label"))
        for row in map(json.loads, islice(lines, ROWS)):
            label = row.get("label") or KEYS[keys_for(REVIEWERS[0], row["answer"])][0]
            context = (
                row["context"] if isinstance(row["context"], str) else "\n\n".join(row["context"])
            )
            rows.writerow((row["id"], row["query"], row["answer"], context, REVIEWERS[0], label))
    return file


def week(place: Place) -> int:
    """Open the answers of the week that is bad on Trends, open an issue about them, and store that it is fixed."""
    place.sample("week")
    with place.serving() as url:
        walk = Clicks("week", place, url)
        page = walk.window(LEAD)
        walk.click(menu(page, "Trends"))
        expect(page.get_by_text(BAD_WEEK).first).to_be_visible()
        idle(page)
        points = page.get_by_test_id("stVegaLiteChart").first.locator(
            "path[aria-roledescription^=point]"
        )
        walk.click(points.nth(BAD_POINT))
        expect(page.get_by_text(BAD_WEEK).first).to_be_visible()
        walk.click(button(page, "Open an issue"))
        walk.click(page.get_by_label("Title", exact=True))
        walk.type(page, "Wrong grades", "Tab")
        walk.click(button(page, "Open issue"))
        expect(page.get_by_text(re.compile(r"^\d+: Wrong grades"))).to_be_visible()
        walk.click(choice(page, "Fixed"))
        walk.click(button(page, "Save changes"))
        walk.arrived(
            page.get_by_text(re.compile("Answers with this problem before the fix: 100 %"))
        )
    return 0


def queue(place: Place) -> int:
    """Make a queue for two people, review all of its answers as each, and adjudicate a conflict as a lead."""
    place.sample("queue")
    with place.serving() as url:
        walk = Clicks("queue", place, url)
        page = walk.window(LEAD)
        walk.click(menu(page, "Review"))
        walk.click(tab(page, "Queues"))
        walk.click(button(page, "New queue"))
        walk.click(page.get_by_label("Name", exact=True))
        walk.type(page, QUEUE)
        walk.click(page.locator(".st-key-nq_reviews_needed").get_by_test_id("stNumberInputStepUp"))
        walk.click(page.locator(".st-key-nq_size input"))
        walk.type(page, str(ITEMS))
        walk.click(page.locator(".st-key-nq_people input"))
        for name in REVIEWERS:
            walk.type(page, name, "Enter")
        walk.type(page, "", "Escape")
        walk.click(button(page, "Create queue"))
        expect(page.get_by_text(f"Created: {QUEUE} with {ITEMS} answers.")).to_be_visible()
        for name in REVIEWERS:
            review(walk, walk.window(name), name)
        page.reload()
        walk.click(button(page, re.compile("conflict")))
        walk.click(button(page, "Start"))
        screen(page)
        walk.click(keyed(page, "labelW"))
        walk.click(keyed(page, "groundednessS"))
        walk.click(page.locator(".st-key-notebox_note input"))
        walk.type(page, "read", "Tab")
        walk.click(keyed(page, "decide"))
        walk.arrived(page.locator(".jb-head .jb-saved").get_by_text("is adjudicated: confirmed"))
    return 0


def review(walk: Clicks, page: Page, name: str) -> None:
    """Review all items of the queue, from the first page on."""
    walk.click(button(page, "Start"))
    for _ in range(ITEMS):
        row = screen(page)
        bad = (
            KEYS[keys_for(name, page.locator(".jb-answer").first.inner_text())][0] == "hallucinated"
        )
        walk.click(keyed(page, f"label{'W' if bad else 'Q'}"))
        walk.click(keyed(page, f"groundedness{'S' if bad else 'G'}"))
        time.sleep(HAND)
        idle(page)
        decides = (
            page.locator(".st-key-save").count() > 0
        )  # the label makes the decision, unless it leaves it open
        walk.click(keyed(page, "save" if decides else "confirm" if bad else "dismiss"))
        expect(page.locator(f".jb-head[data-row='{row}']")).to_have_count(0)
    page.context.close()


def screen(page: Page) -> str:
    """Wait for the screen of an item and read it; return its row."""
    page.wait_for_selector(".st-key-decide button", timeout=SECONDS * 1000)
    idle(page)
    time.sleep(READ)
    return str(page.locator(".jb-head").get_attribute("data-row"))


def worry(place: Place) -> int:
    """Open Agreement and all figures: judge versions beside each other, and agreement per query type."""
    place.sample("worry")
    with place.serving() as url:
        walk = Clicks("worry", place, url)
        page = walk.window(LEAD)
        walk.click(menu(page, "Judges"))
        walk.click(page.get_by_text("All figures"))
        walk.arrived(
            page.get_by_text(re.compile("^Judge versions")).first, page.get_by_text("sql · 39")
        )
    return 0


def by_keys(place: Place) -> int:
    """Walk by keys alone as each person; return how many presses were lost."""
    lost = 0
    database = place.database("keys")
    empty = place.folder / "empty.py"
    empty.write_text(EMPTY, encoding="utf-8")
    streamlit = [sys.executable, "-m", "streamlit", "run", str(empty), "--server.headless", "true"]
    begun = time.perf_counter()
    judgeboard = (
        JUDGEBOARD if place.wheel is None else installed(place.wheel, place.folder / "keys")
    )
    with serving([*judgeboard, "quickstart", str(place.log)]) as url:
        print_time("newcomer: log imported, judged and served", begun)
        newcomer(place.browser, url)
        print_time("newcomer: empty folder to first decision", begun)
        command("queue", "create", QUEUE, "--all-answers", "--limit", str(place.answers), "--order", "random",
                "--needed", "2", "--blind-judge", "--blind-people", "--assign", ",".join(REVIEWERS))  # fmt: skip
        store = open_store(database)
        with serving(streamlit, "--server.port", "/_stcore/health") as empty_url:
            beside = opened(place.browser, empty_url, "/")
            for name in REVIEWERS:
                lost += reviewer(place.browser, url, store, name, place.answers, beside)
        lost += lead(place.browser, url, store)
        store.close()
    begun = time.perf_counter()
    report = place.folder / "report.html"
    command("agreement", "--report", str(report))
    print_time(f"lead: report of {report.stat().st_size / 1000:,.0f} kB", begun)
    return lost


def newcomer(browser: Browser, url: str) -> None:
    """Open the pages, go to the first flagged answer, and confirm under the suggested name."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}, base_url=url).new_page()
    page.goto("/item")
    page.wait_for_selector(".jb-head[data-row]", timeout=60_000)
    page.wait_for_selector(".st-key-decide button kbd")
    time.sleep(READ)
    page.keyboard.press("y")  # asks once whether the decision implies a label
    page.get_by_role("button", name="Yes, store the label").wait_for()
    time.sleep(READ)
    page.keyboard.press("Enter")  # Y and N never answer a question about labels
    page.wait_for_selector(".jb-head .jb-saved")
    page.context.close()


def reviewer(
    browser: Browser, url: str, store: Store, name: str, answers: int, beside: Page
) -> int:
    """Review all items of the queue, each key beside one on the empty page; return how many reviews are wrong."""
    page = opened(browser, url, f"/item?queue={quote(QUEUE)}", name)
    begun, expected, stuck = time.perf_counter(), Counter[tuple[object, ...]](), 0
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
    # Each item has two screens. The first time, to the first revealed judge, is not among the
    # times.
    to_next, to_judge, empty = (
        median(times(page)[::2]),
        median(times(page)[1::2]),
        median(times(beside)),
    )
    mark = "ok" if to_next <= LIMIT * empty else "OVER"
    print(
        f"{name}: key to next item {to_next:.0f} ms, empty page {empty:.0f} ms: {to_next / empty:.2f} times {mark}"
    )
    print(f"{name}: the third of three keys to the judge: {to_judge:.0f} ms")
    page.context.close()
    return compared(store, name, expected, stuck)


def lead(browser: Browser, url: str, store: Store) -> int:
    """Adjudicate all conflicts; return how many adjudications are wrong."""
    with store.reading() as connection:
        conflicts = connection.execute(
            text("SELECT count(*) FROM queue_item WHERE state = 'conflict'")
        ).scalar_one()
    if conflicts == 0:
        return 0
    page = opened(browser, url, "/conflicts", LEAD)
    begun = time.perf_counter()
    page.get_by_role("button", name="Start").press("Enter")
    page.wait_for_selector(".st-key-decide button kbd", timeout=60_000)
    stuck = sum(not next_screen(page, f"{NOTE}wsy") for _ in range(conflicts))
    print_time(f"{LEAD}: {conflicts} conflicts adjudicated", begun)
    page.context.close()
    return compared(
        store, LEAD, Counter({("confirm", "adjudication", 0.2, "hallucinated"): conflicts}), stuck
    )


def keys_for(name: str, answer: str) -> str:
    """Return what a person presses on an answer: the same each time, and another person differs on some."""
    number = zlib.crc32(answer.encode())
    differs = name != REVIEWERS[0] and number % 1000 < DIFFER * 1000
    return list(KEYS)[(number // 1000 + differs) % 2]


def compared(store: Store, name: str, expected: Counter[tuple[object, ...]], stuck: int) -> int:
    """Print how far the stored reviews of a person are those that were pressed; return how many are not."""
    with store.reading() as connection:
        rows = connection.execute(text(REVIEWS), {"name": name, "after": 0}).all()
    stored: Counter[tuple[object, ...]] = Counter(
        (row.decision, row.stage, row.groundedness, row.label) for row in rows
    )
    lost, doubled = (expected - stored).total(), (stored - expected).total()
    print(f"{name}: {lost} lost, {doubled} doubled, {stuck} stuck", flush=True)
    return lost + doubled


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


WALKS: dict[str, Callable[[Place], int]] = {
    "first": first,
    "trust": trust,
    "week": week,
    "queue": queue,
    "worry": worry,
    "keys": by_keys,
}
"""Each walk by its name; it returns how many presses were lost."""

if __name__ == "__main__":
    sys.exit(main())
