"""One answer with all judgments and reviews of it, and the same item in a blind queue."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from engines import on_sqlite
from judgeboard.domain import (
    Claim,
    ClaimStatus,
    Feedback,
    FeedbackKind,
    Label,
    QueueOrder,
    Status,
)
from judgeboard.errors import NotFound
from judgeboard.store.events import record_event
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.items import load_item, response_of_flag
from judgeboard.store.leases import own_progress
from queue_case import DISMISS, queue_case
from stored_rows import read

ASKED = datetime(2026, 3, 12, 8, tzinfo=UTC)


def loaded(case, response_id):
    return case.read(load_item, response_id)


@on_sqlite
def test_everything_said_of_an_answer_is_there_newest_first(case):
    claim = Claim("60 m", ClaimStatus.CONTRADICTED, "60 m", 1, "70 m", 4, 8, 0, 4)
    response_id = case.answer(
        passages=("70 m", ""),
        query_type="QA",
        generator_model="llama",
        asked_at=ASKED,
        metadata={"user": 7},
        feedback=(Feedback(FeedbackKind.STARS, 5), Feedback(FeedbackKind.THUMBS, 0, "u", ASKED)),
    )
    rag, nli, newer = case.version("rag"), case.version("nli"), case.version("rag", n=2)
    case.say(rag, response_id, groundedness=0.9, quality=4)
    case.say(nli, response_id, label=Label.GROUNDED)
    case.say(
        newer, response_id, groundedness=0.3, quality=2, reasoning="no", claims=(claim,), raw="{}"
    )
    case.say(newer, response_id, Status.ERROR, error="timeout")
    item = loaded(case, response_id)
    assert replace(item.response, feedback=()) == replace(case.answers["a"], feedback=())
    assert [said.words for said in item.response.feedback] == ["5 stars", "thumbs down"]
    thumbs = item.response.feedback[-1]
    assert (thumbs.at, thumbs.user) == (ASKED, None)
    assert [(one.version_title, one.status) for one in item.judgments] == [
        ("rag v2", "error"),
        ("rag v2", "ok"),
        ("nli v1", "ok"),
        ("rag v1", "ok"),
    ]
    assert item.primary_judge == "rag"
    failed, _, _, oldest = item.judgments
    latest, other = item.currents
    assert (latest.version_title, other.version_title) == ("rag v2", "nli v1")
    assert (latest.claims, latest.reasoning, latest.raw) == ((claim,), "no", "{}")
    assert (other.label, failed.error) == ("grounded", "timeout")
    # An unusable one and those of others do not count.
    assert item.before(latest) == oldest
    assert item.before(oldest) is item.before(other) is None
    assert item.forgotten_at is None


def test_flags_say_why_and_the_worst_that_waits_is_the_one(case):
    response_id = case.answer(feedback=(Feedback(FeedbackKind.THUMBS, 1),))
    case.say(case.version(), response_id, groundedness=0.25, quality=1)
    item = loaded(case, response_id)
    assert {flag.rule: re.findall(r"[\d.]*\d", flag.why) for flag in item.flags} == {
        "low_groundedness": ["0.25", "0.5"],
        "low_quality": ["1", "2"],
        "feedback_gap": ["4", "1"],
    }
    assert item.flag.rule == "feedback_gap"
    people = queue_case(case.store)
    people.decide(item.flag.id, people.mara)
    decided = loaded(case, response_id)
    assert decided.flag is None
    assert {flag.state for flag in decided.flags} == {"confirmed"}


@on_sqlite
def test_reviews_name_their_reviewer_and_say_whether_they_stand(queues):
    (response_id,) = queues.add("a")
    first, second = (queues.grade(response_id, queues.mara, quality=value) for value in (1, 2))
    third = queues.grade(response_id, queues.jon, note="n")
    queues.undo(third, queues.jon)
    reviews = loaded(queues, response_id).reviews
    assert [(one.reviewer, one.id, one.stands) for one in reviews] == [
        ("Jon", third + 1, False),
        ("Jon", third, False),
        ("Mara", second, True),
        ("Mara", first, False),
    ]
    assert [one.decision for one in reviews] == ["withdrawn", None, None, None]


@on_sqlite
def test_who_is_given_an_answer_again_does_not_see_their_first_review_of_it(queues):
    queues.queue_of(0.1, repeat_rate=0.999)
    queues.review(queues.mara)
    queues.later(days=8)
    again = queues.lease(queues.mara)
    assert queues.read_as(queues.mara, load_item, again.response_id).reviews == ()
    queues.say(again, queues.mara)
    assert len(queues.read_as(queues.mara, load_item, again.response_id).reviews) == 2


@on_sqlite
def test_a_judge_that_only_failed_has_no_current_verdict(case):
    response_id = case.answer()
    case.say(case.version(), response_id, Status.UNPARSABLE, raw="85")
    item = loaded(case, response_id)
    assert item.currents == ()
    assert (item.judgments[0].status, item.judgments[0].raw) == ("unparsable", "85")


def test_an_answer_nobody_spoke_of_has_nothing_but_its_text(case):
    item = loaded(case, case.answer())
    assert item.response.feedback == item.judgments == item.flags == item.reviews == ()
    assert item.flag is None
    # No passages in the log are not an empty list.
    assert item.response.passages is None
    assert item.primary_judge is None


@on_sqlite
def test_a_forgotten_answer_says_when(case):
    response_id = case.answer()
    with case.store.writing() as connection:
        record_event(connection, "forget", "test", response_id=response_id, now=ASKED)
        connection.execute(text("UPDATE response SET query = NULL, answer = NULL"))
    item = loaded(case, response_id)
    assert (item.response.query, item.response.answer, item.forgotten_at) == ("", "", ASKED)


@on_sqlite
def test_what_is_not_there_is_said(case):
    response_id = case.answer()
    case.say(case.version(), response_id, groundedness=0.1)
    assert case.read(response_of_flag, case.flag_rows(response_id)[0]["id"]) == response_id
    for function in (load_item, response_of_flag):
        with pytest.raises(NotFound, match="99"):
            case.read(function, 99)


def read_by(queues, who, response_id):
    return read(Seen(queues.store, who.id), load_item, response_id)


def test_who_holds_an_item_blind_reads_its_texts_alone_and_all_of_it_after_the_grade(queues):
    both = queues.mara, queues.jon
    blind = {"blind_judge": True, "blind_people": True, "order": QueueOrder.OLDEST}
    queues.queue_of(0.1, needed=2, assigned=both, **blind)
    leased = queues.lease(queues.mara)
    queues.review(queues.jon, DISMISS, groundedness=0.5)
    found = read_by(queues, queues.mara, leased.response_id)
    assert found.hidden.judge
    assert found.response.answer
    assert (found.judgments, found.currents, found.flags, found.reviews) == ((), (), (), ())
    # To whom it is not hidden it is there.
    assert read_by(queues, queues.ada, leased.response_id).currents
    queues.say(leased, queues.mara)
    found = read_by(queues, queues.mara, leased.response_id)
    assert not found.hidden
    assert {review.reviewer for review in found.reviews} == {"Mara", "Jon"}
    assert found.currents


@on_sqlite
def test_how_much_is_left_leaves_out_what_one_did_skipped_or_others_hold(queues):
    queues.queue_of(0.1, 0.2, 0.3, 0.4, needed=2)

    def place(who):
        return queues.read(own_progress, 1, who.id, queues.now)

    assert place(queues.mara) == (0, 4)
    queues.review(queues.mara)
    assert place(queues.mara) == (1, 3)
    queues.skip(queues.lease(queues.mara), queues.mara)
    assert place(queues.mara) == (1, 2)
    queues.lease(queues.mara)
    # What one holds is left too.
    assert place(queues.mara) == (1, 2)
    queues.review(queues.jon)
    for who in (queues.jon, queues.ada):
        queues.lease(who)
    assert place(queues.jon) == (1, 3)
