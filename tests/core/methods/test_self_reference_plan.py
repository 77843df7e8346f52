"""Exactly as many calls as a method needs: k + 2 for one condition, k + 4 for more, samples shared."""

from itertools import combinations

import pytest

from judgeboard.domain import PairItem, Shown
from judgeboard.methods.own_answers import majority
from judgeboard.methods.self_reference import Plan, Task

PAIR = PairItem(1, "s", "p1", "QA", "?", None, None, "a", "b", None, None, 1, 2, None)
ON, OFF, SILENT = ["x"] * 4 + ["y"], ["x", "y", "z", None, "x"], [None] * 5
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
    assert [set(plan.orders(majority(samples))) for samples in (ON, OFF, SILENT)] == [on, off, silent]


@pytest.mark.parametrize("conditions", ["".join(some) for n in (1, 2, 3) for some in combinations("ABC", n)])
def test_no_item_takes_more_calls_than_were_said(conditions: str) -> None:
    plan = Plan(5, 4, conditions)
    assert plan.calls_an_item == (7 if len(conditions) == 1 else 9)
    for samples in (ON, OFF, SILENT):
        assert 5 + len(plan.orders(majority(samples))) <= plan.calls_an_item


def test_what_is_stored_of_an_item_is_not_planned_again() -> None:
    plan = Plan(5, 4, "C")
    assert Task(PAIR).calls_left(plan) == 7
    assert Task(PAIR, {0: "x", 1: None}).calls_left(plan) == 5
    drawn = dict(enumerate(ON))
    assert Task(PAIR, drawn).calls_left(plan) == 2
    assert Task(PAIR, drawn, frozenset({("reference", Shown.AB)})).calls_left(plan) == 1
    assert Task(PAIR, drawn, frozenset(PLAIN)).calls_left(plan) == 2
    assert Task(PAIR, drawn, frozenset(REFERENCE)).calls_left(plan) == 0
    assert Task(PAIR, {**drawn, 5: "y"}, frozenset(REFERENCE)).calls_left(plan) == 0
