"""What a suite run has come to, in the sentences of its page."""

from judgeboard.stats.rounding import two_decimals
from judgeboard.stats.words import interval, number_words, percent_words
from judgeboard.suites.baseline import Baseline
from judgeboard.suites.results import SuiteResult

GATE_WORDS = {"pass": "It passes.", "fail": "It fails", "not_measured": "Whether it passes cannot be said"}


def score_words(score: float | None) -> str:
    """Return "4.13", or that there is none."""
    return "no score" if score is None else two_decimals(score)


def result_sentence(result: SuiteResult) -> str:
    """Return the sentence over the page: the average with its interval, how many pass, what the gate says."""
    gate = GATE_WORDS[result.gate.word]
    reasons = "" if not result.gate.reasons else f": {'; '.join(result.gate.reasons)}."
    if result.average.value is None:
        return f"{gate}{reasons}"
    cases = f"{result.measured:,} cases" if result.measured != 1 else "1 case"
    return (
        f"On {cases} it scores {number_words(result.average)} of 5 on average, against a threshold of "
        f"{result.run.spec['threshold']:g}, and {percent_words(result.pass_rate)} of them pass. {gate}{reasons}"
    )


def baseline_sentence(found: Baseline) -> str:
    """Return what changed against the baseline."""
    change = found.mean_change
    if change.value is None:
        return f"No case was measured in this run and in run {found.run_id}."
    said = number_words(change, sign=True)
    if interval(change) is None and change.reason:
        said += f" ({change.reason})"
    return (
        f"On {found.n:,} cases in both, the average changed by {said} against run {found.run_id}: "
        f"{found.worse:,} worse, {found.better:,} better. "
        f"{found.only_before:,} no longer pass, {found.only_after:,} newly do (McNemar, p = {found.p:.2g})."
    )
