"""The gate of a suite run: pass, fail or not measured, with the comparison to a baseline run.

A run is a regression where the 95 % paired-bootstrap interval of the change of the average lies below 0, or where the
pass rate fell by more than the suite allows and McNemar's exact test gives p < 0.05.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import NotFound
from judgeboard.judges.rubric_file import overall
from judgeboard.stats.differences import mean_paired_change
from judgeboard.stats.mcnemar import mcnemar
from judgeboard.stats.rounding import two_decimals
from judgeboard.stats.words import number_words, percent
from judgeboard.store.suites import StoredCase, StoredSuiteRun, get_suite_run, latest_finished

PASS, FAIL, NOT_MEASURED = 0, 1, 2
LATEST = "latest"
SIGNIFICANT = 0.05
LEAST_PAIRED = 20
MOST_DIGITS = 18  # of a run's number, as both engines can hold it
_ROUND = 9


@dataclass(frozen=True, slots=True)
class ComparedCase:
    """A case in both runs: its overall score on the dimensions scored in both, and whether it passes."""

    key: str
    before: float
    after: float
    passed_before: bool
    passed_after: bool

    @property
    def change(self) -> float:
        """The later score less the earlier one."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Baseline:
    """A run compared with an earlier one, ``run``, on the ``n`` cases that both measured.

    ``mean_change`` and ``pass_rate_change`` are later less earlier. ``only_before`` counts the cases that only the
    earlier run passed, ``only_after`` those that only the later run passed; ``p`` is McNemar's exact p of the two.
    """

    run: int
    n: int
    mean_change: Estimate
    worse: int
    better: int
    only_before: int
    only_after: int
    p: float
    pass_rate_change: Estimate
    same_judge: bool
    same_candidate: bool
    cases: tuple[ComparedCase, ...]

    @property
    def caveats(self) -> tuple[str, ...]:
        """What else differs between the two runs, in sentences."""
        judged = "Another judge version scored it, so the judge may be what changed."
        answered = "Another candidate answered it."
        return (() if self.same_judge else (judged,)) + (() if self.same_candidate else (answered,))

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


def find_baseline(
    connection: Connection, baseline: int | str, *, name: str, candidate: str, version_id: int, before: int | None
) -> StoredSuiteRun | None:
    """Return the suite run that ``baseline`` names: the number of any run, or "latest".

    Latest is the newest finished run, numbered below ``before``, of this suite with this candidate and judge version,
    since a change of either is no change of the other; None where there is none.

    Raises:
        NotFound: No suite run has that number.
    """
    if baseline == LATEST:
        return latest_finished(connection, name, candidate, version_id, before=before)
    if isinstance(baseline, str) and not (baseline.isdecimal() and len(baseline) <= MOST_DIGITS):
        raise NotFound(f"no suite run {baseline!r}: a baseline is the number of a run, or {LATEST}")
    return get_suite_run(connection, int(baseline))


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

    ``run_id`` is the earlier run; ``weights`` and ``threshold`` are those of the later run, so a dimension that it does
    not have does not count.
    """
    known = {case.key: case for case in before if case.score is not None}
    pairs = [(known[case.key], case) for case in after if case.score is not None and case.key in known]
    cases = tuple(each for pair in pairs if (each := _compared(*pair, weights, threshold)) is not None)
    only_before = sum(case.passed_before and not case.passed_after for case in cases)
    only_after = sum(case.passed_after and not case.passed_before for case in cases)
    return Baseline(
        run=run_id,
        n=len(cases),
        mean_change=mean_paired_change([case.change for case in cases]),
        worse=sum(round(case.after, _ROUND) < round(case.before, _ROUND) for case in cases),
        better=sum(round(case.after, _ROUND) > round(case.before, _ROUND) for case in cases),
        only_before=only_before,
        only_after=only_after,
        p=mcnemar(only_before, only_after),
        pass_rate_change=mean_paired_change([case.passed_after - case.passed_before for case in cases]),
        same_judge=same_judge,
        same_candidate=same_candidate,
        cases=cases,
    )


def _compared(
    before: StoredCase, after: StoredCase, weights: Mapping[str, float], threshold: float
) -> ComparedCase | None:
    sides = [
        {name: given.score for name, given in case.dimensions.items() if given.score is not None}
        for case in (before, after)
    ]
    both = [name for name in weights if name in sides[0] and name in sides[1]]
    first, second = (overall({name: side[name] for name in both}, weights) for side in sides)
    if first is None or second is None:
        return None
    checked = [
        {json.dumps([check.kind, check.wanted], sort_keys=True): check.passed for check in case.checks}
        for case in (before, after)
    ]
    shared = checked[0].keys() & checked[1].keys()
    passed = [all(side[name] for name in shared) for side in checked]
    return ComparedCase(
        key=after.key,
        before=first,
        after=second,
        passed_before=passed[0] and reaches(first, threshold),
        passed_after=passed[1] and reaches(second, threshold),
    )


def reaches(score: float, threshold: float) -> bool:
    """Whether a score is at the threshold or above, compared after rounding to 1e-9."""
    return round(score, _ROUND) >= round(threshold, _ROUND)


@dataclass(frozen=True, slots=True)
class Gate:
    """``code`` is 0 pass, 1 below threshold or regression, 2 could not measure; ``reasons`` are sentences."""

    code: int
    state: str
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, code: int, reasons: Sequence[str] = ()) -> "Gate":
        """Return the gate with the state that its code stands for: pass, fail or not_measured."""
        return cls(code, ("pass", "fail", "not_measured")[code], tuple(reasons))


def gate(
    *,
    cases: int,
    unmeasured: int,
    average: float | None,
    baseline: Baseline | None,
    threshold: float,
    max_unmeasured: float,
    max_drop: float,
) -> Gate:
    """Return the verdict on a run; "not measured" goes before "fail".

    Args:
        cases: All cases of the suite.
        unmeasured: Those without a score.
        average: The mean score of the others.
        baseline: The comparison with an earlier run, None where none was asked for.
        threshold: The average must reach it.
        max_unmeasured: Share of cases without a score above which nothing is concluded.
        max_drop: How far the pass rate may fall behind the baseline.
    """
    unknown = []
    if average is None:
        unknown.append("no case could be measured")
    elif round(unmeasured / cases, _ROUND) > round(max_unmeasured, _ROUND):
        unknown.append(f"{unmeasured:,} of {cases:,} cases have no score, more than {percent(max_unmeasured)}")
    if baseline is not None and baseline.n < LEAST_PAIRED:
        both = f"{baseline.n} cases were measured in both runs, and it takes {LEAST_PAIRED}"
        unknown.append(f"the comparison with run {baseline.run} could not be measured: {both}")
    if unknown or average is None:
        return Gate.of(NOT_MEASURED, unknown)
    faults = []
    if not reaches(average, threshold):
        faults.append(f"the average {two_decimals(average)} is below the threshold {threshold:g}")
    if baseline is not None and baseline.average_fell:
        change = number_words(baseline.mean_change, sign=True)
        faults.append(f"the average changed by {change} against run {baseline.run}")
    if baseline is not None and baseline.pass_rate_fell(max_drop):
        fell = -100 * (baseline.pass_rate_change.value or 0)
        faults.append(f"the pass rate fell by {fell:.0f} points against run {baseline.run} (p = {baseline.p:.3g})")
    return Gate.of(FAIL if faults else PASS, faults)
