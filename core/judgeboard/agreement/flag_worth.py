"""What the flags are worth: how often people confirm each rule's, how long that takes, what the rules do not see."""

from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.flags import always_review, random_sample
from judgeboard.stats.arrays import IntArray
from judgeboard.stats.estimates import MIN_PAIRS, TOO_FEW, unmeasured
from judgeboard.stats.proportions import share_intervals
from judgeboard.store.flags import FlagReviews, Outcome, flag_reviews, outcomes_by_rule, random_outcome

UNSELECTIVE = frozenset({random_sample.NAME, always_review.NAME})
"""Rules that do not pick answers by what anybody said of them."""


@dataclass(frozen=True, slots=True)
class FlagWorth:
    """One rule's decided flags: the share confirmed, and the median minutes of the reviews that were ``timed``."""

    rule: str
    confirmed: Estimate
    minutes: float | None
    timed: int


@dataclass(frozen=True, slots=True)
class FlagsWorth:
    """Every rule that has a decided flag, the most decided first.

    ``random_bad`` is the share that people confirmed among randomly drawn answers that no other rule raised.
    ``picked`` are the responses with a review of a flag that picked them for what a judge or a user said.
    """

    rules: tuple[FlagWorth, ...]
    random_bad: Estimate
    picked: IntArray


def flags_worth(connection: Connection) -> FlagsWorth:
    """Return what the flags are worth, from the flags that people decided and their reviews that stand."""
    outcomes = sorted(outcomes_by_rule(connection).items(), key=lambda item: (-item[1].decided, item[0]))
    reviews = flag_reviews(connection)
    selective = np.array([rule not in UNSELECTIVE for rule in reviews.rules.names], dtype=np.bool_)
    picked = reviews.response_ids[selective[reviews.rules.codes]]
    return FlagsWorth(
        tuple(_worth(rule, outcome, reviews) for rule, outcome in outcomes),
        _share(random_outcome(connection)),
        np.unique(picked),
    )


def _worth(rule: str, outcome: Outcome, reviews: FlagReviews) -> FlagWorth:
    names = reviews.rules.names
    mine = reviews.rules.codes == (names.index(rule) if rule in names else -1)
    timed = reviews.seconds[mine & reviews.decides & ~np.isnan(reviews.seconds)]
    # The median: a lunch break in front of an open item is not what a decision costs.
    minutes = round(float(np.median(timed)) / 60, 6) if timed.size else None
    return FlagWorth(rule, _share(outcome), minutes, int(timed.size))


def _share(outcome: Outcome) -> Estimate:
    if outcome.decided < MIN_PAIRS:
        return unmeasured(outcome.decided, TOO_FEW if outcome.decided else "none was decided")
    return share_intervals(outcome.confirmed, outcome.decided)[0]
