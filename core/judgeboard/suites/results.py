"""What a suite run has come to: averages, failures, the comparison with a baseline, the gate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Estimate, RunState
from judgeboard.run_account import CTRL_C, RunAccount, account_of
from judgeboard.stats.estimates import as_json
from judgeboard.stats.means import mean_interval
from judgeboard.stats.proportions import share_intervals
from judgeboard.store.engine import Readable
from judgeboard.store.suites.suite_cases import StoredCase, load_cases
from judgeboard.store.suites.suite_rows import StoredSuiteRun, get_suite_run
from judgeboard.suites.baseline import Baseline, compare, reaches
from judgeboard.suites.case_results import CaseResult, case_results
from judgeboard.suites.gate import NOT_MEASURED, Gate, Measured, gate
from judgeboard.suites.suite_file import Suite

_BOUNDS = (1.0, 5.0)


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """What a suite run has come to.

    Attributes:
        run: The run as stored.
        cases: All cases of the suite, in its order.
        average: Mean overall score of the measured cases, with Student's t interval.
        pass_rate: Share of the measured cases that pass, with Wilson's interval.
        dimensions: The mean of each dimension over the cases in which it was scored.
        baseline: The comparison with an earlier run, None where none was asked for.
        gate: Pass, fail or not measured.
        account: What was asked, and what it cost.
        notes: Sentences to read it with: what the baseline differs in, or that there is none.
    """

    run: StoredSuiteRun
    cases: tuple[CaseResult, ...]
    average: Estimate
    pass_rate: Estimate
    dimensions: Mapping[str, Estimate]
    baseline: Baseline | None
    gate: Gate
    account: RunAccount
    notes: tuple[str, ...] = ()

    @property
    def measured(self) -> int:
        """How many cases have a score."""
        return sum(case.score is not None for case in self.cases)

    @property
    def above_threshold(self) -> int:
        """How many cases have a score at the threshold or above, whatever their checks say."""
        threshold = self.run.spec["threshold"]
        return sum(case.score is not None and reaches(case.score, threshold) for case in self.cases)

    @property
    def passing(self) -> int:
        """How many cases pass: a good enough score, and every check."""
        return sum(case.passed is True for case in self.cases)

    @property
    def passed(self) -> bool | None:
        """Whether the average reaches the threshold; None where nothing was measured."""
        value = self.average.value
        return None if value is None else reaches(value, self.run.spec["threshold"])

    @property
    def failures(self) -> tuple[CaseResult, ...]:
        """The measured cases that do not pass, the lowest score first."""
        failed = [case for case in self.cases if case.passed is False]
        return tuple(sorted(failed, key=lambda case: case.score or 0))

    @property
    def unmeasured(self) -> tuple[CaseResult, ...]:
        """The cases without a score."""
        return tuple(case for case in self.cases if case.score is None)

    @property
    def exit_code(self) -> int:
        """The gate's code; 130 where Ctrl-C ended the run."""
        return CTRL_C if self.account.exit_code == CTRL_C else self.gate.code

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {
            **self.account.as_json(),
            "suite": self.run.name,
            "candidate": self.run.candidate,
            "judge": self.run.judge,
            "threshold": self.run.spec["threshold"],
            "total_cases": len(self.cases),
            "measured": self.measured,
            "unmeasured": len(self.unmeasured),
            "average_score": as_json(self.average),
            "pass_rate": as_json(self.pass_rate),
            "above_threshold": self.above_threshold,
            "passing": self.passing,
            "passed": self.passed,
            "gate": self.gate.as_json(),
            "failures": [case.as_json() for case in self.failures],
            "not_measured": [{"query": c.query, "case": c.id, "reason": c.reason} for c in self.unmeasured],
            "dimensions": {name: as_json(mean) for name, mean in self.dimensions.items()},
            "baseline": None if self.baseline is None else self.baseline.as_json(),
            "notes": list(self.notes),
        }


def suite_result(
    store: Readable,
    run_id: int,
    *,
    baseline: int | None = None,
    suite: Suite | None = None,
    account: RunAccount | None = None,
    notes: Sequence[str] = (),
) -> SuiteResult:
    """Return what a suite run has come to, from the store.

    Args:
        store: Where it is.
        run_id: The run.
        baseline: The run to compare with.
        suite: The suite itself, for the queries of cases that nobody answered.
        account: What the run has asked, where that is known already.
        notes: Further sentences to read it with.

    Raises:
        NotFound: One of the runs ran no suite.
    """
    with store.reading() as connection:
        run = get_suite_run(connection, run_id)
        stored = load_cases(connection, run)
        against = None if baseline is None else _against(connection, baseline, run, stored)
    cases = case_results(run, stored, suite)
    scores = [case.score for case in cases if case.score is not None]
    average = _mean(scores)
    spec = run.spec
    verdict = gate(
        Measured(len(cases), len(cases) - len(scores), average.value),
        against,
        threshold=spec["threshold"],
        max_unmeasured=spec["max_unmeasured"],
        max_drop=spec["max_drop"],
    )
    done = account or account_of(store, run_id, not_reached=len(cases) - len(stored))
    if done.state is not RunState.DONE:
        why = done.why_stopped or "it is not finished"
        verdict = Gate(NOT_MEASURED, (f"the run is {done.state.value}: {why}", *verdict.reasons))
    return SuiteResult(
        run=run,
        cases=cases,
        average=average,
        pass_rate=share_intervals(sum(case.passed is True for case in cases), len(scores))[0],
        dimensions={name: _mean(_of_dimension(cases, name)) for name in spec["weights"]},
        baseline=against,
        gate=verdict,
        account=done,
        notes=(*notes, *(() if against is None else against.caveats)),
    )


def _against(connection: Connection, baseline: int, run: StoredSuiteRun, stored: list[StoredCase]) -> Baseline:
    earlier = get_suite_run(connection, baseline)
    return compare(
        load_cases(connection, earlier),
        stored,
        run_id=baseline,
        weights=run.spec["weights"],
        threshold=run.spec["threshold"],
        same_judge=earlier.version_id == run.version_id,
        same_candidate=earlier.candidate == run.candidate,
    )


def _of_dimension(cases: tuple[CaseResult, ...], name: str) -> list[float]:
    return [value for case in cases if (value := case.dimensions.get(name, (None, None))[0]) is not None]


def _mean(scores: list[float]) -> Estimate:
    return mean_interval(len(scores), sum(scores), sum(score * score for score in scores), bounds=_BOUNDS)[0]
