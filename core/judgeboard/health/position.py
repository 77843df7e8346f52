"""Position in pairs: whether the judge prefers the answer that is shown first."""

import shlex

from judgeboard.domain import JURY, RECORDED
from judgeboard.health.record import Check, JudgeRecord, half_widths, not_applicable, not_measured, state_of
from judgeboard.judges.kinds import JUDGES, OFFLINE
from judgeboard.judges.pairwise import PAIRWISE
from judgeboard.stats.both_orders import ONE_ORDER
from judgeboard.stats.estimates import percent_words, surely_above, surely_below

NAME = "position"
LEAST = 30
"""Minimum number of pairs with a usable verdict in both orders."""
NO_BIAS = 0.5


def position(record: JudgeRecord) -> Check:
    """Warn if the share of verdicts that prefer the answer shown first differs significantly from ½.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026), pairwise. Counts pairs with a usable verdict in both orders;
    the interval is by pair. Of several aspects the most biased one is shown.
    """
    if record.version.kind == JURY:
        sentence = f"{record.version.title} compares no pairs. Check its members instead."
        return not_applicable(NAME, "it compares no pairs", sentence, share=True)
    if record.version.kind in OFFLINE:
        sentence = f"{record.version.title} calls no model that an order could influence."
        return not_applicable(NAME, "it compares no pairs", sentence, share=True)
    command = _command(record)
    rates = {aspect: (verdicts.first_position(), int(verdicts.both.sum())) for aspect, verdicts in record.pairs.items()}
    if rates and all(rate.reason == ONE_ORDER for rate, _ in rates.values()):
        return not_measured(
            NAME, "It compared the pairs in one order only, so position bias cannot be measured.", command
        )
    enough = {aspect: rate for aspect, (rate, pairs) in rates.items() if pairs >= LEAST and rate.value is not None}
    if not enough:
        pairs = max((n for _, n in rates.values()), default=0)
        why = f"Too few pairs compared in both orders (n = {pairs:,}, at least {LEAST} needed)."
        if record.version.kind in JUDGES:
            why = "It judges one answer at a time. To compare pairs, its model needs a pairwise judge version."
        return not_measured(NAME, why, command, pairs)
    aspect = max(enough, key=lambda name: half_widths(enough[name], NO_BIAS))
    rate = enough[aspect]
    first, last = surely_above(rate, NO_BIAS), surely_below(rate, NO_BIAS)
    on = f" on {aspect}" if len(rates) > 1 else ""
    bias = "The judge prefers the answer shown first" if first else "The judge prefers the answer shown last"
    if not first and not last:
        bias = "No significant position bias"
    share_of_first = f"{percent_words(rate)} of the verdicts prefer the first answer"
    sentence = f"{bias}{on}: {share_of_first} (ties excluded, {rates[aspect][1]:,} pairs)."
    return Check(NAME, state_of(warns=first or last), rate, sentence, command, share=True)


def _command(record: JudgeRecord) -> str:
    if record.version.kind == RECORDED:
        return "judgeboard import FILE --kind comparisons"
    compare = shlex.join(["judgeboard", "compare", "--pairs", "FILE", "--model", record.version.model or "MODEL"])
    if record.version.kind in JUDGES:
        return f"{compare} && judgeboard health --judge-version {PAIRWISE}"
    return compare
