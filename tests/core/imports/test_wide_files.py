"""Files as published sets write them: a column per score and person, no column for judge or scale, missing values."""

import pytest
from sqlalchemy import select

from engines import on_sqlite
from judgeboard.errors import BadInput
from judgeboard.imports.importing import import_file
from judgeboard.store.tables import JUDGMENT_SCORE, REVIEW, REVIEW_SCORE, REVIEWER

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
    assert (mara.new, mara.rejected, mara.first_rejected[0].line) == (
        2,
        1,
        4,
    )  # nobody scored the third answer
    assert bring("grades", of_mara, annotator="mara", scale="1-5").unchanged == 2
    gpt = bring("verdicts", {"gpt": "scores.fluency"} | others, judge="gpt", scale="0-100")
    assert (gpt.new, gpt.rejected) == (2, 1)
    values = {"quality": {"-1": ""}}
    labels = import_file(
        log.store, path, kind="grades", values=values, constants={"annotator": "zoe"}
    )
    assert (labels.new, labels.rejected) == (3, 0)
    with log.store.reading() as connection:
        scores = select(
            REVIEWER.c.name, REVIEW_SCORE.c.dimension, REVIEW_SCORE.c.value, REVIEW_SCORE.c.scale
        )
        scores = scores.join(REVIEW, REVIEW.c.id == REVIEW_SCORE.c.review_id).join(
            REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id
        )
        assert sorted(map(tuple, connection.execute(scores))) == [
            ("mara", "coherence", 2, "1-5"),
            ("mara", "coherence", 3.5, "1-5"),
            ("mara", "fluency", 5, "1-5"),
        ]
        judged = select(JUDGMENT_SCORE.c.value, JUDGMENT_SCORE.c.scale)
        assert sorted(map(tuple, connection.execute(judged))) == [(7, "0-100"), (80, "0-100")]
        graded = select(REVIEW.c.label, REVIEW.c.quality).join(
            REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id
        )
        of_zoe = connection.execute(
            graded.where(REVIEWER.c.name == "zoe").order_by(REVIEW.c.response_id)
        )
        assert list(map(tuple, of_zoe)) == [("grounded", None), (None, 2), ("hallucinated", None)]
    with pytest.raises(BadInput, match=r"--set critic=.*external_id"):
        bring("verdicts", {}, critic="gpt")
    with pytest.raises(BadInput, match=r"--set .*--map .*judge"):
        bring("verdicts", {"gpt": "judge"}, judge="gpt")


def test_a_column_joins_the_scores_that_a_row_has(reading):
    head, row = "response_id,judge,scale,scores,flu\n", '1,gpt,0-1,"{""style"": 0.5}",0.3\n'
    (verdict,) = reading(
        (head + row).encode(), name="x.csv", kind="verdicts", mapping={"flu": "scores.fluency"}
    )
    assert {each.dimension: each.value for each in verdict.verdict.scores} == {
        "style": 0.5,
        "fluency": 0.3,
    }
