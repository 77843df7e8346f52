"""Agreement of seven recorded detectors with people, against other people's implementations and a plain loop."""

import json

import numpy as np
import pytest

from graded_log import read
from judgeboard.cli.app import run
from judgeboard.measure.agreement import every_judge
from judgeboard.measure.agreement_result import shown_statistics, statistics_of_slice
from judgeboard.measure.ratings import PairSource
from judgeboard.reports.stats import stats
from judgeboard.store.overview import count_labels, count_log
from judging_log import address
from recordings import DETECTORS, records
from shared_answers import published

pytestmark = pytest.mark.shared

SCORED = ("approach_1_modernbert", "baseline_nli", "track_a_deberta", "track_b_modernbert")
BAD = "hallucinated"


@pytest.fixture(scope="module")
def table(ragtruth):
    return list(read(ragtruth, every_judge))


class Graded:
    """The same pairs, read from the files by hand: one row per answer that a detector judged."""

    def __init__(self, folder, detector):
        people = {row["response_id"]: row for row in records(folder / "ragtruth.human.jsonl.gz")}
        answers = {row["id"]: row for row in records(folder / "ragtruth.responses.jsonl.gz")}
        verdicts = [
            row
            for row in records(folder / "ragtruth.judgements.jsonl.gz")
            if row["judge"] == detector
        ]
        said = [people[row["response_id"]] for row in verdicts]
        self.people = np.array([row["label"] for row in said])
        self.judge = np.array([row["label"] for row in verdicts])
        self.people_scores = np.array([row["groundedness"] for row in said], dtype=float)
        self.scores = np.array([row.get("groundedness") for row in verdicts], dtype=float)
        of = [answers[row["response_id"]] for row in verdicts]
        self.types = np.array([row["query_type"] for row in of])
        evidence = [json.dumps([row["query"], row["context"]]) for row in of]
        self.groups = np.unique(evidence, return_inverse=True)[1]

    def of_type(self, query_type):
        return np.isin(self.types, self.types if query_type is None else query_type)


@pytest.fixture(scope="module")
def by_hand(shared):
    return {detector: Graded(shared / "data", detector) for detector in DETECTORS}


def rows_of(table, detector, grade):
    (whole,) = (
        each for each in table if (each.title, each.about.grade) == (f"{detector} v1", grade)
    )
    return {each: SliceOf(whole, each) for each in (None, *whole.slices)}


def values(statistics, names):
    return {name: statistics[name].value for name in names}


class SliceOf:
    """A slice of a result."""

    def __init__(self, result, name):
        self.confusion = result.confusion
        self.n, self.statistics = result.figure("n", name).n, statistics_of_slice(result, name)


def test_the_published_counts_come_out(ragtruth, table):
    with ragtruth.reading() as connection:
        assert count_log(connection) == 2912
        assert count_labels(connection) == {"grounded": 1733, "hallucinated": 1179}
        report = stats(connection)
        reviews = PairSource(connection).reviews
    assert report.judgments == {"ok": 9408, "unparsable": 0, "refused": 0, "error": 0}
    assert len(np.unique(reviews.response_ids)) == 2912
    assert {each.title for each in table} == {f"{name} v1" for name in DETECTORS}


@pytest.mark.parametrize("detector", DETECTORS)
def test_label_figures_equal_those_of_scikit_learn(table, by_hand, detector):
    from sklearn.metrics import (
        accuracy_score,
        cohen_kappa_score,
        confusion_matrix,
        recall_score,
        roc_auc_score,
    )

    known = by_hand[detector]
    for query_type, row in rows_of(table, detector, "label").items():
        chosen = known.of_type(query_type)
        people, judge, scores = known.people[chosen], known.judge[chosen], known.scores[chosen]
        statistics = shown_statistics(row.statistics)
        labels = [BAD, "grounded"]
        assert row.n == len(people)
        expected = {
            "agreement": accuracy_score(people, judge),
            "kappa": cohen_kappa_score(people, judge),
            "missed": 1 - recall_score(people, judge, pos_label=BAD),
            "false_alarms": 1 - recall_score(people, judge, pos_label="grounded"),
            "auroc": roc_auc_score(people == BAD, -scores) if detector in SCORED else None,
        }
        assert values(statistics, expected) == pytest.approx(expected, abs=1e-9)
        if query_type is None:
            counts = confusion_matrix(people, judge, labels=labels).tolist()
            assert row.confusion.counts == tuple(map(tuple, counts))


@pytest.mark.parametrize("detector", SCORED)
def test_score_figures_equal_those_of_scipy(table, by_hand, detector):
    from scipy.stats import pearsonr, spearmanr

    known = by_hand[detector]
    for query_type, row in rows_of(table, detector, "groundedness").items():
        chosen = known.of_type(query_type)
        people, scores = known.people_scores[chosen], known.scores[chosen]
        assert row.n == len(people)
        expected = {
            "pearson": pearsonr(people, scores).statistic,
            "spearman": spearmanr(people, scores).statistic,
            "mean_absolute_difference": np.abs(people - scores).mean(),
            "bias": (scores - people).mean(),
        }
        assert values(row.statistics, expected) == pytest.approx(expected, abs=1e-9)


def test_detectors_that_gave_no_score_have_no_groundedness_row_filled_in(table):
    for detector in set(DETECTORS) - set(SCORED):
        assert rows_of(table, detector, "groundedness")[None].n == 0


@pytest.mark.parametrize("detector", ["approach_1_modernbert", "track_b_large"])
def test_label_intervals_equal_a_plain_bootstrap_over_evidence_groups(table, by_hand, detector):
    known = by_hand[detector]
    people, judge = known.people == BAD, known.judge == BAD

    def kappa(rows):
        p, j = people[rows], judge[rows]
        expected = p.mean() * j.mean() + (1 - p.mean()) * (1 - j.mean())
        return ((p == j).mean() - expected) / (1 - expected)

    def agreement(rows):
        return (people[rows] == judge[rows]).mean()

    def missed(rows):
        return (~judge[rows][people[rows]]).mean()

    statistics = shown_statistics(rows_of(table, detector, "label")[None].statistics)
    for name, statistic in (("kappa", kappa), ("agreement", agreement), ("missed", missed)):
        same_interval(statistics[name], known, statistic)


def test_score_intervals_equal_a_plain_bootstrap_over_evidence_groups(table, by_hand):
    known = by_hand["track_b_modernbert"]
    people, scores = known.people_scores, known.scores
    statistics = rows_of(table, "track_b_modernbert", "groundedness")[None].statistics

    def pearson(rows):
        return np.corrcoef(people[rows], scores[rows])[0, 1]

    def difference(rows):
        return np.abs(people[rows] - scores[rows]).mean()

    same_interval(statistics["pearson"], known, pearson)
    same_interval(statistics["mean_absolute_difference"], known, difference)


def same_interval(estimate, known, statistic):
    """The bounds of 3,000 resamples of whole groups are right to about two hundredths of the interval."""
    random = np.random.default_rng(7)
    members = [np.flatnonzero(known.groups == group) for group in range(known.groups.max() + 1)]
    resamples = random.integers(0, len(members), (3_000, len(members)))
    draws = [statistic(np.concatenate([members[each] for each in groups])) for groups in resamples]
    low, high = np.quantile(draws, [0.025, 0.975])
    assert abs(estimate.low - low) < 0.07 * (high - low)
    assert abs(estimate.high - high) < 0.07 * (high - low)


@pytest.mark.parametrize(
    ("detector", "brier"),
    [
        ("track_b_modernbert", 0.1373),
        ("approach_1_modernbert", 0.1472),
        ("track_a_deberta", 0.1506),
        ("baseline_nli", 0.5923),
    ],
)
def test_the_brier_score_of_a_detector_on_all_labels(table, detector, brier):
    statistics = rows_of(table, detector, "label")[None].statistics
    assert statistics["brier"].value == pytest.approx(brier, abs=5e-5)


def values_of(result):
    """Return the values of a result that was printed as JSON, by figure and slice."""
    return {(row["figure"], row["slice"]): row["value"] for row in result["rows"]}


def test_commands_on_imported_files_alone_give_the_published_validity_figures(
    ragtruth, shared, capsys
):
    def printed(*words):
        assert run([*words, "--db", address(ragtruth), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    judge, expected = "track_b_modernbert", published(shared / "data", "e1_rate")
    words = ("--judge-version", judge, "--target", "these", "--by", "query_type")
    rates = printed("labels", "rate", *words)
    figures, truth = values_of(rates), expected["truth"]
    (share,) = (
        row for row in rates["rows"] if (row["figure"], row["slice"]) == ("bad_answers", None)
    )
    assert share["low"] == share["value"] == share["high"]
    assert share["value"] == pytest.approx(truth["share"], abs=1e-6)
    known = {"judge_alone": truth["judge_share"]} | expected["agreement_all_truth"]
    assert {name: figures[name, None] for name in known} == pytest.approx(known, abs=1e-6)
    for query_type in ("Data2txt", "QA", "Summary"):
        known = expected[f"ppi_tuned_{query_type}"]
        shares = figures["bad_answers", query_type], figures["judge_alone", query_type]
        assert shares == pytest.approx((known["truth"], known["judge"]), abs=1e-6)
    for name, reach, by_lot, explained in (
        (judge, "0.1", 84, 0.4065),
        ("approach_1_modernbert", "0.05", 282, 0.3184),
        ("track_a_deberta", "0.03", 571, 0.3147),
        ("baseline_nli", "0.02", 839, 0.0105),
    ):
        words = ("--reach", reach, "--target", "these", "--judge-version", name)
        (plan,) = printed("labels", "plan", *words)["plans"]
        figures = values_of(plan)
        assert figures["by_lot", None] == by_lot
        assert round(figures["explained", None], 4) == explained
