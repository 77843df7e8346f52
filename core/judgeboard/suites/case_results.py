"""What came of single cases of a suite run: score, dimensions, checks, whether it passes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judgeboard.judges.rubric_file import OVERALL
from judgeboard.store.suites.suite_cases import StoredCase
from judgeboard.store.suites.suite_rows import StoredSuiteRun
from judgeboard.suites.baseline import reaches
from judgeboard.suites.checks import Check
from judgeboard.suites.suite_file import Suite

NOT_REACHED = "not reached"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case of a run.

    Attributes:
        id: Its name in the suite.
        key: Its content address.
        query: What was asked; None where neither the suite nor an answer is at hand to tell.
        response_id: The candidate's answer, as stored.
        score: The overall score, 1 to 5; None where it could not be measured, and ``reason`` says why.
        reason: Why there is no score.
        dimensions: Score (or None) and sentence (or None) by dimension.
        checks: Kind, whether it passed, and why not, of each programmatic check.
        passed: Whether score and checks are good enough; None without a score.
    """

    id: str
    key: str
    query: str | None
    response_id: int | None
    score: float | None
    reason: str | None
    dimensions: Mapping[str, tuple[float | None, str | None]]
    checks: tuple[dict[str, Any], ...]
    passed: bool | None

    def as_json(self) -> dict[str, Any]:
        """Return a failure as JSON values."""
        scored = {name: {"score": score, "reasoning": why} for name, (score, why) in self.dimensions.items()}
        details = {"case": self.id, "response": self.response_id, "dimensions": scored, "checks": list(self.checks)}
        return {"query": self.query, "score": self.score, "details": details}


def case_results(run: StoredSuiteRun, stored: Sequence[StoredCase], suite: Suite | None) -> tuple[CaseResult, ...]:
    """Return all cases of a suite run, in the order of the suite, those included that it did not reach.

    Args:
        run: The run.
        stored: What is stored of its cases.
        suite: The suite itself, for the queries of cases that nobody answered.
    """
    found = {one.position: one for one in stored}
    queries = {} if suite is None else {case.key: case.query for case in suite.cases}
    return tuple(
        _case(listed, found.get(position), queries.get(listed["key"]), run.spec["threshold"])
        for position, listed in enumerate(run.spec["cases"])
    )


def _case(listed: Mapping[str, Any], stored: StoredCase | None, query: str | None, threshold: float) -> CaseResult:
    if stored is None:
        return CaseResult(listed["id"], listed["key"], query, None, None, NOT_REACHED, {}, (), None)
    passed = None
    if stored.score is not None:
        passed = reaches(stored.score, threshold) and all(one["passed"] for one in stored.checks)
    return CaseResult(
        id=listed["id"],
        key=stored.key,
        query=stored.query or query,
        response_id=stored.response_id,
        score=stored.score,
        reason=": ".join(part for part in (stored.reason, stored.error) if part) or None,
        dimensions={name: said for name, said in stored.dimensions.items() if name != OVERALL},
        checks=tuple(_said(one, stored.answer) for one in stored.checks),
        passed=passed,
    )


def _said(check: dict[str, Any], answer: str | None) -> dict[str, Any]:
    """A check with why it failed, looked up again: that may quote the answer, which is kept in one place alone."""
    said = None if check["passed"] or answer is None else Check(check["kind"], check["wanted"]).of(answer).said
    return {"kind": check["kind"], "passed": check["passed"], "said": said}
