"""Self-consistency: does the judge say the same when it is asked the same again?"""

from judgeboard.domain import JURY, RECORDED
from judgeboard.health.commands import judge_answers
from judgeboard.health.record import Check, JudgeRecord, not_applicable, not_measured, state_of
from judgeboard.judges.kinds import OFFLINE
from judgeboard.stats.estimates import percent_words, surely_below
from judgeboard.stats.proportions import share

NAME = "self_consistency"
LEAST = 10
SOUND = 0.9
"""Below this share of answers with equal repeats a single verdict says little. Ours: one answer in ten judged
otherwise the next time is as much as most differences between two systems."""


def self_consistency(record: JudgeRecord) -> Check:
    """Warn where the share of answers on which all repeats give the same is surely below 90 %.

    It is the figure that `judgeboard repeats` leads with, by the same function: of this version's own repeats, on the
    measure with the most answers. Repeats recorded elsewhere have a version for each rubric, and all of them are read.
    """
    n = len(record.repeats.same)
    if record.version.kind in OFFLINE:
        said = f"{record.version.title} is deterministic and says the same every time."
        return not_applicable(NAME, "it is deterministic", said, share=True, n=n)
    if record.version.kind == JURY:
        said = f"{record.version.title} is not asked again: it counts what its members said."
        return not_applicable(NAME, "it asks nobody", said, share=True, n=n)
    recorded = record.version.kind == RECORDED
    command = "judgeboard import FILE --kind repeats" if recorded else judge_answers(record, "--repeats 3")
    if n < LEAST:
        why = f"It takes {LEAST} answers that it was asked about several times, and there are {n:,}."
        return not_measured(NAME, why, command, n)
    found = share(record.repeats.same, record.repeats.groups)
    warns = surely_below(found, SOUND)
    temperature = record.version.params.get("temperature")
    at = "" if temperature is None else f" at temperature {temperature:g}"
    said = f"Asked again{at} it gives the same {record.repeats.measure} on {percent_words(found)} of {n:,} answers."
    if record.repeats.incomplete:
        said += f" Left out: {record.repeats.incomplete:,} without a value in every repeat."
    if temperature == 0:
        said += " At 0 this measures the server more than the judge."
    if warns:
        said += " One verdict alone says little: ask it several times, or let a jury decide."
    unstable = tuple(int(each) for each in record.repeats.response_ids[~record.repeats.same])
    return Check(NAME, state_of(warns=warns), found, said, command, share=True, response_ids=unstable)
