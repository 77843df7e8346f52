"""Unusable verdicts: how often does the judge say nothing that can be used?"""

from judgeboard.domain import Status
from judgeboard.judge_health.check import Check, not_measured, state_of
from judgeboard.judge_health.commands import judge_answers
from judgeboard.judge_health.record import JudgeRecord
from judgeboard.judge_kinds import RECORDED
from judgeboard.stats.alarm import surely_above
from judgeboard.stats.proportions import share_intervals
from judgeboard.stats.words import percent_words

NAME = "unusable"
LEAST = 10
HARMLESS = 0.05
"""Share that may go unjudged. Source: "LLM-as-Judge", AI Engineering Patterns (2026), as the gate of a suite."""


def unusable(record: JudgeRecord) -> Check:
    """Warn where surely more than 5 % of all requests gave no usable verdict."""
    asked = sum(record.asked.values())
    if asked < LEAST:
        why = f"It takes {LEAST} requests, and it was asked {asked:,} times."
        return not_measured(NAME, why, judge_answers(record), asked)
    failed = {status: n for status, n in record.asked.items() if status != Status.OK.value and n}
    found = share_intervals(sum(failed.values()), asked)[0]
    warns = surely_above(found, HARMLESS)
    parts = ", ".join(f"{n:,} {status}" for status, n in sorted(failed.items()))
    said = f"{percent_words(found)} of {asked:,} requests gave no usable verdict" + (f": {parts}." if parts else ".")
    if warns:
        said += " What is missing is seldom missing at random."
    command = judge_answers(record) if record.version.kind == RECORDED else judge_answers(record, "--rejudge failed")
    return Check(NAME, state_of(warns=warns), found, said, command, share=True)
