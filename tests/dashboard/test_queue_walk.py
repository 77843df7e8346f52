"""Going through a queue: one item on the screen, the next one at hand, and what a press costs."""

from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from engines import on_sqlite
from judgeboard.domain import ClaimStatus, Label
from judgeboard.errors import DecisionRefused, NotFound
from judgeboard.people.roster import set_sources
from judgeboard.reviews.failure_modes import save_mode
from judgeboard.reviews.leases import release, take_item
from judgeboard.reviews.queues import close_queue
from judgeboard.store.filters import RowFilter
from judgeboard.store.tables import SKIP
from judgeboard_dashboard.review import actions, claims, leases
from judgeboard_dashboard.review.actions import (
    MarkActions,
    QueueActions,
    review_skipped,
    undo_in_queue,
)
from judgeboard_dashboard.review.drafts import ReviewSession
from judgeboard_dashboard.review.leases import ACTIVE, READ_AHEAD, begin, queue_session
from judgeboard_dashboard.review.screen import problem_question
from judgeboard_dashboard.review.signals import primary_verdict
from query_plans import plans_of, statements_of
from queue_case import CONFIRM, DISMISS, UNSURE, queue_case

STATEMENTS_A_PRESS = 64  # the last is the event of a conflict
BLIND = {"blind_judge": True, "blind_people": True, "order": "oldest"}


@pytest.fixture
def case(store):
    made = queue_case(store)
    made.now = datetime.now(UTC)
    return made


def actions_on(work, session):
    """What the keys do on the item on the screen, bound as the page does it."""
    leased = work.current
    assert leased.item is not None
    leased.shown = True
    row = f"q{leased.lease.item_id}{'' if work.reveal is None else 'r'}"
    return QueueActions(
        store=work.store,
        session=session,
        reviewer=work.reviewer,
        row=row,
        request_key=session.request_key(row),
        subject=leased.subject,
        name=leased.name,
        seconds=lambda: 3.0,
        judgment=primary_verdict(leased.item),
        work=work,
        leased=leased,
    )


def press(work, session, decision=CONFIRM):
    """Decide what is on the screen (after the reveal: None keeps), as the page does in one run."""
    actions_on(work, session).decide(decision)
    work.lease_items(1)
    if work.current is not None:
        work.current.shown = True
    work.lease_items(READ_AHEAD)


def started(case, **rules):
    """Mara's work in a new queue, and her session."""
    case.queue(**rules)
    work = begin(case.store, "q", case.mara)
    work.lease_items(READ_AHEAD)
    return work, ReviewSession()


@on_sqlite
@pytest.mark.parametrize("rules", [{}, BLIND | {"reveal": False}])
def test_a_press_sends_as_many_statements_in_a_long_queue_as_in_a_short_one(case, rules):
    case.flagged(*(0.1 + number / 1000 for number in range(120)))
    work, session = started(case, **rules)
    counts = []
    for place in range(30):
        with statements_of(case.store) as sent:
            press(work, session, (CONFIRM, DISMISS, UNSURE)[place % 3])
        counts.append(len(sent))
    assert work.position == "31 of 120"
    assert max(counts[3:]) == max(counts[:3]), counts
    assert max(counts) <= STATEMENTS_A_PRESS, counts


def test_no_press_reads_all_that_waits_in_its_queue(sqlite_store):
    case = queue_case(sqlite_store)
    case.flagged(*(0.1 + number / 1000 for number in range(10)))
    work, session = started(case)
    press(work, session)
    with plans_of(sqlite_store) as plans:
        press(work, session)
    steps = [step for plan in plans for step in plan.splitlines()]
    assert not [
        step
        for step in steps
        if step.startswith("SCAN queue_item") or "ix_queue_item_state" in step
    ]


@on_sqlite
def test_the_next_item_is_held_and_read_before_it_is_asked_for(case):
    ids = case.flagged(0.1, 0.2, 0.3)
    work, session = started(case)
    assert [card.item.response_id for card in work.items] == ids[:2]
    assert case.lease(case.jon).response_id == ids[2]
    press(work, session)
    assert work.current.item.response_id == ids[1]
    assert work.position == "2 of 3"


@on_sqlite
def test_where_the_label_is_required_it_makes_the_decision_unless_the_quality_is_low(case):
    case.flagged(0.1, 0.2, 0.3)
    work, session = started(case, **BLIND, grades=("label",), reveal=False)

    def graded(label, quality=None):
        work.lease_items(1)
        shown = actions_on(work, session)
        shown.save()
        assert session.refused
        assert "label (Q W)" in session.message
        shown.give("label", label)
        shown.give("quality", quality)
        return shown

    for label in Label.HALLUCINATED, Label.GROUNDED:
        shown = graded(label)
        assert not shown.asks_decision
        shown.save()
    shown = graded(Label.GROUNDED, 2)
    assert shown.asks_decision
    shown.save()
    assert session.refused
    assert "quality" in session.message
    shown.decide(CONFIRM)
    assert [(row["label"], row["quality"], row["decision"]) for row in case.reviews()] == [
        ("hallucinated", None, "confirm"),
        ("grounded", None, "dismiss"),
        ("grounded", 2, "confirm"),
    ]


@on_sqlite
def test_after_a_blind_grade_the_judge_is_shown_and_keeping_stores_the_same_grade(case):
    case.flagged(0.42, 0.4)
    work, session = started(case, **BLIND)
    first = actions_on(work, session)
    assert work.current.item.currents == ()
    first.give("groundedness", 0.5)
    press(work, session, CONFIRM)
    assert work.reveal.leased.item.currents[0].groundedness == 0.42
    assert session.draft(first.subject).groundedness == 0.5
    press(work, session, None)
    assert work.reveal is None
    assert session.message.startswith("Kept")
    assert [(row["stage"], row["groundedness"], row["decision"]) for row in case.reviews()] == [
        ("blind", 0.5, "confirm"),
        ("revealed", 0.5, "confirm"),
    ]
    assert work.current.item.currents == ()
    assert work.position == "2 of 2"


@on_sqlite
@pytest.mark.parametrize("is_judged", [True, False])
def test_where_another_queue_hides_the_judge_or_no_judge_has_a_verdict_the_next_item_comes(
    case, is_judged
):
    if is_judged:
        ids = case.flagged(0.42, 0.4)
        case.queue("other", assigned=(case.mara,), **BLIND)
    else:
        ids = case.add("not judged", "not judged either")
    work, session = started(case, **BLIND, flagged_only=is_judged, max_items=2)
    press(work, session)
    assert work.reveal is None
    assert work.current.item.response_id == ids[1]
    assert session.message.startswith("Saved")


@on_sqlite
def test_a_review_whose_reveal_is_refused_is_reported_as_saved(case, monkeypatch):
    def refused(*_args, **_options):
        raise DecisionRefused("You must also review this item blind in another queue.")

    ids = case.flagged(0.42, 0.4)
    work, session = started(case, **BLIND)
    monkeypatch.setattr(actions, "reveal", refused)
    press(work, session)
    assert len(case.reviews()) == 1
    assert work.reveal is None
    assert work.current.item.response_id == ids[1]
    assert work.done == 1
    assert session.message.partition(":")[0] == "Saved"
    assert session.refused is False


@on_sqlite
def test_an_item_that_somebody_else_has_by_now_is_refused_in_words_and_the_note_is_kept(case):
    ids = case.flagged(0.1, 0.2)
    work, session = started(case)
    session.draft(ids[0]).notes["note"] = "typed for minutes"
    item_id = work.current.lease.item_id
    release(case.store, work.current.lease.token, case.mara)
    assert take_item(case.store, item_id, case.jon) is not None
    press(work, session)
    assert session.refused
    assert "lease" in session.message
    assert "note" in session.message
    assert work.current.item.response_id == ids[1]
    assert [(row["note"], row["decision"]) for row in case.reviews()] == [
        ("typed for minutes", None)
    ]


@on_sqlite
def test_what_was_decided_in_another_window_does_not_come_to_the_screen(case):
    ids = case.flagged(0.1, 0.2, 0.3)
    work, session = started(case)
    other = begin(case.store, "q", case.mara)
    other.lease_items(READ_AHEAD)
    assert [card.lease.token for card in other.items] == [card.lease.token for card in work.items]
    there = ReviewSession()
    there.draft(ids[0]).notes["note"] = "typed in vain?"
    press(work, session)
    press(work, session)
    press(other, there)
    assert there.refused
    assert "already" in there.message
    assert "note" in there.message
    # The one after the two that the first window decided.
    assert other.current.item.response_id == ids[2]
    press(other, there)
    decided = [row for row in case.reviews() if row["decision"]]
    assert [row["response_id"] for row in decided] == ids
    [kept] = [row for row in case.reviews() if not row["decision"]]
    assert kept["response_id"] == ids[0]
    assert kept["note"] == "typed in vain?"


@on_sqlite
def test_the_same_keys_after_an_undo_give_the_same_grades_and_a_second_press_removes_one(case):
    save_mode(case.store, "wrong figure", by=case.lead)
    case.flagged(0.1)
    work, session = started(case)

    def type_grades():
        bound = actions_on(work, session)
        for grade, value in (
            ("label", Label.HALLUCINATED),
            ("groundedness", 0.2),
            ("quality", 2),
        ):
            bound.give(grade, value)
        bound.draft.choose_mode("wrong figure")
        marks = MarkActions(
            session, bound.subject, claims.statements_of(bound.leased.item.response.answer)
        )
        marks.next()
        marks.mark(ClaimStatus.UNSUPPORTED)
        return bound

    typed = type_grades().draft.grade()
    press(work, session)
    undo_in_queue(case.store, session, work, work.undoable[-1])
    bound = type_grades()
    assert bound.draft.grade() == typed
    for _ in range(2):
        bound.give("quality", 3)
    bound.give("label", Label.HALLUCINATED)
    bound.draft.choose_mode("wrong figure")
    assert bound.draft.grade() == replace(typed, label=None, quality=None, modes=())


@on_sqlite
def test_a_grounded_answer_with_a_problem_is_stored_as_given_and_both_are_said(case):
    case.flagged(0.1, 0.1)
    work, session = started(case, optional_grades=("label",), **BLIND, reveal=False)
    bound = actions_on(work, session)
    plain = problem_question(bound.draft, bound.rules)
    bound.give("label", Label.GROUNDED)
    assert "grounded" in problem_question(bound.draft, bound.rules)
    # Here it is refused.
    assert problem_question(bound.draft, {"low_groundedness"}) == plain
    press(work, session)
    assert session.message.startswith(f"Saved: confirmed {bound.name}, ")
    assert "label grounded" in session.message
    assert [(row["decision"], row["label"]) for row in case.reviews()] == [("confirm", "grounded")]
    bound = actions_on(work, session)
    bound.give("label", Label.HALLUCINATED)
    press(work, session)
    assert session.message == f"Saved: confirmed {bound.name}"


@on_sqlite
def test_both_reviewers_of_a_queue_see_the_same_total(case):
    case.flagged(*(0.1 + number / 100 for number in range(8)))
    mara, session = started(case)
    jon = begin(case.store, "q", case.jon)
    jon.lease_items(READ_AHEAD)
    assert [work.position for work in (mara, jon)] == ["1 of 8", "1 of 8"]
    press(mara, session)
    actions_on(mara, session).skip()  # then Jon may get it
    mara.lease_items(READ_AHEAD)
    assert mara.position == "2 of 8"
    assert jon.position == "1 of 8"
    assert begin(case.store, "q", case.mara).position == "2 of 8"


@contextmanager
def full_disk(store):
    """No page can be added to the database file."""
    with store.writing() as connection:
        connection.exec_driver_sql(
            "PRAGMA max_page_count = 1"
        )  # SQLite takes the present size for it
    yield
    with store.writing() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")


@on_sqlite
def test_a_full_disk_is_said_in_words_and_the_same_key_saves_the_kept_decision_later(case):
    ids = case.flagged(0.1, 0.2)
    work, session = started(case)
    session.draft(ids[0]).notes["note"] = "long " * 20_000  # needs more room than the file has
    with full_disk(case.store):
        actions_on(work, session).decide(DISMISS)
    assert "disk" in session.message
    assert "press N" in session.message
    assert session.draft(ids[0]).notes["note"]
    assert not case.reviews()
    actions_on(work, session).decide(DISMISS)
    assert [row["decision"] for row in case.reviews()] == ["dismiss"]
    assert session.message == "Saved: dismissed a0"


@on_sqlite
def test_the_end_of_a_queue_gives_skipped_items_back_with_what_was_typed(case):
    ids = case.flagged(0.1, 0.2, 0.3)
    work, session = started(case)
    session.draft(ids[0]).notes["note"] = "half done"
    for declined in (False, False, True):
        actions_on(work, session).skip(declined=declined)
        work.lease_items(READ_AHEAD)
    assert work.current is None
    assert [row["reason"] for row in case.rows(SKIP)] == ["half done", None, "cannot be judged"]
    assert case.lease(case.jon).response_id == ids[0]
    release(case.store, case.lease(case.jon).token, case.jon)
    review_skipped(case.store, session, work)
    assert "2 skipped items" in session.message
    work.lease_items(READ_AHEAD)
    assert [leased.item.response_id for leased in work.items] == ids[:2]
    assert session.draft(ids[0]).notes["note"] == "half done"
    # The decline can still be undone.
    assert len(work.undoable) == 1


@on_sqlite
def test_undo_takes_back_a_decline_and_a_skip_with_what_was_typed(case):
    ids = case.flagged(0.1, 0.2)
    work, session = started(case, needed=2)
    press(work, session)
    session.draft(ids[1]).notes["note"] = "half done"
    actions_on(work, session).skip(declined=True)
    work.lease_items(READ_AHEAD)
    assert work.current is None
    declined = work.undoable[-1]
    undo_in_queue(case.store, session, work, declined)
    assert session.message.startswith("Undone: a1")
    assert work.current.item.response_id == ids[1]
    assert session.draft(ids[1]).notes["note"] == "half done"
    assert work.position == "2 of 2"
    undo_in_queue(case.store, session, work, declined)  # a second press of the same screen
    assert not session.refused
    actions_on(work, session).skip()
    undo_in_queue(case.store, session, work, work.undoable[-1])
    undo_in_queue(case.store, session, work, work.undoable[-1])  # the decision before
    assert work.current.item.response_id == ids[0]
    assert work.undoable == []
    assert case.lease(case.jon).response_id == ids[0]


@on_sqlite
def test_what_is_held_is_renewed_while_somebody_is_there_and_given_back_when_they_leave(case):
    case.flagged(0.1, 0.2)
    work, _ = started(case)
    work.current.shown = True
    before = [card.until for card in work.items]
    now = before[0] - timedelta(minutes=1)
    work.renew(datetime.now(UTC))
    # Not on every press.
    assert [card.until for card in work.items] == before
    work.renew(now)
    assert all(card.until > until for card, until in zip(work.items, before, strict=True))
    work.note_activity(now)
    assert work.is_active(now + ACTIVE / 2)
    assert not work.is_active(now + ACTIVE)
    assert case.take(case.jon) is None
    work.release_all()
    assert case.take(case.jon) is not None


@on_sqlite
def test_an_item_held_too_long_is_taken_again_or_said_to_be_somebody_elses(case):
    ids = case.flagged(0.1, 0.2)
    work, session = started(case)
    bound = actions_on(work, session)
    work.current.until = datetime.now(UTC)
    work.renew(datetime.now(UTC))
    # Its reader is asked first.
    assert work.current.expired(datetime.now(UTC))
    bound.lease_again()
    assert not work.current.expired(datetime.now(UTC))
    release(case.store, work.current.lease.token, case.mara)
    assert take_item(case.store, work.current.lease.item_id, case.jon) is not None
    session.draft(ids[0]).notes["note"] = "half of it"
    actions_on(work, session).lease_again()
    assert session.refused
    assert "kept" in session.message
    assert work.current.item.response_id == ids[1]


def test_a_queue_that_is_closed_meanwhile_ends_with_a_sentence(case):
    case.flagged(0.1, 0.2)
    work, session = started(case)
    close_queue(case.store, "q", by=case.lead)
    press(work, session)
    assert session.refused
    assert work.current is None  # what lay ahead is not shown as if it could be decided
    assert "'q'" in work.closed


@on_sqlite
def test_work_in_a_queue_begins_anew_when_the_sources_of_a_person_change(case, monkeypatch):
    case.flagged(0.1, 0.2)
    case.queue(where=RowFilter(sources=("log",)))
    monkeypatch.setattr(leases, "st", SimpleNamespace(session_state={}))
    work = queue_session(case.store, "q", case.mara)
    assert queue_session(case.store, "q", case.mara) is work
    limited = set_sources(case.store, "Mara", ["log"], "cli:test", origin="page")
    anew = queue_session(case.store, "q", limited)
    assert anew is not work
    limited = set_sources(case.store, "Mara", ["other"], "cli:test", origin="page")
    with pytest.raises(NotFound):
        queue_session(case.store, "q", limited)
