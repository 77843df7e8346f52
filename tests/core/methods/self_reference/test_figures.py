"""Self-reference: the calls it needs, its three conditions, thresholds per category, and what the page says."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from judgeboard.domain import JudgeVersion, PairItem, Preference, Shown
from judgeboard.methods.self_reference.own_answers import Majority, majority
from judgeboard.methods.self_reference.report import Loaded, findings, report_of, tuned_note
from judgeboard.methods.self_reference.run import Plan, RunEstimate, Task
from judgeboard.methods.self_reference.scores import (
    NOT_ASKED,
    Item,
    Items,
    TwoOrders,
    calibration,
    categories,
    condition_scores,
    gain,
    gate_scores,
    items_of,
    sample_scores,
    slices,
    sweep,
    tuned_by_category,
)
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import ensure_version

A, B, TIE = Preference
RIGHT, WRONG, SPLIT = TwoOrders(A, A, asked=True), TwoOrders(B, B, asked=True), TwoOrders(A, B, asked=True)
UNUSABLE = TwoOrders(A, None, asked=True)
AGREED, TORN, SILENT = ["x"] * 4 + ["y"], ["x", "y", "z", "x", None], [None] * 5


def item(samples: list[str | None], plain: TwoOrders, reference: TwoOrders = NOT_ASKED, **changes: object) -> Item:
    voted = majority(samples)
    made = Item(1, "QA", A, voted, None if voted.key is None else voted.key == "x", plain, reference)
    return replace(made, **changes)  # type: ignore[arg-type]  # the fields of an item


def of(*made: Item) -> Items:
    return items_of([replace(each, pair_id=place) for place, each in enumerate(made)], 5)


def accuracies(items: Items, needed: int = 4) -> list[float | None]:
    on = items.gate(needed)
    verdicts = (items.without, items.always, items.selective(needed))
    return [condition_scores(items, each, on).accuracy.value for each in verdicts]


def test_c_takes_b_where_the_gate_is_on_and_a_where_it_is_off() -> None:
    assert accuracies(of(item(AGREED, WRONG, RIGHT), item(TORN, RIGHT, WRONG))) == [0.5, 0.5, 1]
    assert accuracies(of(item(AGREED, RIGHT, WRONG), item(TORN, WRONG, RIGHT))) == [0.5, 0.5, 0]


def test_a_split_of_the_two_orders_is_counted_and_scored_as_half() -> None:
    items = of(item(AGREED, SPLIT, RIGHT), item(AGREED, RIGHT, SPLIT), item(TORN, WRONG, SPLIT))
    result = condition_scores(items, items.without, items.gate(4))
    assert (result.accuracy.value, result.accuracy.n, result.splits) == (0.5, 3, 1)
    assert result.accuracy.method == "Wilson, ties half"
    assert (result.on.value, result.off.value) == (0.75, 0)
    assert condition_scores(items, items.always, items.gate(4)).splits == 2


def test_a_side_against_a_tie_contradicts_too_and_two_ties_miss_a_gold_that_is_none() -> None:
    items = of(
        item(TORN, TwoOrders(A, TIE, asked=True)),
        item(TORN, TwoOrders(TIE, TIE, asked=True)),
        item(TORN, TwoOrders(TIE, TIE, asked=True), gold=TIE),
    )
    assert items.without.score.tolist() == [0.5, 0, 1]


def test_an_order_without_a_usable_verdict_is_unmeasured_never_0() -> None:
    items = of(item(AGREED, UNUSABLE, RIGHT), item(AGREED, RIGHT, RIGHT))
    result = condition_scores(items, items.without, items.gate(4))
    assert (result.accuracy.value, result.accuracy.n, result.unmeasured, result.not_asked) == (1, 1, 1, 0)


def test_without_any_answer_b_takes_the_verdict_of_a_and_the_gate_is_off() -> None:
    items = of(item(SILENT, RIGHT), item(AGREED, WRONG, WRONG))
    assert accuracies(items) == [0.5, 0.5, 0.5]
    assert items.gate(1).tolist() == [False, True]
    assert sum(each.n for each in slices(items, items.gate(4))) == 1
    assert [level.n for level in calibration(items)] == [0, 1, 0, 0, 0]


def test_a_condition_that_was_asked_on_one_side_of_the_gate_alone_is_not_measured_in_all() -> None:
    items = of(item(AGREED, NOT_ASKED, RIGHT), item(TORN, RIGHT, NOT_ASKED))
    on = items.gate(4)
    without, selective = condition_scores(items, items.without, on), condition_scores(items, items.selective(4), on)
    assert without.accuracy.value is None
    assert {"4", "5"} <= set((without.accuracy.reason or "").split())
    assert (without.off.value, without.on.value, without.not_asked) == (1, None, 1)
    assert (selective.accuracy.value, selective.not_asked) == (1, 0)
    points = {point.agree: point.scores.accuracy.value for point in sweep(items)}
    assert points == {1: None, 2: None, 3: 1, 4: 1, 5: None}


def test_the_four_slices_leave_out_what_nobody_knows_the_answer_of() -> None:
    items = of(
        item(AGREED, WRONG, RIGHT),
        item(["y"] * 5, RIGHT, WRONG),
        item(TORN, RIGHT, RIGHT),
        item(["y", "y", "x", "z", None], WRONG, SPLIT),
        item(AGREED, RIGHT, RIGHT, right=None),
    )
    result = slices(items, items.gate(4))
    assert [(each.gate_on, each.majority_right, each.n) for each in result] == [
        (True, True, 1),
        (True, False, 1),
        (False, True, 1),
        (False, False, 1),
    ]
    assert [(each.without.value, each.always.value) for each in result] == [(0, 1), (1, 0), (1, 1), (0, 0.5)]
    assert gate_scores(items, items.gate(4)).precision.value == 0.5
    assert gate_scores(items, items.gate(4)).on_rate.value == 0.6


def test_calibration_goes_by_how_many_agree_and_names_the_empty_levels() -> None:
    items = of(item(AGREED, RIGHT), item(AGREED, RIGHT), item(["y"] * 4 + ["x"], RIGHT), item(TORN, RIGHT))
    result = {level.agree: (level.n, level.right, level.share.value) for level in calibration(items)}
    assert result == {5: (0, 0, None), 4: (3, 2, pytest.approx(2 / 3)), 3: (0, 0, None), 2: (1, 1, 1), 1: (0, 0, None)}


def test_each_category_stands_by_itself() -> None:
    items = of(item(AGREED, RIGHT, RIGHT, category="law"), item(TORN, WRONG, WRONG, category="art"))
    result = categories(items, items.gate(4), 4)
    assert [(each.category, each.n, each.selective.value) for each in result] == [("art", 1, 0), ("law", 1, 1)]
    assert (result[0].gate.precision.value, result[0].gate.precision.n) == (None, 0)


def test_the_gain_is_paired_and_rests_on_items_measured_in_both() -> None:
    items = of(item(AGREED, WRONG, RIGHT), item(AGREED, UNUSABLE, RIGHT), item(TORN, RIGHT, RIGHT))
    result = gain(items, items.without, items.selective(4))
    assert (result.value, result.n, result.unit) == (0.5, 2, "pair")
    torn = of(item(TORN, RIGHT))
    assert gain(torn, torn.always, torn.without).value is None


def test_nothing_at_all_is_undefined_and_never_0() -> None:
    items = items_of([], 5)
    on = items.gate(4)
    assert condition_scores(items, items.without, on).accuracy.value is None
    assert gate_scores(items, on).on_rate.value is None
    assert categories(items, on, 4) == ()
    assert gain(items, items.without, items.always).value is None


@pytest.mark.parametrize("k", [68, 200])
def test_many_samples_of_repeated_questions_have_exact_chances(k: int) -> None:
    """Binomial coefficients of so many samples are no 64-bit numbers."""
    right = [k, 3, 0, 3]
    made = of(*(item(AGREED, WRONG) for _ in right))
    scores = sample_scores(replace(made, k=k, questions=np.array([0, 0, 1, 1]), samples_right=np.array(right) / k))
    assert len(scores.pass_at) == k
    wrong = [k - each for each in right]
    for j in (1, k // 2, k - 1):
        exact = sum(1 - Fraction(math.comb(n, j), math.comb(k, j)) for n in wrong) / 4
        assert scores.pass_at[j - 1].value == pytest.approx(float(exact), abs=1e-12)


def test_without_a_gold_answer_a_verdict_is_no_accuracy() -> None:
    items = of(item(AGREED, RIGHT, RIGHT, gold=None))
    result = condition_scores(items, items.without, items.gate(4))
    assert (result.accuracy.value, result.accuracy.n) == (None, 0)
    assert np.isnan(items.without.score).all()


def voted_item(place: int, agree: int, plain: TwoOrders, reference: TwoOrders, category: str = "law") -> Item:
    return Item(place, category, A, Majority("x", "x", agree, 5), right=True, plain=plain, reference=reference)


def numbered_items(made: list[tuple[int, TwoOrders, TwoOrders, str]]) -> Items:
    return items_of([voted_item(place, *each) for place, each in enumerate(made)], 5)


def test_each_category_gets_the_threshold_that_serves_it() -> None:
    # In law three that agree are right to be shown, in art nothing is.
    law = [(agree, WRONG, RIGHT, "law") if agree >= 3 else (agree, RIGHT, WRONG, "law") for agree in (1, 2, 3, 4, 5)]
    art = [(agree, RIGHT, WRONG, "art") for agree in (1, 2, 3, 4, 5)]
    tuned = tuned_by_category(numbered_items((law + art) * 10))
    assert [(each.category, each.n, each.agree) for each in tuned.categories] == [("art", 50, 6), ("law", 50, 3)]
    assert (tuned.accuracy.value, tuned.optimistic) == (1, False)
    assert "folds" in str(tuned.accuracy.method)


def test_thresholds_are_scored_on_items_they_were_not_chosen_on() -> None:
    # Verdicts at random: a threshold that was tuned on all numbered_items them looks better than it is.
    drawn = np.random.default_rng(7).integers((1, 0), (6, 2), (60, 2)).tolist()
    noise = [(agree, *((RIGHT, WRONG) if up else (WRONG, RIGHT)), "law") for agree, up in drawn]
    items = numbered_items(noise)
    tuned = tuned_by_category(items).categories[0]
    at_best = items.selective(tuned.agree).score.mean()
    assert tuned.accuracy.value is not None
    assert tuned.accuracy.value < at_best


def test_a_small_category_is_tuned_on_itself_and_called_optimistic() -> None:
    tuned = tuned_by_category(numbered_items([(5, WRONG, RIGHT, "law")] * 9))
    assert tuned.categories[0].optimistic
    assert tuned.optimistic
    assert "optimistic" in str(tuned.accuracy.method)
    assert not tuned_by_category(numbered_items([(5, WRONG, RIGHT, "law")] * 10)).optimistic


def test_equally_good_thresholds_show_a_reference_least_often() -> None:
    assert tuned_by_category(numbered_items([(3, RIGHT, RIGHT, "law")] * 20)).categories[0].agree == 6


def test_tuning_needs_both_conditions_everywhere() -> None:
    tuned = tuned_by_category(numbered_items([(5, NOT_ASKED, RIGHT, "law"), (2, RIGHT, NOT_ASKED, "law")]))
    assert (tuned.accuracy.value, tuned.optimistic, tuned.categories) == (None, False, ())
    assert tuned_note(tuned).code == "tuned_unknown"


def codes(store: Store, *made: tuple[TwoOrders, TwoOrders], samples: str = "xxxxx") -> list[str]:
    with store.writing() as connection:
        version = ensure_version(connection, JudgeVersion("j", "ssr"))
    items = [
        Item(place, "QA", A, majority(list(samples)), True, plain, reference)
        for place, (plain, reference) in enumerate(made)
    ]
    return [each.code for each in findings(report_of(version, Loaded(items), 5, 4))]


def test_a_clear_gain_or_loss_is_told_from_chance(sqlite_store: Store) -> None:
    gate = ["gate", "gate_right"]
    for differ, same, code in (
        ([(WRONG, RIGHT)] * 20, 20, "own_answer_helps"),
        ([(RIGHT, WRONG)] * 20, 20, "own_answer_harms"),
        ([(WRONG, RIGHT)] * 11 + [(RIGHT, WRONG)] * 9, 0, "own_answer_unclear"),
        ([], 20, "own_answer_no_difference"),
    ):
        assert codes(sqlite_store, *differ, *[(RIGHT, RIGHT)] * same) == ["own_answer", code, *gate]
    assert codes(sqlite_store, (NOT_ASKED, NOT_ASKED)) == ["own_answer_unknown", *gate]


def test_a_small_cost_is_estimated_with_its_digits() -> None:
    assert RunEstimate(2, 18, 18, 486).sentence.endswith("$ 0.00049")


PAIR = PairItem(1, "s", "p1", "QA", "?", None, None, "a", "b", None, None, 1, 2, None)
CONFIDENT, NOT_AGREED, MUTE = ["x"] * 4 + ["y"], ["x", "y", "z", None, "x"], [None] * 5
PLAIN = {("plain", shown) for shown in Shown}
REFERENCE = {("reference", shown) for shown in Shown}


@pytest.mark.parametrize(
    ("conditions", "on", "off", "silent"),
    [
        ("A", PLAIN, PLAIN, PLAIN),
        ("B", REFERENCE, REFERENCE, PLAIN),
        ("C", REFERENCE, PLAIN, PLAIN),
        ("AC", PLAIN | REFERENCE, PLAIN, PLAIN),
        ("BC", REFERENCE, REFERENCE | PLAIN, PLAIN),
        ("ABC", PLAIN | REFERENCE, PLAIN | REFERENCE, PLAIN),
    ],
)
def test_what_is_asked_where_the_gate_is_on_off_or_nothing_was_answered(
    conditions: str, on: set[object], off: set[object], silent: set[object]
) -> None:
    plan = Plan(5, 4, conditions)
    assert [set(plan.orders(majority(samples))) for samples in (CONFIDENT, NOT_AGREED, MUTE)] == [on, off, silent]


@pytest.mark.parametrize("conditions", ["".join(some) for n in (1, 2, 3) for some in combinations("ABC", n)])
def test_no_item_takes_more_calls_than_were_said(conditions: str) -> None:
    plan = Plan(5, 4, conditions)
    assert plan.calls_an_item == (7 if len(conditions) == 1 else 9)
    for samples in (CONFIDENT, NOT_AGREED, MUTE):
        assert 5 + len(plan.orders(majority(samples))) <= plan.calls_an_item


def test_what_is_stored_of_an_item_is_not_planned_again() -> None:
    plan = Plan(5, 4, "C")
    assert Task(PAIR).calls_left(plan) == 7
    assert Task(PAIR, {0: "x", 1: None}).calls_left(plan) == 5
    drawn = dict(enumerate(CONFIDENT))
    assert Task(PAIR, drawn).calls_left(plan) == 2
    assert Task(PAIR, drawn, frozenset({("reference", Shown.AB)})).calls_left(plan) == 1
    assert Task(PAIR, drawn, frozenset(PLAIN)).calls_left(plan) == 2
    assert Task(PAIR, drawn, frozenset(REFERENCE)).calls_left(plan) == 0
    assert Task(PAIR, {**drawn, 5: "y"}, frozenset(REFERENCE)).calls_left(plan) == 0


def test_pass_at_j_has_an_interval_also_if_it_is_certain_on_all_questions() -> None:
    rights = [(True, True, False), (True, True, True)] * 6
    made = [
        Item(place, "q", A, Majority("x", "x", 2, 3), right=True, samples_right=each)
        for place, each in enumerate(rights)
    ]
    scores = sample_scores(items_of(made, 3))
    assert [each.value for each in scores.pass_at] == [pytest.approx(5 / 6), 1, 1]
    assert scores.pass_at[1] == scores.best
    assert scores.best.low is not None
