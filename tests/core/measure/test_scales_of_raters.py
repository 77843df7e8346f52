"""People and judges who score the same dimension on scales of their own, or put answers into classes."""

import io
import json

import numpy as np
import pytest

from engines import on_sqlite
from judgeboard.errors import BadInput
from judgeboard.imports.importing import import_file

N = 40
RANDOM = np.random.default_rng(5)
PEOPLE = (RANDOM.integers(1, 6, N)[:, None] + RANDOM.integers(-1, 2, (N, 3))).clip(1, 5)
WHOLE = (PEOPLE[:, 0] + RANDOM.integers(-1, 2, N)).clip(1, 5)
FRACTIONS = (PEOPLE.mean(axis=1) + RANDOM.normal(0, 0.5, N)).clip(1, 5)
SHARES = RANDOM.random(N)
CLASSES = np.array(["not supported", "partly", "supported"])


@pytest.fixture
def bring(log):
    """Imports rows about 40 stored answers."""
    log.answers(N)

    def stored(kind, rows, **options):
        content = io.BytesIO("\n".join(map(json.dumps, rows)).encode())
        summary = import_file(log.store, content, kind=kind, name="rows.jsonl", **options)
        assert summary.rejected == 0

    return stored


def scored(who, values, scale):
    return [
        {"response_id": f"a{place}", **who, "scale": scale, "scores": {"coherence": value}}
        for place, value in enumerate(values, start=1)
    ]


@on_sqlite
def test_a_judge_on_another_scale_changes_no_figure_of_others(bring, measured):
    for who, column in enumerate(PEOPLE.T):
        bring("grades", scored({"annotator": f"p{who}"}, column.tolist(), "1-5"))
    bring("verdicts", scored({"judge": "whole"}, WHOLE.tolist(), "1-5"))

    def figures():
        judge = measured(judge_versions=["whole"], grade="coherence", epsilon=0.2)
        return [
            judge.statistics,
            judge.alt_test,
            measured(of="people", grade="coherence").part("rater_pairs"),
        ]

    alone = figures()
    bring("verdicts", scored({"judge": "fractions"}, FRACTIONS.tolist(), "1-5"))
    bring("verdicts", scored({"judge": "shares"}, SHARES.tolist(), "0-1"))
    assert figures() == alone
    assert {"kappa", "weighted_kappa"} <= {row.figure for row in alone[2].rows}
    mean = PEOPLE.mean(axis=1)
    for name, scores in (("fractions", FRACTIONS), ("shares", SHARES), ("whole", WHOLE)):
        result = measured(judge_versions=[name], grade="coherence", human="mean")
        assert result.about.people == "mean of people"
        assert result.statistics["pearson"].value == pytest.approx(np.corrcoef(scores, mean)[0, 1])
        apart = result.statistics["mean_absolute_difference"]
        if name == "shares":
            assert apart.value is None
            assert "different scales" in apart.reason
        else:
            assert apart.value == pytest.approx(np.abs(scores - mean).mean())
    judges = measured(of="judges", grade="coherence")
    assert "different scales" in judges.statistics["alpha"].reason
    (pairs,) = judges.parts
    of_both = pairs.figure("pearson", "whole v1 / shares v1")
    assert of_both.value == pytest.approx(np.corrcoef(SHARES, WHOLE)[0, 1])
    with pytest.raises(BadInput, match=r"shares v1 .*coherence"):
        measured(judge_versions=["shares"], grade="coherence", epsilon=0.2)


def test_classes_are_compared_with_the_majority_of_people(bring, measured):
    votes = np.where(
        RANDOM.random((N, 3)) < 0.8,
        RANDOM.integers(0, 3, N)[:, None],
        RANDOM.integers(0, 3, (N, 3)),
    )
    judge = np.where(RANDOM.random(N) < 0.8, votes[:, 0], RANDOM.integers(0, 3, N))

    def labelled(who, codes):
        return [
            {"response_id": f"a{place}", **who, "label": str(CLASSES[code])}
            for place, code in enumerate(codes, start=1)
        ]

    for who, column in enumerate(votes.T):
        bring("grades", labelled({"annotator": f"p{who}"}, column), label_set="support")
    bring("verdicts", labelled({"judge": "nli"}, judge), label_set="support")
    counts = (votes[:, :, None] == np.arange(3)).sum(axis=1)
    decided = counts.max(axis=1) > 1
    majority = counts.argmax(axis=1)
    result = measured(grade="support", epsilon=0.2, by="query_type")
    assert (result.title, result.n) == ("nli v1", decided.sum())
    assert result.about.left_out.get("ties", 0) == N - decided.sum()
    assert result.confusion.categories == tuple(CLASSES)
    table = np.zeros((3, 3), dtype=int)
    np.add.at(table, (majority[decided], judge[decided]), 1)
    assert np.array_equal(result.confusion.counts, table)
    assert result.statistics["accuracy"].value == pytest.approx(np.trace(table) / table.sum())
    assert result.alt_test.n == N
    classes = result.part("classes")
    assert classes.slices == CLASSES.tolist()
    for place, each in enumerate(classes.slices):
        hits, of_judge, of_people = table[place, place], table[:, place].sum(), table[place].sum()
        found = [classes.figure(name, each).value for name in ("precision", "recall", "f1")]
        shares = [hits / of_judge, hits / of_people, 2 * hits / (of_judge + of_people)]
        assert classes.figure("n", each).n == of_people
        assert found == pytest.approx(shares)
    pairs = measured(of="people", grade="support").part("rater_pairs")
    same = (votes[:, 0] == votes[:, 1]).mean()
    assert pairs.figure("agreement", "p0 / p1").value == pytest.approx(same)
    assert measured(grade="support", human="each").n == 3 * N
    with pytest.raises(BadInput, match=r"support .*--human majority"):
        measured(grade="support", human="mean")


@on_sqlite
def test_a_mean_without_scores_names_the_grades_that_there_are(bring, measured):
    labels = [{"response_id": f"a{place}", "label": "grounded"} for place in range(1, 4)]
    bring("grades", [{"annotator": who, **row} for row in labels for who in ("p0", "p1")])
    bring("verdicts", [{"judge": "nli", **row} for row in labels])
    headline = measured(judge_versions=["nli"], grade="quality", human="mean").headline
    assert (headline.code, headline.values["others"]) == ("both_gave", ["label"])
