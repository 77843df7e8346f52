"""Win rates and strengths of models: a published example, ties, and rankings that do not exist."""

import numpy as np
import pytest

from judgeboard.stats.arrays import grouping
from judgeboard.stats.model_ranking import RankedModel, bradley_terry, rank_models

TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
WINS = np.array(
    [
        [0, 7, 9, 7, 7, 9, 11],
        [6, 0, 7, 5, 11, 9, 9],
        [4, 6, 0, 7, 7, 8, 12],
        [6, 8, 6, 0, 6, 7, 10],
        [6, 2, 6, 7, 0, 7, 12],
        [4, 4, 5, 6, 6, 0, 6],
        [2, 4, 1, 3, 1, 7, 0],
    ],
    dtype=np.float64,
)
"""Baseball in 1987, of A. Agresti, "Categorical Data Analysis", with the strengths of his fit (Baltimore: 0)."""
STRENGTHS = (1.581, 1.436, 1.294, 1.248, 1.108, 0.684, 0.0)


def ranked(wins: np.ndarray, *, per_question: int = 1) -> tuple[RankedModel, ...]:
    """The ranking of one pair per win of a row over a column, A first."""
    games = [(a, b) for a, row in enumerate(wins) for b, n in enumerate(row) for _ in range(int(n))]
    first, second = (np.array(TEAMS)[[game[side] for game in games]] for side in (0, 1))
    questions = grouping(
        np.arange(len(games)) // per_question, len(games), row="pair", group="question"
    )
    return rank_models(first, second, np.zeros(len(games), dtype=np.int64), questions)


def test_the_strengths_of_a_published_example() -> None:
    strengths = bradley_terry(WINS)
    assert (strengths - strengths[-1]).tolist() == pytest.approx(STRENGTHS, abs=5e-4)
    assert strengths.mean() == pytest.approx(0)
    models = ranked(WINS)
    assert tuple(each.model for each in models) == TEAMS
    assert [each.strength.value for each in models] == pytest.approx(strengths.tolist())
    assert (models[0].n, models[0].win_rate.value) == (78, pytest.approx(50 / 78))


def test_every_interval_holds_its_value_and_grows_if_pairs_share_a_question() -> None:
    alone, together = ranked(WINS), ranked(WINS * 6, per_question=6)
    for each in alone:
        for estimate in (each.win_rate, each.strength):
            assert estimate.value is not None
            assert estimate.low is not None
            assert estimate.high is not None
            assert estimate.low < estimate.value < estimate.high
    # Six copies of a game with one question tell no more than the game.
    widths = [
        each.strength.high - each.strength.low
        for models in (alone, together)
        for each in models
        if each.model == "Boston"
        and each.strength.high is not None
        and each.strength.low is not None
    ]
    assert widths[1] == pytest.approx(widths[0], rel=0.15)


def test_a_tie_is_half_a_win_for_both() -> None:
    first, second = np.array(["x"] * 8), np.array(["y"] * 8)
    sides = np.array([2, 2, 2, 2, 0, 0, 0, 1])
    strongest, other = rank_models(first, second, sides, grouping(None, 8))
    assert (strongest.model, strongest.win_rate.value, other.win_rate.value) == ("x", 0.625, 0.375)
    assert strongest.strength.value == pytest.approx(np.log(5 / 3) / 2)


def test_a_model_that_always_wins_has_no_strength() -> None:
    first, second = np.array(["x", "x", "y", "z"]), np.array(["y", "z", "z", "y"])
    models = rank_models(first, second, np.zeros(4, dtype=np.int64), grouping(None, 4))
    assert models[0].model == "x"
    assert {each.strength.value for each in models} == {None}
    assert all(each.strength.reason for each in models)
    assert rank_models(first[:0], second[:0], np.zeros(0, dtype=np.int64), grouping(None, 0)) == ()
