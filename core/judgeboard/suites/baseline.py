"""The baseline of a suite run: an earlier run on the same cases, compared with it case by case.

Regression as the methods have it: the 95 % paired-bootstrap interval of the change of the average lies below 0, or the
pass rate fell by more than the suite allows and McNemar's exact test gives p < 0.05.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import NotFound
from judgeboard.judges.rubric_file import overall
from judgeboard.stats.differences import mean_paired_change
from judgeboard.stats.estimates import as_json
from judgeboard.stats.mcnemar import mcnemar
from judgeboard.store.suites.suite_cases import StoredCase
from judgeboard.store.suites.suite_rows import StoredSuiteRun, get_suite_run, latest_finished

SIGNIFICANT = 0.05
MOST_DIGITS = 18  # of a run's number, as both engines can hold it
LATEST = "latest"
_ROUND = 9


@dataclass(frozen=True, slots=True)
class Compared:
    """A case in both runs: both overall scores on the dimensions scored in both, and whether each passes."""

    key: str
    before: float
    after: float
    passed_before: bool
    passed_after: bool


@dataclass(frozen=True, slots=True)
class Baseline:
    """A run compared with an earlier one.

    Attributes:
        run_id: The earlier run.
        cases: Those measured in both, in the order of the later run.
        mean_change: Later less earlier, on the mean of these cases.
        pass_rate_change: The same for their pass rates, from -1 to 1.
        only_before: Cases that only the earlier run passed.
        only_after: Cases that only the later run passed.
        p: McNemar's exact p of these two counts.
        same_judge: Whether one judge version scored both.
        same_candidate: Whether both are of one candidate.
    """

    run_id: int
    cases: tuple[Compared, ...]
    mean_change: Estimate
    pass_rate_change: Estimate
    only_before: int
    only_after: int
    p: float
    same_judge: bool = True
    same_candidate: bool = True

    @property
    def caveats(self) -> tuple[str, ...]:
        """What else differs between the two runs, in sentences."""
        judged = "Another judge version scored it, so the judge may be what changed."
        answered = "Another candidate answered it."
        return (() if self.same_judge else (judged,)) + (() if self.same_candidate else (answered,))

    @property
    def n(self) -> int:
        """How many cases were compared."""
        return len(self.cases)

    @property
    def worse(self) -> int:
        """Cases whose score fell."""
        return sum(_less(one.after, one.before) for one in self.cases)

    @property
    def better(self) -> int:
        """Cases whose score rose."""
        return sum(_less(one.before, one.after) for one in self.cases)

    @property
    def average_fell(self) -> bool:
        """Whether the interval of the change lies below 0; where all cases changed alike, the change itself."""
        change = self.mean_change
        top = change.value if change.high is None else change.high
        return top is not None and round(top, _ROUND) < 0

    def pass_rate_fell(self, max_drop: float) -> bool:
        """Whether the pass rate fell by more than ``max_drop`` and not by chance."""
        change = self.pass_rate_change.value
        return change is not None and round(-change, _ROUND) > round(max_drop, _ROUND) and self.p < SIGNIFICANT

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "run": self.run_id,
            "n": self.n,
            "mean_change": as_json(self.mean_change),
            "worse": self.worse,
            "better": self.better,
            "mcnemar": {"b": self.only_before, "c": self.only_after, "p": self.p},
            "pass_rate_change": as_json(self.pass_rate_change),
            "same_judge": self.same_judge,
            "same_candidate": self.same_candidate,
        }


def baseline_run(
    connection: Connection, which: int | str, *, name: str, candidate: str, version_id: int, before: int | None = None
) -> StoredSuiteRun | None:
    """Return the suite run that ``which`` names, None where "latest" finds none.

    Args:
        connection: A transaction.
        which: The number of its run, whoever answered and judged there; or "latest": the newest finished run of this
            suite with this candidate and judge version, since a change of either is none of the other.
        name: The suite.
        candidate: Who answers.
        version_id: Who judges.
        before: Only runs with a lower number count as latest.

    Raises:
        NotFound: No suite run has that number.
    """
    if which == LATEST:
        return latest_finished(connection, name, candidate, version_id, before=before)
    if isinstance(which, str) and not (which.isdecimal() and len(which) <= MOST_DIGITS):
        raise NotFound(f"no suite run {which!r}: a baseline is the number of a run, or {LATEST}")
    return get_suite_run(connection, int(which))


def no_latest(name: str, candidate: str, judge: str) -> str:
    """Say that "latest" found no run, so that nobody takes the gate for a comparison."""
    return f"Compared with no baseline: {name!r} has no earlier finished run of {candidate} judged by {judge}."


def compare(
    before: Sequence[StoredCase],
    after: Sequence[StoredCase],
    *,
    run_id: int,
    weights: Mapping[str, float],
    threshold: float,
    same_judge: bool = True,
    same_candidate: bool = True,
) -> Baseline:
    """Compare two runs on the cases that both measured, by the dimensions and the checks that both have.

    Args:
        before: The cases of the baseline.
        after: The cases of the run.
        run_id: The baseline's run.
        weights: Weight by dimension, of the later run; a dimension that it has not does not count.
        threshold: From this overall score a case passes.
        same_judge: Whether one judge version scored both.
        same_candidate: Whether both are of one candidate.
    """
    known = {one.key: one for one in before if one.score is not None}
    pairs = [(known[one.key], one) for one in after if one.score is not None and one.key in known]
    cases = tuple(each for pair in pairs if (each := _compared(*pair, weights, threshold)) is not None)
    only_before = sum(one.passed_before and not one.passed_after for one in cases)
    only_after = sum(one.passed_after and not one.passed_before for one in cases)
    return Baseline(
        run_id=run_id,
        cases=cases,
        mean_change=mean_paired_change([one.after - one.before for one in cases]),
        pass_rate_change=mean_paired_change([one.passed_after - one.passed_before for one in cases]),
        only_before=only_before,
        only_after=only_after,
        p=mcnemar(only_before, only_after),
        same_judge=same_judge,
        same_candidate=same_candidate,
    )


def _compared(before: StoredCase, after: StoredCase, weights: Mapping[str, float], threshold: float) -> Compared | None:
    old, new = _scores(before), _scores(after)
    both = [name for name in weights if name in old and name in new]
    first, second = (overall({name: side[name] for name in both}, weights) for side in (old, new))
    if first is None or second is None:
        return None
    checked = [
        {json.dumps([one["kind"], one["wanted"]], sort_keys=True): one["passed"] for one in side.checks}
        for side in (before, after)
    ]
    shared = checked[0].keys() & checked[1].keys()
    held = [all(side[name] for name in shared) for side in checked]
    return Compared(
        key=after.key,
        before=first,
        after=second,
        passed_before=held[0] and reaches(first, threshold),
        passed_after=held[1] and reaches(second, threshold),
    )


def reaches(score: float, threshold: float) -> bool:
    """Whether a score is at the threshold or above, compared after rounding to 1e-9."""
    return round(score, _ROUND) >= round(threshold, _ROUND)


def _scores(case: StoredCase) -> dict[str, float]:
    return {name: value for name, (value, _) in case.dimensions.items() if value is not None}


def _less(one: float, other: float) -> bool:
    return round(one, _ROUND) < round(other, _ROUND)
