"""The worth of flags: how often people confirm the flags of a rule, how long this takes, what the rules miss."""

from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.flags.rules import ALWAYS_REVIEW, RANDOM_SAMPLE
from judgeboard.stats.arrays import IntArray
from judgeboard.stats.estimates import MIN_PAIRS, too_few, unmeasured
from judgeboard.stats.intervals import share_intervals
from judgeboard.store.flags import FlagReviews, flag_reviews, outcomes_by_rule, random_outcome

UNSELECTIVE = frozenset({RANDOM_SAMPLE, ALWAYS_REVIEW})
"""Rules that do not select answers by a judgment or user feedback."""


@dataclass(frozen=True, slots=True)
class FlagWorth:
    """The decided flags of one rule: the share confirmed, and the median minutes of a review."""

    rule: str
    confirmed: Estimate
    minutes: float | None


@dataclass(frozen=True, slots=True)
class FlagsWorth:
    """Every rule with a decided flag, the most decided first.

    ``random_bad`` is the share that people confirmed among randomly sampled answers that no other rule flagged.
    ``picked`` are the responses with a review of a flag of a selective rule.
    """

    rules: tuple[FlagWorth, ...]
    random_bad: Estimate
    picked: IntArray


def flags_worth(connection: Connection) -> FlagsWorth:
    """Return the worth of each rule's flags, from decided flags and their current reviews."""
    outcomes = sorted(outcomes_by_rule(connection).items(), key=lambda item: (-item[1][1], item[0]))
    reviews = flag_reviews(connection)
    selective = np.array([rule not in UNSELECTIVE for rule in reviews.rules.names], dtype=np.bool_)
    picked = reviews.response_ids[selective[reviews.rules.codes]]
    return FlagsWorth(
        tuple(_worth(rule, *outcome, reviews) for rule, outcome in outcomes),
        _share_confirmed(*random_outcome(connection)),
        np.unique(picked),
    )


def _worth(rule: str, confirmed: int, decided: int, reviews: FlagReviews) -> FlagWorth:
    seconds = reviews.seconds[reviews.rules.equal(rule) & reviews.decides & ~np.isnan(reviews.seconds)]
    # The median, because a break with an item left open must not count as review time.
    minutes = round(float(np.median(seconds)) / 60, 6) if seconds.size else None
    return FlagWorth(rule, _share_confirmed(confirmed, decided), minutes)


def _share_confirmed(confirmed: int, decided: int) -> Estimate:
    if decided < MIN_PAIRS:
        return unmeasured(decided, too_few(decided) if decided else "none decided")
    return share_intervals(confirmed, decided)[0]
