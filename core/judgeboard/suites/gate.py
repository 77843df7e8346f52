"""The gate of a suite run: pass, fail, or not measured, as an exit code with its reasons."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from judgeboard.stats.rounding import two_decimals
from judgeboard.stats.words import number_words, percent
from judgeboard.suites.baseline import Baseline, reaches

PASS, FAIL, NOT_MEASURED = 0, 1, 2
LEAST_PAIRED = 20
_WORDS = {PASS: "pass", FAIL: "fail", NOT_MEASURED: "not_measured"}


@dataclass(frozen=True, slots=True)
class Gate:
    """``code`` is 0 pass, 1 below threshold or regression, 2 could not measure; ``reasons`` are sentences."""

    code: int
    reasons: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The code in a word: pass, fail or not_measured."""
        return _WORDS[self.code]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"code": self.code, "state": self.word, "reasons": list(self.reasons)}


@dataclass(frozen=True, slots=True)
class Measured:
    """What the gate looks at: how many cases, how many without a score, the mean of the others."""

    cases: int
    unmeasured: int
    average: float | None


def gate(
    found: Measured, baseline: Baseline | None, *, threshold: float, max_unmeasured: float, max_drop: float
) -> Gate:
    """Return the verdict on a run; that it could not be measured goes before that it failed.

    Args:
        found: What was measured.
        baseline: The comparison with an earlier run, None where none was asked for.
        threshold: The average must reach it.
        max_unmeasured: Share of cases without a score above which nothing is concluded.
        max_drop: How far the pass rate may fall behind the baseline.
    """
    unknown = _not_measured(found, baseline, max_unmeasured)
    if unknown or found.average is None:
        return Gate(NOT_MEASURED, tuple(unknown))
    faults = []
    if not reaches(found.average, threshold):
        faults.append(f"the average {two_decimals(found.average)} is below the threshold {threshold:g}")
    if baseline is not None:
        faults += _regressions(baseline, max_drop)
    return Gate(FAIL if faults else PASS, tuple(faults))


def _not_measured(found: Measured, baseline: Baseline | None, max_unmeasured: float) -> Sequence[str]:
    unknown = []
    share = found.unmeasured / found.cases
    if found.average is None:
        unknown.append("no case could be measured")
    elif round(share, 9) > round(max_unmeasured, 9):
        unknown.append(
            f"{found.unmeasured:,} of {found.cases:,} cases have no score, more than {percent(max_unmeasured)}"
        )
    if baseline is not None and baseline.n < LEAST_PAIRED:
        both = f"{baseline.n} cases were measured in both runs, and it takes {LEAST_PAIRED}"
        unknown.append(f"the comparison with run {baseline.run_id} could not be measured: {both}")
    return unknown


def _regressions(baseline: Baseline, max_drop: float) -> Sequence[str]:
    found = []
    change = baseline.mean_change
    if baseline.average_fell and change.value is not None:
        found.append(f"the average changed by {number_words(change, sign=True)} against run {baseline.run_id}")
    if baseline.pass_rate_fell(max_drop):
        fell = -100 * (baseline.pass_rate_change.value or 0)
        found.append(f"the pass rate fell by {fell:.0f} points against run {baseline.run_id} (p = {baseline.p:.3g})")
    return found
