"""32 workers at once on one queue: nothing is decided twice, nothing is lost, nobody starves."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import func, select

from judgeboard.store.engine import Store
from judgeboard.store.tables import FLAG, LEASE, QUEUE_ITEM, REVIEW
from judging_log import address
from queue_case import race_case
from queue_race import Worked, race_threads

ITEMS, WORKERS, SHARE = 200, 32, 5


def check(store: Store, worked: list[Worked], *before: Worked) -> None:
    sys.stdout.write(f"longest wait for an item: {max(one.longest for one in worked):.2f} s\n")
    decided = Counter(item for one in (*before, *worked) for item in (*one.share, *one.rest))
    assert len(decided) == ITEMS, "some item was lost"
    assert set(decided.values()) == {1}, "some item was decided twice"
    assert [len(one.share) for one in worked] == [SHARE] * WORKERS, "somebody came away with less than their share"
    with store.reading() as connection:
        counts = {
            table.name: dict(tuple(row) for row in connection.execute(select(column, func.count()).group_by(column)))
            for table, column in (
                (FLAG, FLAG.c.state),
                (QUEUE_ITEM, QUEUE_ITEM.c.state),
                (LEASE, LEASE.c.done),
                (REVIEW, REVIEW.c.decision),
            )
        }
    assert counts == {
        "flag": {"confirmed": ITEMS},
        "queue_item": {"agreed": ITEMS},
        "lease": {True: ITEMS},
        "review": {"confirm": ITEMS},
    }


def test_threads_on_sqlite(sqlite_store: Store) -> None:
    race_case(sqlite_store, ITEMS)
    check(sqlite_store, race_threads(sqlite_store, "race", WORKERS, SHARE))


@pytest.mark.postgres
def test_processes_on_postgres(postgres_store: Store) -> None:
    race_case(postgres_store, ITEMS)
    script = Path(__file__).parents[2] / "queue_race.py"
    command = [sys.executable, str(script), address(postgres_store), "race", str(WORKERS), str(SHARE)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, *worked = (Worked(**json.loads(line)) for line in done.stdout.splitlines())
    check(postgres_store, worked, first)
