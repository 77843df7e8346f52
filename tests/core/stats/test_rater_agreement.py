import numpy as np
import pytest

from estimates import left_out
from judgeboard.stats.arrays import grouping
from judgeboard.stats.estimates import too_few
from judgeboard.stats.pair_statistics import SYMMETRIC, pair_statistics
from judgeboard.stats.rater_agreement import (
    against_gold,
    agreement_beyond_people,
    overall_agreement,
    pairs_of_raters,
    self_agreement,
)
from judgeboard.stats.ratings import GROUNDEDNESS, LABEL, QUALITY, Ratings, Scale, positions
from rating_tables import made_ratings, ungrouped

NAMES = ("ann", "ben", "cy", "dan")


def quality_ratings(**asked):
    ratings, groups = made_ratings(**asked)
    return Ratings(ratings, NAMES, QUALITY, grouping(groups, len(ratings)))


def test_each_pair_is_measured_on_the_items_that_both_rated():
    from sklearn.metrics import cohen_kappa_score

    rated = quality_ratings()
    results = pairs_of_raters(rated)
    assert [(pair.first, pair.second) for pair in results][:4] == [
        ("ann", "ben"),
        ("ann", "cy"),
        ("ann", "dan"),
        ("ben", "cy"),
    ]
    for pair in results:
        columns = [NAMES.index(name) for name in (pair.first, pair.second)]
        both = rated.values[rated.rated[:, columns].all(axis=1)][:, columns]
        first, second = both.T.astype(int)
        assert pair.n == len(both)
        for name, weights in (("kappa", None), ("weighted_kappa", "quadratic")):
            expected = cohen_kappa_score(first, second, weights=weights, labels=range(4))
            assert pair.statistics[name].value == pytest.approx(expected, abs=1e-9)
        assert pair.statistics["agreement"].value == pytest.approx((first == second).mean())
        assert set(pair.statistics) <= set(SYMMETRIC)


def test_raters_without_a_common_item_are_no_pair_and_few_items_too_few():
    values = np.full((30, 3), np.nan)
    values[:15, 0] = values[15:, 1] = values[:9, 2] = 1
    (pair,) = pairs_of_raters(Ratings(values, NAMES[:3], QUALITY, ungrouped(30)))
    assert (pair.first, pair.second, pair.n) == ("ann", "cy", 9)
    assert pair.statistics["kappa"].reason == too_few(9)


def test_overall_has_what_the_grade_has():
    of_quality = overall_agreement(quality_ratings())
    assert (of_quality.raters, of_quality.alpha_ordinal.value is None) == (4, False)
    assert of_quality.fleiss_kappa.left_out
    ratings, _ = made_ratings(k=2)
    of_labels = overall_agreement(Ratings(ratings, NAMES, LABEL, ungrouped(len(ratings))))
    assert not {"alpha_interval"} & of_labels.estimates.keys()
    assert of_labels.alpha_nominal.value == pytest.approx(of_labels.fleiss_kappa.value, abs=0.1)
    of_scores = overall_agreement(
        Ratings(ratings / 2, NAMES, GROUNDEDNESS, ungrouped(len(ratings)))
    )
    assert of_scores.alpha_interval.value == pytest.approx(of_labels.alpha_nominal.value)
    assert not {"agreement", "fleiss_kappa"} & of_scores.estimates.keys()


def test_overall_of_few_items_keeps_its_n_and_what_is_left_out():
    values = np.array([[1.0, 1.0]] * 9 + [[1.0, np.nan]])
    got = overall_agreement(Ratings(values, NAMES[:2], QUALITY, ungrouped(10)))
    assert (got.items, got.ac1.value, got.ac1.n, got.ac1.reason) == (9, None, 9, too_few(9))
    assert left_out(got.ac1) == [1]
    values = np.random.default_rng(4).integers(0, 4, (12, 3)).astype(float)
    values[:4, 2] = np.nan
    got = overall_agreement(Ratings(values, NAMES[:3], QUALITY, ungrouped(12)))
    assert (got.alpha_interval.n, got.icc.reason) == (12, too_few(8))
    assert (got.cronbach_alpha.n, left_out(got.cronbach_alpha)) == (8, [4])


def test_the_order_of_items_and_raters_does_not_show():
    rated = quality_ratings(clusters=60)
    order = np.random.default_rng(1).permutation(300)
    turned = Ratings(rated.values[order][:, ::-1], NAMES[::-1], QUALITY, rated.groups.at(order))
    assert overall_agreement(turned) == overall_agreement(rated)


def test_each_rater_with_themselves(rng):
    raters = np.repeat(["ann", "ben"], 40)
    first = rng.choice([1.0, 0.0], 80)
    second = np.where(np.arange(80) % 8 == 7, rng.choice([1.0, 0.0], 80), first)
    second[:40] = first[:40]
    ann, ben = self_agreement(raters, first, second, LABEL)
    assert (ann.first, ann.second, ann.n, ann.statistics["kappa"].value) == ("ann", "ann", 40, 1)
    assert ben.statistics["agreement"].value == pytest.approx((first == second)[40:].mean())


def test_each_rater_against_gold_is_told_like_a_judge():
    from sklearn.metrics import recall_score

    ratings, _ = made_ratings(k=2, n=120)
    gold = np.random.default_rng(5).integers(0, 2, 120).astype(float)
    gold[::4] = np.nan
    results = against_gold(Ratings(ratings, NAMES, LABEL, ungrouped(120)), gold)
    assert [each.first for each in results] == list(NAMES)
    for column, each in enumerate(results):
        rows = ~np.isnan(ratings[:, column]) & ~np.isnan(gold)
        assert each.n == rows.sum()
        expected = recall_score(gold[rows], ratings[rows, column], pos_label=0)
        assert each.statistics["sensitivity"].value == pytest.approx(expected)


def test_pairs_of_unordered_categories_have_no_weights():
    ratings, _ = made_ratings(k=3)
    (first, *_) = pairs_of_raters(
        Ratings(ratings, NAMES, Scale("preference", ("a", "b", "tie")), ungrouped(300))
    )
    assert set(first.statistics) == {"agreement", "kappa", "alpha_nominal", "ac1"}


@pytest.mark.parametrize(
    ("scale", "name"), [(QUALITY, "weighted_kappa"), (GROUNDEDNESS, "spearman")]
)
def test_judges_beyond_people_have_the_statistics_of_pairs_and_a_paired_interval(
    scale, name, agrees_with_plain_bootstrap, rng
):
    groups = np.repeat(np.arange(120), 2)
    people, shared = rng.normal(2.5, 1, 240), np.repeat(rng.normal(0, 0.9, 120), 2)
    first, second = (people + shared + rng.normal(0, 0.4, 240) for _ in range(2))
    sides = [
        np.clip(each.round(), 1, 4) if scale is QUALITY else each
        for each in (first, second, people)
    ]

    def of_two(one, other):
        return pair_statistics(one, other, scale, resamples=2, only=(name,)).estimates[name].value

    def excess(one, other, people):
        return of_two(one, other) - max(of_two(one, people), of_two(other, people))

    got = agreement_beyond_people(
        *(positions(each, scale) for each in sides), scale, grouping(groups, 240)
    )
    assert got.value == pytest.approx(excess(*sides), abs=1e-9)
    agrees_with_plain_bootstrap(got, excess, sides, groups, extra=0.02)


def test_judges_and_people_need_ten_items_and_two_values():
    labels = np.array([1.0, 0.0] * 5)
    one_label = np.ones(10)
    assert agreement_beyond_people(labels, labels, labels, LABEL, ungrouped(10)).value == 0
    assert agreement_beyond_people(one_label, one_label, labels, LABEL, ungrouped(10)) is None
    assert agreement_beyond_people(labels[:9], labels[:9], labels[:9], LABEL, ungrouped(9)) is None
    same = np.full(10, 0.5)
    assert (
        agreement_beyond_people(same, np.arange(10) / 10, same, GROUNDEDNESS, ungrouped(10)) is None
    )
