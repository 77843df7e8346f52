"""The three conditions from the same samples and verdicts, and what is left out of them with the reason."""

from dataclasses import replace

import numpy as np
import pytest

from judgeboard.domain import Preference
from judgeboard.methods.own_answers import majority
from judgeboard.methods.self_reference_scores import (
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
    slices,
    sweep,
)

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
    assert without.accuracy.reason == "the judge was not asked where 4 of 5 samples agree"
    assert (without.off.value, without.on.reason, without.not_asked) == (1, "the judge was not asked", 1)
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
    assert result[0].gate.precision.reason == "the gate is never on"


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


def test_without_a_gold_answer_a_verdict_is_no_accuracy() -> None:
    items = of(item(AGREED, RIGHT, RIGHT, gold=None))
    result = condition_scores(items, items.without, items.gate(4))
    assert (result.accuracy.value, result.accuracy.reason) == (None, "the better answer is not known")
    assert np.isnan(items.without.score).all()
