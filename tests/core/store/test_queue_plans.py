"""However large its queues are, progress and splits are read from indexes, in as many statements."""

import pytest

from judgeboard.domain import QueueOrder
from judgeboard.reviews.leases import skip
from judgeboard.reviews.outcome import load_conflict, open_conflicts, own_conflicts
from judgeboard.reviews.queues import queue_progress
from judgeboard.store.engine import Store
from judgeboard.store.leases import JUDGE
from judgeboard.store.queue_items import item_by_id, leased_where_visible
from query_plans import plans_of
from queue_case import CONFIRM, DISMISS, QueueCase, queue_case

LARGE = ("queue_item", "queue_item_flag", "lease", "review", "response", "pair", "flag")


@pytest.fixture
def case(sqlite_store: Store) -> QueueCase:
    """A queue in which people did a bit of everything."""
    case = queue_case(sqlite_store)
    case.flagged(0.1, 0.2, 0.3, 0.4)
    case.queue(needed=2, sampling_rate=0.2, order=QueueOrder.OLDEST, assigned=(case.mara, case.jon))
    case.review(case.mara, CONFIRM)
    case.review(case.jon, DISMISS)
    skip(case.store, case.lease(case.mara).token, case.mara, now=case.now)
    return case


def scans(plans: list[str]) -> list[str]:
    """Steps that read a whole large table, or an index of it."""
    steps = [step.strip() for plan in plans for step in plan.splitlines()]
    return [step for step in steps if any(step == f"SCAN {name}" or step.startswith(f"SCAN {name} ") for name in LARGE)]


def test_progress_reads_the_items_and_what_was_said_and_not_what_waits(case: QueueCase) -> None:
    with case.store.reading() as connection, plans_of(case.store) as plans:
        assert queue_progress(connection, "q", now=case.now).conflict == 1
    assert scans(plans) == []
    assert len(plans) <= 12
    of_leases = [step for plan in plans for step in plan.splitlines() if "lease" in step]
    assert of_leases
    assert all("ix_lease_reviewer (reviewer_id=? AND queue_id=?" in step for step in of_leases)


def test_splits_are_found_by_their_state(case: QueueCase) -> None:
    with case.store.reading() as connection, plans_of(case.store) as plans:
        (line,) = open_conflicts(connection).lines
        own_conflicts(connection, case.mara.id)
        load_conflict(connection, line.item.item_id, case.lead)
    assert scans(plans) == []
    assert any("ix_queue_item_state (queue_id=? AND state=?)" in plan for plan in plans)


def test_whether_an_answer_was_in_sight_elsewhere_is_found_by_the_answer(case: QueueCase) -> None:
    leased = case.lease(case.jon)
    with case.store.reading() as connection:
        item = item_by_id(connection, leased.item_id)
        with plans_of(case.store) as plans:
            assert not leased_where_visible(connection, item, case.jon.id, JUDGE, case.now)
    assert any("queue_item_id=? AND reviewer_id=?" in plan for plan in plans)
    assert not any("ix_lease_reviewer" in plan for plan in plans), "all that they ever took"
