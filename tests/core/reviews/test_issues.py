"""Issues: a filter under a title with an owner and a state, and the share of answers before and after a fix."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from engines import on_sqlite
from judgeboard.domain import IssueState
from judgeboard.errors import BadInput, NotAllowed, NotFound
from judgeboard.measure.notes import note
from judgeboard.reviews.failure_modes import save_mode
from judgeboard.reviews.issues import issue_notes, measure_issue, save_issue
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.export import export_tables
from judgeboard.store.filters import RowFilter, parse_where
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.issues import get_issue, list_issues
from judgeboard.store.response_pages import response_page
from judgeboard.store.reviewers import store_reviewer
from judgeboard.store.tables import Issue
from judgeboard.text import utc_day
from queue_case import DISMISS
from result_fields import check_fields
from served_queues import BLIND
from stored_rows import columns, write_to

FIRST = datetime(2026, 3, 2, tzinfo=UTC)  # a Monday
DAY = utc_day(FIRST)
LOW = RowFilter(rules=("low_groundedness",))


def figures(case, issue, viewer=None):
    with Seen(case.store, viewer).reading() as connection:
        measured = measure_issue(connection, issue)
        assert response_page(connection, issue.filter).total == measured.answers
    return measured


def answer(case, week, *scores):
    """Store one answer per score, asked in a week."""
    asked = None if week is None else FIRST + timedelta(weeks=week)
    ids = case.add(*(f"w{week}-{next(case.keys)}" for _ in scores), asked_at=asked)
    case.judge_all(dict(zip(ids, scores, strict=True)))


def save(case, issue, by=None, now=None):
    return save_issue(case.store, issue, by=by or case.lead, now=now)


def opened(case, title="Fees", where=LOW, by=None):
    return save(case, Issue(title=title, filter=where), by)


def codes(issue, measured):
    return [each.code for each in issue_notes(issue, measured)]


def test_the_share_is_compared_before_and_after_the_fix_and_new_answers_count(case):
    answer(case, 0, 0.1, 0.1, 0.1, 0.9)
    answer(case, 1, 0.2, 0.9)
    issue = save(case, Issue(title=" Wrong   fees ", filter=LOW, owner="mara"))
    check_fields(issue, number=1, title="Wrong fees", owner="Mara")
    # A dismissed flag is no sign of the problem.
    assert issue.filter.states == ("confirmed", "open")
    before = figures(case, issue)
    assert (before.answers, before.flags["open"], before.before.n, before.after.n) == (4, 4, 6, 0)
    assert [*issue_notes(issue, before)] == [note("issue", share=before.before)]

    fixed = save(case, issue.changed(state=IssueState.FIXED, fixed_day=DAY + 14))
    answer(case, 2, 0.1, *[0.9] * 29)
    answer(case, None, 0.1)
    after = figures(case, fixed)
    check_fields(after, answers=6, without_time=1, last_day=DAY + 14)
    assert [share.value for share in (after.before, after.after)] == pytest.approx([4 / 6, 1 / 30])
    assert [(week.start - DAY, week.estimate.n) for week in after.weeks] == [
        (0, 4),
        (7, 2),
        (14, 30),
    ]
    assert codes(fixed, after) == ["issue_fixed", "issue_fell"]
    assert [case.read(response_page, week.where).total for week in after.weeks] == [3, 1, 1]
    assert (case.read(get_issue, 1).version, len(case.read(list_issues))) == (2, 1)
    (event, _) = case.read(latest_events, EventFilter(kind="save_issue"), limit=5)
    assert event.details == {"issue": 1, "state": "fixed"}


@on_sqlite
def test_wrong_dates_stretch_no_chart_and_do_not_count_as_before_the_fix(case):
    answer(case, 0, 0.1, 0.9)
    for wrong in (datetime(1970, 1, 1, tzinfo=UTC), datetime(2090, 1, 1, tzinfo=UTC)):
        (response_id,) = case.add(f"dated {wrong.year}", asked_at=wrong)
        case.judge(response_id, 0.1)
    fixed = opened(case).changed(state=IssueState.FIXED, fixed_day=DAY + 7)
    shown = figures(case, save(case, fixed))
    check_fields(shown, answers=3, misdated=2, last_day=DAY)
    assert [(week.start, week.estimate.n) for week in shown.weeks] == [(DAY, 2)]
    assert (shown.before.n, shown.before.value, shown.after.n) == (2, 0.5, 0)


def test_a_failure_mode_is_counted_among_reviewed_answers_and_hidden_from_a_blind_reviewer(case):
    save_mode(case.store, "wrong fee", by=case.lead)
    answer(case, 0, 0.1, 0.2, 0.3)
    case.queue(needed=2, assigned=(case.mara, case.jon), **BLIND)
    case.review(case.mara, modes=("wrong fee",))
    case.review(case.mara, DISMISS)
    issue = opened(case, "Fees", RowFilter(failure_modes=("wrong fee",)))
    flags = opened(case, "Low")
    measured = figures(case, issue)
    check_fields(measured.before, value=0.5, n=2)
    assert codes(issue, measured) == ["issue_reviewed"]
    for each in (issue, flags):
        hidden = figures(case, each, viewer=case.jon.id)
        assert (hidden.answers, sum(hidden.flags.values()), hidden.before.n) == (0, 0, 0)


@pytest.mark.parametrize(
    "conditions",
    [
        ("max_score=0.5",),
        ("judge=rag", "judge_side=low"),
        ("judge=rag", "judge_side=none"),
        ("judge=rag", "status=error"),
        ("unscored=quality",),
        ("user=down", "min_quality=2"),
        ("graded=no",),
        ("query_type=QA", "text=answer"),
    ],
)
def test_answers_of_any_filter_are_among_those_that_they_are_compared_with(case, conditions):
    answer(case, 0, 0.1, 0.9)
    case.add("unjudged", asked_at=FIRST)
    issue = opened(case, "any", parse_where(conditions))
    measured = figures(case, issue)
    share = measured.before
    assert share.n in {0, 2, 3}
    assert share.n == 0 or round(share.value * share.n) == measured.answers


@on_sqlite
def test_leads_keep_issues_and_nobody_overwrites_a_change(case, tmp_path):
    issue = opened(case)
    for title, where, words in (
        ("x", RowFilter(), "needs a filter"),
        (" ", LOW, "1 to 100"),
        ("x" * 101, LOW, "1 to 100"),
    ):
        with pytest.raises(BadInput, match=words):
            opened(case, title, where)
    with pytest.raises(NotFound, match="'Zoe'"):
        save(case, issue.changed(owner="Zoe"))
    today = save(case, issue.changed(state=IssueState.FIXED), now=case.now)
    assert today.fixed_day == utc_day(case.now)
    with pytest.raises(BadInput, match="issue 1"):
        save(case, issue.changed(title="Other"))
    closed = save(case, today.changed(state=IssueState.CLOSED))
    assert closed.fixed_day == today.fixed_day
    assert save(case, closed.changed(state=IssueState.OPEN)).fixed_day is None
    assert opened(case, "Second").number == 2
    file = tmp_path / "issues.jsonl"
    export_tables(case.store, {"issues": file})
    rows = [*map(json.loads, file.read_text().splitlines())]
    assert columns(rows, "number", "version", "state") == [
        (1, 1, "open"),
        (1, 2, "fixed"),
        (1, 3, "closed"),
        (1, 4, "open"),
        (2, 1, "open"),
    ]
    assert rows[0]["filter"] == {"rules": ["low_groundedness"], "states": ["confirmed", "open"]}


@on_sqlite
def test_a_reviewer_who_signed_in_may_not_open_one(case):
    person = write_to(case.store, store_reviewer, "oidc", "ann@example.com")
    with pytest.raises(NotAllowed, match="leads"):
        opened(case, by=person)
