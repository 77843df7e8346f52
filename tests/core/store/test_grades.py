"""Examples for a judge from people's grades: which answers are taken, and that agreement leaves them out; graders."""

import itertools
from datetime import UTC, datetime
from itertools import islice

import pytest

from engines import on_sqlite
from graded_log import GOOD, GradedLog
from judgeboard.domain import (
    DimensionScore,
    Grade,
    Response,
    ResponseKind,
)
from judgeboard.errors import BadInput
from judgeboard.judges.prompt import example_params
from judgeboard.measure.ratings import PairSource
from judgeboard.methods.anchors.queries import insert_anchor_set
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.alignments import EvidenceRole, evidence_role
from judgeboard.store.grades import examples_from_reviews, graded_reviews
from judgeboard.store.responses import evidence_group
from judgeboard.store.reviewers import graders_by_name, reviewer_names, store_reviewer
from judgeboard.store.storing import store_responses
from judgeboard.store.verdicts import graded_answers, read_verdicts
from stored_rows import read, write_to


def is_usable(number):
    """Whether an answer is not held out."""
    return evidence_role(evidence_group(f"Question {number}?", ("p",))) is not EvidenceRole.HELD_OUT


def add_numbered(store, numbers, kind=ResponseKind.LOG):
    answers = [
        Response(kind.value, str(n), f"Question {n}?", f"Answer {n}.", ("p",), kind=kind)
        for n in numbers
    ]
    return write_to(store, store_responses, answers).new


def add(store, count, **kind):
    """Store answers that are not held out."""
    return add_numbered(store, islice(filter(is_usable, itertools.count()), count), **kind)


def say(store, response_id, who="mara", **grade):
    subject = {"response_id": response_id, "request_key": f"{response_id} {who}"}
    reviewer = ensure_reviewer(store, "test", who)
    submit(store, Submission(reviewer=reviewer, grade=Grade(**grade), **subject))


def taken(store, count, **more):
    return [one.response_id for one in read(store, examples_from_reviews, count, **more)]


@on_sqlite
def test_good_and_bad_are_taken_in_turn_and_disputed_ones_never(store):
    ids = add(store, 6)
    for response_id, value in zip(ids, (4, 4, 4, 1, 3, 2), strict=True):
        say(store, response_id, quality=value)
    say(store, ids[5], "jo", quality=4)
    assert taken(store, 3) == [ids[3], ids[4], ids[0]]
    assert taken(store, 5) == [ids[3], ids[4], ids[0], ids[1], ids[2]]
    assert taken(store, 5) == taken(store, 5)
    with pytest.raises(BadInput, match="only 5 answers"):
        taken(store, 6)


def test_an_example_says_what_people_said_and_made_answers_are_none(sqlite_store):
    (logged,), (made,) = add(sqlite_store, 1), add(sqlite_store, 1, kind=ResponseKind.CANDIDATE)
    scores, note = {"groundedness": 0.2, "quality": 2}, "Half of it is invented."
    say(sqlite_store, logged, **scores, note=note)
    say(sqlite_store, made, quality=1)
    (example,) = read(sqlite_store, examples_from_reviews, 1)
    number = example.query.removeprefix("Question ").removesuffix("?")
    assert (example.response_id, example.answer) == (logged, f"Answer {number}.")
    assert (example.passages, example.scores, example.reasoning) == (("p",), scores, note)


def test_held_out_answers_are_never_examples(sqlite_store):
    ids = add_numbered(sqlite_store, range(40))
    for response_id in ids:
        say(sqlite_store, response_id, quality=3)
    usable = [response_id for number, response_id in enumerate(ids) if is_usable(number)]
    assert taken(sqlite_store, len(usable)) == usable
    with pytest.raises(BadInput, match=f"{40 - len(usable)} more"):
        taken(sqlite_store, len(usable) + 1)


def test_the_evidence_of_anchors_is_never_in_examples(store):
    ids = add(store, 6)
    for response_id in ids:
        say(store, response_id, quality=3)
    for anchors in (ids[:2], ids[1:3]):
        write_to(store, insert_anchor_set, anchors, "seed", "mara", datetime.now(UTC))
    # The earlier anchors are free again.
    assert taken(store, 4) == [ids[0], *ids[3:]]
    with pytest.raises(BadInput, match="2 more"):
        taken(store, 5)


def test_a_rubric_takes_grades_on_its_own_dimensions(sqlite_store):
    first, second = add(sqlite_store, 2)
    say(sqlite_store, first, scores=(DimensionScore("tone", 5, "1-5"),))
    bad = DimensionScore("tone", 1, "1-5"), DimensionScore("x", 1, "1-5")
    say(sqlite_store, second, scores=bad)
    examples = read(sqlite_store, examples_from_reviews, 2, dimensions={"tone"})
    assert [(one.response_id, one.scores) for one in examples] == [
        (second, {"tone": 1}),
        (first, {"tone": 5}),
    ]


def test_agreement_of_a_version_leaves_out_the_answers_it_was_shown(store):
    ids = add(store, 4)
    for response_id in ids:
        say(store, response_id, quality=3)
    examples = read(store, examples_from_reviews, 1)
    log = GradedLog(store)
    shown, plain = (
        log.version("shown", **example_params(examples)),
        log.version("plain", examples="none"),
    )
    for version in (shown, plain):
        log.say_all(version, ids, quality=3)
    with store.reading() as connection:
        _, verdicts = graded_answers(
            connection, graded_reviews(connection), read_verdicts(connection, of_reviewed=True)
        )
        assert verdicts.of_version(shown.id).response_ids.tolist() == ids[1:]
        assert verdicts.of_version(plain.id).response_ids.tolist() == ids
        assert set(verdicts.quality.tolist()) == {3}
        assert PairSource(connection).verdicts(shown.id).response_ids.tolist() == ids[1:]


@on_sqlite
def test_graders_are_those_whose_grades_stand(store, log):
    first, second = log.answers(2)
    log.review(first, "mara", label=GOOD)
    log.review(first, "jon", decision="confirm")
    log.withdraw(log.review(second, "lee", quality=3), second, "lee")
    assert list(read(store, graders_by_name)) == ["mara"]


@on_sqlite
def test_a_grader_has_the_name_that_figures_use_though_the_namesake_never_graded(store, log):
    log.review(*log.answers(1), "mara", label=GOOD)
    write_to(store, store_reviewer, "oidc", "mara")
    ((name, id_),) = read(store, graders_by_name).items()
    assert read(store, reviewer_names)[id_] == name
    assert name.startswith("mara (")
