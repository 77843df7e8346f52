"""People with people, judges with people and the alternative annotator test on public sets, as published."""

import json

import numpy as np
import pytest

from judgeboard.stats.alternative_annotator import alternative_annotator_test
from judgeboard.stats.arrays import grouping
from judgeboard.stats.chance_corrected import interval_alpha
from judgeboard.stats.correlation import pearson, spearman
from judgeboard.stats.pair_statistics import pair_statistics
from judgeboard.stats.rater_agreement import against_gold, overall_agreement, pairs_of_raters
from judgeboard.stats.ratings import PREFERENCE, Ratings, Scale, human_values, positions, ratings_of
from recordings import records

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def pandalm(shared):
    rows = records(shared / "data/pandalm.pairwise.jsonl.gz")
    pairs = {row["id"]: row for row in rows}
    said = [
        (pair, each["annotator"], each["preference"].lower())
        for pair, row in pairs.items()
        for each in row["human"]
    ]
    ids, who, values = map(np.array, zip(*said, strict=True))
    items, people = ratings_of(ids, who, positions(values, PREFERENCE), PREFERENCE)
    verdicts = {}
    for judge in ("gpt-3.5-turbo", "pandalm-7b"):
        of_pair = {
            row["id"]: (row.get("verdict_order_ab") or "").lower()
            for row in rows
            if row["judge"] == judge
        }
        verdicts[judge] = np.array([of_pair[item] for item in items])
    return (ids, who, values), people, verdicts


def test_pandalm_annotators_agree_as_published(pandalm):
    _, people, _ = pandalm
    assert {
        (p.first[-1], p.second[-1]): round(p.statistics["kappa"].value, 4)
        for p in pairs_of_raters(people)
    } == {
        ("1", "2"): 0.8520,
        ("1", "3"): 0.8789,
        ("2", "3"): 0.8617,
    }
    overall = overall_agreement(people)
    assert (round(overall.alpha_nominal.value, 4), round(overall.fleiss_kappa.value, 4)) == (
        0.8642,
        0.8642,
    )
    assert (overall.raters, overall.items) == (3, 999)


def test_pandalm_judges_against_the_majority_come_out_as_published(pandalm):
    (ids, who, values), _, verdicts = pandalm
    codes = np.unique(ids, return_inverse=True)[1]
    human = human_values(codes, who, values, "label", human="majority")
    assert dict(zip(*np.unique(human.values, return_counts=True), strict=True)) == {
        "a": 422,
        "b": 472,
        "tie": 105,
    }
    assert human.ties == 0
    got = pair_statistics(verdicts["pandalm-7b"], human.values, PREFERENCE)
    figures = [got.agreement, got.macro_precision, got.macro_recall, got.macro_f1]
    assert [round(each.value, 4) for each in figures] == [0.6677, 0.5738, 0.5750, 0.5743]
    turbo = verdicts["gpt-3.5-turbo"]
    usable = turbo != ""
    assert (~usable).sum() == 25
    dropped = pair_statistics(turbo[usable], human.values[usable], PREFERENCE)
    as_ties = pair_statistics(np.where(usable, turbo, "tie"), human.values, PREFERENCE)
    assert (round(dropped.agreement.value, 4), round(as_ties.agreement.value, 4)) == (
        0.7156,
        0.7107,
    )


@pytest.mark.parametrize(
    ("judge", "rho", "usable", "omegas"),
    [("gpt-3.5-turbo", 0.7580, 974, (0, 0, 1)), ("pandalm-7b", 0.7147, 999, (0, 0, 2 / 3))],
)
def test_pandalm_judges_may_not_stand_in_for_a_person_at_any_usual_price(
    pandalm, judge, rho, usable, omegas
):
    _, people, verdicts = pandalm
    said = verdicts[judge]
    codes = np.full(len(said), np.nan)
    codes[said != ""] = positions(said[said != ""], PREFERENCE)
    for epsilon, omega in zip((0.1, 0.2, 0.3), omegas, strict=True):
        got = alternative_annotator_test(codes, people, epsilon)
        assert (round(got.rho.value, 4), got.n) == (rho, usable)
        assert got.omega.value == pytest.approx(omega)


def test_each_annotator_against_the_majority_as_gold(pandalm):
    (ids, who, values), people, _ = pandalm
    human = human_values(np.unique(ids, return_inverse=True)[1], who, values, "label")
    for each in against_gold(people, positions(human.values, PREFERENCE)):
        assert each.n == 999
        assert 0.9 < each.statistics["kappa"].value < 1


def test_ragchecker_scores_go_with_people_as_published(shared):
    scores = {
        row["response_id"]: json.loads(row["raw"]) if isinstance(row["raw"], str) else row["raw"]
        for row in records(shared / "data/ragchecker.judgements.jsonl.gz")
    }
    grades = records(shared / "data/ragchecker.human.jsonl.gz")
    ids = np.array([row["pair_id"] for row in grades])
    by_pair = grouping(ids, len(grades), row="grade", group="pair")
    published = {
        "correctness": (49.66, 46.93),
        "completeness": (60.67, 58.08),
        "overall": (61.93, 60.90),
    }
    for aspect, (linear, ranked) in published.items():
        judge = np.array(
            [round(scores[f"{i}-2"][aspect] - scores[f"{i}-1"][aspect], 9) for i in ids]
        )
        people = np.array([float(row[aspect]) for row in grades])
        got = pearson(judge, people, by_pair), spearman(judge, people, by_pair)
        assert [round(each.value * 100, 2) for each in got] == [linear, ranked]
        assert {(each.n, each.unit) for each in got} == {(560, "pair")}


@pytest.mark.parametrize(
    ("aspect", "linear", "ranked"),
    [("correctness", 63.67, 59.19), ("completeness", 71.91, 68.36), ("overall", 70.09, 68.89)],
)
def test_ragchecker_annotators_go_with_each_other_as_published(shared, aspect, linear, ranked):
    grades = records(shared / "data/ragchecker.human.jsonl.gz")
    ids, who = (np.array([row[name] for row in grades]) for name in ("pair_id", "annotator"))
    _, people = ratings_of(
        ids, who, np.array([float(row[aspect]) for row in grades]), Scale(aspect)
    )
    (pair,) = pairs_of_raters(people)
    assert round(pair.statistics["pearson"].value * 100, 2) == linear
    assert round(pair.statistics["spearman"].value * 100, 2) == ranked


def test_prometheus_repeats_have_the_alpha_recomputed_from_them(shared):
    rows = records(shared / "data/prometheus.samples.jsonl.gz")
    table = np.array([row["samples"] for row in rows], dtype=float)
    five = Scale("score", (1, 2, 3, 4, 5), weights="quadratic")
    overall = overall_agreement(
        Ratings(table - 1, ("first", "second", "third"), five, grouping(None, len(rows)))
    )
    assert round(overall.alpha_interval.value, 4) == 0.8516
    as_scores = interval_alpha(table, grouping(None, len(rows)))
    assert (as_scores.value, as_scores.low) == pytest.approx(
        (overall.alpha_interval.value, overall.alpha_interval.low)
    )
