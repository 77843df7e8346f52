"""Counts key presses that are lost or doubled under load: list of flags, blind queue, pairs, conflicts.

Makes a small database and serves it. Once a page is loaded, its browser's processor is throttled
and four processes keep all cores busy; items are reviewed with keys. Then the stored reviews are
compared with what was pressed.

    python benchmarks/presses.py [--presses 500] [--only SURFACE] [--busy 4] [--slower 4]
"""

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pages_in_browser import launch
from playwright.sync_api import Error, Page, sync_playwright
from servers import JUDGEBOARD, serving
from sqlalchemy import text

from judgeboard.domain import (
    Decision,
    Grade,
    JudgeVersion,
    Label,
    Pair,
    QueueOrder,
    Response,
    Status,
    Verdict,
)
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.leases import next_item
from judgeboard.reviews.queues import create_queue
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.opening import open_store
from judgeboard.store.pairs import store_pairs
from judgeboard.store.queues import new_queue
from judgeboard.store.settings import set_setting
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard_dashboard.sign_in import own_cookie

NAME = "Tess"
READ = 0.8  # seconds; nobody decides on an item sooner
BETWEEN = 0.06  # seconds between two keys
STUCK = 120_000  # ms without the next screen
NOTE = "m"  # begins to type a note


@dataclass(frozen=True, slots=True)
class Surface:
    """A place where items are reviewed with keys.

    ``screens`` are the keys of each screen of an item; after the last key another screen follows.
    ``stored`` are the columns decision, stage, quality, groundedness, label and preference of the
    reviews of one item.
    """

    address: str
    screens: tuple[str, ...]
    stored: tuple[tuple[object, ...], ...]

    @property
    def presses(self) -> int:
        """The number of presses for one item."""
        return sum(map(len, self.screens))


SURFACES = {
    "list": Surface("/item?query_type=list", ("3dy",), (("confirm", None, 3, 0.5, None, None),)),
    "queue": Surface(
        "/item?queue=blind",
        ("wdy", "y"),
        (
            ("confirm", "blind", None, 0.5, "hallucinated", None),
            ("confirm", "revealed", None, 0.5, "hallucinated", None),
        ),
    ),
    "pairs": Surface("/item?queue=pairs", ("w",), ((None, "blind", None, None, None, "tie"),)),
    "conflicts": Surface(
        "/conflicts?conflict={conflict}",
        (f"{NOTE}qdn",),
        (("dismiss", "adjudication", None, 0.5, "grounded", None),),
    ),
}
REVIEWS = """
    SELECT coalesce(r.response_id, -r.pair_id), r.decision, r.stage, r.quality, r.groundedness, r.label, p.preference
    FROM review r JOIN reviewer w ON w.id = r.reviewer_id LEFT JOIN preference_score p ON p.review_id = r.id
    WHERE w.name = :name AND r.id > :after ORDER BY r.id
"""


def main() -> int:
    """Make, serve, press, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--presses", type=int, default=500, help="in all, shared among the surfaces"
    )
    parser.add_argument("--only", choices=SURFACES)
    parser.add_argument("--busy", type=int, default=4, help="processes that keep the cores busy")
    parser.add_argument(
        "--slower", type=int, default=4, help="how much slower the browser's processor is"
    )
    arguments = parser.parse_args()
    names = [arguments.only] if arguments.only else list(SURFACES)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "presses.db"
        store = open_store(path, create=True)
        fill(
            store,
            1 + max(arguments.presses // len(names) // SURFACES[name].presses for name in names),
        )
        serve = [*JUDGEBOARD, "serve", "--db", str(path)]
        browser = launch(playwright)
        with serving(serve) as url:
            context = browser.new_context(viewport={"width": 1440, "height": 900}, base_url=url)
            context.add_cookies(
                [{"name": own_cookie("judgeboard_reviewer", url), "value": NAME, "url": url}]
            )
            page = context.new_page()
            for name in names:
                begun = time.perf_counter()
                items = arguments.presses // len(names) // SURFACES[name].presses
                walked = walk(
                    page,
                    store,
                    name,
                    items,
                    partial(loaded, page, arguments.busy, arguments.slower),
                )
                wrong += walked.lost + walked.doubled
                print(f"{name:<10} {walked}   {time.perf_counter() - begun:.0f} s", flush=True)
        browser.close()
        store.close()
    return int(wrong > 0)


@dataclass
class Walked:
    """What came of the presses on a surface; ``stuck`` are screens that no other followed."""

    items: int
    presses: int
    stuck: int = 0
    lost: int = 0
    doubled: int = 0

    def __str__(self) -> str:
        outcome = f"{self.lost} lost, {self.doubled} doubled, {self.stuck} stuck"
        return f"{self.presses} presses on {self.items} items: {outcome}"


def walk(
    page: Page,
    store: Store,
    name: str,
    items: int,
    load: Callable[[], AbstractContextManager[None]] = nullcontext,
    go: Callable[[Page, str], object] = Page.goto,
) -> Walked:
    """Review so many items with keys under a load, and compare what is stored with what was pressed."""
    surface = SURFACES[name]
    with store.reading() as connection:
        last = connection.execute(text("SELECT coalesce(max(id), 0) FROM review")).scalar_one()
        conflict = connection.execute(
            text("SELECT min(id) FROM queue_item WHERE state = 'conflict'")
        ).scalar_one()
    go(page, surface.address.format(conflict=conflict))
    walked = Walked(items, items * surface.presses)
    page.wait_for_selector(".jb-head[data-row]", timeout=60_000)
    page.wait_for_selector("button kbd")
    with load():
        for _ in range(items):
            for keys in surface.screens:
                walked.stuck += not next_screen(page, keys)
    with store.reading() as connection:
        rows = [
            tuple(row) for row in connection.execute(text(REVIEWS), {"name": NAME, "after": last})
        ]
    subjects = {row[0] for row in rows}
    stored, expected = (
        Counter(rows),
        Counter((subject, *each) for subject in subjects for each in surface.stored),
    )
    for row in sorted(set(rows) - set(expected), key=str):
        print(f"stored: {row}", flush=True)
    walked.lost = items * len(surface.stored) - sum((stored & expected).values())
    walked.doubled = (stored - expected).total()
    return walked


def next_screen(page: Page, keys: str) -> bool:
    """Read, press the keys, and wait for the next screen or the end of the items; False if none follows."""
    row = page.locator(".jb-head").get_attribute("data-row")
    time.sleep(READ)
    for key in keys:
        page.keyboard.press(key)
        if key == NOTE:
            page.keyboard.type("read")
            page.keyboard.press("Escape")
        time.sleep(BETWEEN)
    try:
        page.wait_for_function(
            """row => (document.querySelector('.jb-head')?.dataset.row ?? row) !== row
                || (!document.querySelector('.jb-head') && document.querySelector('.jb-empty'))""",
            arg=row,
            timeout=STUCK,
        )
    except Error:  # it took too long
        page.reload()
        return False
    return True


def fill(store: Store, items: int) -> None:
    """Store ``items`` flagged answers for the list, the blind queue and the conflicts, and as many pairs."""
    passages = ("Granite cools slowly. Basalt cools fast.",)
    with store.writing() as connection:
        set_setting(connection, "random_share", 0, "benchmark")
        set_setting(
            connection, "implied_labels", ("low_groundedness",), "benchmark"
        )  # else the first decision asks
        judge = ensure_version(connection, JudgeVersion("rag", "rag"))
        for kind in ("list", "blind", "conflict"):
            answers = [
                Response(
                    "log",
                    f"{kind}-{number}",
                    f"Question {number}?",
                    f"Answer {number}.",
                    passages,
                    kind,
                )
                for number in range(items)
            ]
            low = Verdict(Status.OK, groundedness=0.1, quality=2, reasoning="It is not there.")
            ids = store_responses(connection, answers).new
            store_judgments(connection, judge, None, [NewJudgment(one, 0, 0, low) for one in ids])
        store_pairs(
            connection,
            [Pair("log", f"p{n}", f"Which, {n}?", f"left {n}", f"right {n}") for n in range(items)],
        )
    people = [ensure_reviewer(store, "page", name) for name in ("Mara", "Jon")]
    presser = ensure_reviewer(store, "page", NAME)
    for kind, needed in (("blind", 1), ("conflict", 2)):
        rules = new_queue(
            kind,
            RowFilter(query_types=(kind,)),
            order=QueueOrder.OLDEST,
            needed=needed,
            blind_people=True,
            blind_judge=True,
            grades=("label", "groundedness"),
        )
        create_queue(
            store, rules, by="benchmark", assigned=people if kind == "conflict" else [presser]
        )
    pairs = new_queue("pairs", order=QueueOrder.OLDEST, subject="pairs")
    create_queue(store, pairs, by="benchmark", assigned=[presser])
    for reviewer, decision in zip(people, (Decision.CONFIRM, Decision.DISMISS), strict=True):
        while (leased := next_item(store, "conflict", reviewer)) is not None:
            key = f"{reviewer.name} {leased.item_id}"
            grade = Grade(
                label=Label.GROUNDED, groundedness=0.5 if reviewer.name == "Mara" else 1.0
            )
            submit(
                store,
                Submission(
                    token=leased.token,
                    reviewer=reviewer,
                    decision=decision,
                    grade=grade,
                    request_key=key,
                ),
            )


@contextmanager
def loaded(page: Page, processes: int, slower: float) -> Iterator[None]:
    """Throttle the browser's processor and keep so many cores busy until the end of the block."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    with busy(processes):
        yield
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    devtools.detach()


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep so many cores busy until the end of the block; the processes end with this one."""
    burning = [multiprocessing.Process(target=_burn, daemon=True) for _ in range(processes)]
    for process in burning:
        process.start()
    try:
        yield
    finally:
        for process in burning:
            process.kill()


def _burn() -> None:
    parent = multiprocessing.parent_process()
    while parent is not None and parent.is_alive():
        sum(range(100_000))


if __name__ == "__main__":
    sys.exit(main())
