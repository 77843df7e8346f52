"""Split items: listed for leads page by page, shown with all that was said, and to their reviewers afterwards."""

from dataclasses import dataclass

import pytest

from engines import on_sqlite
from judgeboard.domain import (
    Grade,
    ItemState,
    Label,
    Preference,
    QueueOrder,
    Role,
    Stage,
    WhyDiffers,
)
from judgeboard.errors import BadInput, NotAllowed, NotFound
from judgeboard.measure.agreement_page import agreement_details, agreement_page
from judgeboard.measure.ratings import PairSource
from judgeboard.reviews.changes import differs, explain_difference
from judgeboard.reviews.outcome import load_conflict, open_conflicts, own_conflicts
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.reviewers import store_reviewer
from judgeboard.store.tables import JUDGMENT
from judgeboard.store.verdict_pairs import why_counts
from pair_log import add_pairs
from queue_case import CONFIRM, DISMISS, UNSURE
from stored_rows import assert_has, columns, read, write_to


def split(case, name="q"):
    """Let Mara and Jon differ on the next item."""
    case.review(case.mara, CONFIRM, name, quality=1, note="made up")
    return case.review(case.jon, DISMISS, name, quality=4, note="it is there").item_id


def signed_in(case, name, role=Role.REVIEWER):
    return write_to(case.store, store_reviewer, "oidc", f"{name}@example.org", role=role)


def test_splits_are_listed_a_page_at_a_time_with_what_they_differ_on(case):
    case.queue_of(0.1, 0.2, 0.3, 0.4, needed=2)
    items = [split(case) for _ in range(3)]
    case.review(case.mara)
    first = case.read(open_conflicts, limit=2)
    last = case.read(open_conflicts, "q", after=first.next, limit=2)
    assert [line.item.item_id for page in (first, last) for line in page.lines] == sorted(items)
    assert (first.next, last.next) == (sorted(items)[1], None)
    line = first.lines[0]
    assert_has(line, differ_on=("decision", "quality"), reviews=2)
    assert_has(line.item, queue="q", external_id="a0", question="q?")


def test_those_of_a_closed_queue_are_listed_where_it_is_named(case):
    case.queue_of(0.1, needed=2)
    item = split(case)
    case.close()
    with case.store.reading() as connection:
        assert open_conflicts(connection).lines == ()
        assert [line.item.item_id for line in open_conflicts(connection, "q").lines] == [item]
        with pytest.raises(NotFound):
            open_conflicts(connection, "none")


@on_sqlite
def test_a_split_is_shown_with_every_review_its_note_and_who_put_it_aside(case):
    case.queue_of(0.1, needed=2, blind_judge=True, order=QueueOrder.OLDEST)
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
    case.flagged(0.1)
    case.mara = signed_in(case, "mara")
    other = signed_in(case, "other")
    case.queue(needed=2)
    item = split(case)
    (own,) = case.read(own_conflicts, case.mara.id).lines
    assert_has(own.item, item_id=item, state=ItemState.CONFLICT)
    assert case.read(own_conflicts, other.id).lines == ()
    with pytest.raises(NotAllowed):
        case.read(load_conflict, item, case.mara)
    case.adjudicate(item)
    with case.store.reading() as connection:
        assert len(load_conflict(connection, item, case.mara).reviews) == 3
        assert [line.item.state for line in own_conflicts(connection, case.mara.id).lines] == [
            ItemState.ADJUDICATED
        ]
        with pytest.raises(NotAllowed):
            load_conflict(connection, item, other)


def test_a_lead_who_is_to_review_the_answer_blind_does_that_first(case):
    case.queue_of(0.1, needed=2)
    case.queue("blind", blind_judge=True, order=QueueOrder.OLDEST, assigned=(case.lead,))
    item = split(case)
    assert read(Seen(case.store, case.lead.id), open_conflicts).lines == ()
    with case.store.reading() as connection, pytest.raises(NotAllowed):
        load_conflict(connection, item, case.lead)
    case.review(case.lead, CONFIRM, "blind")
    assert len(case.read(load_conflict, item, case.lead).reviews) == 2
    with pytest.raises(NotFound):
        case.read(load_conflict, 999, case.lead)


def test_a_pair_is_shown_as_stored_with_both_preferences(case):
    add_pairs(case.store, 1)
    case.queue(subject="pairs", needed=2, order=QueueOrder.OLDEST)
    for who, preference in ((case.mara, Preference.A), (case.jon, Preference.B)):
        case.review(who, preference)
    (line,) = case.read(open_conflicts).lines
    shown = case.read(load_conflict, line.item.item_id, case.lead)
    assert (line.item.question, line.item.external_id, line.differ_on) == (
        "Which, 0?",
        "p0",
        ("decision",),
    )
    assert (shown.pair.answer_a, [word.choice for word in shown.reviews]) == (
        "left-0",
        ["a", "b"],
    )
    case.adjudicate(line.item.item_id, Preference.TIE)
    assert read(case.store, open_conflicts).lines == ()
    assert [one.item.state for one in read(case.store, own_conflicts, case.jon.id).lines] == [
        ItemState.ADJUDICATED
    ]


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


@dataclass(frozen=True)
class Said:
    groundedness: float | None = None
    quality: int | None = None
    label: str | None = None


@pytest.mark.parametrize(
    ("grade", "judged", "expected"),
    [
        (Grade(quality=2), Said(quality=3), True),
        (Grade(quality=3), Said(quality=3), False),
        (Grade(groundedness=0.5), Said(0.42), False),
        (Grade(groundedness=0.5), Said(0.3), True),
        (Grade(groundedness=0.8), Said(0.6), True),
        (Grade(label=Label.GROUNDED), Said(label="hallucinated"), True),
        (Grade(label=Label.GROUNDED), Said(0.49), True),
        (Grade(label=Label.GROUNDED), Said(0.5), False),
        (Grade(groundedness=0.2), Said(label="grounded"), True),
        (Grade(quality=1), Said(0.2), False),
        (Grade(note="hm"), Said(0.2, 1, "hallucinated"), False),
        (Grade(quality=1), Said(), False),
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
        for each in read(team.store, why_counts)
    ]


@on_sqlite
def test_reasons_are_counted_by_the_version_that_was_seen(team, judgments):
    first, second = judgments
    team.grade(team.mara, quality=1, why_differs=WhyDiffers.FLUENT_TEXT, judgment_seen_id=first)
    team.grade(team.jon, quality=1, why_differs=WhyDiffers.OTHER, judgment_seen_id=first)
    # One answer, two opinions.
    assert counts(team) == [("rag v1", 1, {"fluent_text": 1, "other": 1})]
    team.grade(team.mara, quality=1, why_differs=WhyDiffers.FLUENT_TEXT, judgment_seen_id=second)
    # A later word counts.
    assert counts(team) == [("rag v1", 1, {"other": 1}), ("rag v2", 1, {"fluent_text": 1})]
    team.undo(team.reviews()[-1]["id"], team.mara)
    assert counts(team) == [("rag v1", 1, {"other": 1})]


@on_sqlite
def test_the_agreement_page_counts_them_alike(team, judgments):
    for who in (team.mara, team.jon):
        team.grade(
            who, groundedness=1.0, why_differs=WhyDiffers.OTHER, judgment_seen_id=judgments[0]
        )
    with team.store.reading() as connection:
        (counted,) = why_counts(connection)
        source = PairSource(connection)
        page = agreement_page(source, version_id=counted.version_id, grade="groundedness")
        assert agreement_details(source, page).differing == counted
    # Two people, one answer.
    assert counted.reasons[WhyDiffers.OTHER] == 1


def test_why_is_said_later_in_place_of_ones_own_review(team, judgments):
    flag = team.flags()[-1]["id"]
    given_grade = Grade(quality=4, note="fine")
    team.decide(flag, team.mara, DISMISS, grade=given_grade, seconds=12.0)
    review_id = explain_difference(
        team.store,
        response_id=team.response_id,
        reviewer=team.mara,
        why=WhyDiffers.REFUSAL,
        judgment_id=judgments[1],
        request_key="why",
    )
    [row] = team.standing()
    assert_has(row, id=review_id, decision="dismiss", quality=4, note="fine")
    assert_has(row, why_differs="refusal", judgment_seen_id=judgments[1], seconds=12.0)
    assert team.state(flag) == "dismissed"
    assert counts(team) == [("rag v2", 1, {"refusal": 1})]


@on_sqlite
def test_only_who_graded_says_why(team, judgments):
    team.grade(team.mara, quality=1)
    with pytest.raises(BadInput):
        explain_difference(
            team.store,
            response_id=team.response_id,
            reviewer=team.jon,
            why=WhyDiffers.OTHER,
            judgment_id=judgments[0],
            request_key="why",
        )
