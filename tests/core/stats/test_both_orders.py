"""What holds of verdicts in both orders, whatever they are."""

from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimates import width
from judgeboard.stats.pair_orders import INCONSISTENT_AS, NONE, TIE, OrderVerdicts

# A and B change places; the last stands for NONE, which is -1.
SWAPPED = np.array([1, 0, TIE, NONE])


@st.composite
def verdicts_and_gold(draw):
    rows = draw(st.lists(st.tuples(*[st.integers(-1, 2)] * 3), min_size=1, max_size=30))
    ab, ba, gold = np.array(rows, dtype=np.int64).T
    return OrderVerdicts(ab, ba), gold


def any_pairs(test):
    """Run a test on the verdicts of any pairs."""
    return settings(max_examples=40)(given(verdicts_and_gold())(test))


def swapped(verdicts):
    """The verdicts of a judge that looks at the other place."""
    return OrderVerdicts(SWAPPED[verdicts.ab], SWAPPED[verdicts.ba])


@any_pairs
def test_every_pair_comes_to_one_thing(pairs):
    verdicts, gold = pairs
    counts = verdicts.counts()
    kinds = ("wins_a", "wins_b", "ties", "flips", "tie_win")
    assert sum(counts[kind] for kind in kinds) == counts["both_usable"]
    assert counts["both_usable"] + counts["unmeasured"] == counts["pairs"] == len(gold)


@any_pairs
def test_the_names_of_the_answers_mean_nothing(pairs):
    verdicts, gold = pairs
    # B is called A, so its order is ab.
    mirrored = OrderVerdicts(SWAPPED[verdicts.ba], SWAPPED[verdicts.ab])
    ours, theirs = (
        [
            (estimate.value, estimate.n)
            for estimate in (
                each.self_consistency(),
                each.first_position(),
                each.accuracy(right, unknown="no gold"),
            )
        ]
        for each, right in ((verdicts, gold), (mirrored, SWAPPED[gold]))
    )
    assert ours == theirs


@any_pairs
def test_verdicts_that_change_lean_to_one_of_the_two_places(pairs):
    verdicts, _ = pairs
    changed, first, second = (
        verdicts.changed_with_order(),
        *map(verdicts.leans, ("first", "second")),
    )
    if changed.value is not None:
        assert first.value + second.value == pytest.approx(changed.value)
        assert (first.value, first.n) == (swapped(verdicts).leans("second").value, changed.n)


@any_pairs
def test_the_other_place_gets_the_rest(pairs):
    verdicts, _ = pairs
    first, turned = (each.first_position() for each in (verdicts, swapped(verdicts)))
    if first.value is None or turned.value is None:
        assert first == turned
    else:
        assert first.value + turned.value == pytest.approx(1)
        assert first.low is None or first.low <= first.value <= first.high


@any_pairs
def test_wrong_is_never_better_than_a_tie_and_nothing_is_nan(pairs):
    verdicts, gold = pairs
    tie, wrong = (
        verdicts.accuracy_of_orders(gold, how, unknown="no gold") for how in ("tie", "wrong")
    )
    assert (tie.value is None) == (wrong.value is None)
    assert wrong.value is None or tie.value is None or wrong.value <= tie.value
    for estimate in (tie, wrong, verdicts.self_consistency(), verdicts.first_position()):
        stated = asdict(estimate)
        assert all(value is None or value == value for value in stated.values())  # noqa: PLR0124 - NaN alone differs
        assert (stated["value"] is None) <= (stated["reason"] is not None)


def test_a_judge_of_one_order_cannot_have_verdicts_in_both():
    with pytest.raises(ValueError, match="one order"):
        OrderVerdicts(np.array([0]), np.array([1]), one_order=True)


@any_pairs
def test_the_net_vote_is_the_sum_of_both_votes_and_consistent_verdicts_always_stay(pairs):
    verdicts, gold = pairs
    votes, both = np.array([-1, 1, 0]), verdicts.both  # A, B, TIE
    net = verdicts.counted("net")
    assert (net[~both] == NONE).all()
    summed = votes[verdicts.ab[both]] + votes[verdicts.ba[both]]
    assert (votes[net[both]] == np.sign(summed)).all()
    consistent = both & (verdicts.ab == verdicts.ba)
    for inconsistent in INCONSISTENT_AS:
        assert (verdicts.counted(inconsistent)[consistent] == verdicts.ab[consistent]).all()
    accuracy = {each: verdicts.accuracy(gold, each, unknown="no gold") for each in INCONSISTENT_AS}
    known = int((both & (gold != NONE)).sum())
    assert {accuracy[each].n for each in ("net", "wrong", "tie")} == {known}
    if known:
        assert accuracy["wrong"].value <= min(accuracy["net"].value, accuracy["tie"].value)


def test_an_interval_of_many_pairs_on_few_questions_is_that_of_questions():
    same = np.repeat(np.arange(20) % 2, 28)
    by_pair, by_question = (
        OrderVerdicts(same, np.zeros_like(same), questions=questions)
        for questions in (None, np.repeat(np.arange(20), 28))
    )
    for figure in ("self_consistency", "changed_with_order", "first_position"):
        narrow, wide = (getattr(each, figure)() for each in (by_pair, by_question))
        assert (narrow.value, narrow.unit, wide.unit) == (wide.value, "pair", "question")
        assert width(wide) > 3 * (width(narrow))
