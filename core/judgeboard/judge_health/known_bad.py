"""Known-bad controls: does the judge notice what is surely worse?"""

import numpy as np

from judgeboard.judge_health.check import Check, not_measured, state_of
from judgeboard.judge_health.commands import make_and_judge
from judgeboard.judge_health.record import MEASURES, ControlScores, JudgeRecord, given_by
from judgeboard.judge_kinds import RECORDED
from judgeboard.methods.control_kinds import CONTROL_KINDS, ControlKind
from judgeboard.stats.arrays import TIE, BoolArray
from judgeboard.stats.grouping import grouping
from judgeboard.stats.superiority import superiority
from judgeboard.stats.words import percent_words

LEAST = 30
"""Controls that say anything. Source: "LLM-as-Judge", AI Engineering Patterns (2026), as Judgeboard extends it."""
CHANCE = 0.5
"""A judge that cannot tell original and control apart."""


def known_bad(record: JudgeRecord, kind: ControlKind) -> Check:
    """Warn where the lower 95 % bound of P(original > control) + ½ P(tie) is not above ½: the judge is blind.

    Of the scores the one that this control must lower is read, another one only where the judge does not give it.
    """
    controls = record.controls.get(kind.name, ControlScores())
    measure = _measure(controls, kind)
    rows = _both(controls, measure) if measure else np.zeros(0, dtype=np.bool_)
    n = int(rows.sum())
    if measure is None or n < LEAST:
        return not_measured(kind.name, too_few(record, controls, n), make_and_judge(record, kind.name), n)
    before, after = controls.before[measure][rows], controls.after[measure][rows]
    found = superiority(before, after, grouping(controls.groups[rows], n))
    warns = found.low is None or found.low <= CHANCE
    told = f"{measure} is lower than that of the original in {percent_words(found)} of {n:,} (ties half)"
    said = (
        f"It is blind to {kind.words}: {told}, which is no better than chance."
        if warns
        else f"It notices {kind.words}: {told}."
    )
    unnoticed = np.argsort(before - after, kind="stable")
    unnoticed = unnoticed[(before - after)[unnoticed] <= TIE]
    ids = tuple(int(each) for each in controls.control_ids[rows][unnoticed])
    command = make_and_judge(record, kind.name)
    return Check(kind.name, state_of(warns=warns), found, said, command, share=True, response_ids=ids)


def too_few(record: JudgeRecord, controls: ControlScores, n: int) -> str:
    """Say why controls of a kind tell nothing yet."""
    recorded = " Have them judged where the verdicts come from, and import those." * (record.version.kind == RECORDED)
    if not controls.made:
        return f"There are no such controls yet.{recorded}"
    return f"It takes {LEAST} controls judged together with their originals, and there are {n:,}.{recorded}"


def _measure(controls: ControlScores, kind: ControlKind) -> str | None:
    wanted = [kind.lowers, *MEASURES] if kind.lowers else list(MEASURES)
    given = given_by(controls.before)
    return next((name for name in wanted if name in given and _both(controls, name).any()), None)


def _both(controls: ControlScores, measure: str) -> BoolArray:
    return ~np.isnan(controls.before[measure]) & ~np.isnan(controls.after[measure])


KNOWN_BAD = tuple(kind for kind in CONTROL_KINDS.values() if kind.lowers)
