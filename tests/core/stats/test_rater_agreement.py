from itertools import combinations

import numpy as np
import pytest

from estimates import almost, left_out, why_undefined
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
from judgeboard.stats.ratings import GROUNDEDNESS, LABEL, PREFERENCE, QUALITY, Ratings, positions
from rating_tables import made_ratings, ungrouped

NAMES = ("ann", "ben", "cy", "dan")


def rated(values, scale=QUALITY, groups=None):
    return Ratings(values, NAMES[: values.shape[1]], scale, grouping(groups, len(values)))


def quality_ratings(**asked):
    ratings, groups = made_ratings(**asked)
    return rated(ratings, groups=groups)


def test_each_pair_is_measured_on_the_items_that_both_rated():
    from sklearn.metrics import cohen_kappa_score

    ratings = quality_ratings()
    results = pairs_of_raters(ratings)
    assert [(pair.first, pair.second) for pair in results] == list(combinations(NAMES, 2))
    for pair in results:
        columns = [NAMES.index(name) for name in (pair.first, pair.second)]
        both = ratings.values[ratings.rated[:, columns].all(axis=1)][:, columns]
        first, second = both.T.astype(int)
        assert pair.n == len(both)
        for name, weights in (("kappa", None), ("weighted_kappa", "quadratic")):
            expected = cohen_kappa_score(first, second, weights=weights, labels=range(4))
            assert pair.statistics[name].value == almost(expected)
        assert pair.statistics["agreement"].value == pytest.approx((first == second).mean())
        assert set(pair.statistics) <= set(SYMMETRIC)


def test_raters_without_a_common_item_are_no_pair_and_few_items_too_few():
    values = np.full((30, 3), np.nan)
    values[:15, 0] = values[15:, 1] = values[:9, 2] = 1
    (pair,) = pairs_of_raters(rated(values))
    assert (pair.first, pair.second, pair.n) == ("ann", "cy", 9)
    assert pair.statistics["kappa"].reason == too_few(9)


def test_overall_has_what_the_grade_has():
    of_quality = overall_agreement(quality_ratings())
    assert (of_quality.raters, of_quality.alpha_ordinal.value is None) == (4, False)
    assert of_quality.fleiss_kappa.left_out
    ratings, _ = made_ratings(k=2)
    of_labels = overall_agreement(rated(ratings, LABEL))
    assert "alpha_interval" not in of_labels.estimates
    assert of_labels.alpha_nominal.value == pytest.approx(of_labels.fleiss_kappa.value, abs=0.1)
    of_scores = overall_agreement(rated(ratings / 2, GROUNDEDNESS))
    assert of_scores.alpha_interval.value == pytest.approx(of_labels.alpha_nominal.value)
    assert not {"agreement", "fleiss_kappa"} & of_scores.estimates.keys()


def test_overall_of_few_items_keeps_its_n_and_what_is_left_out():
    got = overall_agreement(rated(np.array([[1.0, 1.0]] * 9 + [[1.0, np.nan]])))
    assert (got.items, got.ac1.n, left_out(got.ac1)) == (9, 9, [1])
    assert why_undefined(got.ac1) == too_few(9)
    values = np.random.default_rng(4).integers(0, 4, (12, 3)).astype(float)
    values[:4, 2] = np.nan
    got = overall_agreement(rated(values))
    assert (got.alpha_interval.n, got.icc.reason) == (12, too_few(8))
    assert (got.cronbach_alpha.n, left_out(got.cronbach_alpha)) == (8, [4])


def test_the_order_of_items_and_raters_does_not_show(rng):
    ratings = quality_ratings(clusters=60)
    order = rng.permutation(300)
    values, groups = ratings.values[order][:, ::-1], ratings.groups.at(order)
    turned = Ratings(values, NAMES[::-1], QUALITY, groups)
    assert overall_agreement(turned) == overall_agreement(ratings)


def test_each_rater_with_themselves(rng):
    raters = np.repeat(["ann", "ben"], 40)
    first = rng.choice([1.0, 0.0], 80)
    second = np.where(np.arange(80) % 8 == 7, rng.choice([1.0, 0.0], 80), first)
    second[:40] = first[:40]
    ann, ben = self_agreement(raters, first, second, LABEL)
    assert (ann.first, ann.second, ann.n, ann.statistics["kappa"].value) == ("ann", "ann", 40, 1)
    assert ben.statistics["agreement"].value == pytest.approx((first == second)[40:].mean())


def test_each_rater_against_gold_is_told_like_a_judge(rng):
    from sklearn.metrics import recall_score

    ratings, _ = made_ratings(k=2, n=120)
    gold = rng.integers(0, 2, 120).astype(float)
    gold[::4] = np.nan
    results = against_gold(rated(ratings, LABEL), gold)
    assert [each.first for each in results] == list(NAMES)
    for column, each in enumerate(results):
        rows = ~np.isnan(ratings[:, column]) & ~np.isnan(gold)
        assert each.n == rows.sum()
        expected = recall_score(gold[rows], ratings[rows, column], pos_label=0)
        assert each.statistics["sensitivity"].value == pytest.approx(expected)


def test_pairs_of_unordered_categories_have_no_weights():
    ratings, _ = made_ratings(k=3)
    first, *_ = pairs_of_raters(rated(ratings, PREFERENCE))
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
    assert got.value == almost(excess(*sides))
    agrees_with_plain_bootstrap(got, excess, sides, groups, extra=0.02)


def test_judges_and_people_need_ten_items_and_two_values():
    def beyond(*sides, scale=LABEL):
        return agreement_beyond_people(*sides, scale, ungrouped(len(sides[0])))

    labels, one_label, same = np.array([1.0, 0.0] * 5), np.ones(10), np.full(10, 0.5)
    assert beyond(labels, labels, labels).value == 0
    assert beyond(one_label, one_label, labels) is None
    assert beyond(labels[:9], labels[:9], labels[:9]) is None
    assert beyond(same, np.arange(10) / 10, same, scale=GROUNDEDNESS) is None
