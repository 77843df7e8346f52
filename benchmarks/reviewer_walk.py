"""Counts the keys that a reviewer needs for an item, and the CPU seconds of the server, for five kinds of items.

Makes the sample data, a queue of each kind, and conflicts. Then it decides items in Chromium, by
keys alone. The exit code is 1 if the keys of an item were not enough: no other screen followed.

    python benchmarks/reviewer_walk.py [--items 6]
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from pages_in_browser import launch
from playwright.sync_api import sync_playwright
from presses import NOTE, next_screen
from queue_keys import opened
from servers import JUDGEBOARD, free_port, served, usage
from walk import KEYS, LEAD, REVIEWERS, command

from judgeboard.domain import Decision, Grade, Label
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.leases import next_item
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.opening import open_store
from judgeboard.store.settings import set_setting

NAME = "Mara"
# kind -> person, address, keys of each screen of an item
KINDS = {
    "blind": (NAME, "/item?queue=blind", ("wsy", "y")),
    "flags": (NAME, "/item", ("y",)),
    "pairs": (NAME, "/item?queue=pairs", ("w",)),
    "own schema": (NAME, "/item?queue=own", ("1a4y",)),
    "conflict": (LEAD, "/conflicts", (f"{NOTE}wsy",)),
}
SCHEMA = """
name: own
fields:
  - {name: problem, type: yes_no, required: true}
  - {name: verdict, type: category, required: true, options: [{value: send, key: A}, {value: fix, key: S}]}
  - {name: tone, type: scale, required: true, levels: {1: rude, 2: cold, 3: neutral, 4: friendly, 5: warm}}
"""
QUIET = 1.0  # seconds without work of the server after which the last item is complete


def main() -> int:
    """Make the queues, serve, decide, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=6, help="of each kind")
    items = parser.parse_args().items
    address = f"http://localhost:{(port := free_port())}"
    stuck = 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        fill(Path(folder), items + 1)
        browser = launch(playwright)
        with served([*JUDGEBOARD, "serve", "--port", str(port)], f"{address}/healthz") as session:
            print(f"{'':<12}keys  CPU seconds of an item")
            for kind, (person, path, screens) in KINDS.items():
                page = opened(browser, address, path, person)
                if person == LEAD:
                    page.keyboard.press("Enter")  # starts with the first conflict
                page.wait_for_selector(".st-key-decide button kbd", timeout=60_000)
                before = quiet(session)
                for _ in range(items):
                    stuck += sum(not next_screen(page, keys) for keys in screens)
                seconds = (quiet(session) - before) / items
                keys = "".join(screens).replace(
                    NOTE, f"{NOTE}read "
                )  # what next_screen types as a note, and Esc
                print(f"{kind:<12}{len(keys):>4}{seconds:>13.3f}", flush=True)
                page.context.close()
        browser.close()
    return int(stuck > 0)


def fill(folder: Path, items: int) -> None:
    """Make the sample data, a queue of each kind, and as many conflicts."""
    database = os.environ["JUDGEBOARD_DB"] = str(folder / "sample.db")
    schema = folder / "own.yaml"
    schema.write_text(SCHEMA, encoding="utf-8")
    command("quickstart", "--no-serve", "--db", database)
    store = open_store(database)
    with store.writing() as connection:
        set_setting(
            connection, "implied_labels", ("low_groundedness",), "benchmark"
        )  # else the first decision asks
    command("queue", "create", "pairs", "--subject", "pairs", "--assign", NAME)
    for name, *rules in (
        ("blind", "--blind-judge", "--blind-people", "--assign", NAME),
        ("own", "--schema", str(schema), "--assign", NAME),
        ("conflict", "--needed", "2", "--assign", ",".join(REVIEWERS)),
    ):
        command(
            "queue",
            "create",
            name,
            "--all-answers",
            "--order",
            "random",
            "--limit",
            str(items),
            *rules,
        )
    for name, (label, groundedness, decision) in zip(REVIEWERS, KEYS.values(), strict=True):
        reviewer, grade = (
            ensure_reviewer(store, "page", name),
            Grade(label=Label(label), groundedness=groundedness),
        )
        while (leased := next_item(store, "conflict", reviewer)) is not None:
            key = f"{name} {leased.item_id}"
            submit(
                store,
                Submission(
                    token=leased.token,
                    reviewer=reviewer,
                    decision=Decision(decision),
                    grade=grade,
                    request_key=key,
                ),
            )
    store.close()


def quiet(session: int) -> float:
    """Wait until the server has nothing to do; return its CPU seconds."""
    _, before = usage(session)
    while True:
        time.sleep(QUIET)
        _, now = usage(session)
        if now - before < 0.05 * QUIET:
            return now
        before = now


if __name__ == "__main__":
    sys.exit(main())
