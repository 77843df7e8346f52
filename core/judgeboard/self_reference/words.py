"""What self-reference came to, in sentences for a page."""

import shlex

from judgeboard.domain import Estimate
from judgeboard.self_reference.result import SelfReferenceReport
from judgeboard.self_reference.tuning import Tuned
from judgeboard.stats.words import percent, percent_interval, percent_words

CONDITION_WORDS = {"A": "A no reference", "B": "B always", "C": "C selective"}
MEANINGS = (
    "The gate is on where at least so many of the judge's own tries agree. "
    "Condition A: it compares without its own answer; B: always with it; C: with it where the gate is on."
)


def report_sentence(report: SelfReferenceReport) -> str:
    """Say what the three conditions come to, then how often the gate is on and how good its answer is."""
    return f"{_conditions(report)} {_gate(report)}"


def noun(report: SelfReferenceReport) -> str:
    """Return what the items are called: questions where nobody was asked to compare answers, else pairs."""
    asked = any(scores.not_asked < report.items for scores in report.conditions.values())
    return "pair" if asked else "question"


def compare_command(report: SelfReferenceReport) -> str:
    """Return the command that asks this judge in all conditions, in backquotes."""
    model = shlex.quote(report.model or "MODEL")
    return f"`judgeboard ssr --pairs FILE --model {model} --conditions A,B,C`"


def _conditions(report: SelfReferenceReport) -> str:
    said = {name: scores.accuracy for name, scores in report.conditions.items()}
    where = f"{report.needed} of {report.k} of its own tries agree"
    if said["C"].value is None:
        why = said["C"].reason or "unknown"
        return f"How well the judge compares when it is shown its own answer is not measured: {why}."
    text = (
        f"Shown its own answer where {where}, the judge prefers the better one on {percent_words(said['C'])} of "
        f"{_count(said['C'].n, 'pair')}"
    )
    others = {"A": "without a reference", "B": "always shown it"}
    known = [
        f"{words} on {percent(value)}" for name, words in others.items() if (value := said[name].value) is not None
    ]
    return text + (f"; {', '.join(known)}." if known else ".") + _gained(report.gain["A"])


def _gained(gain: Estimate) -> str:
    if gain.value is None or gain.low is None or gain.high is None:
        return ""
    if gain.low == gain.value == gain.high == 0:
        return " That is no difference on any pair."
    if gain.low <= 0 <= gain.high:
        return " That may be chance: the difference to no reference is not clear."
    more = "more" if gain.value > 0 else "less"
    points = f"{abs(gain.value) * 100:.1f} points [{_points(gain)}]"
    return f" That is {points} {more} than without."


def _points(gain: Estimate) -> str:
    ends = sorted(abs(end) * 100 for end in (gain.low or 0, gain.high or 0))
    return ", ".join(f"{end:.1f}" for end in ends)


def _gate(report: SelfReferenceReport) -> str:
    rate, precision = report.gate.on_rate, report.gate.precision
    if rate.value is None:
        return "Nothing was tried yet."
    if rate.value == 0:
        return f"The gate is on for none of {_count(report.items, 'question')}."
    text = f"The gate is on for {percent(rate.value)} of {_count(report.items, 'question')}"
    if precision.value is None:
        return f"{text}; {precision.reason}."
    return f"{text}; its answer is then right on {percent(precision.value)} {percent_interval(precision)}."


def tuned_sentence(tuned: Tuned) -> str:
    """Say what a threshold for each category comes to, and whether it was chosen on the pairs it is scored on."""
    if tuned.accuracy.value is None:
        return "What a gate for each category would come to needs the conditions A and B on every pair."
    chosen = "partly on the same pairs, so this is optimistic" if tuned.optimistic else "on other pairs"
    return f"With a gate for each category, chosen {chosen}, C comes to {percent_words(tuned.accuracy)}."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun if number == 1 else noun + 's'}"
