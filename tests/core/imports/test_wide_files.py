"""Files as published sets write them: a column per score and person, no column for judge or scale, missing values."""

import pytest
from sqlalchemy import select

from engines import on_sqlite
from judgeboard.errors import BadInput
from judgeboard.imports.importing import import_file
from judgeboard.store.tables import JUDGMENT_SCORE, REVIEW, REVIEW_SCORE, REVIEWER
from tool_files import counts

WIDE = """response_id,mara_fluency,mara_coherence,gpt,label,quality
a1,5,3.5,80,yes,-1
a2,N/A,2,nan,n/a,2
a3,,,7,no,NaN
"""


@on_sqlite
def test_a_column_per_score_and_person(log, tmp_path):
    log.answers(3)
    path = tmp_path / "wide.csv"
    path.write_text(WIDE, encoding="utf-8")

    def bring(kind, mapping, **constants):
        return import_file(log.store, path, kind=kind, mapping=mapping, constants=constants)

    others = {"label": "extra", "quality": "extra"}
    of_mara = {"mara_fluency": "scores.fluency", "mara_coherence": "scores.coherence"} | others
    mara = bring("grades", of_mara, annotator="mara", scale="1-5")
    # Nobody scored the third answer.
    assert (counts(mara), mara.first_rejected[0].line) == ((2, 0, 1), 4)
    assert bring("grades", of_mara, annotator="mara", scale="1-5").unchanged == 2
    gpt = bring("verdicts", {"gpt": "scores.fluency"} | others, judge="gpt", scale="0-100")
    assert counts(gpt) == (2, 0, 1)
    values, constants = {"quality": {"-1": ""}}, {"annotator": "zoe"}
    labels = import_file(log.store, path, kind="grades", values=values, constants=constants)
    assert counts(labels) == (3, 0, 0)
    score, review = REVIEW_SCORE.c, REVIEW.c
    of_reviewer = REVIEWER.c.id == review.reviewer_id
    scores = (
        select(REVIEWER.c.name, score.dimension, score.value, score.scale)
        .join(REVIEW, review.id == score.review_id)
        .join(REVIEWER, of_reviewer)
    )
    of_zoe = (
        select(review.label, review.quality)
        .join(REVIEWER, of_reviewer)
        .where(REVIEWER.c.name == "zoe")
        .order_by(review.response_id)
    )
    judged = select(JUDGMENT_SCORE.c.value, JUDGMENT_SCORE.c.scale)
    with log.store.reading() as connection:
        assert sorted(connection.execute(scores)) == [
            ("mara", "coherence", 2, "1-5"),
            ("mara", "coherence", 3.5, "1-5"),
            ("mara", "fluency", 5, "1-5"),
        ]
        assert sorted(connection.execute(judged)) == [(7, "0-100"), (80, "0-100")]
        assert connection.execute(of_zoe).all() == [
            ("grounded", None),
            (None, 2),
            ("hallucinated", None),
        ]
    with pytest.raises(BadInput, match=r"--set critic=.*external_id"):
        bring("verdicts", {}, critic="gpt")
    with pytest.raises(BadInput, match=r"--set .*--map .*judge"):
        bring("verdicts", {"gpt": "judge"}, judge="gpt")


def test_a_column_joins_the_scores_that_a_row_has(reading):
    data = b'response_id,judge,scale,scores,flu\n1,gpt,0-1,"{""style"": 0.5}",0.3\n'
    mapping = {"flu": "scores.fluency"}
    (verdict,) = reading(data, name="x.csv", kind="verdicts", mapping=mapping)
    scores = {each.dimension: each.value for each in verdict.verdict.scores}
    assert scores == {"style": 0.5, "fluency": 0.3}
