"""Files of samples and of repeats come in once; what could not be read stays unmeasured."""

from typing import Any

from sqlalchemy import select

from engines import on_sqlite
from judgeboard.store.comparisons import load_comparisons
from judgeboard.store.judge_versions import get_version, list_versions
from judgeboard.store.samples import load_samples
from judgeboard.store.tables import JUDGMENT, JUDGMENT_SCORE, RESPONSE, REVIEW, REVIEW_SCORE

SCORE = JUDGMENT_SCORE


def sampled(name: str = "q", **more: Any) -> dict[str, Any]:
    return {"id": name, "question": f"how many {name}?", "samples": ["A", None, "B"], "model": "m", **more}


def scored(name: str = "r", **more: Any) -> dict[str, Any]:
    given = {"question": "?", "answer": "yes", "rubric": "by care", "scale": "1-5", "model": "m", "samples": [5, 4]}
    return {"id": name, **given, **more}


@on_sqlite
def test_samples_and_verdicts_by_condition_are_of_one_version(store, bring, contents) -> None:
    rows = [
        sampled(verdicts={"A": {"ab": "a", "ba": None}, "B": {"ab": "b", "ba": "b"}}, gold="B", category="math"),
        sampled("q2"),
    ]
    assert bring(*rows, kind="samples").new == 2
    with store.reading() as connection:
        version = get_version(connection, "m")
        one, two = load_samples(connection, version.id)
        said = [(row.condition, row.ab, row.ba) for row in load_comparisons(connection, [version.id])]
    assert (one.answers, one.query_type, one.gold) == (("A", None, "B"), "math", "b")
    assert two.answers == one.answers
    assert said == [("plain", "a", None), ("reference", "b", "b")]
    before = contents()
    assert bring(*rows, kind="samples").unchanged == 2
    assert contents() == before


@on_sqlite
def test_another_answer_in_the_same_try_is_rejected_and_a_further_try_is_not(store, bring) -> None:
    bring(sampled(), kind="samples")
    summary = bring(sampled(samples=["A", "A"]), sampled(samples=["A", None, "B", "C"]), kind="samples")
    assert (summary.new, summary.differing, summary.first_rejected[0].line) == (1, 1, 1)
    with store.reading() as connection:
        (one,) = load_samples(connection, get_version(connection, "m").id)
    assert one.answers == ("A", None, "B", "C")


@on_sqlite
def test_samples_join_the_pair_that_has_the_answers(bring) -> None:
    bring({"id": "q", "question": "how many q?", "answer_a": "1", "answer_b": "2"})
    assert bring(sampled(), kind="samples").new == 1
    assert bring(sampled(question="how few?"), kind="samples").differing == 1


def test_repeats_are_judgments_by_one_version_per_rubric(store, bring, contents) -> None:
    rows = [scored(), scored("r2", rubric="by speed", samples=[1, None, 3], raw=["slow", "?", "so so"])]
    assert bring(*rows, kind="repeats").new == 2
    with store.reading() as connection:
        versions = list_versions(connection)
        query = (
            select(JUDGMENT.c.judge_version_id, JUDGMENT.c.repeat, JUDGMENT.c.status, JUDGMENT.c.quality, SCORE.c.value)
            .outerjoin(SCORE, SCORE.c.judgment_id == JUDGMENT.c.id)
            .order_by(JUDGMENT.c.judge_version_id, JUDGMENT.c.repeat)
        )
        judged = [tuple(row)[1:] for row in connection.execute(query)]
        kinds = set(connection.execute(select(RESPONSE.c.kind)).scalars())
    assert [(each.title, each.prompt, each.scale, each.params) for each in versions] == [
        ("m v1", "by care", "1-5", {"scale": "1-5"}),
        ("m v2", "by speed", "1-5", {"scale": "1-5"}),
    ]
    assert judged == [
        *((0, "ok", None, 5), (1, "ok", None, 4)),
        *((0, "ok", None, 1), (1, "unparsable", None, None), (2, "ok", None, 3)),
    ]
    assert kinds == {"candidate"}
    before = contents()
    assert bring(*rows, kind="repeats").unchanged == 2
    assert contents() == before


@on_sqlite
def test_other_content_or_another_score_is_rejected(bring) -> None:
    bring(scored(), kind="repeats")
    summary = bring(scored(answer="no"), scored("r3"), kind="repeats")
    assert (summary.new, summary.differing, summary.first_rejected[0].field) == (1, 1, "external_id")
    summary = bring(scored(samples=[5, 3]), kind="repeats")
    assert (summary.differing, summary.first_rejected[0].reason) == (
        1,
        "m has another score in repeat 2 of this answer",
    )


def test_verdicts_on_a_scale_of_their_own_are_scores_and_never_qualities(store, bring, contents) -> None:
    bring({"id": "r", "query": "?", "answer": "yes"}, kind="responses")
    verdict = {"response_id": "r", "judge": "auto", "quality": 0.25, "scale": "0-1", "scores": {"depth": 1}}
    bring(verdict, kind="verdicts")
    with store.reading() as connection:
        assert list(connection.execute(select(JUDGMENT.c.quality)).scalars()) == [None]
        scores = connection.execute(select(SCORE.c.dimension, SCORE.c.value, SCORE.c.scale).order_by(SCORE.c.id))
        assert [tuple(row) for row in scores] == [("score", 0.25, "0-1"), ("depth", 1, "0-1")]
    before = contents()
    assert bring(verdict, kind="verdicts").unchanged == 1
    assert bring({**verdict, "quality": 0.5}, kind="verdicts").differing == 1
    assert contents() == before


def test_grades_on_a_scale_of_their_own_are_scores_of_a_review(store, bring, contents) -> None:
    bring({"id": "r", "query": "?", "answer": "yes"}, kind="responses")
    grades = [{"response_id": "r", "annotator": name, "quality": 5, "scale": "1-5"} for name in ("ada", "bo")]
    assert bring(*grades, kind="grades").new == 2
    with store.reading() as connection:
        review, score = REVIEW, REVIEW_SCORE
        given = select(review.c.quality, score.c.dimension, score.c.value, score.c.scale)
        rows = connection.execute(given.join(score, score.c.review_id == review.c.id)).all()
    assert [tuple(row) for row in rows] == [(None, "score", 5, "1-5")] * 2
    before = contents()
    assert bring(*grades, kind="grades").unchanged == 2
    assert contents() == before
