"""Split items: listed for leads page by page, shown with all that was said, and to their reviewers afterwards."""

from functools import partial

import pytest

from engines import on_sqlite
from judgeboard.domain import (
    Grade,
    ItemState,
    Label,
    Preference,
    Role,
    Stage,
    Status,
    Verdict,
    WhyDiffers,
)
from judgeboard.errors import BadInput, NotAllowed, NotFound
from judgeboard.measure.agreement_page import agreement_details, agreement_page
from judgeboard.measure.ratings import PairSource
from judgeboard.reviews.changes import differs, explain_difference
from judgeboard.reviews.outcome import load_conflict, open_conflicts, own_conflicts
from judgeboard.store.reviewers import store_reviewer
from judgeboard.store.tables import JUDGMENT
from judgeboard.store.verdict_pairs import why_counts
from pair_log import add_pairs
from queue_case import DISMISS, UNSURE
from result_fields import check_fields
from stored_rows import columns, write_to


def split(case):
    """Let Mara and Jon differ on the next item."""
    case.review(case.mara, quality=1, note="made up")
    return case.review(case.jon, DISMISS, quality=4, note="it is there").item_id


def test_splits_are_listed_a_page_at_a_time_with_what_they_differ_on(case):
    case.queue_of(0.1, 0.2, 0.3, 0.4, needed=2)
    items = sorted(split(case) for _ in range(3))
    case.review(case.mara)
    first = case.read(open_conflicts, limit=2)
    last = case.read(open_conflicts, "q", after=first.next, limit=2)
    assert [line.item.item_id for page in (first, last) for line in page.lines] == items
    assert (first.next, last.next) == (items[1], None)
    line = first.lines[0]
    check_fields(line, differ_on=("decision", "quality"), reviews=2)
    check_fields(line.item, queue="q", external_id="a0", question="q?")


def test_those_of_a_closed_queue_are_listed_where_it_is_named(case):
    case.queue_of(0.1, needed=2)
    item = split(case)
    case.close()
    assert case.read(open_conflicts).lines == ()
    (line,) = case.read(open_conflicts, "q").lines
    assert line.item.item_id == item
    with pytest.raises(NotFound):
        case.read(open_conflicts, "none")


@on_sqlite
def test_a_split_is_shown_with_every_review_its_note_and_who_put_it_aside(case):
    case.queue_of(0.1, needed=2, blind_judge=True, order="oldest")
    case.skip(case.lease(case.ada), case.ada, "too long")
    item = split(case)
    shown = case.read(load_conflict, item, case.lead)
    assert [(word.reviewer, word.decision, word.grade.note) for word in shown.reviews] == [
        ("Mara", "confirm", "made up"),
        ("Jon", "dismiss", "it is there"),
    ]
    assert (shown.answer.answer, shown.differ_on) == ("answer a0", ("decision", "quality"))
    assert [(one.reviewer_id, one.reason) for one in shown.skips] == [(case.ada.id, "too long")]
    assert shown.adjudication is None
    case.adjudicate(item, DISMISS, quality=4)
    after = case.read(load_conflict, item, case.lead)
    assert after.differ_on == shown.differ_on
    assert (after.adjudication.stage, after.adjudication.grade.note) == (Stage.ADJUDICATION, "why")


@on_sqlite
def test_all_unsure_is_listed_as_such(case):
    case.queue_of(0.1, needed=2)
    for who in (case.mara, case.jon):
        case.review(who, UNSURE)
    (line,) = case.read(open_conflicts).lines
    assert line.differ_on == ("all unsure",)


@on_sqlite
def test_reviewers_see_what_others_said_once_it_is_adjudicated_and_only_where_they_spoke(case):
    case.mara, other = (
        write_to(case.store, store_reviewer, "oidc", f"{name}@example.org", role=Role.REVIEWER)
        for name in ("mara", "other")
    )
    case.queue_of(0.1, needed=2)
    item = split(case)
    (own,) = case.read(own_conflicts, case.mara.id).lines
    check_fields(own.item, item_id=item, state=ItemState.CONFLICT)
    assert case.read(own_conflicts, other.id).lines == ()
    with pytest.raises(NotAllowed):
        case.read(load_conflict, item, case.mara)
    case.adjudicate(item)
    assert len(case.read(load_conflict, item, case.mara).reviews) == 3
    (own,) = case.read(own_conflicts, case.mara.id).lines
    assert own.item.state is ItemState.ADJUDICATED
    with pytest.raises(NotAllowed):
        case.read(load_conflict, item, other)


def test_a_lead_who_is_to_review_the_answer_blind_does_that_first(case):
    case.queue_of(0.1, needed=2)
    case.queue("blind", blind_judge=True, order="oldest", assigned=(case.lead,))
    item = split(case)
    # Not as a row without a question.
    assert case.read_as(case.lead, open_conflicts).lines == ()
    with pytest.raises(NotAllowed):
        case.read(load_conflict, item, case.lead)
    case.review(case.lead, name="blind")
    assert len(case.read(load_conflict, item, case.lead).reviews) == 2
    with pytest.raises(NotFound):
        case.read(load_conflict, 999, case.lead)


def test_a_pair_is_shown_as_stored_with_both_preferences(case):
    add_pairs(case.store, 1)
    case.queue(subject="pairs", needed=2, order="oldest")
    case.review(case.mara, Preference.A)
    case.review(case.jon, Preference.B)
    (line,) = case.read(open_conflicts).lines
    shown = case.read(load_conflict, line.item.item_id, case.lead)
    check_fields(line.item, question="Which, 0?", external_id="p0")
    assert line.differ_on == ("decision",)
    assert shown.pair.answer_a == "left-0"
    assert [word.choice for word in shown.reviews] == ["a", "b"]
    case.adjudicate(line.item.item_id, Preference.TIE)
    assert case.read(open_conflicts).lines == ()
    (own,) = case.read(own_conflicts, case.jon.id).lines
    assert own.item.state is ItemState.ADJUDICATED


@on_sqlite
def test_an_adjudication_is_undone_although_a_later_flag_brought_the_answer_into_the_queue_again(
    case,
):
    [response_id] = case.flagged(0.1)
    case.queue(needed=2)
    adjudication = case.adjudicate(split(case))
    case.judge(response_id, 0.2, version=2)
    assert case.item_states() == ["adjudicated", "open"]
    case.undo(adjudication, case.lead)
    # One item of an answer is in the queue.
    assert case.item_states() == ["left", "open"]
    assert case.flag_states() == ["superseded", "open"]
    for who in (case.mara, case.jon):
        case.review(who)
    case.judge(response_id, 0.2, version=3)
    # Reviews of the first flag do not count for the third.
    assert case.item_states() == ["left", "agreed", "open"]
    assert case.take(case.mara) is not None


said = partial(Verdict, Status.OK)


@pytest.mark.parametrize(
    ("grade", "judged", "expected"),
    [
        (Grade(quality=2), said(quality=3), True),
        (Grade(quality=3), said(quality=3), False),
        (Grade(groundedness=0.5), said(groundedness=0.42), False),
        (Grade(groundedness=0.5), said(groundedness=0.3), True),
        (Grade(groundedness=0.8), said(groundedness=0.6), True),
        (Grade(label=Label.GROUNDED), said(label="hallucinated"), True),
        (Grade(label=Label.GROUNDED), said(groundedness=0.49), True),
        (Grade(label=Label.GROUNDED), said(groundedness=0.5), False),
        (Grade(groundedness=0.2), said(label="grounded"), True),
        (Grade(quality=1), said(groundedness=0.2), False),
        (Grade(note="hm"), said(groundedness=0.2, quality=1, label="hallucinated"), False),
        (Grade(quality=1), said(), False),
    ],
)
def test_they_differ_on_what_both_give(grade, judged, expected):
    assert differs(grade, judged, low=0.5) is expected


@pytest.fixture
def judgments(team):
    """Two versions' judgments of the one answer."""
    team.judge(0.3, version=1)
    team.judge(0.2, version=2)
    return columns(team.rows(JUDGMENT), "id")


def counts(team):
    return [
        (each.title, each.answers, {reason.value: n for reason, n in each.reasons.items() if n})
        for each in team.read(why_counts)
    ]


@on_sqlite
def test_reasons_are_counted_by_the_version_that_was_seen(team, judgments):
    first, second = judgments

    def grade(who, why, judgment_id):
        team.grade(who, quality=1, why_differs=why, judgment_seen_id=judgment_id)

    grade(team.mara, WhyDiffers.FLUENT_TEXT, first)
    grade(team.jon, WhyDiffers.OTHER, first)
    # One answer, two opinions.
    assert counts(team) == [("rag v1", 1, {"fluent_text": 1, "other": 1})]
    grade(team.mara, WhyDiffers.FLUENT_TEXT, second)
    # A later word counts.
    assert counts(team) == [("rag v1", 1, {"other": 1}), ("rag v2", 1, {"fluent_text": 1})]
    team.undo(team.reviews()[-1]["id"], team.mara)
    assert counts(team) == [("rag v1", 1, {"other": 1})]


@on_sqlite
def test_the_agreement_page_counts_them_alike(team, judgments):
    why = {"why_differs": WhyDiffers.OTHER, "judgment_seen_id": judgments[0]}
    for who in (team.mara, team.jon):
        team.grade(who, groundedness=1.0, **why)
    with team.store.reading() as connection:
        (counted,) = why_counts(connection)
        source = PairSource(connection)
        page = agreement_page(source, version_id=counted.version_id, grade="groundedness")
        assert agreement_details(source, page).differing == counted
    # Two people, one answer.
    assert counted.reasons[WhyDiffers.OTHER] == 1


def explain(team, who, why, judgment_id):
    """Say why one's grade differs from a judgment."""
    about = {"response_id": team.response_id, "judgment_id": judgment_id, "request_key": "why"}
    return explain_difference(team.store, reviewer=who, why=why, **about)


def test_why_is_said_later_in_place_of_ones_own_review(team, judgments):
    flag = team.flags()[-1]["id"]
    team.decide(flag, team.mara, DISMISS, grade=Grade(quality=4, note="fine"), seconds=12.0)
    review_id = explain(team, team.mara, WhyDiffers.REFUSAL, judgments[1])
    [row] = team.standing()
    check_fields(row, id=review_id, decision="dismiss", quality=4, note="fine", seconds=12.0)
    check_fields(row, why_differs="refusal", judgment_seen_id=judgments[1])
    assert team.state(flag) == "dismissed"
    assert counts(team) == [("rag v2", 1, {"refusal": 1})]


@on_sqlite
def test_only_who_graded_says_why(team, judgments):
    team.grade(team.mara, quality=1)
    with pytest.raises(BadInput):
        explain(team, team.jon, WhyDiffers.OTHER, judgments[0])
