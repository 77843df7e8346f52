"""Score collapse: does the judge use its scale?"""

from judgeboard.health.commands import judge_answers, make_and_judge
from judgeboard.health.record import Check, JudgeRecord, not_measured, state_of
from judgeboard.stats.estimates import percent
from judgeboard.stats.proportions import LevelUse, level_use

NAME = "collapse"
LEAST = 30
"""Scores that say anything. Source of all three: "LLM-as-Judge", AI Engineering Patterns (2026), rubric inflation."""
LARGEST_LEVEL = 0.8
"""Above this share one level holds almost everything."""
LEAST_ENTROPY = 0.35
"""Below this share of log(levels) the levels say almost nothing."""


def collapse(record: JudgeRecord) -> Check:
    """Warn where one level holds more than 80 % of the scores, or their entropy is below 0.35 of log(levels).

    Of several scores the one that is used least evenly is shown. No scale is exempt, one of two levels neither.
    """
    uses = _uses(record)
    worst = least_even(record)
    if worst is None:
        n = max((int(levels.counts.sum()) for levels in record.levels.values()), default=0)
        why = f"It takes {LEAST} scores, and there are {n:,}." if n else "It has scored no answer of the log."
        return not_measured(NAME, why, judge_answers(record), n)
    use, names = uses[worst], record.levels[worst].names
    warns = _collapsed(use)
    said = (
        f"{percent(use.most.value or 0)} of {use.most.n:,} scores of {worst} are {names[use.level]}; "
        f"their entropy is {use.entropy:.2f} of the highest possible. "
    )
    said += (
        "It hardly tells answers apart: ask it about controls, which are surely different."
        if warns
        else "It uses its scale."
    )
    command = make_and_judge(record, "other_answer") if warns else judge_answers(record)
    return Check(NAME, state_of(warns=warns), use.most, said, command, share=True)


def least_even(record: JudgeRecord) -> str | None:
    """Return the score of which the check speaks: the one used least evenly, None where there are too few of each."""
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
