"""Rates of all answers: worked examples on RAGTruth to six digits, degenerate cases, and what holds for any labels."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from estimates import almost, ends, value_and_ends, why_no_interval, why_undefined, width
from judgeboard.flags.rules import sampling_number
from judgeboard.stats.estimates import MIN_PAIRS, t_quantile
from judgeboard.stats.intervals import wilson
from judgeboard.stats.pair_statistics import STATISTICS_OF_ALL
from judgeboard.stats.rates import (
    NO_BETTER_THAN_CHANCE,
    Stratum,
    bounds,
    design_effect,
    judge_alone,
    predicted_mean,
    rate,
    rogan_gladen,
    strata_of,
    summed,
    weighted_agreement,
)
from recordings import records
from shared_answers import published, shared_answers

SIX_DIGITS = 5.1e-7
JUDGE = "track_b_modernbert"
OTHERS = ("approach_1_modernbert", "track_a_deberta", "baseline_nli")


class RagTruth:
    """The answers that every detector judged, with the draw of each one, and the published figures."""

    def __init__(self, folder):
        answers = shared_answers(folder)
        self.bad, self.groups = answers.bad, answers.groups.codes
        self.judged_bad, self.badness = answers.judged_bad, answers.badness
        self.draws = np.array(
            [sampling_number("judgeboard", "default", each) for each in answers.ids]
        )
        self.expected = published(folder, "e1_rate")

        self.types = np.unique(answers.query_types, return_inverse=True)
        self.drawn, self.every = self.draws < 0.15, np.ones(len(self.bad), dtype=np.bool_)

    def sums(self, labelled, strata=None, judge=JUDGE, inside=None):
        rows = self.every if inside is None else inside
        known = np.zeros(len(self.bad), dtype=np.int64) if strata is None else strata
        return summed(
            known[rows],
            self.badness[judge][rows],
            self.groups[rows],
            int(known.max()) + 1,
            labelled[rows],
            self.bad[labelled & rows],
        )

    def predicted(self, *labelled, target="app", **chosen):
        """The rate by the labels and the scores of a judge."""
        return predicted_mean(*self.sums(*labelled, **chosen), share=True, target=target)

    def slope(self, estimate, labelled, judge=JUDGE, inside=None):
        """The slope of the judge's scores that an estimate of one stratum has."""
        rows = self.every if inside is None else inside
        scores, known = self.badness[judge], labelled & rows
        corrected = estimate.value - self.bad[known].mean()
        return corrected / float(scores[rows].mean() - scores[known].mean())

    def same(self, estimate, name):
        known = self.expected[name]
        expected = (known["value"], known["low"], known["high"])
        assert value_and_ends(estimate) == pytest.approx(expected, abs=SIX_DIGITS)
        if "df" in known:
            assert standard_error(estimate, known["df"]) == pytest.approx(known["se"], abs=2e-6)
        return known


def standard_error(estimate, df):
    """The standard error of a share whose interval is Student's t with ``df`` on the logit scale."""
    value, high = estimate.value or 0, estimate.high or 0
    reach = math.log(high / (1 - high)) - math.log(value / (1 - value))
    return reach / float(t_quantile(df)) * value * (1 - value)


@pytest.fixture(scope="module")
def ragtruth_rows(shared):
    return RagTruth(shared / "data")


@pytest.mark.shared
class TestRagTruth:
    def test_prediction_powered_inference(self, ragtruth_rows):
        rows, drawn = ragtruth_rows, ragtruth_rows.drawn
        rows.same(rows.predicted(drawn), "ppi_tuned_by_group")
        rows.same(rows.predicted(drawn, target="these"), "ppi_tuned_these_answers")
        of_labelled = rows.sums(drawn)[0].of_labelled
        assert len(of_labelled) == rows.expected["truth"]["groups_labelled"]
        for judge in OTHERS:
            estimate = rows.predicted(drawn, judge=judge)
            known = rows.same(estimate, f"ppi_tuned_by_group_{judge}")
            assert rows.slope(estimate, drawn, judge) == pytest.approx(known["b"], abs=5e-6)
            assert standard_error(estimate, 131) == pytest.approx(known["se"], abs=2e-6)
        names, types = rows.types
        for code, query_type in enumerate(names):
            inside = types == code
            known = rows.same(rows.predicted(drawn, inside=inside), f"ppi_tuned_{query_type}")
            assert (int(inside.sum()), int((inside & drawn).sum())) == (known["N"], known["n"])
            share = rows.judged_bad[JUDGE][inside].mean()
            assert share == pytest.approx(known["judge"], abs=SIX_DIGITS)
        assert names.tolist() == ["Data2txt", "QA", "Summary"]
        rows.same(rows.predicted(drawn, types), "stratified_ppi_by_query_type")

    @pytest.mark.parametrize("judge", [JUDGE, *OTHERS])
    def test_labels_rogan_gladen(self, ragtruth_rows, judge):
        rows, judged_bad = ragtruth_rows, ragtruth_rows.judged_bad[judge]
        bad, judged = rows.bad[rows.drawn], judged_bad[rows.drawn]
        counts = [int(each.sum()) for each in (bad, bad & judged, ~bad, ~bad & ~judged)]
        made = rogan_gladen(int(judged_bad.sum()), len(rows.bad), *counts)
        known = rows.same(made, f"rogan_gladen_{judge}")
        assert counts == [known[name] for name in ("bad", "caught", "good", "let_through")]
        found, passed = counts[1] / counts[0], counts[3] / counts[2]
        assert found + passed - 1 == pytest.approx(known["J"], abs=5e-7)

    def test_strata_without_scores_on_the_logit(self, ragtruth_rows):
        rows, drawn, in_groups = ragtruth_rows, ragtruth_rows.drawn, ragtruth_rows.groups
        judged = rows.judged_bad[JUDGE].astype(np.int64)
        none, each = np.zeros(len(judged)), np.arange(len(judged))
        flagged = (judged == 1) | (rows.draws < 0.05)
        by_type = 2 * rows.types[1] + judged
        for strata, groups, labelled, target, name in (
            (judged, in_groups, drawn, "app", "poststratified_by_group"),
            (judged, each, drawn, "app", "poststratified_by_answer"),
            (judged, each, drawn, "these", "poststratified_these_answers"),
            (judged * 0, in_groups, drawn, "app", "labels_only_by_group_logit"),
            (by_type, in_groups, drawn, "app", "strata_type_x_verdict"),
            (judged, in_groups, flagged, "app", "stratified_flag_process"),
            (judged, each, flagged, "these", "stratified_flag_these"),
        ):
            count = int(strata.max()) + 1
            sums = summed(strata, none, groups, count, labelled, rows.bad[labelled])
            rows.same(predicted_mean(*sums, share=True, target=target), name)

    def test_all_flagged_and_a_random_sample_with_the_judges_scores(self, ragtruth_rows):
        rows, judged = ragtruth_rows, ragtruth_rows.judged_bad[JUDGE]
        labelled = judged | (rows.draws < 0.05)
        estimate = rows.predicted(labelled, judged.astype(np.int64))
        known = rows.same(estimate, "stratified_flag_ppi_process")
        unflagged = rows.predicted(labelled, inside=~judged)
        slope = rows.slope(unflagged, labelled, inside=~judged)
        assert slope == pytest.approx(known["b_unflagged"], abs=5e-6)


def test_a_part_without_a_label_has_no_rate_but_bounds():
    strata = (Stratum(90, 0, 0), Stratum(10, 10, 5))
    assert rate(strata).value is None
    assert bounds(*answers_of(strata)) == pytest.approx((0.05, 0.95))
    assert rate(()).reason == "no answers"


def test_a_judge_no_better_than_chance_corrects_nothing():
    assert rogan_gladen(5, 10, 10, 5, 10, 5).reason == NO_BETTER_THAN_CHANCE
    for errors, kind in (((0, 0, 10, 5), "bad"), ((10, 5, 0, 0), "good")):
        assert why_undefined(rogan_gladen(5, 10, *errors)).endswith(f" {kind}")


@st.composite
def strata(draw):
    made = []
    for _ in range(draw(st.integers(1, 4))):
        answers = draw(st.integers(1, 400))
        labelled = draw(st.integers(1, answers))
        made.append(Stratum(answers, labelled, draw(st.integers(0, labelled))))
    return tuple(made)


TARGETS = st.sampled_from(["app", "these"])


@given(strata(), TARGETS, st.floats(1, 10))
@example((Stratum(1, 1, 1), Stratum(1, 1, 0)), "app", 10.0)
def test_a_rate_is_inside_its_interval_and_never_outside_0_to_1(made, target, effect):
    estimate = rate(made, target, effect)
    assert 0 <= estimate.low <= estimate.value + 1e-9
    assert estimate.value <= estimate.high + 1e-9 <= 1 + 1e-9


@given(strata(), TARGETS, st.integers(2, 5))
def test_more_labels_never_make_the_interval_wider(made, target, times):
    wide, narrow = (
        rate([Stratum(s.answers * times, s.labelled * more, s.bad * more) for s in made], target)
        for more in (1, times)
    )
    assert narrow.value == pytest.approx(wide.value)
    assert width(narrow) <= width(wide) + 1e-9


def on_labels_alone(bad, judged):
    """The statistics of labels in one stratum, of which no answer is without a label."""
    n = len(bad)
    sums = summed(
        np.zeros(n, dtype=np.int64), judged, np.arange(n), 1, np.ones(n, dtype=np.bool_), bad
    )
    return weighted_agreement(*sums, judged, "these")


@given(
    st.lists(
        st.tuples(st.booleans(), st.booleans(), st.integers(0, 9)), min_size=MIN_PAIRS, max_size=60
    )
)
def test_where_every_answer_is_labelled_the_rate_is_the_plain_share(rows):
    bad, strata, groups = np.array(rows, dtype=np.int64).T
    judged, everything = strata.astype(float), np.ones(len(rows), dtype=np.bool_)
    sums = summed(strata, judged, groups, 2, everything, bad.astype(float))
    estimate = rate(strata_of(*sums), "these")
    assert value_and_ends(estimate) == pytest.approx((bad.mean(),) * 3)
    weighted, plain = (
        {name: each.value for name, each in figures.items()}
        for figures in (weighted_agreement(*sums, judged, "these"), on_labels_alone(bad, judged))
    )
    assert weighted == pytest.approx(plain)
    assert design_effect(*sums) >= 1


@given(
    st.lists(
        st.tuples(st.booleans(), st.floats(0, 1), st.booleans(), st.integers(0, 9)),
        min_size=4,
        max_size=60,
    )
)
def test_the_predicted_share_never_leaves_0_to_1(rows):
    bad, scores, drawn, groups = (np.array(column) for column in zip(*rows, strict=True))
    drawn[:2] = True
    one = np.zeros(len(rows), dtype=np.int64)
    sums = summed(one, scores, groups, 1, drawn, bad[drawn].astype(float))
    for target in ("app", "these"):
        made = predicted_mean(*sums, target=target, share=True)
        for number in value_and_ends(made):
            assert number is None or 0 <= number <= 1


def test_the_order_of_the_answers_changes_nothing(rng):
    strata_codes, groups = rng.integers(0, 3, 200), rng.integers(0, 40, 200)
    scores, drawn = rng.random(200), rng.random(200) < 0.3
    bad = (rng.random(200) < scores).astype(float)
    results = []
    for order in (np.arange(200), rng.permutation(200)):
        labelled = drawn[order]
        sums = summed(
            strata_codes[order], scores[order], groups[order], 3, labelled, bad[order][labelled]
        )
        made = rate(strata_of(*sums), "app", design_effect(*sums))
        predicted = predicted_mean(*sums, share=True)
        results.append(value_and_ends(made) + value_and_ends(predicted))
    assert results[0] == pytest.approx(results[1])


def test_different_labels_of_one_evidence_group_have_no_interval_and_are_not_called_the_same():
    each, labelled = np.arange(40), np.arange(40) < 12
    strata, bad = np.zeros(40, dtype=np.int64), np.arange(12) % 3 == 0
    sums = summed(strata, each / 40, np.where(labelled, 0, each), 1, labelled, bad)
    kappa = weighted_agreement(*sums, np.arange(12) % 2 == 0)["kappa"]
    for estimate in (predicted_mean(*sums, share=False), kappa):
        assert "one evidence group" in why_no_interval(estimate)


def test_few_labels_that_show_no_missed_answer_give_no_interval_from_0_to_1():
    at = np.arange(2000)
    flagged, bad = (at < 100).astype(float), (at < 60).astype(float)
    labelled = (at < 100) | (at >= 1988)
    sums = summed((at >= 100).astype(int), flagged, at, 2, labelled, bad[labelled])
    recall = weighted_agreement(*sums, flagged[labelled])["sensitivity"]
    assert recall.value == 1
    assert why_no_interval(recall).startswith("no interval")


@pytest.mark.shared
def test_the_slope_of_numbers_has_no_upper_limit(shared):
    folder = shared / "data"
    scores = {
        row["response_id"]: row["raw"] for row in records(folder / "ragchecker.judgements.jsonl.gz")
    }
    people = {}
    for row in records(folder / "ragchecker.human.jsonl.gz"):
        people.setdefault(row["pair_id"], []).append(row["overall"])
    ids = sorted(people)
    grades = np.array([np.mean(people[each]) for each in ids])
    change = np.array(
        [scores[f"{each}-2"]["overall"] - scores[f"{each}-1"]["overall"] for each in ids]
    )
    drawn = np.array([sampling_number("judgeboard", "default", each) for each in ids]) < 0.3
    assert (len(ids), int(drawn.sum())) == (280, 80)
    assert grades.mean() == pytest.approx(-0.0464, abs=5.1e-5)
    one = np.zeros(280, dtype=np.int64)
    made, alone = (
        predicted_mean(*summed(one, scores, np.arange(280), 1, drawn, grades[drawn]), share=False)
        for scores in (change, np.zeros(280))
    )
    corrected = made.value - grades[drawn].mean()
    assert corrected / (change.mean() - change[drawn].mean()) == pytest.approx(3.1271, abs=5.1e-5)
    for estimate, value, error in ((made, -0.0002, 0.0882), (alone, -0.0563, 0.1117)):
        of_estimate = (estimate.value, width(estimate) / 2 / t_quantile(79))
        assert of_estimate == pytest.approx((value, error), abs=5.1e-5)


def test_a_stratum_needs_one_label_and_without_a_bad_answer_still_adds_to_the_width():
    estimate = rate((Stratum(50, 1, 1), Stratum(50, 20, 3), Stratum(0, 0, 0)))
    assert estimate.value == pytest.approx(0.575)
    assert width(estimate) > 0.4
    all_good = rate((Stratum(1000, 10, 0),), "these")
    assert (all_good.value, all_good.low) == (0, 0)
    assert all_good.high > 0.2


cells = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.booleans(), st.integers(0, 9)),
    min_size=4,
    max_size=60,
)


@given(cells, TARGETS)
def test_agreement_in_all_answers_is_inside_its_interval_and_its_scale(rows, target):
    bad, judged, drawn, groups = (np.array(column) for column in zip(*rows, strict=True))
    strata = judged.astype(np.int64)
    for code in (0, 1):
        drawn[np.flatnonzero(strata == code)[:1]] = True
    sums = summed(strata, judged.astype(float), groups, 2, drawn, bad[drawn].astype(float))
    figures = weighted_agreement(
        *sums, judged[drawn].astype(float), target, judged_bad=int(judged.sum())
    )
    for name, each in figures.items():
        if each.low is not None:
            least = -1 if STATISTICS_OF_ALL[name].scale == "Fisher's z" else 0
            assert least <= each.low <= each.value + 1e-9
            assert each.value <= each.high + 1e-9 <= 1 + 1e-9


@given(st.integers(0, 50), st.tuples(*[st.integers(0, 20)] * 4))
def test_a_rate_from_labels_elsewhere_never_leaves_0_to_1(judged, counts):
    found, missed, passed, wrong = counts
    made = rogan_gladen(judged, 50, found + missed, found, passed + wrong, passed)
    if made.value is not None:
        assert 0 <= made.low <= made.high <= 1
        assert 0 <= made.value <= 1
    assert (made.value is None) == (
        found + missed == 0 or passed + wrong == 0 or made.reason == NO_BETTER_THAN_CHANCE
    )


def answers_of(made):
    """Return the rows of answers for `bounds`: the first labelled ones of each stratum are sampled, the first bad."""
    places = [np.arange(each.answers) for each in made]
    values = [
        np.where(at < each.labelled, at < each.bad, np.nan)
        for at, each in zip(places, made, strict=True)
    ]
    numbers = np.repeat(np.arange(len(made)), [each.answers for each in made])
    every = np.concatenate(values)
    return numbers, ~np.isnan(every), every, np.arange(len(every))


@given(strata())
def test_the_bounds_contain_the_rate_that_labels_of_the_rest_would_give(made):
    first, *rest = made
    low, high = bounds(*answers_of((Stratum(first.answers, 0, 0), *rest)))
    assert 0 <= low <= rate(made).value + 1e-9 <= high + 2e-9 <= 1 + 2e-9


@given(strata(), st.data())
def test_labels_of_chosen_answers_narrow_the_bounds_by_exactly_what_they_tell(made, data):
    numbers, _, _, groups = answers_of(made)

    def draw(size):
        return np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))

    truth = draw(len(numbers)).astype(float)
    complete, chosen = draw(len(made))[numbers], draw(len(numbers))
    values = np.where(complete | chosen, truth, np.nan)
    low, high = bounds(numbers, complete, values, groups)
    assert low == almost((values == 1).mean())
    assert high == almost(1 - (values == 0).mean())
    assert low - 1e-9 <= truth.mean() <= high + 1e-9
    wider = bounds(numbers, complete, values, groups, "app")
    assert wider[0] <= low + 1e-9
    assert high <= wider[1] + 1e-9


def test_labels_of_chosen_answers_do_not_count_where_a_sample_tells_more():
    numbers, sampled, values, groups = answers_of((Stratum(50, 20, 5), Stratum(50, 0, 0)))
    values[30:40] = 1.0  # chosen answers of the stratum with a sample
    with_chosen = bounds(numbers, sampled, values, groups)
    values[30:40] = np.nan
    assert with_chosen == bounds(numbers, sampled, values, groups)


def alone(verdicts, groups=None, target="app"):
    """Return the judge's own share of answers without labels."""
    groups = np.arange(len(verdicts)) if groups is None else groups
    nothing = np.zeros(len(verdicts), dtype=np.bool_)
    strata = verdicts.astype(np.int64)
    population, _ = summed(strata, verdicts, groups, 2, nothing, np.empty(0))
    hits = np.bincount(strata, weights=verdicts, minlength=2), np.bincount(strata, minlength=2)
    return judge_alone(population, np.ones(2, dtype=np.bool_), hits, None, target)


def test_the_judge_alone_has_the_interval_of_chance():
    random = np.random.default_rng(3)
    verdicts = (random.random(300) < 0.3).astype(np.float64)
    single = alone(verdicts)
    assert ends(single) == pytest.approx(np.array(wilson(verdicts.mean(), 300)))
    copied = alone(np.repeat(verdicts, 6), np.repeat(np.arange(300), 6))
    assert copied.n == 1800
    assert ends(copied) == pytest.approx(ends(single), abs=1e-4)
    these = alone(verdicts, target="these")
    assert these.low == these.value == these.high
    few = alone(verdicts[:5])
    assert few.value == pytest.approx(verdicts[:5].mean())
    assert "10 evidence groups" in why_no_interval(few)


def test_the_interval_of_the_judge_alone_holds_its_share_of_the_app():
    """Groups of 6 answers with a share of their own: how often the interval has the share of all groups."""
    random = np.random.default_rng(11)
    inside = 0
    for _ in range(400):
        bad = random.random((60, 6)) < random.beta(1.5, 3.0, (60, 1))
        made = alone(bad.astype(np.float64).ravel(), np.repeat(np.arange(60), 6))
        inside += (made.low or 0) <= 1 / 3 <= (made.high or 0)
    assert 0.92 <= inside / 400 <= 0.98
