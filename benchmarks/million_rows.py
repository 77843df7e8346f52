"""Measures the time of pages on a large log: 1,000,000 answers with judgments, 200,000 flags, 50,000 reviews.

Fills the database if it is empty; an existing file is used again. Then it reads every page several
times on one connection and prints the median in milliseconds, the CPU time of this process, and the
limit if there is one. CPU time of a database server is not included.

    python benchmarks/million_rows.py [--db PATH|URL] [--rows 1000000] [--turns 7] [--only WORD]
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from million_data import COMMON, MIDDLE, NOW, RARE, TODAY, UNSURE_BY, make
from sqlalchemy import Connection, text

from judgeboard.health.report import health_page, judges_in_use
from judgeboard.measure.agreement import every_judge
from judgeboard.measure.agreement_page import agreement_page
from judgeboard.measure.ratings import PairSource
from judgeboard.measure.trend import trend
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.items import load_item
from judgeboard.store.open_flags import ORDERS, neighbours, open_counts, queue_facets, queue_page
from judgeboard.store.opening import open_store
from judgeboard.store.overview import overview
from judgeboard.store.response_pages import response_facets, response_page

PAGE = 50
Reading = tuple[str, int | None, Callable[[Connection], Any]]  # what, its limit in ms, how

WEEK = RowFilter(day_from=TODAY - 20, day_to=TODAY - 14)
ONE_FILTER = {
    "rule": RowFilter(rules=("judges_disagree",)),
    "rare rule": RowFilter(rules=("judge_failed",)),
    "query type": RowFilter(query_types=("simple",)),
    "rare query type": RowFilter(query_types=("legal",)),
    "judge": RowFilter(judge="nli"),
    "score range": RowFilter(min_score=0.1, max_score=0.3),
    "week": WEEK,
    "without a time": RowFilter(no_time=True),
    "source": RowFilter(sources=("pilot",)),
    "id": RowFilter(ids=("log-0000503",)),
}
TEXTS = {
    "rare": RARE,
    "1 in 100": MIDDLE,
    "6 in 10": COMMON,
    "absent": "nosuchword",
    "three letters": "the",
}
ANSWERS = {
    "all": RowFilter(),
    "query type": RowFilter(query_types=("simple",)),
    "week of a trend": replace(WEEK, query_types=("simple",), judge="rag", min_score=0),
    "judge low, user down": RowFilter(judge_side="low", user="down"),
    "score range": RowFilter(min_score=0, max_score=0.2),
    "graded": RowFilter(graded=True),
    "rule": RowFilter(rules=("feedback_gap",)),
    "failed": RowFilter(statuses=("unparsable",)),
}


def main() -> None:
    """Make what is missing, read, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--db", default=str(Path(tempfile.gettempdir()) / "judgeboard-million.db"))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--only", default="", help="only what has this word in its name")
    asked = parser.parse_args()

    store = open_store(asked.db, create=True)
    fill(store, asked.rows)
    print(f"{store.shown_url}, median of {asked.turns} in ms")
    with store.reading() as connection:
        for what, limit, how in readings(connection):
            if asked.only in what:
                took, used = milliseconds(partial(how, connection), asked.turns)
                said = (
                    ""
                    if limit is None
                    else f"  limit {limit:>4}  {'ok' if took <= limit else 'OVER'}"
                )
                print(f"{what:<40} {took:8.1f}  cpu {used:7.1f}{said}", flush=True)
    store.close()


def fill(store: Store, rows: int) -> None:
    """Make the rows in an empty database.

    Raises:
        SystemExit: It holds another number of answers.
    """
    with store.reading() as connection:
        there = connection.execute(text("SELECT count(*) FROM response")).scalar_one()
    if there == rows:
        return
    if there:
        raise SystemExit(
            f"{store.shown_url} holds {there:,} answers, not {rows:,}: name another --db or --rows {there}"
        )
    begun = time.perf_counter()
    make(
        store, rows, lambda line: print(f"{line} ({time.perf_counter() - begun:.0f} s)", flush=True)
    )
    print(f"made {rows:,} answers in {time.perf_counter() - begun:.0f} s")


def readings(connection: Connection) -> Iterator[Reading]:
    """Yield every page with its filters; keys of far pages are looked up first."""
    everything = RowFilter()
    far = _far_key(connection)
    yield "queue, page 1", 20, partial(queue_page, where=everything)
    yield (
        "queue, page 1, of a reviewer",
        20,
        partial(queue_page, where=everything, reviewer_id=UNSURE_BY),
    )
    if far is not None:
        yield "queue, page 1,000", 20, partial(queue_page, where=everything, after=far)
    for order in ORDERS:
        yield f"queue, sorted {order}", 20, partial(queue_page, where=everything, sort=order)
    for name, where in ONE_FILTER.items():
        yield f"queue, filter {name}", 50, partial(queue_page, where=where)
    for name, words in TEXTS.items():
        yield f"queue, text {name}", 500, partial(queue_page, where=RowFilter(text=words))
    flag = queue_page(connection, everything, limit=1).lines[0]
    place = partial(
        neighbours, where=everything, sort="worst", flag_id=flag.flag_id, reviewer_id=UNSURE_BY
    )
    yield "item", 20, partial(load_item, response_id=flag.response_id)
    yield "neighbours of an item", None, place
    yield "open flags by rule and type", None, open_counts
    yield "choices of the queue", None, queue_facets
    for name, where in ANSWERS.items():
        yield f"responses, {name}", None, partial(response_page, where=where)
    for name, words in TEXTS.items():
        yield f"responses, text {name}", None, partial(response_page, where=RowFilter(text=words))
    yield "responses, lowest first", None, partial(response_page, where=everything, sort="lowest")
    yield "choices of the responses", None, response_facets
    yield "overview", None, partial(overview, reviewer_id=UNSURE_BY, today=NOW.date())
    yield "trend, groundedness by week", 400, partial(trend, measure="groundedness", period="week")
    yield "trend, share flagged by day", 400, partial(trend, measure="flagged_share", period="day")
    yield "agreement, label", 400, label_agreement
    yield "agreement page", None, lambda connection: agreement_page(PairSource(connection))
    yield "judges page, nothing kept of earlier looks", None, judges_page


def label_agreement(connection: Connection) -> Any:
    """Measure every figure of every judge version and query type on labels."""
    return list(every_judge(connection, ["label"]))


def judges_page(connection: Connection) -> Any:
    """Read the checks of the newest judge version as a page does that nobody has opened yet."""
    versions = judges_in_use(connection)
    return health_page(connection, versions[0])


def milliseconds(read: Callable[[], Any], turns: int) -> tuple[float, float]:
    """Return the median time of a reading and of its use of this process's processor, without the first reading."""
    read()
    took, used = [], []
    for _ in range(turns):
        begun, busy = time.perf_counter(), time.process_time()
        read()
        used.append((time.process_time() - busy) * 1000)
        took.append((time.perf_counter() - begun) * 1000)
    return median(took), median(used)


def _far_key(connection: Connection) -> str | None:
    """The key that page 1,000 comes after, None where there is no such page."""
    page = queue_page(connection, RowFilter(), limit=999 * PAGE)
    return page.next_key


if __name__ == "__main__":
    main()
