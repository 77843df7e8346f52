"""Self-reference: the calls it needs, its three conditions, thresholds per category, and what the page says."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations

import numpy as np
import pytest

from judgeboard.domain import OVERALL, PairItem, Preference, Shown
from judgeboard.methods.self_reference.own_answers import Majority, majority
from judgeboard.methods.self_reference.report import result_of
from judgeboard.methods.self_reference.run import Plan, Task
from judgeboard.methods.self_reference.scores import (
    Item,
    gain,
    items_of,
    tuned_part,
)
from judgeboard.store.comparisons import BothOrders
from judgeboard.store.tables import StoredVersion
from result_fields import check_fields

A, B, TIE = Preference


def both_orders(ab, ba):
    return BothOrders(0, "plain", 0, "QA", OVERALL, ab, ba, True, True, A, 0)


RIGHT, WRONG, SPLIT = both_orders(A, A), both_orders(B, B), both_orders(A, B)
UNUSABLE = both_orders(A, None)
LEVELS = (1, 2, 3, 4, 5)
AGREED, TORN, SILENT = ["x"] * 4 + ["y"], ["x", "y", "z", "x", None], [None] * 5


def item(samples, plain, reference=None, **changes):
    voted = majority(samples)
    made = Item(
        1, "QA", A, voted, None if voted.key is None else voted.key == "x", plain, reference
    )
    return replace(made, **changes)


def numbered(made):
    """These items, each of its own question."""
    return [replace(each, pair_id=place) for place, each in enumerate(made)]


def of(*made):
    return items_of(numbered(made), 5)


VERSION = StoredVersion(
    id=1,
    name="j",
    number=1,
    kind="ssr",
    scale="",
    fingerprint="",
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
)


def result(*made):
    """The result of these items; the gate is on if 4 of 5 samples agree."""
    return result_of(VERSION, of(*made), 4)


def values(measured, figure):
    return {row.slice or "all": row.value for row in measured.rows if row.figure == figure}


def counts(measured, figure):
    """The values of a figure, in the order of its slices."""
    return list(values(measured, figure).values())


def accuracies(measured):
    return [measured.figure(name).value for name in ("without", "always", "selective")]


def by_gate(measured):
    """The accuracy without an own answer: in all, and with the gate on and off."""
    parts = (None, "Gate on", "Gate off")
    return [measured.figure("without", part).value for part in parts]


def test_c_takes_b_where_the_gate_is_on_and_a_where_it_is_off():
    assert accuracies(result(item(AGREED, WRONG, RIGHT), item(TORN, RIGHT, WRONG))) == [0.5, 0.5, 1]
    assert accuracies(result(item(AGREED, RIGHT, WRONG), item(TORN, WRONG, RIGHT))) == [0.5, 0.5, 0]


def test_a_split_of_the_two_orders_is_counted_and_scored_as_half():
    made = result(item(AGREED, SPLIT, RIGHT), item(AGREED, RIGHT, SPLIT), item(TORN, WRONG, SPLIT))
    assert made.figure("without").n == 3
    assert by_gate(made) == [0.5, 0.75, 0]
    assert counts(made.parts[0], "inconsistent") == [1, 2, 1]


def test_a_side_against_a_tie_contradicts_too_and_two_ties_miss_a_gold_that_is_none():
    one, both = (both_orders(first, TIE) for first in (A, TIE))
    items = of(item(TORN, one), item(TORN, both), item(TORN, both, gold=TIE))
    assert items.without.score.tolist() == [0.5, 0, 1]


def test_an_order_without_a_usable_verdict_is_unmeasured_never_0():
    made = result(item(AGREED, UNUSABLE, RIGHT), item(AGREED, RIGHT, RIGHT))
    check_fields(made.figure("without"), value=1, n=1)
    assert counts(made.parts[0], "unmeasured") == [1, 0, 0]
    assert counts(made.parts[0], "not_asked") == [0, 0, 0]


def test_without_any_answer_b_takes_the_verdict_of_a_and_the_gate_is_off():
    made = result(item(SILENT, RIGHT), item(AGREED, WRONG, WRONG))
    assert accuracies(made) == [0.5, 0.5, 0.5]
    assert counts(made, "n") == [1, 1, 1, 0, 0, 0, 2]
    assert values(made.parts[1], "n") == {"4 of 5": 1}
    assert of(item(SILENT, RIGHT), item(AGREED, WRONG, WRONG)).gate(1).tolist() == [False, True]


def test_a_condition_that_was_asked_on_one_side_of_the_gate_alone_is_not_measured_in_all():
    made = result(item(AGREED, None, RIGHT), item(TORN, RIGHT, None))
    assert by_gate(made) == [None, None, 1]
    assert "4 of 5" in str(made.figure("without").reason)
    assert counts(made.parts[0], "not_asked") == [1, 1, 0]
    assert counts(made.parts[2], "selective") == [None, None, 1, 1, None]
    assert [each.code for each in made.next] == ["ask_all_conditions"]


def test_the_four_slices_leave_out_what_nobody_knows_the_answer_of():
    made = result(
        item(AGREED, WRONG, RIGHT),
        item(["y"] * 5, RIGHT, WRONG),
        item(TORN, RIGHT, RIGHT),
        item(["y", "y", "x", "z", None], WRONG, SPLIT),
        item(AGREED, RIGHT, RIGHT, right=None),
    )
    slices = made.slices[2:]
    assert [made.figure("n", name).n for name in slices] == [1] * 4
    assert [made.figure("without", name).value for name in slices] == [0, 1, 1, 0]
    assert [made.figure("always", name).value for name in slices] == [1, 0, 1, 0.5]
    assert (made.figure("right_if_on").value, made.figure("gate_on").value) == (0.5, 0.6)
    assert {each.code: each.values["n"] for each in made.caveats} == {"no_correct_answer": 1}


def test_levels_go_by_how_many_agree_and_empty_ones_have_no_rows():
    made = result(
        item(AGREED, RIGHT), item(AGREED, RIGHT), item(["y"] * 4 + ["x"], RIGHT), item(TORN, RIGHT)
    )
    levels = made.parts[1]
    assert values(levels, "n") == {"2 of 5": 1, "4 of 5": 3}
    assert values(levels, "own_right") == {"2 of 5": 1, "4 of 5": pytest.approx(2 / 3)}


def test_each_category_stands_by_itself():
    categories = result(
        item(AGREED, RIGHT, RIGHT, category="law"), item(TORN, WRONG, WRONG, category="art")
    ).parts[3]
    assert values(categories, "n") == {"art": 1, "law": 1}
    assert values(categories, "selective") == {"art": 0, "law": 1}
    assert categories.figure("right_if_on", "art").reason


def test_the_gain_is_paired_and_rests_on_items_measured_in_both():
    items = of(item(AGREED, WRONG, RIGHT), item(AGREED, UNUSABLE, RIGHT), item(TORN, RIGHT, RIGHT))
    difference = gain(items, items.without, items.selective(4))
    check_fields(difference, value=0.5, n=2, unit="pair")
    torn = of(item(TORN, RIGHT))
    assert gain(torn, torn.always, torn.without).value is None


def test_nothing_at_all_is_undefined_and_never_0():
    made = result()
    assert made.headline.code == "own_answer_unknown"
    assert not any(row.value for part in (made, *made.parts) for row in part.rows)


def test_without_a_gold_answer_a_verdict_is_no_accuracy():
    made = result(item(AGREED, RIGHT, RIGHT, gold=None))
    without = made.figure("without")
    assert without.value is None
    assert without.reason
    assert [each.code for each in made.caveats] == ["no_better_answer"]


def voted(made):
    """Items of one question each, of whose five samples so many agree on the right answer."""
    return items_of(
        [
            Item(place, category, A, Majority("x", "x", agree, 5), True, plain, reference)
            for place, (agree, plain, reference, category) in enumerate(made)
        ],
        5,
    )


def of_law(made):
    return voted([(*each, "law") for each in made])


def test_each_category_gets_the_threshold_that_serves_it():
    # In law three that agree are right to be shown, in art nothing is.
    law = [(agree, *((WRONG, RIGHT) if agree >= 3 else (RIGHT, WRONG)), "law") for agree in LEVELS]
    art = [(agree, RIGHT, WRONG, "art") for agree in LEVELS]
    tuned = tuned_part(voted((law + art) * 10))
    assert values(tuned, "needed") == {"art": 6, "law": 3}
    assert (tuned.figure("needed", "law").n, tuned.figure("selective").value) == (50, 1)
    assert tuned.caveats == ()


def test_thresholds_are_scored_on_items_they_were_not_chosen_on():
    # Verdicts at random: a threshold that was tuned on all of them looks better than it is.
    drawn = np.random.default_rng(7).integers((1, 0), (6, 2), (60, 2)).tolist()
    items = of_law((agree, *((RIGHT, WRONG) if up else (WRONG, RIGHT))) for agree, up in drawn)
    tuned = tuned_part(items)
    best, accuracy = tuned.figure("needed", "law").value, tuned.figure("selective", "law").value
    assert accuracy < items.selective(round(best)).score.mean()


def test_a_small_category_is_tuned_on_itself_and_called_optimistic():
    tuned = tuned_part(of_law([(5, WRONG, RIGHT)] * 9))
    assert [(each.code, each.values) for each in tuned.caveats] == [
        ("optimistic_gates", {"categories": ["law"]})
    ]
    assert not tuned_part(of_law([(5, WRONG, RIGHT)] * 10)).caveats


def test_equally_good_thresholds_show_a_reference_least_often():
    assert values(tuned_part(of_law([(3, RIGHT, RIGHT)] * 20)), "needed") == {"law": 6}


def test_tuning_needs_both_conditions_everywhere():
    tuned = tuned_part(of_law([(5, None, RIGHT), (2, RIGHT, None)]))
    assert (tuned.headline.code, tuned.rows) == ("tuned_unknown", ())


def headline(*made):
    return result(*(item(["x"] * 5, plain, reference) for plain, reference in made)).headline.code


def test_a_clear_gain_or_loss_is_told_from_chance():
    for differ, same, code in (
        ([(WRONG, RIGHT)] * 20, 20, "own_answer_helps"),
        ([(RIGHT, WRONG)] * 20, 20, "own_answer_harms"),
        ([(WRONG, RIGHT)] * 11 + [(RIGHT, WRONG)] * 9, 0, "own_answer_unclear"),
        ([], 20, "own_answer_no_difference"),
    ):
        assert headline(*differ, *[(RIGHT, RIGHT)] * same) == code
    assert headline((None, None)) == "own_answer_unknown"


PAIR = PairItem(1, "s", "p1", "QA", "?", None, None, "a", "b", None, None, 1, 2, None)
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
    conditions, on, off, silent
):
    plan = Plan(5, 4, conditions)
    orders = [{*plan.orders(majority(samples))} for samples in (AGREED, TORN, SILENT)]
    assert orders == [on, off, silent]


@pytest.mark.parametrize(
    "conditions", ["".join(some) for n in (1, 2, 3) for some in combinations("ABC", n)]
)
def test_no_item_takes_more_calls_than_were_said(conditions):
    plan = Plan(5, 4, conditions)
    assert plan.calls_an_item == (7 if len(conditions) == 1 else 9)
    for samples in (AGREED, TORN, SILENT):
        assert 5 + len(plan.orders(majority(samples))) <= plan.calls_an_item


def test_what_is_stored_of_an_item_is_not_planned_again():
    plan = Plan(5, 4, "C")
    assert Task(PAIR).calls_left(plan) == 7
    assert Task(PAIR, {0: "x", 1: None}).calls_left(plan) == 5
    drawn = dict(enumerate(AGREED))
    assert Task(PAIR, drawn).calls_left(plan) == 2
    assert Task(PAIR, drawn, frozenset({("reference", Shown.AB)})).calls_left(plan) == 1
    assert Task(PAIR, drawn, frozenset(PLAIN)).calls_left(plan) == 2
    assert Task(PAIR, drawn, frozenset(REFERENCE)).calls_left(plan) == 0
    assert Task(PAIR, {**drawn, 5: "y"}, frozenset(REFERENCE)).calls_left(plan) == 0
