"""Open flags, the judge day by day, where the two signals differ, and the first steps of a new database."""

from datetime import UTC, date, datetime, timedelta

from sqlalchemy import insert

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
from judgeboard.store.filters import JUDGE_SIDES, USER_SIDES, RowFilter, describe
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.open_flags import queue_page
from judgeboard.store.overview import count_log, overview, quadrant, signal_counts
from judgeboard.store.response_pages import response_page
from judgeboard.store.tables import FLAG
from queue_case import queue_case
from reviewed_log import made_log
from stored_rows import made_row, read, write_to

TODAY = date(2026, 3, 9)


def at(days_ago, hour=12):
    return datetime(2026, 3, 9, hour, tzinfo=UTC) - timedelta(days=days_ago)


def flag(case, days_ago, state="open", rule="low_quality"):
    """A flag raised so many days ago, on an answer of its own."""
    number = len(case.answers)
    response_id = case.answer(f"answer {number}")
    own = {"rule": rule, "state": state, "created_at": at(days_ago)}
    row = made_row(FLAG, {"response": response_id}) | own
    with case.store.writing() as connection:
        inserted = connection.execute(insert(FLAG).returning(FLAG.c.id), row)
        return inserted.scalar_one()


def test_the_days_count_what_was_raised_decided_and_left(case):
    people = queue_case(case.store)
    mara, jon = people.mara, people.jon
    old, early, late = flag(case, 30), flag(case, 5), flag(case, 1)
    flag(case, 30)
    flag(case, 2, "superseded")
    for state in ("confirmed", "dismissed", "dismissed"):
        flag(
            case, 30, state, "random_sample"
        )  # reports no fault, so its decisions say nothing on the rules
    presses = [
        (old, mara, Decision.CONFIRM, at(3)),
        (early, jon, Decision.DISMISS, at(3)),
        (late, mara, Decision.CONFIRM, at(0)),
    ]
    for id_, by, decision, people.now in presses:
        done = people.decide(id_, by, decision)
    result = read(case.store, overview, mara.id, TODAY)
    assert [day.day for day in result.days] == [
        TODAY - timedelta(days=back) for back in range(6, -1, -1)
    ]
    assert [day.flagged for day in result.days] == [0, 1, 0, 0, 0, 1, 0]
    assert [day.decided for day in result.days] == [0, 0, 0, 2, 0, 0, 1]
    assert [day.decided_by_me for day in result.days] == [0, 0, 0, 1, 0, 0, 1]
    assert [day.open_answers for day in result.days] == [2, 3, 3, 1, 1, 2, 1]
    assert (result.today.open_answers, result.today.decided, result.today.decided_by_me) == (
        1,
        1,
        1,
    )

    people.now = at(0, 13)
    people.undo(done.review_id, mara)
    result = read(case.store, overview, mara.id, TODAY)
    assert (result.today.open_answers, result.today.decided, result.days[-1].open_answers) == (
        2,
        0,
        2,
    )


@on_sqlite
def test_nobody_has_no_decisions_of_their_own(case):
    people = queue_case(case.store)
    people.now = at(0)
    people.decide(flag(case, 1), people.mara)
    result = read(case.store, overview, None, TODAY)
    assert (result.today.decided, result.today.decided_by_me) == (1, 0)


@on_sqlite
def test_the_judges_days_add_up_to_what_was_asked(case):
    version = case.version()
    for number, (status, cost) in enumerate(
        [
            (Status.OK, 100),
            (Status.OK, None),
            (Status.UNPARSABLE, 50),
            (Status.REFUSED, None),
            (Status.ERROR, None),
        ]
    ):
        case.say(version, case.answer(f"a{number}"), status, cost_micro=cost)
    case.say(case.version("nli"), 1, groundedness=1.0, cost_micro=9_999)
    case.say(case.version("lexical"), 1, groundedness=1.0, cost_micro=0)
    recorded = write_to(case.store, ensure_version, JudgeVersion("old", RECORDED))
    case.say(recorded, 1, groundedness=1.0, cost_micro=7)  # imported: no call
    result = read(case.store, overview, None, datetime.now(UTC).date())
    assert result.judge == "rag"
    judged = result.judged
    assert (judged.asked, judged.ok, judged.unparsable, judged.refused, judged.error) == (
        5,
        2,
        1,
        1,
        1,
    )
    assert (judged.cost_micro, judged.unpriced) == (150, 3)


@on_sqlite
def test_an_unknown_cost_is_none_and_not_nothing(case):
    case.say(case.version(), case.answer(), groundedness=1.0)
    judged = read(case.store, overview, None, datetime.now(UTC).date()).judged
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
                where = RowFilter(judge_side=judge, user=user)
                assert response_page(connection, where).total == cells.get((judge, user), 0), (
                    describe(where)
                )
        assert sum(cells.values()) == response_page(connection, RowFilter()).total
        assert (
            queue_page(connection, RowFilter()).total
            == overview(connection, None, TODAY).today.open_answers
        )


def test_the_quadrant_leaves_made_answers_out(case):
    up = (Feedback(FeedbackKind.THUMBS, 1),)
    case.say(case.version(), case.answer("low", feedback=up), label=Label.HALLUCINATED)
    case.answer("unjudged", feedback=up)
    case.answer("made", kind=ResponseKind.CONTROL, feedback=up)
    with case.store.reading() as connection:
        assert quadrant(count_log(connection), signal_counts(connection)) == {
            ("low", "up"): 1,
            ("none", "up"): 1,
        }
