"""Counts what a datum passes on its way: record types, source files and packages of a row, a press and a kappa.

Imports a file of answers, presses Y on an item of a queue, and computes a kappa, each a second
time, so that nothing is prepared any more. A record type is counted if at least one of its records
is made on the way, a file if one of its functions is called, a call between packages also if a
package gets the next item of a generator of the other. For the imported rows, only records and
files count that are met at least once for each of them. The documentation shows the calls
(docs/reference/architecture.md).

    python benchmarks/passes.py [--list]
"""

import argparse
import contextlib
import io
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import judgeboard
import judgeboard_dashboard
from judgeboard.cli.app import run
from judgeboard.domain import Decision, Label, QueueOrder
from judgeboard.measure.agreement_page import agreement_page
from judgeboard.measure.choice import CountedGrades
from judgeboard.measure.ratings import PairSource
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.queues import create_queue
from judgeboard.store.engine import Store
from judgeboard.store.opening import open_store
from judgeboard.store.queues import new_queue
from judgeboard.store.settings import set_setting
from judgeboard_dashboard.review.actions import QueueActions
from judgeboard_dashboard.review.drafts import ReviewSession
from judgeboard_dashboard.review.leases import begin
from judgeboard_dashboard.review.signals import primary_verdict

ROWS = 40
# A folder above may be called like a package: so a clone is.
PACKAGES = tuple(
    Path(module.__file__ or "").parent for module in (judgeboard, judgeboard_dashboard)
)


@dataclass
class Way:
    """How often each record type was made, each file and function entered, and each package called by another.

    A function is named with its file, such as "reviews/checks.py:missing_grades".
    """

    records: Counter[str] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)

    def at_least(self, times: int) -> "Way":
        """Return the records and files that were met at least so often, with all functions and calls."""
        records = Counter({name: n for name, n in self.records.items() if n >= times})
        files = Counter({name: n for name, n in self.files.items() if n >= times})
        return Way(records, files, self.functions, self.calls)


@contextmanager
def followed() -> Iterator[Way]:
    """Follow all calls of this thread until the end of the block."""
    way = Way()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        file = _file(code)
        if file is not None:
            way.files[file] += 1
            way.functions[f"{file.partition('/')[2]}:{code.co_qualname}"] += 1
            caller = frame.f_back
            while caller is not None and _file(caller.f_code) is None:
                caller = caller.f_back
            callers_file = None if caller is None else _file(caller.f_code)
            if callers_file is not None and _package(callers_file) != _package(file):
                way.calls[_package(callers_file), _package(file)] += 1
        if code.co_name in {"__init__", "__new__"} and code.co_varnames:
            first = frame.f_locals.get(code.co_varnames[0])
            made = first if isinstance(first, type) else type(first)
            fields = is_dataclass(made) or hasattr(made, "_fields") or hasattr(made, "model_fields")
            if fields and made.__module__.startswith("judgeboard"):
                way.records[f"{made.__module__}.{made.__qualname__}"] += 1

    sys.setprofile(note)
    try:
        yield way
    finally:
        sys.setprofile(None)


@cache
def _file(code: CodeType) -> str | None:
    """Return a source file of Judgeboard as it is imported, such as "judgeboard/store/flags.py", else None."""
    file = Path(code.co_filename)
    return next(
        (
            file.relative_to(package.parent).as_posix()
            for package in PACKAGES
            if file.is_relative_to(package)
        ),
        None,
    )


def _package(file: str) -> str:
    return ".".join(file.removesuffix(".py").split("/")[:2])


def command(*words: str) -> None:
    """Run a command of Judgeboard in this process, without its output."""
    with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.redirect_stderr(shown):
        code = run(words)
    if code:
        raise SystemExit(f"judgeboard {' '.join(words)}: exit code {code}\n{shown.getvalue()}")


def imported_rows(folder: Path, database: Path) -> Way:
    """Import answers with a judge's scores twice, and follow the second import."""
    for batch in range(2):
        log = folder / f"log-{batch}.jsonl"
        rows = [
            {
                "id": f"{batch}-{number}",
                "question": f"Which rock is number {number}?",
                "answer": f"Basalt {number}.",
                "passages": ["Granite cools slowly.", "Basalt cools fast."],
                "feedback": number % 2,
            }
            for number in range(ROWS)
        ]
        log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        with followed() as way:
            command("import", str(log), "--db", str(database), "--source", "log")
    return way.at_least(ROWS)


def pressed_key(store: Store) -> Way:
    """Press Y on the first two items of a queue, and follow the second press."""
    mara = ensure_reviewer(store, "page", "Mara")
    with store.writing() as connection:
        set_setting(connection, "implied_labels", (), "benchmark")  # else the first decision asks
    create_queue(store, new_queue("q", order=QueueOrder.OLDEST), by="benchmark", assigned=[mara])
    work, session = begin(store, "q", mara), ReviewSession()
    for place in range(2):
        work.lease_items(1)
        leased = work.current
        if leased is None or leased.item is None:
            raise SystemExit("the queue has no item")
        leased.shown = True
        actions = QueueActions(
            store=store,
            session=session,
            reviewer=mara,
            row=f"q{place}",
            request_key=session.request_key(f"q{place}"),
            subject=leased.subject,
            name=leased.name,
            seconds=lambda: 3.0,
            judgment=primary_verdict(leased.item),
            work=work,
            leased=leased,
        )
        draft = session.draft(leased.subject)
        draft.label, draft.groundedness, draft.quality = Label.HALLUCINATED, 0.5, 2
        with followed() as way:
            actions.decide(Decision.CONFIRM)
        if work.done != place + 1:
            raise SystemExit(f"the press was not stored: {session.message}")
    return way


def kappa(folder: Path, database: Path) -> Way:
    """Grade the imported answers, compute agreement twice, and follow the second."""
    grades = folder / "grades.jsonl"
    rows = (
        {
            "response_id": answer,
            "reviewer": "Ada",
            "label": "hallucinated" if number % 3 else "grounded",
        }
        for number, answer in enumerate(
            f"{batch}-{row}" for batch in range(2) for row in range(ROWS)
        )
    )
    grades.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command("import", str(grades), "--kind", "grades", "--db", str(database), "--source", "log")
    command("judge", "--judge", "lexical", "--yes", "--db", str(database))
    for _ in range(2):
        with followed() as way:
            command("agreement", "--db", str(database))
    return way


def kappa_of_page(store: Store) -> Way:
    """Make the data of the page Agreement twice, as the page does, and follow the second time."""
    for _ in range(2):
        with followed() as way, store.reading() as connection:
            source = PairSource(connection, CountedGrades())
            agreement_page(source, version_id=source.versions("label")[0].id)
    return way


def followed_ways() -> dict[str, Way]:
    """Follow the data, about six seconds; the kappa once as a command prints it, and once as the page gets it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = folder / "ways.db"
        store = open_store(database, create=True)
        ways = {"imported row": imported_rows(folder, database)}
        ways["press of Y"] = pressed_key(store)
        ways["kappa"] = kappa(folder, database)
        ways["kappa of page"] = kappa_of_page(store)
        store.close()
    return ways


def main() -> int:
    """Follow, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="print the names of the record types, files and packages",
    )
    listed = parser.parse_args().list
    for what, way in followed_ways().items():
        print(f"{what:14} {len(way.records):3} record types   {len(way.files):3} files")
        if listed:
            for each, times in [*sorted(way.records.items()), *sorted(way.files.items())]:
                print(f"    {times:6}  {each}")
            for (caller, called), times in sorted(way.calls.items()):
                print(f"    {times:6}  {caller} calls {called}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
