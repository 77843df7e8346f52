"""The worth of flags: how many flagged answers are bad, how long a review takes, what the rules miss."""

from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.flags.rules import RANDOM_SAMPLE
from judgeboard.measure.all_answers import slices_of_answers
from judgeboard.measure.choice import NO_RULE
from judgeboard.measure.rates import sample_rate
from judgeboard.measure.samples import judging_version, labelled_answers
from judgeboard.store.flags import flag_reviews, outcomes_by_rule


@dataclass(frozen=True, slots=True)
class FlagWorth:
    """The flags of one rule.

    ``bad`` is the share of bad answers among the answers that the rule flagged. People
    ``confirmed`` some of the ``decided`` flags. ``minutes`` is the median time of a review.
    """

    rule: str
    bad: Estimate
    confirmed: int
    decided: int
    minutes: float | None


@dataclass(frozen=True, slots=True)
class FlagsWorth:
    """Every rule that flagged an answer, except the random sample, the most labelled first.

    Shares of bad answers are from the labels that count, weighted by stratum, as in a rate:
    ``flagged`` in all answers that a rule flagged, ``not_flagged`` in answers that only the random
    sample drew or that have no flag.
    """

    rules: tuple[FlagWorth, ...]
    flagged: Estimate
    not_flagged: Estimate


def flags_worth(connection: Connection) -> FlagsWorth:
    """Return the worth of each rule's flags, from the answers of the primary judge's newest version."""
    answers = labelled_answers(connection, judging_version(connection))
    outcomes, reviews = outcomes_by_rule(connection), flag_reviews(connection)
    rules = []
    for rule, inside in slices_of_answers(connection, answers, "rule"):
        if rule in {RANDOM_SAMPLE, NO_RULE}:
            continue
        of_rule = reviews.rules.equal(rule) & reviews.decides & ~np.isnan(reviews.seconds)
        seconds = reviews.seconds[of_rule]
        # The median, because a break with an item left open must not count as review time.
        minutes = round(float(np.median(seconds)) / 60, 6) if seconds.size else None
        bad, *_ = sample_rate(answers.sample(inside))
        rules.append(FlagWorth(rule, bad, *outcomes.get(rule, (0, 0)), minutes))
    rules.sort(key=lambda each: (-each.bad.n, -each.decided, each.rule))
    flagged, *_ = sample_rate(answers.sample(answers.picked))
    not_flagged, *_ = sample_rate(answers.sample(~answers.picked))
    return FlagsWorth(tuple(rules), flagged, not_flagged)
