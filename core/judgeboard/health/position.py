"""Position in pairs: does the judge prefer the answer that it is shown first?"""

import shlex

from judgeboard.domain import JURY, RECORDED, Estimate
from judgeboard.health.record import Check, JudgeRecord, not_applicable, not_measured, state_of
from judgeboard.judges.kinds import JUDGES, OFFLINE
from judgeboard.judges.pairwise import PAIRWISE
from judgeboard.stats.both_orders import ONE_ORDER
from judgeboard.stats.estimates import percent_words, surely_above, surely_below

NAME = "position"
LEAST = 30
"""Pairs with both orders usable that say anything."""
NO_PULL = 0.5


def position(record: JudgeRecord) -> Check:
    """Warn where the share of single verdicts that name the answer shown first surely differs from ½.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026), pairwise; of pairs with both orders usable, the interval by
    pair. Of several aspects the one with the clearest pull is shown.
    """
    if record.version.kind == JURY:
        said = f"{record.version.title} compares no pairs; each of its members has checks of its own."
        return not_applicable(NAME, "it compares no pairs", said, share=True)
    if record.version.kind in OFFLINE:
        said = f"{record.version.title} asks no model, which could be swayed by an order."
        return not_applicable(NAME, "it compares no pairs", said, share=True)
    command = _command(record)
    rates = {aspect: (verdicts.first_position(), int(verdicts.both.sum())) for aspect, verdicts in record.pairs.items()}
    if rates and all(rate.reason == ONE_ORDER for rate, _ in rates.values()):
        return not_measured(NAME, "It was asked in one order only: nothing tells order from preference.", command)
    enough = {aspect: rate for aspect, (rate, pairs) in rates.items() if pairs >= LEAST and rate.value is not None}
    if not enough:
        pairs = max((n for _, n in rates.values()), default=0)
        why = f"It takes {LEAST} pairs judged in both orders, and there are {pairs:,}."
        if record.version.kind in JUDGES:
            why = "It judges one answer at a time; its model compares pairs as a judge version of its own."
        return not_measured(NAME, why, command, pairs)
    aspect = max(enough, key=lambda each: _pull(enough[each]))
    rate = enough[aspect]
    first, last = surely_above(rate, NO_PULL), surely_below(rate, NO_PULL)
    on = f" on {aspect}" if len(rates) > 1 else ""
    said = "It prefers the answer shown first" if first else "It prefers the answer shown last"
    if not first and not last:
        said = "The order shown does not surely sway it"
    sentence = (
        f"{said}{on}: {percent_words(rate)} of its single verdicts name the first, on {rates[aspect][1]:,} pairs."
    )
    return Check(NAME, state_of(warns=first or last), rate, sentence, command, share=True)


def _command(record: JudgeRecord) -> str:
    if record.version.kind == RECORDED:
        return "judgeboard import FILE --kind comparisons"
    compare = shlex.join(["judgeboard", "compare", "--pairs", "FILE", "--model", record.version.model or "MODEL"])
    if record.version.kind in JUDGES:
        return f"{compare} && judgeboard health --judge-version {PAIRWISE}"
    return compare


def _pull(rate: Estimate) -> float:
    """How many half-widths of its interval a rate is away from ½."""
    if rate.value is None or rate.low is None or rate.high is None:
        return 0.0
    return abs(rate.value - NO_PULL) / max((rate.high - rate.low) / 2, 1e-9)
