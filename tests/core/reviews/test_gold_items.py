"""Test items, unannounced in queues, and training queues: answers with gold labels that decide nothing."""

import pytest

from engines import on_sqlite
from judgeboard.errors import BadInput
from judgeboard.measure.notes import note, paragraph
from judgeboard.measure.ratings import AnswerRatings, PairSource
from judgeboard.reviews.person_work import everybodys_work, training_feedback
from judgeboard.reviews.queues import assign_queue
from judgeboard.store.items import load_item
from judgeboard.store.queues import new_queue
from queue_case import CONFIRM, DISMISS
from result_fields import check_fields


@pytest.fixture
def gold(case):
    """Three answers on which Mara and Jon differed: the lead dismissed their flags as grounded."""
    ids = case.flagged(0.1, 0.2, 0.3)
    case.queue("gold", needed=2)
    for _ in ids:
        case.review(case.mara, CONFIRM, "gold", label="hallucinated")
        disputed = case.review(case.jon, DISMISS, "gold", label="grounded")
        case.adjudicate(disputed.item_id, DISMISS, label="grounded")
    return ids


def work(case, who):
    everybody = case.read(everybodys_work, now=case.now)
    return next(each for each in everybody if each.person == who)


def labels(case):
    with case.store.reading() as connection:
        return AnswerRatings(PairSource(connection), "label").people().ratings.rated.sum()


@on_sqlite
def test_a_test_item_is_unannounced_decides_nothing_and_counts_for_its_person_alone(case, gold):
    case.queue_of(0.15, 0.25, test_rate=0.999, repeat_rate=0.5)
    counted, before = labels(case), case.progress()
    first = case.lease(case.ada)
    assert first.response_id in gold
    assert not any("test" in phrase for phrase in first.queue.grades)
    # The gold label is hidden until she has reviewed it.
    assert not case.read_as(case.ada, load_item, first.response_id).reviews
    case.say(first, case.ada, CONFIRM, label="hallucinated")
    case.say(case.lease(case.ada), case.ada, DISMISS, label="grounded")
    check_fields(work(case, case.ada).tests, value=0.5, n=2)
    assert labels(case) == counted
    check_fields(case.progress(), items=before.items, waiting=before.waiting, reviews=0)
    assert case.flag_states()[:3] == ["dismissed"] * 3
    case.review(case.ada)
    assert case.lease(case.ada).response_id not in gold  # she has had all three
    assert case.lease(case.mara).response_id not in gold  # she reviewed them herself
    assert work(case, case.ada).others.n == 0


def test_a_training_queue_gives_everybody_the_same_items_and_their_gold_labels(case, gold):
    assert case.queue("training", training=True, max_items=2, assigned=(case.ada,)).joined == 2
    case.flagged(0.12)  # joins no training queue
    assert work(case, case.ada).left == 2
    wrong = case.review(case.ada, CONFIRM, "training", label="grounded")
    right = case.review(case.ada, DISMISS, "training", label="grounded")
    assert case.take(case.ada, "training") is None
    label, because = "dismissed, grounded", note("gold_reason", reason="why")
    differs = note("gold_differs", parts=("decision",), label=label)
    for decided, words in ((wrong, differs), (right, note("gold_agrees", label=label))):
        feedback = case.read(training_feedback, decided.item_id, decided.review_id)
        assert feedback == paragraph((words, because))
    ada = work(case, case.ada)
    assert (ada.training.value, ada.tests.value) == (0.5, None)
    assign_queue(case.store, "training", by=case.lead, add=[case.jon])
    assert work(case, case.jon).left == 2  # also of answers that he reviewed
    assert case.flag_states()[:3] == ["dismissed"] * 3


def test_people_train_on_the_same_answers_at_the_same_time(case, gold):
    people = case.ada, case.jon
    case.queue("training", training=True, assigned=people)
    assert [work(case, person).left for person in people] == [3, 3]
    for person in people * 3:
        case.review(person, DISMISS, "training", label="grounded")
    assert {work(case, person).training.value for person in people} == {1}


@on_sqlite
def test_what_cannot_be_a_test_or_a_training_is_refused(case):
    case.flagged(0.1)
    with pytest.raises(BadInput):
        case.queue(training=True)
    for rules in (
        {"test_rate": 0.1, "subject": "pairs"},
        {"training": True, "test_rate": 0.1},
        {"test_rate": 1.0},
    ):
        with pytest.raises(BadInput):
            new_queue("q", **rules)
