"""The alternative annotator test: may this judge stand in for a person?

Source: N. Calderon, R. Reichart, R. Dror, "The Alternative Annotator Test for LLM-as-a-Judge" (ACL 2025). Each person
is left out in turn; on each of their items judge and person are both held against the remaining people, by the share
of equal labels or by the root mean squared distance of scores. The judge may be worse by ``epsilon``, the price of
people. ``omega`` is the share of people against whom it then holds, ``rho`` how often it is as good.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import AnyArray, FloatArray, same_length
from judgeboard.stats.estimates import leaving_out, measured, unmeasured
from judgeboard.stats.false_discovery import benjamini_yekutieli
from judgeboard.stats.influence import share_estimate
from judgeboard.stats.one_person_out import Comparison, Measure, compare
from judgeboard.stats.ratings import Ratings
from judgeboard.stats.student import t_lower_tail
from judgeboard.stats.wilcoxon import wilcoxon_below

EPSILONS: Mapping[str, float] = {"experts": 0.2, "skilled": 0.15, "crowd": 0.1}
"""How much worse than a person a judge may be, by who the people are."""

MIN_ITEMS = 30
"""Below this many usable items of a person the t-test is not trusted."""

PASSES_FROM = 0.5
"""The winning rate from which on the judge may stand in."""

Small = Literal["skip", "wilcoxon"]


@dataclass(frozen=True, slots=True)
class PersonTest:
    """The judge against one person on their ``n`` usable items.

    ``advantage`` is how often the judge is as near to the others as the person is; ``p`` of the one-sided ``test``
    that the judge is worse by epsilon or more. Where the person is skipped, all three are None.
    """

    name: str
    n: int
    advantage: float | None
    p: float | None
    test: Literal["t", "Wilcoxon"] | None
    rejected: bool


@dataclass(frozen=True, slots=True)
class AlternativeAnnotatorTest:
    """What the test gives: the winning rate ``omega``, the advantage probability ``rho``, and each person's test.

    ``n`` items had a usable verdict and two people. ``tests`` is how many tests the correction allows for. ``passed``
    is whether the judge may stand in for a person, None where nobody could be tested.
    """

    epsilon: float
    omega: Estimate
    rho: Estimate
    people: tuple[PersonTest, ...]
    n: int
    left_out: tuple[tuple[str, int], ...]
    tests: int
    passed: bool | None = field(init=False)

    def __post_init__(self) -> None:
        won = self.omega.value
        object.__setattr__(self, "passed", None if won is None else won >= PASSES_FROM)


def alternative_annotator_test(
    judge: FloatArray, people: Ratings, epsilon: float, *, small: Small = "skip", measure: Measure | None = None
) -> AlternativeAnnotatorTest:
    """Return the test on all items.

    Args:
        judge: What the judge gave each item, as ``people.values``; NaN where it gave no usable verdict.
        people: What people gave, each person a column.
        epsilon: How much worse than a person the judge may be, 0 to 1 (``EPSILONS``).
        small: What becomes of a person with fewer than 30 usable items.
        measure: Whether labels are equal, or how far apart scores are; by default labels for unordered categories.
    """
    (found,) = _tested([(judge, people)], epsilon, small, measure)
    return found


def alternative_annotator_tests_by_slice(
    judge: FloatArray,
    people: Ratings,
    slices: AnyArray,
    epsilon: float,
    *,
    small: Small = "skip",
    measure: Measure | None = None,
) -> dict[str, AlternativeAnnotatorTest]:
    """Return the test in each slice, by its name, with one correction over the people of all slices together.

    ``slices`` has the slice of each item; the other arguments are those of ``alternative_annotator_test``.
    """
    same_length(judge, slices)
    names = np.unique(slices)
    found = _tested([(judge[slices == name], people.at(slices == name)) for name in names], epsilon, small, measure)
    return dict(zip(map(str, names.tolist()), found, strict=True))


def _tested(
    parts: list[tuple[FloatArray, Ratings]], epsilon: float, small: Small, measure: Measure | None
) -> list[AlternativeAnnotatorTest]:
    if not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon lies from 0 to 1, not {epsilon!r}")
    compared = [compare(judge, people, measure) for judge, people in parts]
    tested = [[_test(part, person, epsilon, small) for person in range(len(part.people.raters))] for part in compared]
    p = [test.p for tests in tested for test in tests if test.p is not None]
    rejected = iter(benjamini_yekutieli(p).tolist())
    return [
        _summary(part, tuple(_decided(test, rejected) for test in tests), epsilon, len(p))
        for part, tests in zip(compared, tested, strict=True)
    ]


def _test(part: Comparison, person: int, epsilon: float, small: Small) -> PersonTest:
    name, differences = part.people.raters[person], part.differences(person)
    n = len(differences)
    if n == 0 or (n < MIN_ITEMS and small == "skip"):
        return PersonTest(name, n, None, None, None, rejected=False)
    advantage = float(part.judge_wins[part.compared[:, person], person].mean())
    if n < MIN_ITEMS:
        return PersonTest(name, n, advantage, wilcoxon_below(differences - epsilon), "Wilcoxon", rejected=False)
    return PersonTest(name, n, advantage, _t_test(differences, epsilon), "t", rejected=False)


def _t_test(differences: FloatArray, epsilon: float) -> float:
    """Return the p of a mean below ``epsilon``; where all differences are one number there is nothing to test."""
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    if np.ptp(differences) == 0:
        return 0.0 if mean < epsilon else 1.0
    return t_lower_tail((mean - epsilon) / (spread / len(differences) ** 0.5), len(differences) - 1)


def _decided(test: PersonTest, rejected: Iterator[bool]) -> PersonTest:
    return test if test.p is None else replace(test, rejected=next(rejected))


def _summary(part: Comparison, people: tuple[PersonTest, ...], epsilon: float, tests: int) -> AlternativeAnnotatorTest:
    n = int(part.compared.any(axis=1).sum())
    left_out = tuple(
        each
        for each in (
            ("items with one person only", part.one_person),
            ("items without a usable verdict", part.without_verdict),
            (f"people with fewer than {MIN_ITEMS} usable items", sum(test.p is None for test in people)),
        )
        if each[1]
    )
    tested = [person for person, test in enumerate(people) if test.p is not None]
    if not tested:
        reason = "nobody could be tested" if n else "no item with a usable verdict and two people"
        nothing = leaving_out(unmeasured(n, reason), *left_out)
        return AlternativeAnnotatorTest(epsilon, nothing, nothing, people, n, left_out, tests)
    share = sum(people[person].rejected for person in tested) / len(tested)
    omega = measured(share, len(tested), reason="no interval: it counts people, each decided by a test of their own")
    return AlternativeAnnotatorTest(
        epsilon, omega, leaving_out(_advantage(part, tested), *left_out), people, n, left_out, tests
    )


def _advantage(part: Comparison, tested: list[int]) -> Estimate:
    """Return the mean over people of how often the judge is as near as they; an item moves all who rated it."""
    compared, wins = part.compared[:, tested], part.judge_wins[:, tested]
    rows = np.asarray(compared.any(axis=1))
    compared, wins = compared[rows], wins[rows]
    n, of_person = len(compared), compared.sum(axis=0)
    means = wins.sum(axis=0) / of_person
    influence = (np.where(compared, wins - means, 0.0) * (n / of_person)).mean(axis=1)
    return share_estimate(float(means.mean()), influence, part.people.groups.at(rows))
