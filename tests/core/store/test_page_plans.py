"""On 5,000 answers every page reads the index it is meant to read, and sorts nothing that an index holds in order."""

from datetime import UTC, date, datetime

import pytest
from million_data import make

from judgeboard.domain import QueueOrder
from judgeboard.reviews.outcome import load_conflict, open_conflicts, own_conflicts
from judgeboard.reviews.queues import queue_progress
from judgeboard.store.comparisons import latest_comparisons
from judgeboard.store.filters import RowFilter, describe
from judgeboard.store.items import load_item
from judgeboard.store.leases import JUDGE
from judgeboard.store.open_flags import (
    ORDERS,
    flag_after,
    neighbours,
    open_counts,
    queue_facets,
    queue_page,
)
from judgeboard.store.overview import overview
from judgeboard.store.pairs import last_rows, load_pairs
from judgeboard.store.preferences import load_preferences
from judgeboard.store.queue_items import item_by_id, leased_where_visible
from judgeboard.store.response_pages import response_facets, response_page
from judgeboard.store.tables import REVIEW, TRACE
from judgeboard.store.traces import latest_traces, list_sources, unused_traces
from judgeboard.store.verdicts import count_verdicts
from pair_log import add_pairs, people_say, record
from query_plans import plans_of, whole_tables
from queue_case import CONFIRM, DISMISS, queue_case
from stored_rows import insert_row, read, values_of

ROWS = 5_000  # a plan is the same for a million: SQLite knows no numbers of rows
LARGE = ("response", "judgment", "current_judgment", "flag", "review", "user_feedback")

# The first judgment of all, the failed ones and the judges there are: few rows, each a step of its
# own.
SORTED = "TEMP B-TREE FOR ORDER BY"
NARROW = {"SCAN judge_version", "SCAN judgment", "SCAN judgment USING INDEX ix_judgment_not_ok"}

OWN = [
    RowFilter(),
    RowFilter(rules=("judge_failed",)),
    RowFilter(query_types=("legal",)),
    RowFilter(judge="nli"),
    RowFilter(min_score=0.1, max_score=0.3),
    RowFilter(min_quality=3),
    RowFilter(sources=("pilot",)),
    RowFilter(day_from=20_700, day_to=20_706),
    RowFilter(no_time=True),
]
ELSEWHERE = [
    RowFilter(text="anchor"),
    RowFilter(text="zyzzogeton"),
    RowFilter(ids=("log-0000500",)),
    RowFilter(graded=True),
    RowFilter(user="down"),
    RowFilter(judge_side="low"),
    RowFilter(models=("mistral-7b",)),
    RowFilter(statuses=("unparsable",)),
    RowFilter(response_ids=(1, 2, 3)),
]


@pytest.fixture(scope="module")
def large(new_store):
    store = new_store()
    make(store, ROWS, lambda _line: None)
    return store


def planned(store, function, *given, **options):
    """What a function reads, and the plan of each of its queries."""
    with plans_of(store) as plans:
        return read(store, function, *given, **options), plans


def plans_of_two_pages(store, function, *given):
    page, plans = planned(store, function, *given, limit=5)
    if page.next_key:
        plans += planned(store, function, *given, after=page.next_key, limit=5)[1]
    return plans


def plan_with(words, plans):
    return next(plan for plan in plans if words in plan)


def scans(plan):
    """Steps that read a whole large table, or an index of it with its rows looked up."""
    return [
        step
        for step in plan.splitlines()
        if any(
            step == f"SCAN {table}" or step.startswith(f"SCAN {table} USING INDEX")
            for table in LARGE
        )
        and step not in NARROW
    ]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("where", OWN, ids=describe)
def test_the_queue_is_read_in_the_order_of_its_index(large, where, order):
    plans = plans_of_two_pages(large, queue_page, where, order)
    for beside in (neighbours, flag_after):
        plans += planned(large, beside, where, order, 3_000)[1]
    assert f"COVERING INDEX {ORDERS[order].index}" in plans[0]
    for plan in plans:
        assert scans(plan) == []
        # Only what 50 users said.
        assert "SEARCH user_feedback" in plan or SORTED not in plan


@pytest.mark.parametrize("where", ELSEWHERE, ids=describe)
def test_what_other_tables_decide_is_worked_out_once(large, where):
    _, plans = planned(large, queue_page, where, reviewer_id=2)
    listed = plan_with("MATERIALIZE found", plans)
    assert listed.count("MATERIALIZE found") == 1
    assert "COVERING INDEX ix_flag_open_severity" in listed
    assert [step for step in scans(listed) if "response" in step or "judgment" in step] == []


@pytest.mark.parametrize(
    "where",
    [
        *(
            each
            for each in OWN
            if not (each.judge or each.rules or each.min_score or each.min_quality)
        ),
        RowFilter(models=("mistral-7b",)),
    ],
    ids=describe,
)
def test_answers_are_read_in_the_order_of_their_index(large, where):
    plans = plans_of_two_pages(large, response_page, where)
    assert "COVERING INDEX ix_response_asked" in plans[0]
    for plan in plans:
        assert scans(plan) == []
    assert SORTED not in plans[0]


def test_the_lowest_scores_are_read_in_the_order_of_their_index(large):
    _, plans = planned(large, response_page, RowFilter(), "lowest")
    listed = plan_with("ix_current_judgment_score", plans)
    assert "TEMP B-TREE" not in listed
    assert "COVERING INDEX ix_current_judgment_score" in listed


@pytest.mark.parametrize("sort", ["newest", "lowest"])
@pytest.mark.parametrize(
    "where",
    [
        RowFilter(unscored="groundedness"),
        RowFilter(unscored="quality", judge="nli"),
        RowFilter(unscored="quality", judge_version=3, query_types=("simple",)),
    ],
    ids=describe,
)
def test_answers_without_a_score_are_found_in_an_index(large, where, sort):
    plans = plans_of_two_pages(large, response_page, where, sort)
    assert "COVERING INDEX ix_current_judgment" in plan_with("MATERIALIZE page", plans)
    for plan in plans:
        assert scans(plan) == []


@pytest.mark.parametrize(
    "where",
    [RowFilter(text="zyzzogeton"), RowFilter(ids=("log-0000500",)), RowFilter(response_ids=(5, 7))],
    ids=describe,
)
def test_few_answers_are_looked_up_by_id(large, where):
    _, plans = planned(large, response_page, where)
    assert "PRIMARY KEY (rowid=?)" in plan_with("MATERIALIZE found", plans)


def test_a_drill_down_of_a_trend_reads_its_days_only(large):
    where = RowFilter(
        query_types=("simple",), judge="rag", min_score=0, day_from=20_700, day_to=20_706
    )
    page, plans = planned(large, response_page, where)
    assert page.total > 0
    listed = plan_with("MATERIALIZE found", plans)
    assert "ix_response_asked (kind=?" in listed
    assert "COVERING INDEX ix_current_judgment_trend" in listed


def test_an_item_is_a_handful_of_lookups(large):
    *_, reviewed = values_of(large, REVIEW.c.response_id)
    _, plans = planned(large, load_item, reviewed)
    # With the scores that its reviews give.
    assert len(plans) <= 14
    for plan in plans:
        assert [
            step for step in plan.splitlines() if step.startswith("SCAN") and step not in NARROW
        ] == []


def test_choices_and_counts_touch_no_row(large):
    for choices in (open_counts, queue_facets, response_facets):
        _, plans = planned(large, choices)
        assert [step for plan in plans for step in scans(plan)] == []


def test_the_verdicts_of_a_version_are_counted_in_an_index(large):
    count, (plan,) = planned(large, count_verdicts, 1)
    assert count > 0
    assert "USING COVERING INDEX" in plan
    assert scans(plan) == []


def test_the_overview_reads_indexes_and_the_feedback(large):
    _, plans = planned(large, overview, 2, date(2026, 11, 2))
    for plan in plans:
        assert [step for step in scans(plan) if step != "SCAN user_feedback"] == []


def test_the_latest_traces_of_a_source_are_read_in_the_order_of_their_index(sqlite_store):
    for unused in (False, True):
        _, plans = planned(sqlite_store, latest_traces, "shop", unused=unused)
        assert all("INDEX ix_trace_source (source=?" in plan for plan in plans)
        assert not any(SORTED in plan for plan in plans)
    monday = datetime(2026, 11, 2, tzinfo=UTC)
    insert_row(sqlite_store, TRACE, {}, source="shop", state="none", last_at=monday)
    traces, plans = planned(sqlite_store, unused_traces, monday)
    assert traces is not None
    assert [plan for plan in plans if "ix_trace_source" not in plan or "SCAN" in plan] == []
    _, (plan,) = planned(sqlite_store, list_sources)
    assert plan.endswith("COVERING INDEX ix_trace_source")


@pytest.fixture
def judged(sqlite_store):
    """Pairs that a judge compared and people spoke of, and the judge version."""
    pair_ids = add_pairs(sqlite_store, 30)
    version = record(sqlite_store, pair_ids, {"ab": "a" * 30, "ba": "b" * 30})
    people_say(sqlite_store, pair_ids[3], "a", "b")
    return pair_ids, version.id


def test_a_pair_is_read_by_its_keys(sqlite_store, judged):
    (*_, pair_id), version_id = judged
    with plans_of(sqlite_store) as plans, sqlite_store.reading() as connection:
        assert load_pairs(connection, [pair_id])
        assert latest_comparisons(connection, version_id, pair_id)
        load_preferences(connection, [pair_id])
    assert any("comparison" in plan for plan in plans)
    assert whole_tables(plans) == []


def test_whether_rows_were_added_is_read_off_the_ends_of_the_tables(sqlite_store, judged):
    before, plans = planned(sqlite_store, last_rows)
    assert before[:4] == (30, 60, 2, 0)
    assert "SEARCH" in plans[-1]
    assert whole_tables(plans) == []
    people_say(sqlite_store, judged[0][4], "a")
    assert read(sqlite_store, last_rows) == (*before[:2], 3, *before[3:])


TABLES_OF_QUEUES = ("queue_item", "queue_item_flag", "lease", "review", "response", "pair", "flag")


@pytest.fixture
def case(sqlite_store):
    """A queue in which people did a bit of everything."""
    case = queue_case(sqlite_store)
    case.flagged(0.1, 0.2, 0.3, 0.4)
    case.queue(needed=2, sampling_rate=0.2, order=QueueOrder.OLDEST, assigned=(case.mara, case.jon))
    case.review(case.mara, CONFIRM)
    case.review(case.jon, DISMISS)
    case.skip(case.lease(case.mara), case.mara)
    return case


def scans_of_queues(plans):
    """Steps that read a whole large table, or an index of it."""
    starts = tuple(f"SCAN {name} " for name in TABLES_OF_QUEUES)
    steps = [step.strip() for plan in plans for step in plan.splitlines()]
    return [step for step in steps if f"{step} ".startswith(starts)]


def test_progress_reads_the_items_and_what_was_said_and_not_what_waits(case):
    progress, plans = planned(case.store, queue_progress, "q", now=case.now)
    assert progress.conflict == 1
    assert scans_of_queues(plans) == []
    assert len(plans) <= 12
    of_leases = [step for plan in plans for step in plan.splitlines() if "lease" in step]
    assert of_leases
    assert all("ix_lease_reviewer (reviewer_id=?" in step for step in of_leases)


def test_splits_are_found_by_their_state(case):
    with case.store.reading() as connection, plans_of(case.store) as plans:
        (line,) = open_conflicts(connection).lines
        own_conflicts(connection, case.mara.id)
        load_conflict(connection, line.item.item_id, case.lead)
    assert scans_of_queues(plans) == []
    assert any("ix_queue_item_state (queue_id=?" in plan for plan in plans)


def test_whether_an_answer_was_in_sight_elsewhere_is_found_by_the_answer(case):
    item = case.read(item_by_id, case.lease(case.jon).item_id)
    looked_up = leased_where_visible, item, case.jon.id, JUDGE, case.now
    is_visible, plans = planned(case.store, *looked_up)
    assert not is_visible
    assert any("queue_item_id=? AND reviewer_id=?" in plan for plan in plans)
    # All that they ever took.
    assert not any("ix_lease_reviewer" in plan for plan in plans)
