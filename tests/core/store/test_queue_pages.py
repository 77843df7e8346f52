"""Pages of the queue by key: every order forwards and backwards, places, neighbours, what a reviewer put aside."""

import itertools
from collections import Counter
from datetime import UTC, datetime
from functools import partial

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


def page(case, where=RowFilter(), *args, **options):  # noqa: B008 - a filter does not change
    return read(case.store, queue_page, where, *args, **options)


def turned(read_page):
    """All pages, from the first to the last."""
    pages = [read_page()]
    while pages[-1].next_key is not None:
        pages.append(read_page(after=pages[-1].next_key))
    return pages


def flag_ids(*pages):
    return [line.flag_id for page in pages for line in page.lines]


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
        whole = flag_ids(page(filled, where, limit=1000))
        flags = [flag for flag in filled.open_flags() if flag["id"] in whole]
        for order in ORDERS:
            read_page = partial(page, filled, where, order, limit=LIMIT)
            pages, found = turned(read_page), []
            for one in pages:
                assert (one.total, one.first) == (len(flags), len(found) + 1)
                found += flag_ids(one)
            in_order = sorted(flags, key=partial(sort_key, order))
            assert found == [flag["id"] for flag in in_order]
            assert pages[0].previous_key is None
            for before, one in itertools.pairwise(pages):
                assert read_page(before=one.previous_key) == before


def test_answers_are_paged_in_the_same_way(filled):
    for order in RESPONSE_ORDERS:
        read_page = partial(read, filled.store, response_page, RowFilter(), order, limit=LIMIT)
        whole = read_page(limit=1000)
        pages = turned(read_page)
        assert [line for one in pages for line in one.lines] == list(whole.lines)
        assert [one.first for one in pages] == list(range(1, whole.total + 1, LIMIT))
        assert read_page(before=pages[-1].previous_key) == pages[-2]


@on_sqlite
def test_a_line_says_why_and_what_everybody_said(filled):
    answers = {row["id"]: row for row in filled.responses()}
    feedback = filled.latest_feedback()
    flags = {flag["id"]: flag for flag in filled.open_flags()}
    for line in page(filled, limit=1000).lines:
        flag, answer = flags[line.flag_id], answers[line.response_id]
        own = [each for each in flags.values() if each["response_id"] == line.response_id]
        own.sort(key=lambda each: (-each["severity"], each["id"]))
        assert line.severity == flag["severity"]
        if flag["judgment_id"] is not None:  # a rating of the user flags without a judgment
            assert line.quality == flag["quality"]
        assert (line.flag_id, line.rules) == (own[0]["id"], tuple(each["rule"] for each in own))
        texts = line.external_id, line.question, line.answer, line.asked_at
        assert texts == tuple(
            answer[name] for name in ("external_id", "query", "answer", "asked_at")
        )
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
    read_page = partial(page, case, RowFilter(), "worst", limit=2)
    pages = turned(read_page)
    lines = [line for one in pages for line in one.lines]
    in_order = ["worst", "first", "second", "third", "undated"]
    assert [line.external_id for line in lines] == in_order
    for line, following in itertools.pairwise(lines):
        assert case.read(flag_after, RowFilter(), "worst", line.flag_id) == following.flag_id
    # As in URLs from earlier versions.
    earlier_key = f"worst:{lines[1].severity!r}:{lines[1].flag_id}"
    assert read_page(after=earlier_key) == pages[0]


def test_a_drawn_answer_shows_the_scores_that_came_after_it(case):
    case.set("random_share", 1)
    response_id = case.answer("drawn")
    (before,) = page(case).lines
    case.say(case.version(), response_id, groundedness=0.9, quality=4)
    (after,) = page(case).lines
    assert (before.rules, before.groundedness, before.quality) == (("random_sample",), None, None)
    assert (after.flag_id, after.groundedness, after.quality) == (before.flag_id, 0.9, 4)


def test_a_page_that_is_gone_gives_the_nearest_one(filled):
    first = page(filled, limit=LIMIT)
    second = page(filled, after=first.next_key, limit=LIMIT)
    last_line = page(filled, limit=1000).lines[-1]
    behind = f"worst:[{last_line.severity!r}, {9_999_999}]:{last_line.flag_id}"
    nearest = page(filled, after=behind, limit=LIMIT)
    assert (nearest.next_key, len(nearest.lines)) == (None, LIMIT)
    for line in first.lines[:3]:
        decide(filled, line.flag_id, Decision.CONFIRM)
    shorter = page(filled, before=second.previous_key, limit=LIMIT)
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
    with pytest.raises(BadInput, match="first page"):
        read(sqlite_store, queue_page, RowFilter(), after=key)


def test_orders_that_do_not_exist_are_refused(sqlite_store):
    with pytest.raises(BadInput, match="worst, lowest, oldest"):
        read(sqlite_store, queue_page, RowFilter(), "best")
    with pytest.raises(BadInput, match="oldest, lowest, highest"):
        read(sqlite_store, response_page, RowFilter(), "best")


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
                ids = flag_ids(queue_page(connection, where, order, limit=1000))
                around = dict(enumerate(ids))
                for place in {0, 1, len(ids) // 2, len(ids) - 1}:
                    near = neighbours(connection, where, order, ids[place])
                    assert (near.listed, near.position, near.total) == (True, place + 1, len(ids))
                    assert near.previous == around.get(place - 1)
                    assert near.next == around.get(place + 1)
                    following = flag_after(connection, where, order, ids[place])
                    assert following == (near.next or near.previous)


def test_a_decided_flag_keeps_its_place_between_its_neighbours(filled):
    ids = flag_ids(page(filled, limit=1000))
    decide(filled, ids[5], Decision.DISMISS)
    near = read(filled.store, neighbours, RowFilter(), "worst", ids[5])
    assert (near.listed, near.position, near.total) == (False, 6, len(ids) - 1)
    assert (near.previous, near.next) == (ids[4], ids[6])


def test_what_a_reviewer_is_unsure_of_is_out_of_their_way_only(filled):
    mara, jon, _ = filled.reviewers
    before = flag_ids(page(filled, limit=1000, reviewer_id=mara.id))
    others = page(filled, limit=1000, reviewer_id=jon.id)
    unsure = decide(filled, before[2], Decision.UNSURE)
    for where in (RowFilter(), RowFilter(graded=False)):
        mine = page(filled, where, limit=1000, reviewer_id=mara.id)
        assert before[2] not in flag_ids(mine)
        assert mine.total == len(mine.lines)
    left_out = page(filled).total - page(filled, reviewer_id=mara.id).total
    assert read(filled.store, answers_done_by, mara.id) == left_out > 0
    beside = read(filled.store, neighbours, RowFilter(), "worst", before[2], mara.id)
    assert (beside.previous, beside.next, beside.listed) == (before[1], before[3], False)
    assert page(filled, limit=1000, reviewer_id=jon.id) == others
    undo(filled.store, review_id=unsure, reviewer=mara, request_key="sure again")
    assert flag_ids(page(filled, limit=1000, reviewer_id=mara.id)) == before


@on_sqlite
def test_counts_and_choices_are_those_of_open_flags(filled):
    flags = filled.open_flags()

    def values(name):
        return tuple(sorted({flag[name] for flag in flags if flag[name]}))

    pairs = Counter((flag["rule"], flag["query_type"]) for flag in flags)
    counts = read(filled.store, open_counts)
    assert counts == sorted((*pair, count) for pair, count in pairs.items())
    facets = read(filled.store, queue_facets)
    assert (facets.rules, facets.judges) == (values("rule"), values("judge_name"))
    for part in ("query_type", "source"):
        assert facets.parts[part] == values(part)
