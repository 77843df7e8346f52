"""A threshold for each category, chosen on other items than it is scored on, else called optimistic."""

import numpy as np

from judgeboard.domain import Preference
from judgeboard.methods.own_answers import Majority
from judgeboard.methods.self_reference_scores import NOT_ASKED, Item, Items, TwoOrders, items_of, tuned_by_category

A, B, _ = Preference
RIGHT, WRONG = TwoOrders(A, A, asked=True), TwoOrders(B, B, asked=True)


def item(place: int, agree: int, plain: TwoOrders, reference: TwoOrders, category: str = "law") -> Item:
    return Item(place, category, A, Majority("x", "x", agree, 5), right=True, plain=plain, reference=reference)


def of(made: list[tuple[int, TwoOrders, TwoOrders, str]]) -> Items:
    return items_of([item(place, *each) for place, each in enumerate(made)], 5)


def test_each_category_gets_the_threshold_that_serves_it() -> None:
    # In law three that agree are right to be shown, in art nothing is.
    law = [(agree, WRONG, RIGHT, "law") if agree >= 3 else (agree, RIGHT, WRONG, "law") for agree in (1, 2, 3, 4, 5)]
    art = [(agree, RIGHT, WRONG, "art") for agree in (1, 2, 3, 4, 5)]
    tuned = tuned_by_category(of((law + art) * 10))
    assert [(each.category, each.n, each.agree) for each in tuned.categories] == [("art", 50, 6), ("law", 50, 3)]
    assert (tuned.accuracy.value, tuned.optimistic) == (1, False)
    assert "folds" in str(tuned.accuracy.method)


def test_thresholds_are_scored_on_items_they_were_not_chosen_on() -> None:
    # Verdicts at random: a threshold that was tuned on all of them looks better than it is.
    drawn = np.random.default_rng(7).integers((1, 0), (6, 2), (60, 2)).tolist()
    noise = [(agree, *((RIGHT, WRONG) if up else (WRONG, RIGHT)), "law") for agree, up in drawn]
    items = of(noise)
    tuned = tuned_by_category(items).categories[0]
    at_best = items.selective(tuned.agree).score.mean()
    assert tuned.accuracy.value is not None
    assert tuned.accuracy.value < at_best


def test_a_small_category_is_tuned_on_itself_and_called_optimistic() -> None:
    tuned = tuned_by_category(of([(5, WRONG, RIGHT, "law")] * 9))
    assert tuned.categories[0].optimistic
    assert tuned.optimistic
    assert "optimistic" in str(tuned.accuracy.method)
    assert not tuned_by_category(of([(5, WRONG, RIGHT, "law")] * 10)).optimistic


def test_equally_good_thresholds_show_a_reference_least_often() -> None:
    assert tuned_by_category(of([(3, RIGHT, RIGHT, "law")] * 20)).categories[0].agree == 6


def test_tuning_needs_both_conditions_everywhere() -> None:
    tuned = tuned_by_category(of([(5, NOT_ASKED, RIGHT, "law"), (2, RIGHT, NOT_ASKED, "law")]))
    assert (tuned.accuracy.value, tuned.optimistic, tuned.categories) == (None, False, ())
    assert "conditions A and B" in str(tuned.accuracy.reason)
