"""Agreement of a judge version with people in two figures, on all its answers or on some, and the answers described."""

from dataclasses import dataclass

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.measure.agreement import unweighted, weighted_labels
from judgeboard.measure.agreement_result import for_all, judge_statistics
from judgeboard.measure.all_answers import in_all_answers
from judgeboard.measure.ratings import AnswerRatings
from judgeboard.stats.arrays import IntArray
from judgeboard.stats.estimates import MIN_PAIRS, unmeasured
from judgeboard.store.tables import StoredVersion


@dataclass(frozen=True, slots=True)
class AgreedWithPeople:
    """Agreement of a judge version with people: the figures of `measure_agreement`.

    Both figures describe ``answers`` answers. None: the figures describe the graded answers alone,
    which are no random sample.
    """

    judge_version: str
    accuracy: Estimate
    kappa: Estimate
    answers: int | None = None


def agreed_with_people(
    ratings: AnswerRatings, version: StoredVersion, response_ids: IntArray | None = None
) -> AgreedWithPeople:
    """Return how far a judge version agrees with people on these answers (ascending ids; default: all).

    The figures are those of `measure_agreement`: if the labels represent all these answers, the
    figures describe all these answers.
    """
    pairs = ratings.compared(version)
    if response_ids is not None:
        pairs = pairs.at(np.isin(pairs.response_ids, response_ids))
    statistics = judge_statistics(pairs, only=("agreement", "kappa"))
    in_all = None
    if statistics.n >= MIN_PAIRS:
        answers = weighted_labels(ratings, version)
        if answers is None:
            in_all = unweighted(ratings, version)
        else:
            inside = (
                None
                if response_ids is None
                else np.isin(answers.answers.response_ids, response_ids)
            )
            in_all = in_all_answers(answers, inside)
    statistics, _ = for_all(statistics, in_all)
    return AgreedWithPeople(
        version.title,
        statistics.estimates["agreement"],
        statistics.estimates.get(
            "kappa", unmeasured(statistics.n, "this grade has no unweighted kappa")
        ),
        None if in_all is None else in_all.described,
    )
