"""The gate of a suite run, and the comparison with a baseline."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import NotFound
from judgeboard.judges.rubric_file import overall
from judgeboard.measure.notes import Note, note
from judgeboard.methods.suites.queries import (
    StoredCase,
    StoredSuiteRun,
    get_suite_run,
    latest_finished,
)
from judgeboard.stats.means import mean_paired_change
from judgeboard.stats.paired import Conclusion, conclusion
from judgeboard.stats.significance import mcnemar

PASS, FAIL, NOT_MEASURED = 0, 1, 2
LATEST = "latest"
SIGNIFICANT = 0.05
LEAST_PAIRED = 20
MOST_DIGITS = 18  # of a run's number that both engines can store
_ROUND = 9


@dataclass(frozen=True, slots=True)
class ComparedCase:
    """A case in both runs: overall scores, from the dimensions that both runs have, and whether the case passes."""

    key: str
    before: float
    after: float
    passed_before: bool
    passed_after: bool

    @property
    def change(self) -> float:
        """The later score minus the earlier one."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Baseline:
    """The comparison with the earlier run ``run``, on the ``n`` cases that both runs measured.

    ``mean_change`` and ``pass_rate_change`` are later minus earlier. ``only_before`` counts cases
    that passed only in the earlier run, ``only_after`` cases that passed only in the later run;
    ``p`` is McNemar's exact p of these counts.
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
    def caveats(self) -> tuple[Note, ...]:
        """What else differs between the two runs."""
        same = {
            "baseline_other_judge": self.same_judge,
            "baseline_other_candidate": self.same_candidate,
        }
        return tuple(note(code) for code, is_same in same.items() if not is_same)

    @property
    def average_fell(self) -> bool:
        """Whether the interval of the change is below 0; without an interval, whether the change is below 0."""
        return _is_worse(self.mean_change)

    def pass_rate_fell(self, max_drop: float) -> bool:
        """Whether the pass rate fell significantly and by more than ``max_drop``."""
        change = self.pass_rate_change
        fell_far = change.value is not None and round(-change.value, _ROUND) > round(
            max_drop, _ROUND
        )
        # With few discordant cases, the interval is too narrow: McNemar's exact test must agree.
        return fell_far and _is_worse(change) and self.p < SIGNIFICANT


def _is_worse(change: Estimate) -> bool:
    """Return whether a change is below 0. Without an interval (all cases changed alike), the value decides."""
    if change.high is None:
        return change.value is not None and round(change.value, _ROUND) < 0
    return conclusion(change) is Conclusion.WORSE


def find_baseline(
    connection: Connection,
    baseline: int | str,
    *,
    name: str,
    candidate: str,
    version_id: int,
    before: int | None,
) -> StoredSuiteRun | None:
    """Return the suite run that ``baseline`` names (a number or "latest"); raises NotFound for an unknown number.

    "latest" is the newest finished run before run ``before`` of this suite, candidate and judge
    version, or None.
    """
    if baseline == LATEST:
        return latest_finished(connection, name, candidate, version_id, before=before)
    if isinstance(baseline, str) and not (baseline.isdecimal() and len(baseline) <= MOST_DIGITS):
        raise NotFound(f"no suite run {baseline!r}: a baseline is the number of a run or {LATEST}")
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
    """Compare run ``run_id`` with a later run on the cases that both measured, by the later weights and threshold."""
    earlier_cases = {case.key: case for case in before if case.score is not None}
    pairs = [
        (earlier_cases[case.key], case)
        for case in after
        if case.score is not None and case.key in earlier_cases
    ]
    cases = tuple(
        each for pair in pairs if (each := _compared(*pair, weights, threshold)) is not None
    )
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
        pass_rate_change=mean_paired_change(
            [case.passed_after - case.passed_before for case in cases]
        ),
        same_judge=same_judge,
        same_candidate=same_candidate,
        cases=cases,
    )


def _compared(
    before: StoredCase, after: StoredCase, weights: Mapping[str, float], threshold: float
) -> ComparedCase | None:
    sides = [
        {name: each.value for name, each in case.dimensions.items() if each.value is not None}
        for case in (before, after)
    ]
    names = [name for name in weights if name in sides[0] and name in sides[1]]
    first, second = (overall({name: side[name] for name in names}, weights) for side in sides)
    if first is None or second is None:
        return None
    checks_of_sides = [
        {
            json.dumps([check.kind, check.wanted], sort_keys=True): check.passed
            for check in case.checks
        }
        for case in (before, after)
    ]
    shared_checks = checks_of_sides[0].keys() & checks_of_sides[1].keys()
    checks_passed = [all(side[name] for name in shared_checks) for side in checks_of_sides]
    return ComparedCase(
        key=after.key,
        before=first,
        after=second,
        passed_before=checks_passed[0] and reaches(first, threshold),
        passed_after=checks_passed[1] and reaches(second, threshold),
    )


def reaches(score: float, threshold: float) -> bool:
    """Whether a score is at or above the threshold, both rounded to 1e-9."""
    return round(score, _ROUND) >= round(threshold, _ROUND)


@dataclass(frozen=True, slots=True)
class Gate:
    """``code``: 0 pass, 1 below threshold or regression, 2 could not be measured; ``reasons`` tell why."""

    code: int
    state: str
    reasons: tuple[Note, ...]

    @classmethod
    def of(cls, code: int, reasons: Sequence[Note] = ()) -> "Gate":
        """Return the gate with the state of the code: pass, fail or not_measured."""
        return cls(code, ("pass", "fail", "not_measured")[code], tuple(reasons))


def gate(
    *,
    cases: int,
    unmeasured: int,
    failing_checks: int,
    average: float | None,
    baseline: Baseline | None,
    threshold: float,
    max_unmeasured: float,
    max_drop: float,
) -> Gate:
    """Return the gate of a run; "not measured" takes precedence over "fail".

    ``average`` is over the measured cases; ``failing_checks`` counts cases. Other arguments are as
    in `Suite` and run.
    """
    unknown = []
    if average is None:
        unknown.append(note("gate_no_score"))
    elif round(unmeasured / cases, _ROUND) > round(max_unmeasured, _ROUND):
        unknown.append(note("gate_few_scores", n=unmeasured, cases=cases, most=max_unmeasured))
    if baseline is not None and baseline.n < LEAST_PAIRED:
        unknown.append(
            note("gate_few_compared", run=baseline.run, n=baseline.n, least=LEAST_PAIRED)
        )
    if unknown or average is None:
        return Gate.of(NOT_MEASURED, unknown)
    faults = []
    if failing_checks:
        faults.append(note("gate_checks", n=failing_checks, cases=cases))
    if not reaches(average, threshold):
        faults.append(note("gate_below", average=average, threshold=threshold))
    if baseline is not None and baseline.average_fell:
        faults.append(note("gate_average_fell", run=baseline.run, change=baseline.mean_change))
    if baseline is not None and baseline.pass_rate_fell(max_drop):
        faults.append(
            note(
                "gate_pass_rate_fell",
                run=baseline.run,
                change=baseline.pass_rate_change,
                p=baseline.p,
            )
        )
    return Gate.of(FAIL if faults else PASS, faults)
