"""One human value per response: what several people said, as majority label, lower median or mean."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from judgeboard.stats.arrays import AnyArray, BoolArray, IntArray, same_length

Kind = Literal["label", "quality", "groundedness"]


@dataclass(frozen=True, slots=True, eq=False)
class PeopleValues:
    """One row per response, in the order of its id.

    ``values`` holds labels as given, lower medians or means; ``people`` how many persons stand behind each.
    ``ties`` counts the responses left out because no label had the most votes.
    """

    response_ids: IntArray
    values: AnyArray
    people: IntArray
    ties: int = 0


def one_value_per_response(response_ids: IntArray, reviewers: AnyArray, values: AnyArray, kind: Kind) -> PeopleValues:
    """Return what people together say of each response.

    Args:
        response_ids: The response of each review.
        reviewers: Its reviewer; each has one review per response, the latest that stands.
        values: What it says: a label (any sortable values), a quality 1 to 4, or a groundedness 0 to 1.
        kind: ``label`` takes the majority and leaves ties out, ``quality`` the lower median, ``groundedness`` the mean.

    Raises:
        ValueError: A reviewer has two reviews of one response, or a value is missing.
    """
    n = same_length(response_ids, reviewers, values)
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError("a review without this grade is left out first")
    if n == 0:
        return PeopleValues(np.empty(0, dtype=np.int64), values, np.empty(0, dtype=np.int64))
    _check_one_review_each(response_ids, reviewers)
    distinct, levels = np.unique(values, return_inverse=True)
    order = np.lexsort((levels, response_ids))
    ids, said = response_ids[order], levels[order]
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    people = np.diff(np.append(starts, n))
    if kind == "label":
        winners, decided = _majorities(said, starts)
        return PeopleValues(ids[starts][decided], distinct[winners[decided]], people[decided], int((~decided).sum()))
    if kind == "quality":
        return PeopleValues(ids[starts], distinct[said[starts + (people - 1) // 2]], people)
    return PeopleValues(ids[starts], np.add.reduceat(distinct[said], starts) / people, people)


def _check_one_review_each(response_ids: IntArray, reviewers: AnyArray) -> None:
    _, reviewer = np.unique(reviewers, return_inverse=True)
    order = np.lexsort((reviewer, response_ids))
    ids, who = response_ids[order], reviewer[order]
    if ((ids[1:] == ids[:-1]) & (who[1:] == who[:-1])).any():
        raise ValueError("a reviewer has two reviews of one response: choose the one that stands first")


def _majorities(said: IntArray, starts: IntArray) -> tuple[IntArray, BoolArray]:
    """Return the value with the most votes in each stretch of sorted ``said``, and whether no other has as many."""
    changes = np.append(True, said[1:] != said[:-1])
    changes[starts] = True
    runs = np.flatnonzero(changes)
    votes = np.diff(np.append(runs, len(said)))
    first_run = np.searchsorted(runs, starts)
    response_of_run = np.repeat(np.arange(len(starts)), np.diff(np.append(first_run, len(runs))))
    most = np.maximum.reduceat(votes, first_run)
    leads = votes == most[response_of_run]
    decided = np.bincount(response_of_run, weights=leads) == 1
    leader = first_run.copy()
    leader[response_of_run[leads]] = np.flatnonzero(leads)
    return said[runs[leader]], decided
