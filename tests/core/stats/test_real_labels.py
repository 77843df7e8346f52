import numpy as np
import pytest

from judgeboard.stats.arrays import grouping
from judgeboard.stats.confusion import TableEstimates, kappa
from judgeboard.stats.detection import auroc
from judgeboard.stats.pair_statistics import pair_statistics
from judgeboard.stats.ratings import GROUNDEDNESS, LABEL, Scale
from judgeboard.stats.significance import mcnemar
from rating_tables import cells_of
from recordings import records

pytestmark = pytest.mark.shared


@pytest.mark.parametrize(
    ("pair", "published"), [((1, 2), 0.8520), ((1, 3), 0.8789), ((2, 3), 0.8617)]
)
def test_pandalm_annotators_agree_as_published(shared, pair, published):
    from sklearn.metrics import cohen_kappa_score

    rows = [
        row
        for row in records(shared / "data/pandalm.pairwise.jsonl.gz")
        if row["judge"] == "pandalm-7b"
    ]
    said = [
        np.array(
            [
                {h["annotator"]: h["preference"] for h in row["human"]}[f"annotator{number}"]
                for row in rows
            ]
        )
        for number in pair
    ]
    categories = tuple(sorted(set(said[0]) | set(said[1])))
    got = TableEstimates(
        cells_of(*said, categories), len(categories), grouping(None, len(rows))
    ).kappa()
    assert round(got.value, 4) == published
    assert got.value == pytest.approx(cohen_kappa_score(*said), abs=1e-12)
    assert got.low < published < got.high


@pytest.fixture(scope="module")
def ragtruth(shared):
    people = {row["response_id"]: row for row in records(shared / "data/ragtruth.human.jsonl.gz")}
    group = {
        row["id"]: row["source_id"] for row in records(shared / "data/ragtruth.responses.jsonl.gz")
    }
    judges = {}
    for row in records(shared / "data/ragtruth.judgements.jsonl.gz"):
        judges.setdefault(row["judge"], []).append(row)
    detectors = {}
    for judge, rows in judges.items():
        detectors[judge] = {
            "judge": np.array([row["label"] for row in rows]),
            "people": np.array([people[row["response_id"]]["label"] for row in rows]),
            "groups": np.array([str(group[row["response_id"]]) for row in rows]),
            "scores": np.array([row.get("groundedness", np.nan) for row in rows], dtype=float),
            "people_scores": np.array([people[row["response_id"]]["groundedness"] for row in rows]),
        }
    return detectors


def test_the_seven_detectors_come_out_as_in_scikit_learn_and_scipy(ragtruth):
    from scipy import stats
    from sklearn import metrics

    assert len(ragtruth) == 7
    for rows in ragtruth.values():
        judge, people, scores = rows["judge"], rows["people"], rows["scores"]
        got = pair_statistics(judge, people, LABEL, rows["groups"], scores=scores)
        assert (got.n, got.kappa.unit) == (1344, "evidence group")
        assert got.agreement.value == pytest.approx(
            metrics.accuracy_score(people, judge), abs=1e-12
        )
        assert got.kappa.value == pytest.approx(metrics.cohen_kappa_score(people, judge), abs=1e-12)
        bad = {"pos_label": "hallucinated"}
        assert got.sensitivity.value == pytest.approx(
            metrics.recall_score(people, judge, **bad), abs=1e-12
        )
        assert got.precision.value == pytest.approx(
            metrics.precision_score(people, judge, **bad), abs=1e-12
        )
        assert got.specificity.value == pytest.approx(
            metrics.recall_score(people, judge, pos_label="grounded"), abs=1e-12
        )
        given = ~np.isnan(scores)
        if not given.any():
            assert (got.auroc.value, "no score" in got.auroc.reason) == (None, True)
            continue
        expected = metrics.roc_auc_score(people[given] == "hallucinated", -scores[given])
        assert got.auroc.value == pytest.approx(expected, abs=1e-9)
        scored = pair_statistics(
            scores[given], rows["people_scores"][given], GROUNDEDNESS, rows["groups"][given]
        )
        assert scored.pearson.value == pytest.approx(
            stats.pearsonr(scores[given], rows["people_scores"][given]).statistic, abs=1e-9
        )
        ranked = stats.spearmanr(
            scores[given].round(9), rows["people_scores"][given].round(9)
        ).statistic
        assert scored.spearman.value == pytest.approx(ranked, abs=1e-9)


def test_intervals_on_real_clusters_equal_a_plain_loop_over_evidence_groups(
    ragtruth, agrees_with_plain_bootstrap
):
    rows = ragtruth["approach_1_modernbert"]
    judge, people, groups = (
        rows["judge"] == "hallucinated",
        rows["people"] == "hallucinated",
        rows["groups"],
    )
    got = pair_statistics(rows["judge"], rows["people"], LABEL, groups)

    def plain_kappa(judge, people):
        table = np.bincount(people * 2 + judge, minlength=4).reshape(2, 2).astype(float)
        return float(kappa(table))

    agrees_with_plain_bootstrap(got.kappa, plain_kappa, (judge, people), groups, resamples=400)
    agrees_with_plain_bootstrap(
        got.sensitivity,
        lambda judge, people: judge[people].mean(),
        (judge, people),
        groups,
        resamples=400,
    )


def test_evidence_groups_widen_real_intervals(ragtruth):
    rows = ragtruth["approach_1_modernbert"]
    bad = rows["people"] == "hallucinated"
    alone, clustered = (
        auroc(rows["scores"], bad, grouping(ids, 1344)) for ids in (None, rows["groups"])
    )
    assert clustered.value == alone.value
    assert clustered.high - clustered.low > alone.high - alone.low


def test_an_audit_counts_as_published(ragtruth):
    first, second = ragtruth["track_a_deberta"], ragtruth["track_b_large"]
    wrong = np.where(first["judge"] == first["people"], "right", "wrong")
    marked = np.where(first["judge"] == second["judge"], "right", "wrong")
    got = pair_statistics(marked, wrong, Scale("audit", ("wrong", "right"), bad=0), first["groups"])
    assert got.confusion.counts == ((155, 115), (77, 997))
    assert round(got.precision.value, 4) == 0.6681
    assert round(got.sensitivity.value, 4) == 0.5741
    assert mcnemar(115, 77) < 0.01
