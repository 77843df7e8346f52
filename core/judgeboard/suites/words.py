"""What a suite run has come to, in the sentences of its page."""

from judgeboard.stats.rounding import two_decimals, two_decimals_interval
from judgeboard.stats.words import percent_words
from judgeboard.suites.baseline import Baseline
from judgeboard.suites.results import SuiteResult

GATE_WORDS = {"pass": "It passes.", "fail": "It fails", "not_measured": "Whether it passes cannot be said"}


def result_sentence(result: SuiteResult) -> str:
    """Return the sentence over the page: the average with its interval, how many pass, what the gate says."""
    gate = GATE_WORDS[result.gate.word]
    reasons = "" if not result.gate.reasons else f": {'; '.join(result.gate.reasons)}."
    if result.average.value is None:
        return f"{gate}{reasons}"
    score = " ".join(filter(None, (two_decimals(result.average.value), two_decimals_interval(result.average))))
    cases = f"{result.measured:,} cases" if result.measured != 1 else "1 case"
    return (
        f"On {cases} it scores {score} of 5 on average, against a threshold of "
        f"{result.run.spec['threshold']:g}, and {percent_words(result.pass_rate)} of them pass. {gate}{reasons}"
    )


def baseline_sentence(found: Baseline) -> str:
    """Return what changed against the baseline."""
    change = found.mean_change
    if change.value is None:
        return f"No case was measured in this run and in run {found.run_id}."
    between = two_decimals_interval(change)
    said = two_decimals(change.value, sign=True) + (
        f" {between}" if between else f" ({change.reason})" if change.reason else ""
    )
    return (
        f"On {found.n:,} cases in both, the average changed by {said} against run {found.run_id}: "
        f"{found.worse:,} worse, {found.better:,} better. "
        f"{found.only_before:,} no longer pass, {found.only_after:,} newly do (McNemar, p = {found.p:.2g})."
    )
