"""The alternative annotator test: may this judge replace a person?"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import TIE, AnyArray, BoolArray, FloatArray, same_length
from judgeboard.stats.estimates import leaving_out, measured, unmeasured
from judgeboard.stats.intervals import share_estimate
from judgeboard.stats.ratings import Ratings
from judgeboard.stats.significance import benjamini_yekutieli, wilcoxon_below


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The comparison of a judge with each person, on part of the items.

    ``compared``, ``judge_wins`` and ``person_wins`` have shape (items, people). The judge or the
    person wins, whoever is nearer to the other people; both win if equally near.
    """

    people: Ratings
    compared: BoolArray
    judge_wins: BoolArray
    person_wins: BoolArray
    without_verdict: int
    one_person: int


def compare(judge: FloatArray, people: Ratings) -> Comparison:
    """Compare the judge with each person on items with a usable verdict and two people."""
    same_length(judge, people.values)
    usable, several = ~np.isnan(judge), people.per_item >= 2
    is_compared = people.rated & (usable & several)[:, None]
    of_judge = _distance(people, np.broadcast_to(judge[:, None], people.values.shape), is_compared)
    of_person = _distance(people, people.values, is_compared)
    return Comparison(
        people,
        is_compared,
        is_compared & (of_judge <= of_person + TIE),
        is_compared & (of_person <= of_judge + TIE),
        int((several & ~usable).sum()),
        int((people.per_item == 1).sum()),
    )


def _distance(people: Ratings, values: FloatArray, is_compared: BoolArray) -> FloatArray:
    """Return the distance of each compared value from the other people's values; infinite if not compared.

    The distance of categories is the share of unequal ones. The distance of scores is the mean
    squared difference.
    """
    item, rater = np.nonzero(is_compared)
    value, grade, count = (
        values[item, rater],
        people.values[item, rater],
        people.per_item[item] - 1,
    )
    distance: FloatArray = np.full(is_compared.shape, np.inf)
    if people.scale.categories is not None and people.scale.weights is None:
        votes = np.pad(
            people.votes, ((0, 0), (0, 1))
        )  # nobody gives the position of a verdict that counts as wrong
        equal = votes[item, value.astype(np.int64)] - (value == grade)
        distance[is_compared] = 1 - equal / count
    else:
        filled = np.where(people.rated, people.values, 0.0)
        total, squares = (
            filled.sum(axis=1)[item] - grade,
            np.square(filled).sum(axis=1)[item] - grade * grade,
        )
        distance[is_compared] = (squares - 2 * value * total) / count + value * value
    return distance


EPSILONS: Mapping[str, float] = {"experts": 0.2, "skilled": 0.15, "crowd": 0.1}
"""How much worse than a person a judge may be, by the kind of people."""

MIN_ITEMS = 30
"""A person with fewer usable items is not tested with the t-test."""

Small = Literal["skip", "wilcoxon"]


@dataclass(frozen=True, slots=True)
class PersonTest:
    """The judge compared with one person on ``n`` usable items; fields are None if the person was not tested.

    ``advantage`` is how often the judge is at least as near to the others as the person is. ``p``
    is the p-value of the one-sided ``test`` of the hypothesis that the judge is worse by epsilon or
    more.
    """

    name: str
    n: int
    advantage: float | None
    p: float | None
    test: Literal["t", "Wilcoxon"] | None
    rejected: bool


@dataclass(frozen=True, slots=True)
class AlternativeAnnotatorTest:
    """The winning rate ``omega``, the advantage probability ``rho``, and the test of each person.

    ``n`` is the number of items with a usable verdict and grades from at least two people. The
    results are corrected for ``tests`` tests. ``passed`` is None if nobody could be tested.
    Otherwise, True means that the judge may replace a person: ``omega`` is 0.5 or more.
    """

    epsilon: float
    omega: Estimate
    rho: Estimate
    people: tuple[PersonTest, ...]
    n: int
    left_out: tuple[tuple[str, int], ...]
    tests: int
    passed: bool | None


def alternative_annotator_test(
    judge: FloatArray, people: Ratings, epsilon: float, *, small: Small = "skip"
) -> AlternativeAnnotatorTest:
    """Test whether the judge may replace a person, on all items.

    ``judge`` has a verdict on each item, coded as ``people.values``, NaN if not usable.
    ``epsilon`` (0 to 1) is how much worse than a person the judge may be. ``small`` is the
    treatment of people with fewer than 30 usable items. Unordered categories are near if equal;
    other values are near if the difference is small.
    """
    (test,) = _tested([(judge, people)], epsilon, small)
    return test


def alternative_annotator_tests_by_slice(
    judge: FloatArray, people: Ratings, slices: AnyArray, epsilon: float, small: Small = "skip"
) -> dict[str, AlternativeAnnotatorTest]:
    """Return the test in each slice, by name, with one correction over the people of all slices.

    ``slices`` has the slice of each item; the other arguments are as in
    ``alternative_annotator_test``.
    """
    same_length(judge, slices)
    names = np.unique(slices)
    tests = _tested(
        [(judge[slices == name], people.at(slices == name)) for name in names], epsilon, small
    )
    return dict(zip(map(str, names.tolist()), tests, strict=True))


def _tested(
    parts: list[tuple[FloatArray, Ratings]], epsilon: float, small: Small
) -> list[AlternativeAnnotatorTest]:
    if not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon must be from 0 to 1, not {epsilon!r}")
    comparisons = [compare(judge, people) for judge, people in parts]
    person_tests = [
        [_test(part, person, epsilon, small) for person in range(len(part.people.raters))]
        for part in comparisons
    ]
    p = [test.p for tests in person_tests for test in tests if test.p is not None]
    rejected = iter(benjamini_yekutieli(p).tolist())
    corrected_tests = [
        tuple(test if test.p is None else replace(test, rejected=next(rejected)) for test in tests)
        for tests in person_tests
    ]
    return [
        _summary(part, tests, epsilon, len(p))
        for part, tests in zip(comparisons, corrected_tests, strict=True)
    ]


def _test(part: Comparison, person: int, epsilon: float, small: Small) -> PersonTest:
    name, rows = part.people.raters[person], part.compared[:, person]
    judge_wins, person_wins = part.judge_wins[rows, person], part.person_wins[rows, person]
    n = len(judge_wins)
    if n == 0 or (n < MIN_ITEMS and small == "skip"):
        return PersonTest(name, n, None, None, None, rejected=False)
    differences = (
        person_wins.astype(np.float64) - judge_wins
    )  # 1 if only the person wins, -1 if only the judge wins
    advantage = float(judge_wins.mean())
    if n < MIN_ITEMS:
        return PersonTest(
            name, n, advantage, wilcoxon_below(differences - epsilon), "Wilcoxon", rejected=False
        )
    from scipy.special import stdtr  # loads slowly

    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    p = float(mean >= epsilon)  # if all differences are equal
    if np.ptp(differences) > 0:
        p = float(stdtr(n - 1, (mean - epsilon) / (spread / n**0.5)))
    return PersonTest(name, n, advantage, p, "t", rejected=False)


def _summary(
    part: Comparison, people: tuple[PersonTest, ...], epsilon: float, tests: int
) -> AlternativeAnnotatorTest:
    n = int(part.compared.any(axis=1).sum())
    counts = {
        "items with one person only": part.one_person,
        "items without a usable verdict": part.without_verdict,
        f"people with fewer than {MIN_ITEMS} usable items": sum(test.p is None for test in people),
    }
    left_out = tuple((why, count) for why, count in counts.items() if count)
    tested_people = [person for person, test in enumerate(people) if test.p is not None]
    if not tested_people:
        reason = "nobody could be tested" if n else "no item with a usable verdict and two people"
        nothing = leaving_out(unmeasured(n, reason), *left_out)
        return AlternativeAnnotatorTest(
            epsilon, nothing, nothing, people, n, left_out, tests, passed=None
        )
    share = sum(people[person].rejected for person in tested_people) / len(tested_people)
    omega = measured(
        share,
        len(tested_people),
        reason="no interval: it counts people, and each person has a separate test",
    )
    # The mean over people of how often the judge wins. An item affects all people who rated it.
    is_compared, wins = part.compared[:, tested_people], part.judge_wins[:, tested_people]
    rows = np.asarray(is_compared.any(axis=1))
    is_compared, wins = is_compared[rows], wins[rows]
    of_person = is_compared.sum(axis=0)
    means = wins.sum(axis=0) / of_person
    influence = (np.where(is_compared, wins - means, 0.0) * (len(is_compared) / of_person)).mean(
        axis=1
    )
    mean = share_estimate(float(means.mean()), influence, part.people.groups.at(rows))
    rho = leaving_out(mean, *left_out)
    return AlternativeAnnotatorTest(
        epsilon, omega, rho, people, n, left_out, tests, passed=share >= 0.5
    )
