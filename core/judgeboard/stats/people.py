"""The human value of a response: gold, else what several people said, as majority label, lower median or mean."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from judgeboard.stats.arrays import AnyArray, BoolArray, IntArray, among, same_length

Kind = Literal["label", "quality", "groundedness"]

Human = Literal["gold", "majority", "each"]
"""Whose word counts: gold where there is one, else people together; people together throughout; each person apart."""

HUMANS: tuple[Human, ...] = ("gold", "majority", "each")


@dataclass(frozen=True, slots=True, eq=False)
class PeopleValues:
    """One row per response, in the order of its id; several rows of a response where each person is a row.

    ``values`` holds labels as given, lower medians or means; ``people`` how many persons stand behind each.
    ``ties`` counts the responses left out because no label had the most votes, ``only_gold`` those left out because
    they have gold alone and it was not asked for. ``gold`` of the rows are gold.
    """

    response_ids: IntArray
    values: AnyArray
    people: IntArray
    ties: int = 0
    gold: int = 0
    only_gold: int = 0


def human_values(
    response_ids: IntArray,
    reviewers: AnyArray,
    values: AnyArray,
    kind: Kind,
    *,
    gold: BoolArray | None = None,
    human: Human = "gold",
) -> PeopleValues:
    """Return the human value of each response.

    Args:
        response_ids: The response of each review.
        reviewers: Its reviewer; each has one review per response, and one adjudication beside it at most.
        values: What it says, as ``one_value_per_response`` takes it.
        kind: How several people's values become one, as there.
        gold: Which of the reviews are adjudications; None where there are none.
        human: Whose word counts. ``gold`` settles ties too; without it an adjudication counts for nothing, since who
            adjudicates has seen the others.

    Where each person is a row, an interval must go by response: give ``pair_statistics`` the evidence group of each
    row, or its response.
    """
    n = same_length(response_ids, reviewers, values)
    settled = np.zeros(n, dtype=np.bool_) if gold is None else gold
    same_length(settled, response_ids)
    by_people = ~settled
    if human == "gold":
        by_gold = one_value_per_response(response_ids[settled], reviewers[settled], values[settled], kind)
        by_people &= ~among(response_ids, by_gold.response_ids)
        together = one_value_per_response(response_ids[by_people], reviewers[by_people], values[by_people], kind)
        return _merged(by_gold, together)
    only_gold = np.setdiff1d(response_ids[settled], response_ids[by_people]).size
    ids, who, said = response_ids[by_people], reviewers[by_people], values[by_people]
    if human == "majority":
        return replace(one_value_per_response(ids, who, said, kind), only_gold=only_gold)
    _check_values(said)
    order = _check_one_review_each(ids, who)
    return PeopleValues(ids[order], said[order], np.ones(len(ids), dtype=np.int64), only_gold=only_gold)


def _merged(by_gold: PeopleValues, together: PeopleValues) -> PeopleValues:
    ids = np.concatenate((by_gold.response_ids, together.response_ids))
    order = np.argsort(ids, kind="stable")
    return PeopleValues(
        ids[order],
        np.concatenate((by_gold.values, together.values))[order],
        np.concatenate((by_gold.people, together.people))[order],
        ties=by_gold.ties + together.ties,
        gold=len(by_gold.response_ids),
    )


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
    _check_values(values)
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


def _check_values(values: AnyArray) -> None:
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError("a review without this grade is left out first")


def _check_one_review_each(response_ids: IntArray, reviewers: AnyArray) -> IntArray:
    """Return the order by response, then by reviewer; raise ValueError where a reviewer stands twice."""
    _, reviewer = np.unique(reviewers, return_inverse=True)
    order = np.lexsort((reviewer, response_ids))
    ids, who = response_ids[order], reviewer[order]
    if ((ids[1:] == ids[:-1]) & (who[1:] == who[:-1])).any():
        raise ValueError("a reviewer has two reviews of one response: choose the one that stands first")
    return order


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
