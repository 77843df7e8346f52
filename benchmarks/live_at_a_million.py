"""Measures pages of figures on a log that grows: the server's CPU seconds at the first look and after each change.

Opens each page, opens it again, stores one answer, opens it, decides one flag, and opens it. Prints CPU seconds, and
the most memory that the process had. Fills the database if it is empty, as million_rows.py does, and changes it.

    python benchmarks/live_at_a_million.py [--db PATH] [--rows 1000000] [--only PAGE]
"""

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

from million_rows import fill
from sqlalchemy import text
from streamlit.testing.v1 import AppTest

import judgeboard_dashboard
from judgeboard.domain import Decision, Response
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.bulk import decide_many
from judgeboard.store.engine import Store
from judgeboard.store.opening import open_store
from judgeboard.store.storing import store_responses

APP = str(Path(judgeboard_dashboard.__file__).with_name("app.py"))
PAGES = ("thresholds", "overview", "agreement", "judges", "trends", "plan")


def main() -> None:
    """Fill what is empty, then open pages between changes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", default=str(Path(tempfile.gettempdir()) / "judgeboard-million.db"))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", choices=PAGES, action="append", help="only this page")
    asked = parser.parse_args()

    os.environ["JUDGEBOARD_DB"] = asked.db
    store = open_store(asked.db, create=True)
    fill(store, asked.rows)
    print(f"{'':<12}{'first':>8}{'again':>8}{'+ answer':>10}{'+ review':>10}   CPU seconds")
    for name in asked.only or PAGES:
        times = [seconds_of(name), seconds_of(name)]
        add_answer(store)
        times.append(seconds_of(name))
        decide_flag(store)
        times.append(seconds_of(name))
        print(f"{name:<12}{times[0]:8.2f}{times[1]:8.2f}{times[2]:10.2f}{times[3]:10.2f}", flush=True)
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    store.close()


def seconds_of(name: str) -> float:
    """Open a page as a lead, and return its CPU seconds."""
    app = AppTest.from_file(APP, default_timeout=600)
    app.session_state["reviewer_name"] = "Lead"
    app.switch_page(f"views/{name}.py")
    begun = time.process_time()
    app.run()
    used = time.process_time() - begun
    assert not app.exception, app.exception
    return used


def add_answer(store: Store) -> None:
    """Store one answer, as an import does."""
    answer = Response("live", f"live-{time.time_ns()}", "How is the route?", "It is open.", ("The route is open.",))
    with store.writing() as connection:
        assert store_responses(connection, [answer]).new


def decide_flag(store: Store) -> None:
    """Decide the flags of one answer, as a lead."""
    with store.reading() as connection:
        flagged = connection.execute(text("SELECT response_id FROM flag WHERE state = 'open' LIMIT 1")).scalar_one()
    lead = ensure_reviewer(store, "page", "Lead")
    decide_many(store, {flagged}, reviewer=lead, decision=Decision.CONFIRM, bulk_id=f"live:{time.time_ns()}")


if __name__ == "__main__":
    main()
