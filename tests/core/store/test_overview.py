"""Open flags, the judge day by day, where the two signals differ, and the first steps of a new database."""

from datetime import UTC, date, datetime, timedelta

from engines import on_sqlite
from judgeboard.domain import (
    RECORDED,
    Decision,
    Feedback,
    FeedbackKind,
    JudgeVersion,
    Label,
    ResponseKind,
    Status,
)
from judgeboard.store.filters import JUDGE_SIDES, USER_SIDES, RowFilter
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.open_flags import queue_page
from judgeboard.store.overview import count_log, overview, quadrant, signal_counts
from judgeboard.store.response_pages import response_page
from judgeboard.store.tables import FLAG
from queue_case import CONFIRM, queue_case
from reviewed_log import made_log
from stored_rows import insert_row, read

TODAY = date(2026, 3, 9)


def at(days_ago, hour=12):
    return datetime(2026, 3, 9, hour, tzinfo=UTC) - timedelta(days=days_ago)


def flag(case, days_ago, state="open", rule="low_quality"):
    """A flag raised so many days ago, on an answer of its own."""
    ids = {"response": case.answer(f"answer {len(case.answers)}")}
    return insert_row(case.store, FLAG, ids, rule=rule, state=state, created_at=at(days_ago))


def test_the_days_count_what_was_raised_decided_and_left(case):
    people = queue_case(case.store)
    mara, jon = people.mara, people.jon
    old, early, late = flag(case, 30), flag(case, 5), flag(case, 1)
    flag(case, 30)
    flag(case, 2, "superseded")
    # A random sample reports no fault, so its decisions say nothing on the rules.
    for state in ("confirmed", "dismissed", "dismissed"):
        flag(case, 30, state, "random_sample")
    people.now = at(3)
    people.decide(old, mara)
    people.decide(early, jon, Decision.DISMISS)
    people.now = at(0)
    done = people.decide(late, mara)
    result = case.read(overview, mara.id, TODAY)
    days = [TODAY - timedelta(days=back) for back in range(6, -1, -1)]
    assert [day.day for day in result.days] == days
    assert [day.flagged for day in result.days] == [0, 1, 0, 0, 0, 1, 0]
    assert [day.decided for day in result.days] == [0, 0, 0, 2, 0, 0, 1]
    assert [day.decided_by_me for day in result.days] == [0, 0, 0, 1, 0, 0, 1]
    assert [day.open_answers for day in result.days] == [2, 3, 3, 1, 1, 2, 1]
    today = result.today
    assert (today.open_answers, today.decided, today.decided_by_me) == (1, 1, 1)

    people.now = at(0, 13)
    people.undo(done.review_id, mara)
    result = case.read(overview, mara.id, TODAY)
    assert (result.today.open_answers, result.today.decided) == (2, 0)
    assert result.days[-1].open_answers == 2


@on_sqlite
def test_nobody_has_no_decisions_of_their_own(case):
    people = queue_case(case.store)
    people.now = at(0)
    people.decide(flag(case, 1), people.mara)
    today = case.read(overview, None, TODAY).today
    assert (today.decided, today.decided_by_me) == (1, 0)


@on_sqlite
def test_who_is_unsure_or_decides_after_the_reveal_has_decided_nothing(queues):
    queues.queue_of(0.1, 0.2, blind_judge=True)
    graded = queues.review(queues.mara, None, quality=1)
    queues.review(queues.mara, Decision.UNSURE)
    queues.reveal(graded, queues.mara, CONFIRM)
    assert read(queues.store, overview, None, queues.now.date()).today.decided == 0


@on_sqlite
def test_the_judges_days_add_up_to_what_was_asked(case):
    version = case.version()
    for name, status, cost in (
        ("a", Status.OK, 100),
        ("b", Status.OK, None),
        ("c", Status.UNPARSABLE, 50),
        ("d", Status.REFUSED, None),
        ("e", Status.ERROR, None),
    ):
        case.say(version, case.answer(name), status, cost_micro=cost)
    case.say(case.version("nli"), 1, groundedness=1.0, cost_micro=9_999)
    case.say(case.version("lexical"), 1, groundedness=1.0, cost_micro=0)
    recorded = case.write(ensure_version, JudgeVersion("old", RECORDED))
    case.say(recorded, 1, groundedness=1.0, cost_micro=7)  # imported: no call
    result = case.read(overview, None, datetime.now(UTC).date())
    assert result.judge == "rag"
    judged = result.judged
    assert (judged.asked, judged.ok, judged.unparsable) == (5, 2, 1)
    assert (judged.refused, judged.error) == (1, 1)
    assert (judged.cost_micro, judged.unpriced) == (150, 3)


@on_sqlite
def test_an_unknown_cost_is_none_and_not_nothing(case):
    case.say(case.version(), case.answer(), groundedness=1.0)
    judged = case.read(overview, None, datetime.now(UTC).date()).judged
    assert (judged.asked, judged.cost_micro, judged.unpriced) == (1, None, 1)


@on_sqlite
def test_an_empty_store_has_no_share_and_says_so(store):
    result = read(store, overview, None, TODAY)
    assert (result.today.open_answers, result.judge) == (0, None)


@on_sqlite
def test_each_cell_of_the_quadrant_opens_exactly_its_rows(store):
    made_log(store)
    with store.reading() as connection:
        cells = quadrant(count_log(connection), signal_counts(connection))
        for judge in JUDGE_SIDES:
            for user in USER_SIDES:
                page = response_page(connection, RowFilter(judge_side=judge, user=user))
                assert page.total == cells.get((judge, user), 0), (judge, user)
        assert sum(cells.values()) == response_page(connection, RowFilter()).total
        today = overview(connection, None, TODAY).today
        assert queue_page(connection, RowFilter()).total == today.open_answers


def test_the_quadrant_leaves_made_answers_out(case):
    up = (Feedback(FeedbackKind.THUMBS, 1),)
    case.say(case.version(), case.answer("low", feedback=up), label=Label.HALLUCINATED)
    case.answer("unjudged", feedback=up)
    case.answer("made", kind=ResponseKind.CONTROL, feedback=up)
    cells = quadrant(case.read(count_log), case.read(signal_counts))
    assert cells == {("low", "up"): 1, ("none", "up"): 1}
