"""Examples for a judge from people's grades: which answers are taken, and that agreement leaves them out; graders."""

import itertools
from datetime import UTC, datetime

import pytest

from engines import on_sqlite
from graded_log import GOOD, GradedLog
from judgeboard.domain import (
    DimensionScore,
    Grade,
    JudgeVersion,
    Response,
    ResponseKind,
    Status,
    Verdict,
)
from judgeboard.errors import BadInput
from judgeboard.judges.prompt import example_params
from judgeboard.measure.ratings import PairSource
from judgeboard.methods.anchors.queries import insert_anchor_set
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.alignments import EvidenceRole, evidence_role
from judgeboard.store.grades import examples_from_reviews, graded_reviews
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.responses import evidence_group
from judgeboard.store.reviewers import graders_by_name, reviewer_names, store_reviewer
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.verdicts import graded_answers, read_verdicts
from stored_rows import read, write_to

HELD_OUT = EvidenceRole.HELD_OUT


def add(store, count, kind=ResponseKind.LOG):
    """Store answers that are not held out."""
    numbers = (
        n
        for n in itertools.count()
        if evidence_role(evidence_group(f"Question {n}?", ("p",))) is not HELD_OUT
    )
    answers = [
        Response(kind.value, str(n), f"Question {n}?", f"Answer {n}.", ("p",), kind=kind)
        for n in itertools.islice(numbers, count)
    ]
    return write_to(store, store_responses, answers).new


def say(store, response_id, who, given):
    reviewer = ensure_reviewer(store, "test", who)
    submit(
        store,
        Submission(
            response_id=response_id,
            reviewer=reviewer,
            grade=given,
            request_key=f"{response_id} {who}",
        ),
    )


def quality(store, response_id, who, value, note=None):
    say(store, response_id, who, Grade(quality=value, note=note))


def taken(store, count, **more):
    return [one.response_id for one in read(store, examples_from_reviews, count, **more)]


@on_sqlite
def test_good_and_bad_are_taken_in_turn_and_disputed_ones_never(store):
    ids = add(store, 6)
    for response_id, value in zip(ids, (4, 4, 4, 1, 3, 2), strict=True):
        quality(store, response_id, "mara", value)
    quality(store, ids[5], "jo", 4)
    assert taken(store, 3) == [ids[3], ids[4], ids[0]]
    assert taken(store, 5) == [ids[3], ids[4], ids[0], ids[1], ids[2]]
    assert taken(store, 5) == taken(store, 5)
    with pytest.raises(BadInput, match="only 5 answers"):
        taken(store, 6)


def test_an_example_says_what_people_said_and_made_answers_are_none(sqlite_store):
    (logged,), (made,) = add(sqlite_store, 1), add(sqlite_store, 1, ResponseKind.CANDIDATE)
    note = "Half of it is invented."
    say(sqlite_store, logged, "mara", Grade(quality=2, groundedness=0.2, note=note))
    quality(sqlite_store, made, "mara", 1)
    (example,) = read(sqlite_store, examples_from_reviews, 1)
    number = example.query.removeprefix("Question ").removesuffix("?")
    assert (example.response_id, example.answer, example.passages) == (
        logged,
        f"Answer {number}.",
        ("p",),
    )
    assert (example.scores, example.reasoning) == ({"groundedness": 0.2, "quality": 2}, note)


def test_held_out_answers_are_never_examples(sqlite_store):
    groups = [(n, evidence_role(evidence_group(f"Question {n}?", ("p",)))) for n in range(40)]
    rows = [Response("log", str(n), f"Question {n}?", f"Answer {n}.", ("p",)) for n, _ in groups]
    ids = write_to(sqlite_store, store_responses, rows).new
    for response_id in ids:
        quality(sqlite_store, response_id, "mara", 3)
    usable = [
        response_id
        for response_id, (_, role) in zip(ids, groups, strict=True)
        if role is not HELD_OUT
    ]
    assert taken(sqlite_store, len(usable)) == usable
    with pytest.raises(BadInput, match=f"{40 - len(usable)} more"):
        taken(sqlite_store, len(usable) + 1)


def test_the_evidence_of_anchors_is_never_in_examples(store):
    ids = add(store, 6)
    for response_id in ids:
        quality(store, response_id, "mara", 3)
    with store.writing() as connection:
        insert_anchor_set(connection, ids[:2], "seed", "mara", datetime.now(UTC))
        insert_anchor_set(connection, ids[1:3], "seed", "mara", datetime.now(UTC))
    # The earlier anchors are free again.
    assert taken(store, 4) == [ids[0], *ids[3:]]
    with pytest.raises(BadInput, match="2 more"):
        taken(store, 5)


def test_a_rubric_takes_grades_on_its_own_dimensions(sqlite_store):
    first, second = add(sqlite_store, 2)
    say(sqlite_store, first, "mara", Grade(scores=(DimensionScore("tone", 5, "1-5"),)))
    say(
        sqlite_store,
        second,
        "mara",
        Grade(scores=(DimensionScore("tone", 1, "1-5"), DimensionScore("x", 1, "1-5"))),
    )
    assert taken(sqlite_store, 2, dimensions={"tone"}) == [second, first]
    assert [
        one.scores for one in read(sqlite_store, examples_from_reviews, 2, dimensions={"tone"})
    ] == [
        {"tone": 1},
        {"tone": 5},
    ]


def test_agreement_of_a_version_leaves_out_the_answers_it_was_shown(store):
    ids = add(store, 4)
    for response_id in ids:
        quality(store, response_id, "mara", 3)
    examples = read(store, examples_from_reviews, 1)
    judgments = [
        NewJudgment(response_id, 0, 0, Verdict(Status.OK, quality=3)) for response_id in ids
    ]
    with store.writing() as connection:
        shown = ensure_version(
            connection, JudgeVersion("shown", "rag", params=example_params(examples))
        )
        plain = ensure_version(
            connection, JudgeVersion("plain", "rag", params={"examples": "none"})
        )
        for version in (shown, plain):
            store_judgments(connection, version, None, judgments)
    with store.reading() as connection:
        _, verdicts = graded_answers(
            connection, graded_reviews(connection), read_verdicts(connection, of_reviewed=True)
        )
        assert verdicts.of_version(shown.id).response_ids.tolist() == ids[1:]
        assert verdicts.of_version(plain.id).response_ids.tolist() == ids
        assert set(verdicts.quality.tolist()) == {3}
        assert PairSource(connection).verdicts(shown.id).response_ids.tolist() == ids[1:]


@on_sqlite
def test_graders_are_those_whose_grades_stand(store):
    log = GradedLog(store)
    first, second = log.answers(2)
    log.review(first, "mara", label=GOOD)
    log.review(first, "jon", decision="confirm")
    log.withdraw(log.review(second, "lee", quality=3), second, "lee")
    assert list(read(store, graders_by_name)) == ["mara"]


@on_sqlite
def test_a_grader_has_the_name_that_figures_use_though_the_namesake_never_graded(store):
    log = GradedLog(store)
    log.review(*log.answers(1), "mara", label=GOOD)
    write_to(store, store_reviewer, "oidc", "mara")
    with store.reading() as connection:
        ((name, id_),) = graders_by_name(connection).items()
        assert reviewer_names(connection)[id_] == name
        assert name.startswith("mara (")
