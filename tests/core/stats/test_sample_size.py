"""Sample sizes and confidence sequences, against published figures of RAGTruth and against what must always hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.arrays import grouping
from judgeboard.stats.sample_size import (
    allocated,
    correlation_in_groups,
    design_effect_of_mean,
    kappa_influence,
    labels_by_lot,
    labels_for_change,
    labels_for_kappa,
    labels_for_outcome,
    labels_in_groups,
    smallest_change,
    stratified_half_width,
)
from shared_answers import shared_answers

SHARES = st.floats(0.01, 0.99)
WIDTHS = st.floats(0.005, 0.4)


@pytest.fixture(scope="module")
def known(shared):
    return shared_answers(shared / "data")


class TestPublished:
    pytestmark = pytest.mark.shared

    def test_labels_by_lot(self, known):
        share = known.bad.mean()
        for width, of_app, of_these in (
            (0.1, 89, 84),
            (0.05, 357, 282),
            (0.03, 991, 571),
            (0.02, 2231, 839),
        ):
            assert labels_by_lot(width, share) == of_app
            assert labels_by_lot(width, share, answers=1344) == of_these

    def test_labels_with_a_judge(self, known):
        bad = known.judged_bad["track_b_modernbert"]
        shares = [known.bad[~bad].mean(), known.bad[bad].mean()]
        for answers, expected in ((10**9, 212), (1344, 238)):
            strata = [answers * 2 / 3, answers / 3]
            widths = [
                stratified_half_width(strata, [n * 2 / 3, n / 3], shares)
                for n in (expected - 1, expected)
            ]
            assert widths[0] > 0.05 > widths[1]

    def test_evidence_groups(self, known):
        effect = design_effect_of_mean(known.bad, known.groups)
        correlation = correlation_in_groups(known.bad, known.groups)
        assert (effect, correlation) == pytest.approx((1.775, 0.156), abs=5e-4)
        sizes = known.groups.sums(np.ones(len(known.bad)))
        mean_size = np.square(sizes).sum() / len(known.bad)
        assert 1 + (mean_size - 1) * correlation == pytest.approx(effect)

    def test_kappa(self, known):
        # A correction that the published figures lack.
        few_groups = known.groups.count / (known.groups.count - 1)
        deviations, labels = [], []
        for judge in ("track_b_modernbert", "approach_1_modernbert"):
            _, influence = kappa_influence(known.judged_bad[judge], known.bad)
            effect = design_effect_of_mean(influence, known.groups) / few_groups
            deviations.append(float(influence.std()))
            labels.append(labels_for_kappa(0.1, deviations[-1] * effect**0.5))
        assert labels == [341, 313]
        assert deviations[0] == pytest.approx(0.8087, abs=5e-5)
        assert [labels_for_kappa(x, deviations[0]) for x in (0.1, 0.05)] == [251, 1005]

    def test_two_judge_versions(self, known):
        before, after = (
            (known.judged_bad[judge] == known.bad).astype(float)
            for judge in ("approach_1_modernbert", "track_b_modernbert")
        )
        change = after - before
        differ = float((change != 0).mean())
        assert (change.mean(), differ) == pytest.approx((0.0409, 0.1793), abs=5e-5)
        effects = (1, design_effect_of_mean(change, known.groups))
        labels = [labels_for_change(change.mean(), change.var() * effect) for effect in effects]
        assert labels == [833, 951]
        assert [round(each * differ) for each in labels] == [149, 171]

    def test_labels_for_an_outcome(self, known):
        labels = [labels_for_outcome(bound, known.bad.mean()) for bound in (0.25, 0.3, 0.2)]
        assert labels == [92, 301, 41]
        assert labels_for_outcome(0.25, 0.25) is None


STRATA = st.lists(
    st.tuples(st.integers(1, 10_000), st.integers(1, 10_000), SHARES), min_size=1, max_size=6
)


@given(STRATA, st.floats(1, 4))
def test_more_labels_are_never_less_precise_and_all_labels_are_exact(strata, effect):
    sizes, shares = np.array([sizes for *sizes, _ in strata]), [share for *_, share in strata]
    answers, labelled = sizes.max(axis=1), sizes.min(axis=1)
    more = (labelled + answers) // 2
    for target in ("app", "these"):
        few, many, every = (
            stratified_half_width(answers, n, shares, design_effect=effect, target=target)
            for n in (labelled, more, answers)
        )
        assert few + 1e-12 >= many >= every - 1e-12
    assert every == 0
    assert stratified_half_width(answers, [0, *labelled[1:]], shares) == np.inf


@given(WIDTHS, SHARES, st.floats(1, 4), st.integers(10, 10**6))
def test_labels_by_lot_reach_their_width(width, share, effect, answers):
    labels = labels_by_lot(width, share, answers=answers)
    assert 1 <= labels <= answers
    assert labels_by_lot(width / 2, share) >= labels_by_lot(width, share)
    of_app = labels_by_lot(width, share, design_effect=effect)
    if of_app >= 100:  # of fewer labels the rounding to a whole one shows
        reached = stratified_half_width([10**12], [of_app], [share], design_effect=effect)
        assert reached == pytest.approx(width, rel=0.01)


@given(st.floats(0.02, 0.4), st.floats(0.05, 1), st.floats(1, 3))
@settings(max_examples=50)
def test_a_change_that_is_planned_for_is_the_smallest_that_is_found(change, variance, effect):
    labels = labels_for_change(change, variance * effect)
    if labels >= 50:
        assert smallest_change(labels, variance, effect) == pytest.approx(change, rel=0.02)


@given(
    st.integers(0, 400),
    st.lists(st.integers(0, 300), min_size=1, max_size=8),
    st.sampled_from([0, 2, 20]),
)
@settings(max_examples=200)
def test_labels_are_allocated_without_a_rest(n, answers, least):
    planned = allocated(n, answers, least=least)
    assert sum(planned) == min(n, sum(answers))
    assert all(0 <= labels <= size for labels, size in zip(planned, answers, strict=True))


def test_strata_get_labels_in_proportion_but_the_least_as_far_as_they_have_answers():
    for answers, least, planned in (
        ([900, 100], 0, (90, 10)),
        ([900, 100], 20, (80, 20)),
        ([1000, 3], 10, (97, 3)),
    ):
        assert allocated(100, answers, least=least) == planned


def test_the_more_answers_of_a_group_are_labelled_the_more_labels_are_needed():
    def needed(effect):
        return labels_by_lot(0.05, 0.3, design_effect=effect)

    assert labels_in_groups(needed, 10_000, 1, 0.5) == (needed(1), 1)
    labels, effect = labels_in_groups(needed, 10_000, 6, 0.5)
    assert labels == needed(effect) > needed(1)
    assert effect == pytest.approx(1 + labels / 10_000 * 5 * 0.5, abs=0.01)


def test_few_pairs_of_labels_in_a_group_say_nothing_about_groups():
    values = np.tile([0.0, 1.0], 20)
    for size, correlation in ((2, None), (4, 0)):
        groups = grouping(np.arange(40) // size, 40)
        assert correlation_in_groups(values, groups) == correlation
