"""The results of suite runs, for page, command and JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from judgeboard.domain import OVERALL, DimensionScore, Estimate, RunState
from judgeboard.errors import BadInput
from judgeboard.flags.checks import Check
from judgeboard.measure.notes import Note, note
from judgeboard.methods.suites import queries
from judgeboard.methods.suites.file import Suite
from judgeboard.methods.suites.gate import (
    NOT_MEASURED,
    Baseline,
    Gate,
    compare,
    find_baseline,
    gate,
    reaches,
)
from judgeboard.runs.method import CTRL_C, RunAccount, account_of
from judgeboard.stats.intervals import share_intervals
from judgeboard.stats.means import mean_interval
from judgeboard.store.engine import Readable
from judgeboard.store.statements import record_of

NOT_REACHED = "not reached"
_BOUNDS = (1.0, 5.0)


@dataclass(frozen=True, slots=True)
class CaseCheck:
    """A check of a case; ``message`` is the reason of a failed check."""

    kind: str
    passed: bool
    message: str | None


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case of a run.

    ``case`` is the id of the case in the suite, ``key`` the content address, ``response`` the id of
    the answer. ``score`` (1 to 5) is None without a usable verdict; ``reason`` tells why. ``passed`` is whether
    score and checks pass. ``query`` is None if neither suite nor answer is available.
    """

    case: str
    key: str
    query: str | None
    response: int | None
    score: float | None
    reason: str | None
    passed: bool | None
    dimensions: Mapping[str, DimensionScore]
    checks: tuple[CaseCheck, ...]

    @property
    def why(self) -> str:
        """Why the case has no score, or else which checks fail."""
        return self.reason or "; ".join(
            f"{each.kind}: {each.message}" for each in self.checks if not each.passed
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun:
    """A suite run with the mean overall score of the measured cases."""

    run: int
    suite: str
    candidate: str
    judge: str
    state: RunState
    at: datetime
    threshold: float
    total_cases: int
    measured: int
    unmeasured: int
    average_score: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult(SuiteRun):
    """The result of a suite run.

    ``above_threshold`` counts cases with a score at or above the threshold; ``passing`` counts
    cases that also pass every check. ``passed`` is whether the average reaches the threshold and no
    case fails a check; None if nothing was measured. ``dimensions`` are means. ``failures`` are
    measured cases that do not pass, with the lowest score first.
    """

    account: RunAccount
    pass_rate: Estimate
    above_threshold: int
    passing: int
    passed: bool | None
    gate: Gate
    dimensions: Mapping[str, Estimate]
    baseline: Baseline | None
    notes: tuple[Note, ...]
    failures: tuple[CaseResult, ...]
    cases: tuple[CaseResult, ...]

    @property
    def without_score(self) -> tuple[CaseResult, ...]:
        """The cases without a score."""
        return tuple(case for case in self.cases if case.score is None)

    @property
    def exit_code(self) -> int:
        """The gate's code; 130 after Ctrl-C."""
        return CTRL_C if self.account.exit_code == CTRL_C else self.gate.code


def list_results(store: Readable, name: str | None = None) -> list[SuiteRun]:
    """Return the latest runs (at most 200) of all suites or of one suite, newest first."""
    with store.reading() as connection:
        return _suite_runs(connection, queries.list_suite_runs(connection, name))


def suite_result(
    store: Readable,
    run_id: int,
    *,
    baseline: int | str | None = None,
    suite: Suite | None = None,
    account: RunAccount | None = None,
) -> SuiteResult:
    """Return the stored result of a suite run, or raise NotFound.

    ``baseline`` is as in `run_suite`. The queries of cases without an answer are taken from
    ``suite``.
    """
    with store.reading() as connection:
        run = queries.get_suite_run(connection, run_id)
        (suite_run,) = _suite_runs(connection, [run])
        outcomes = queries.load_cases(connection, run)
        comparison = None if baseline is None else _baseline(connection, baseline, run, outcomes)
    notes = () if comparison is None else comparison.caveats
    if baseline is not None and comparison is None:
        notes = (note("no_baseline", suite=run.name, candidate=run.candidate, judge=run.judge),)
    by_position = {case.position: case for case in outcomes}
    texts = {} if suite is None else {case.key: case.query for case in suite.cases}
    cases = tuple(
        _case(case_name, by_position.get(position), texts.get(case_name.key), run.threshold)
        for position, case_name in enumerate(run.cases)
    )
    failing_checks = sum(any(not check.passed for check in case.checks) for case in cases)
    average, passing = suite_run.average_score.value, sum(case.passed is True for case in cases)
    run_account = account or account_of(store, run_id, not_reached=len(cases) - len(outcomes))
    verdict = gate(
        cases=suite_run.total_cases,
        unmeasured=suite_run.unmeasured,
        failing_checks=failing_checks,
        average=average,
        baseline=comparison,
        threshold=run.threshold,
        max_unmeasured=run.max_unmeasured,
        max_drop=run.max_drop,
    )
    if run_account.state is not RunState.DONE:
        unfinished = note(
            "gate_unfinished",
            state=run_account.state.value,
            why=run_account.why_stopped or "it is not finished",
        )
        verdict = Gate.of(NOT_MEASURED, (unfinished, *verdict.reasons))
    return record_of(
        SuiteResult,
        suite_run,
        account=run_account,
        pass_rate=share_intervals(passing, suite_run.measured)[0],
        above_threshold=sum(
            case.score is not None and reaches(case.score, run.threshold) for case in cases
        ),
        passing=passing,
        passed=None if average is None else reaches(average, run.threshold) and not failing_checks,
        gate=verdict,
        dimensions={name: _dimension_mean(cases, name) for name in run.weights},
        baseline=comparison,
        notes=notes,
        failures=tuple(
            sorted(
                (case for case in cases if case.passed is False), key=lambda case: case.score or 0
            )
        ),
        cases=cases,
    )


def _suite_runs(connection: Connection, runs: Sequence[queries.StoredSuiteRun]) -> list[SuiteRun]:
    sums = queries.score_sums(connection, [run.id for run in runs])
    return [
        record_of(
            SuiteRun,
            run,
            run=run.run_id,
            suite=run.name,
            at=run.created_at,
            total_cases=len(run.cases),
            measured=scores[0],
            unmeasured=len(run.cases) - scores[0],
            average_score=mean_interval(*scores, bounds=_BOUNDS)[0],
        )
        for run in runs
        for scores in [sums.get(run.id, (0, 0.0, 0.0))]
    ]


def _baseline(
    connection: Connection,
    baseline: int | str,
    run: queries.StoredSuiteRun,
    later_cases: Sequence[queries.StoredCase],
) -> Baseline | None:
    earlier = find_baseline(
        connection,
        baseline,
        name=run.name,
        candidate=run.candidate,
        version_id=run.version_id,
        before=run.run_id,
    )
    if earlier is None:
        return None
    return compare(
        queries.load_cases(connection, earlier),
        later_cases,
        run_id=earlier.run_id,
        weights=run.weights,
        threshold=run.threshold,
        same_judge=earlier.version_id == run.version_id,
        same_candidate=earlier.candidate == run.candidate,
    )


def _dimension_mean(cases: Sequence[CaseResult], name: str) -> Estimate:
    scores = [
        dimension.value
        for case in cases
        if (dimension := case.dimensions.get(name)) is not None and dimension.value is not None
    ]
    return mean_interval(
        len(scores), sum(scores), sum(score * score for score in scores), bounds=_BOUNDS
    )[0]


def _case(
    case_name: queries.SuiteCaseName,
    case: queries.StoredCase | None,
    query: str | None,
    threshold: float,
) -> CaseResult:
    if case is None:
        return CaseResult(case_name.id, case_name.key, query, None, None, NOT_REACHED, None, {}, ())
    is_passed = None
    if case.score is not None:
        is_passed = reaches(case.score, threshold) and all(check.passed for check in case.checks)
    return CaseResult(
        case=case_name.id,
        key=case.key,
        query=case.query or query,
        response=case.response_id,
        score=case.score,
        reason=": ".join(part for part in (case.reason, case.error) if part) or None,
        passed=is_passed,
        dimensions={
            name: dimension for name, dimension in case.dimensions.items() if name != OVERALL
        },
        checks=tuple(_check(check, case) for check in case.checks),
    )


def _check(check: queries.CheckOutcome, case: queries.StoredCase) -> CaseCheck:
    # The message may quote the answer, so no message is stored (the text would be stored twice). The
    # check runs again.
    if check.passed or case.answer is None:
        return CaseCheck(check.kind, check.passed, None)
    try:
        message = Check(check.kind, check.wanted).failure(case.answer, case.passages)
    except BadInput as error:  # an earlier release ran checks that are refused now
        message = str(error)
    return CaseCheck(check.kind, check.passed, message)


def findings(result: SuiteResult) -> Iterator[Note]:
    """Yield the average with the pass rate, and whether the gate passes, with the reasons if not."""
    if result.average_score.value is not None:
        average, rate = result.average_score, result.pass_rate
        yield note("suite_average", average=average, threshold=result.threshold, rate=rate)
    yield note(f"gate_{result.gate.state}")
    yield from result.gate.reasons


def baseline_notes(baseline: Baseline) -> Iterator[Note]:
    """Yield the comparison with the baseline."""
    if baseline.mean_change.value is None:
        yield note("baseline_unmeasured", run=baseline.run)
        return
    yield note("baseline", run=baseline.run, n=baseline.n, change=baseline.mean_change)
    yield note("baseline_scores", worse=baseline.worse, better=baseline.better)
    yield note(
        "baseline_passes",
        only_before=baseline.only_before,
        only_after=baseline.only_after,
        p=baseline.p,
    )
