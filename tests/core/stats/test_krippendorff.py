import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from judgeboard.stats.chance_corrected import alpha, alpha_of_tables
from rating_tables import made_ratings, ratings, tables

METRICS = ("nominal", "ordinal", "interval")


def by_krippendorff(values, metric):
    import krippendorff

    return krippendorff.alpha(reliability_data=values.T, level_of_measurement=metric)


@pytest.mark.parametrize("metric", METRICS)
@given(case=tables())
@settings(max_examples=50, deadline=None)
def test_it_equals_the_krippendorff_package_or_is_undefined(metric, case):
    k, table = case
    rated = ratings(table, k)
    got = alpha(rated, metric)
    pairable = rated.values[rated.per_item > 1]
    if np.unique(pairable[~np.isnan(pairable)]).size < 2:
        assert got.value is None
        assert got.reason in {"no item with two values", "every value is the same"}
        return
    assert got.value == pytest.approx(by_krippendorff(rated.values, metric), abs=1e-9)
    assert got.n == len(pairable)


@pytest.mark.parametrize("metric", ["ordinal", "interval"])
@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_scores_too(metric, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 1, (20, 1)).round(1) + rng.normal(0, 0.5, (20, 3)).round(1)
    values[rng.random(values.shape) < 0.2] = np.nan
    assume(((~np.isnan(values)).sum(axis=1) > 1).any())
    assert alpha(ratings(values), metric).value == pytest.approx(by_krippendorff(values.round(9), metric), abs=1e-9)


def test_the_worked_example_of_its_author():
    # K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011): four observers, twelve units with gaps.
    said = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    rated = ratings([[None if each is None else each - 1 for each in unit] for unit in zip(*said, strict=True)], 5)
    published = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849}
    assert {metric: round(alpha(rated, metric).value, 3) for metric in METRICS} == published
    assert alpha(rated, "nominal").n == 11
    assert alpha(rated, "nominal").left_out == (("items with one rating", 1),)


@pytest.mark.parametrize("metric", METRICS)
@given(case=tables(gaps=False))
@settings(max_examples=30, deadline=None)
def test_two_raters_give_from_their_table_what_they_give_as_a_matrix(metric, case):
    k, table = case
    two = np.array(table)[:, :2]
    counts = np.bincount(two[:, 0] * k + two[:, 1], minlength=k * k).reshape(k, k).astype(float)
    matrix, of_table = alpha(ratings(two, k), metric).value, float(alpha_of_tables(counts, metric))
    assert np.isnan(of_table) if matrix is None else of_table == pytest.approx(matrix, abs=1e-9)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("clusters", [None, 80])
def test_the_interval_is_that_of_resampling_whole_groups(metric, clusters, agrees_with_plain_bootstrap):
    said, groups = made_ratings(clusters=clusters)
    got = alpha(ratings(said, 4, groups), metric)
    agrees_with_plain_bootstrap(
        got, lambda rows: alpha(ratings(rows, 4), metric).value, (said,), groups, resamples=400, extra=0.01
    )


def test_a_continuous_score_has_no_nominal_alpha():
    with pytest.raises(ValueError, match="declared categories"):
        alpha(ratings([[0.1, 0.2]]), "nominal")
