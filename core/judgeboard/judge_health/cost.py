"""Cost: what is the judge's share of what the answers cost?"""

from judgeboard.judge_health.check import Check, not_measured, state_of
from judgeboard.judge_health.commands import import_log, judge_answers
from judgeboard.judge_health.record import JudgeRecord
from judgeboard.stats.ratio import ratio_of_totals
from judgeboard.stats.words import percent_words

NAME = "cost"
BUDGET = 0.4
"""Above this share of the generator's cost it is noted. Source: "LLM-as-Judge", AI Engineering Patterns (2026)."""
MOST = 1.0
"""Above this share it is warned: to judge costs more than to answer."""


def cost(record: JudgeRecord) -> Check:
    """Warn where judging costs more than the answers did; above 40 % it is noted. One currency is taken for granted."""
    command = judge_answers(record, "--prices FILE") if record.version.model else import_log("generator_cost")
    found = ratio_of_totals(record.costs)
    if found.value is None:
        why = "For no answer both costs are known: the generator's stands in the log, the judge's comes from its price."
        return not_measured(NAME, why, command, record.costs.n)
    said = f"It costs {percent_words(found)} of what the answers cost, on {found.n:,} answers"
    if found.value > MOST:
        said += ": more than the answers themselves. Judge a sample, or use a cheaper judge."
    elif found.value > BUDGET:
        said += f": above the usual {BUDGET:.0%}.".replace("%", " %")
    else:
        said += "."
    return Check(NAME, state_of(warns=found.value > MOST), found, said, command, share=True)
