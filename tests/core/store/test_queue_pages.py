"""Pages of the queue by key: every order forwards and backwards, places, neighbours, what a reviewer put aside."""

import itertools
from datetime import UTC, datetime

import pytest

from engines import on_sqlite
from judgeboard.domain import Decision
from judgeboard.errors import BadInput
from judgeboard.reviews.changes import undo
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.filters import RowFilter
from judgeboard.store.listing import LinePage
from judgeboard.store.open_flags import (
    ORDERS,
    answers_done_by,
    flag_after,
    neighbours,
    open_counts,
    queue_facets,
    queue_page,
)
from judgeboard.store.response_pages import ORDERS as RESPONSE_ORDERS
from judgeboard.store.response_pages import response_page
from reviewed_log import ReviewedLog, made_log
from stored_rows import read

LIMIT = 7
FILTERS = [RowFilter(), RowFilter(query_types=("QA",)), RowFilter(text="anchor")]


@pytest.fixture
def filled(store, fill_once):
    return ReviewedLog(store, fill_once("made log", store, lambda fresh: made_log(fresh).reviewers))


def decide(case, flag_id, decision):
    """Let Mara decide a flag; return the id of her review."""
    press = {"flag_id": flag_id, "decision": decision, "request_key": f"on {flag_id}"}
    return submit(case.store, Submission(reviewer=case.reviewers[0], **press)).review_id


def page(case, *args, **options):
    return read(case.store, queue_page, *args, **options)


def sort_key(order, flag):
    score = 2 if flag["groundedness"] is None else flag["groundedness"]
    day = 9_999_999 if flag["asked_day"] is None else flag["asked_day"]
    return {
        "worst": (-flag["severity"], day, flag["id"]),
        "lowest": (score, flag["id"]),
        "oldest": (day, flag["id"]),
    }[order]


@on_sqlite
def test_pages_follow_each_other_both_ways_in_every_order(filled):
    for where in FILTERS:
        whole = {line.flag_id for line in page(filled, where, limit=1000).lines}
        flags = [flag for flag in filled.open_flags() if flag["id"] in whole]
        for order in ORDERS:
            expected = [
                flag["id"] for flag in sorted(flags, key=lambda flag: sort_key(order, flag))
            ]
            turned, found = [page(filled, where, order, limit=LIMIT)], []
            while turned[-1].next_key is not None:
                turned.append(page(filled, where, order, after=turned[-1].next_key, limit=LIMIT))
            for one in turned:
                assert (one.total, one.first) == (len(expected), len(found) + 1)
                found += [line.flag_id for line in one.lines]
            assert found == expected
            assert turned[0].previous_key is None
            for before, one in itertools.pairwise(turned):
                assert page(filled, where, order, before=one.previous_key, limit=LIMIT) == before


def test_answers_are_paged_in_the_same_way(filled):
    with filled.store.reading() as connection:
        for order in RESPONSE_ORDERS:
            whole = response_page(connection, RowFilter(), order, limit=1000)
            turned = [response_page(connection, RowFilter(), order, limit=LIMIT)]
            while turned[-1].next_key is not None:
                turned.append(
                    response_page(
                        connection, RowFilter(), order, after=turned[-1].next_key, limit=LIMIT
                    )
                )
            assert [line for one in turned for line in one.lines] == list(whole.lines)
            assert [one.first for one in turned] == list(range(1, whole.total + 1, LIMIT))
            last = turned[-1]
            assert (
                response_page(connection, RowFilter(), order, before=last.previous_key, limit=LIMIT)
                == turned[-2]
            )


@on_sqlite
def test_a_line_says_why_and_what_everybody_said(filled):
    answers = {row["id"]: row for row in filled.responses()}
    feedback = filled.latest_feedback()
    flags = {flag["id"]: flag for flag in filled.open_flags()}
    for line in page(filled, RowFilter(), limit=1000).lines:
        flag, answer = flags[line.flag_id], answers[line.response_id]
        own = [each for each in flags.values() if each["response_id"] == line.response_id]
        own.sort(key=lambda each: (-each["severity"], each["id"]))
        assert line.severity == flag["severity"]
        if flag["judgment_id"] is not None:  # a rating of the user flags without a judgment
            assert line.quality == flag["quality"]
        assert (line.flag_id, line.rules) == (own[0]["id"], tuple(each["rule"] for each in own))
        assert (line.external_id, line.question, line.answer) == (
            answer["external_id"],
            answer["query"],
            answer["answer"],
        )
        assert line.asked_at == answer["asked_at"]
        assert (line.user_feedback is None) == (line.response_id not in feedback)
        assert all(line.why)


def test_worst_first_lists_flags_of_the_same_severity_from_the_oldest_question(case):
    version = case.version()
    for name, score, day in (
        ("third", 0.2, 3),
        ("first", 0.2, 1),
        ("undated", 0.2, 0),
        ("second", 0.2, 2),
        ("worst", 0.1, 9),
    ):
        asked_at = datetime(2026, 2, day, tzinfo=UTC) if day else None
        case.say(version, case.answer(name, asked_at=asked_at), groundedness=score)
    in_order = ["worst", "first", "second", "third", "undated"]
    with case.store.reading() as connection:
        pages = [queue_page(connection, RowFilter(), "worst", limit=2)]
        while pages[-1].next_key is not None:
            pages.append(
                queue_page(connection, RowFilter(), "worst", after=pages[-1].next_key, limit=2)
            )
        lines = [line for page in pages for line in page.lines]
        assert [line.external_id for line in lines] == in_order
        for line, following in itertools.pairwise(lines):
            assert flag_after(connection, RowFilter(), "worst", line.flag_id) == following.flag_id
        earlier_key = (
            f"worst:{lines[1].severity!r}:{lines[1].flag_id}"  # in URLs from earlier versions
        )
        assert queue_page(connection, RowFilter(), "worst", after=earlier_key, limit=2) == pages[0]


def test_a_drawn_answer_shows_the_scores_that_came_after_it(case):
    case.set("random_share", 1)
    response_id = case.answer("drawn")
    (before,) = read(case.store, queue_page, RowFilter()).lines
    case.say(case.version(), response_id, groundedness=0.9, quality=4)
    (after,) = read(case.store, queue_page, RowFilter()).lines
    assert (before.rules, before.groundedness, before.quality) == (("random_sample",), None, None)
    assert (after.flag_id, after.groundedness, after.quality) == (before.flag_id, 0.9, 4)


def test_a_page_that_is_gone_gives_the_nearest_one(filled):
    first = page(filled, RowFilter(), limit=LIMIT)
    second = page(filled, RowFilter(), after=first.next_key, limit=LIMIT)
    last_key = page(filled, RowFilter(), limit=1000).lines[-1]
    behind = f"worst:[{last_key.severity!r}, {9_999_999}]:{last_key.flag_id}"
    assert page(filled, RowFilter(), after=behind, limit=LIMIT).next_key is None
    assert len(page(filled, RowFilter(), after=behind, limit=LIMIT).lines) == LIMIT
    for line in first.lines[:3]:
        decide(filled, line.flag_id, Decision.CONFIRM)
    shorter = page(filled, RowFilter(), before=second.previous_key, limit=LIMIT)
    assert (shorter.first, len(shorter.lines)) == (1, LIMIT)
    # A key of another order.
    assert page(filled, RowFilter(), "oldest", after=first.next_key).first == 1


@pytest.mark.parametrize(
    "key",
    [
        "",
        "worst",
        "worst:x:1",
        "worst:nan:1",
        "worst:0.5:-1",
        "worst:[0.5]:1",
        'worst:[0.5, "x"]:1',
        "worst:inf:3",
        "1:2:3:4",
        "oldest:99999999999999999999:1",
    ],
)
def test_a_key_that_names_no_page_is_refused(sqlite_store, key):
    with sqlite_store.reading() as connection, pytest.raises(BadInput, match="first page"):
        queue_page(connection, RowFilter(), after=key)


def test_orders_that_do_not_exist_are_refused(sqlite_store):
    with sqlite_store.reading() as connection:
        with pytest.raises(BadInput, match="worst, lowest, oldest"):
            queue_page(connection, RowFilter(), "best")
        with pytest.raises(BadInput, match="oldest, lowest, highest"):
            response_page(connection, RowFilter(), "best")


def test_an_empty_queue_is_a_page_without_lines(store):
    with store.reading() as connection:
        assert queue_page(connection, RowFilter()) == LinePage((), 0, 0, None, None)
        assert response_page(connection, RowFilter()).lines == ()
        assert open_counts(connection) == []
        assert neighbours(connection, RowFilter(), "worst", 1) is None
        assert flag_after(connection, RowFilter(), "worst", 1) is None


@on_sqlite
def test_neighbours_stand_where_the_pages_say(filled):
    with filled.store.reading() as connection:
        for where in FILTERS:
            for order in ORDERS:
                ids = [
                    line.flag_id for line in queue_page(connection, where, order, limit=1000).lines
                ]
                for place in {0, 1, len(ids) // 2, len(ids) - 1}:
                    near = neighbours(connection, where, order, ids[place])
                    assert near.listed
                    assert (near.position, near.total) == (place + 1, len(ids))
                    assert near.previous == (ids[place - 1] if place else None)
                    assert near.next == (ids[place + 1] if place + 1 < len(ids) else None)
                    assert flag_after(connection, where, order, ids[place]) == (
                        near.next or near.previous
                    )


def test_a_decided_flag_keeps_its_place_between_its_neighbours(filled):
    ids = [line.flag_id for line in read(filled.store, queue_page, RowFilter(), limit=1000).lines]
    decide(filled, ids[5], Decision.DISMISS)
    near = read(filled.store, neighbours, RowFilter(), "worst", ids[5])
    assert not near.listed
    assert (near.position, near.total, near.previous, near.next) == (
        6,
        len(ids) - 1,
        ids[4],
        ids[6],
    )


def test_what_a_reviewer_is_unsure_of_is_out_of_their_way_only(filled):
    mara, jon, _ = filled.reviewers
    before = [
        line.flag_id for line in page(filled, RowFilter(), limit=1000, reviewer_id=mara.id).lines
    ]
    others = page(filled, RowFilter(), limit=1000, reviewer_id=jon.id)
    unsure = decide(filled, before[2], Decision.UNSURE)
    for where in (RowFilter(), RowFilter(graded=False)):
        mine = page(filled, where, limit=1000, reviewer_id=mara.id)
        assert before[2] not in {line.flag_id for line in mine.lines}
        assert mine.total == len(mine.lines)
    left_out = (
        page(filled, RowFilter()).total - page(filled, RowFilter(), reviewer_id=mara.id).total
    )
    with filled.store.reading() as connection:
        beside = neighbours(connection, RowFilter(), "worst", before[2], mara.id)
        assert answers_done_by(connection, mara.id) == left_out > 0
    assert (beside.previous, beside.next, beside.listed) == (before[1], before[3], False)
    assert page(filled, RowFilter(), limit=1000, reviewer_id=jon.id) == others
    undo(filled.store, review_id=unsure, reviewer=mara, request_key="sure again")
    again = page(filled, RowFilter(), limit=1000, reviewer_id=mara.id)
    assert [line.flag_id for line in again.lines] == before


@on_sqlite
def test_counts_and_choices_are_those_of_open_flags(filled):
    flags = filled.open_flags()
    with filled.store.reading() as connection:
        counts, facets = open_counts(connection), queue_facets(connection)
    pairs = [(flag["rule"], flag["query_type"]) for flag in flags]
    assert counts == sorted((rule, kind, pairs.count((rule, kind))) for rule, kind in set(pairs))
    assert facets.rules == tuple(sorted({flag["rule"] for flag in flags}))
    assert facets.parts["query_type"] == tuple(sorted({flag["query_type"] for flag in flags}))
    assert facets.parts["source"] == tuple(sorted({flag["source"] for flag in flags}))
    assert facets.judges == tuple(
        sorted({flag["judge_name"] for flag in flags if flag["judge_name"]})
    )
