"""Self-consistency: whether repeats of the judge agree."""

from judgeboard.domain import JURY, RECORDED
from judgeboard.health.commands import judge_answers
from judgeboard.health.record import Check, JudgeRecord, not_applicable, not_measured, state_of
from judgeboard.judges.kinds import OFFLINE
from judgeboard.stats.estimates import percent_words, surely_below
from judgeboard.stats.proportions import share

NAME = "self_consistency"
LEAST = 10
SOUND = 0.9
"""Minimum share of answers with equal repeats. Ours: one answer in ten with another verdict is as much as most
differences between two systems."""


def self_consistency(record: JudgeRecord) -> Check:
    """Warn if the share of answers with equal values in all repeats is significantly below 90 %.

    It is the first figure of `judgeboard repeats`, from the same function: this version's repeats, on the measure with
    the most answers. Recorded repeats have a version per rubric; all of them are read.
    """
    n = len(record.repeats.same)
    if record.version.kind in OFFLINE:
        sentence = f"{record.version.title} is deterministic."
        return not_applicable(NAME, "it is deterministic", sentence, share=True, n=n)
    if record.version.kind == JURY:
        sentence = f"{record.version.title} makes no calls: it combines the verdicts of its members."
        return not_applicable(NAME, "it makes no calls", sentence, share=True, n=n)
    recorded = record.version.kind == RECORDED
    command = "judgeboard import FILE --kind repeats" if recorded else judge_answers(record, "--repeats 3")
    if n < LEAST:
        why = f"Too few answers with repeats (n = {n:,}, at least {LEAST} needed)."
        return not_measured(NAME, why, command, n)
    estimate = share(record.repeats.same, record.repeats.groups)
    warns = surely_below(estimate, SOUND)
    temperature = record.version.params.get("temperature")
    at = "" if temperature is None else f" at temperature {temperature:g}"
    sentence = f"Repeats{at} give the same {record.repeats.measure} on {percent_words(estimate)} of {n:,} answers."
    if record.repeats.incomplete:
        sentence += f" Left out: {record.repeats.incomplete:,} without a value in every repeat."
    if temperature == 0:
        sentence += " At temperature 0 this measures the server more than the judge."
    if warns:
        sentence += " A single verdict is not reliable. Combine several repeats, or use a jury."
    unstable = tuple(int(each) for each in record.repeats.response_ids[~record.repeats.same])
    return Check(NAME, state_of(warns=warns), estimate, sentence, command, share=True, response_ids=unstable)
