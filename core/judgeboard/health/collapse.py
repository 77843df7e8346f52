"""Score collapse: whether the judge uses its scale."""

from judgeboard.health.commands import judge_answers, make_and_judge
from judgeboard.health.record import Check, JudgeRecord, not_measured, state_of
from judgeboard.stats.estimates import percent, two_decimals
from judgeboard.stats.proportions import LevelUse, level_use

NAME = "collapse"
LEAST = 30
"""Minimum number of scores. Source of all three: "LLM-as-Judge", AI Engineering Patterns (2026), rubric inflation."""
LARGEST_LEVEL = 0.8
"""Maximum share of one level."""
LEAST_ENTROPY = 0.35
"""Minimum entropy, as a share of log(levels)."""


def collapse(record: JudgeRecord) -> Check:
    """Warn if one level has more than 80 % of the scores, or their entropy is below 0.35 of log(levels)."""
    uses = _uses(record)
    worst = least_even(record)
    if worst is None:
        n = max((int(levels.counts.sum()) for levels in record.levels.values()), default=0)
        why = f"Too few scores (n = {n:,}, at least {LEAST} needed)." if n else "It has scored no logged answer."
        return not_measured(NAME, why, judge_answers(record), n)
    use, names = uses[worst], record.levels[worst].names
    warns = _collapsed(use)
    sentence = (
        f"{percent(use.most.value or 0)} of {use.most.n:,} scores of {worst} are {names[use.level]}; "
        f"their entropy is {two_decimals(use.entropy)} of the maximum. "
    )
    sentence += (
        "The judge hardly distinguishes answers. Test it with control answers, whose quality is known."
        if warns
        else "The judge uses its scale."
    )
    command = make_and_judge(record, "other_answer") if warns else judge_answers(record)
    return Check(NAME, state_of(warns=warns), use.most, sentence, command, share=True)


def least_even(record: JudgeRecord) -> str | None:
    """Return the score that the check shows: the least evenly used one; None if there are too few of each."""
    uses = _uses(record)
    return max(uses, key=lambda measure: (_collapsed(uses[measure]), -uses[measure].entropy)) if uses else None


def _uses(record: JudgeRecord) -> dict[str, LevelUse]:
    return {
        measure: level_use(levels.counts)
        for measure, levels in record.levels.items()
        if int(levels.counts.sum()) >= LEAST and len(levels.counts) > 1
    }


def _collapsed(use: LevelUse) -> bool:
    return (use.most.value or 0) > LARGEST_LEVEL or use.entropy < LEAST_ENTROPY
