"""A server killed in the middle of ten reviewers' work has lost nothing that it acknowledged as stored."""

import subprocess
import sys
from pathlib import Path

from sqlalchemy import select

from judgeboard.store.engine import Store
from judgeboard.store.tables import LEASE, REVIEW
from judging_log import address
from queue_case import race_case
from queue_race import work

ITEMS, REVIEWERS = 160, 10
SCRIPT = Path(__file__).parents[2] / "queue_race.py"


def acknowledged(database: str, until: int) -> dict[int, int]:
    """Let ten reviewers work and kill their process after so many acknowledged reviews; return them with their item."""
    command = [sys.executable, str(SCRIPT), database, "race", str(REVIEWERS), "acknowledge"]
    decided: dict[int, int] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.endswith("\n"):
                review, item = line.split()
                decided[int(review)] = int(item)
            if len(decided) == until:
                process.kill()
    return decided


def test_no_acknowledged_decision_is_lost_and_the_rest_goes_on(store: Store) -> None:
    race_case(store, ITEMS)
    decided = acknowledged(address(store), until=40) | acknowledged(address(store), until=60)
    assert len(decided) >= 100
    review, lease = REVIEW, LEASE
    with store.reading() as connection:
        stored = dict(tuple(row) for row in connection.execute(select(review.c.id, review.c.queue_item_id)))
        used = dict(tuple(row) for row in connection.execute(select(lease.c.review_id, lease.c.queue_item_id)))
    assert decided.items() <= stored.items()
    used.pop(None)
    assert used == stored  # none half-written
    with store.writing() as connection:
        connection.execute(lease.update().where(lease.c.done.is_(False)).values(until=None))  # their time is over
    done = work(store, "race", "late", ITEMS)
    assert sorted([*stored.values(), *done.share]) == sorted(set(stored.values()) | set(done.share))
    assert len(stored) + len(done.share) == ITEMS
