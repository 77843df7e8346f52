"""What a judge's requests come to: verdicts that cannot be used, and costs."""

from judgeboard.domain import Status
from judgeboard.judge_health.check import Check, not_measured, state_of
from judgeboard.judge_health.commands import import_log, judge_answers
from judgeboard.judge_health.record import JudgeRecord
from judgeboard.judge_kinds import RECORDED
from judgeboard.stats.alarm import surely_above
from judgeboard.stats.proportions import share_intervals
from judgeboard.stats.ratio import ratio_of_totals
from judgeboard.stats.words import percent_words

LEAST = 10
HARMLESS = 0.05
"""Share that may go unjudged. Source: "LLM-as-Judge", AI Engineering Patterns (2026), as the gate of a suite."""
BUDGET = 0.4
"""Above this share of the generator's cost it is noted. Source: "LLM-as-Judge", AI Engineering Patterns (2026)."""
MOST = 1.0
"""Above this share it is warned: to judge costs more than to answer."""


def unusable(record: JudgeRecord) -> Check:
    """Warn where surely more than 5 % of all requests gave no usable verdict."""
    asked = sum(record.asked.values())
    if asked < LEAST:
        why = f"It takes {LEAST} requests, and it was asked {asked:,} times."
        return not_measured("unusable", why, judge_answers(record), asked)
    failed = {status: n for status, n in record.asked.items() if status != Status.OK.value and n}
    found = share_intervals(sum(failed.values()), asked)[0]
    warns = surely_above(found, HARMLESS)
    parts = ", ".join(f"{n:,} {status}" for status, n in sorted(failed.items()))
    said = f"{percent_words(found)} of {asked:,} requests gave no usable verdict" + (f": {parts}." if parts else ".")
    if warns:
        said += " What is missing is seldom missing at random."
    command = judge_answers(record) if record.version.kind == RECORDED else judge_answers(record, "--rejudge failed")
    return Check("unusable", state_of(warns=warns), found, said, command, share=True)


def cost(record: JudgeRecord) -> Check:
    """Warn where judging costs more than the answers did; above 40 % it is noted. One currency is taken for granted."""
    command = judge_answers(record, "--prices FILE") if record.version.model else import_log("generator_cost")
    found = ratio_of_totals(record.costs)
    if found.value is None:
        why = "For no answer both costs are known: the generator's stands in the log, the judge's comes from its price."
        return not_measured("cost", why, command, record.costs.n)
    said = f"It costs {percent_words(found)} of what the answers cost, on {found.n:,} answers"
    if found.value > MOST:
        said += ": more than the answers themselves. Judge a sample, or use a cheaper judge."
    elif found.value > BUDGET:
        said += f": above the usual {BUDGET:.0%}.".replace("%", " %")
    else:
        said += "."
    return Check("cost", state_of(warns=found.value > MOST), found, said, command, share=True)
