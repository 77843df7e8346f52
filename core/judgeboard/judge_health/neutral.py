"""Neutral controls: is the judge moved by what changes nothing?"""

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.judge_health.check import Check, effect_words, not_measured, state_of
from judgeboard.judge_health.commands import make_and_judge
from judgeboard.judge_health.known_bad import LEAST, too_few
from judgeboard.judge_health.record import ControlScores, JudgeRecord, given_by
from judgeboard.methods.control_kinds import CONTROL_KINDS, ControlKind, Effect
from judgeboard.stats.alarm import surely_above, surely_below
from judgeboard.stats.arrays import TIE, BoolArray
from judgeboard.stats.differences import mean_change
from judgeboard.stats.grouping import grouping

NAMES = {"passages_reordered": "passage_order", "hedges_removed": "confidence"}
"""What the fault is called that a control shows."""


def neutral(record: JudgeRecord, kind: ControlKind) -> Check:
    """Warn where the mean change of a score lies beyond its interval: such a control sways the judge.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026), as Judgeboard extends it; the interval is that at 99 %
    (`stats.alarm`). Of several scores the one that is moved most clearly is shown.
    """
    name = NAMES.get(kind.name, kind.name)
    controls = record.controls.get(kind.name, ControlScores())
    changes = {measure: _change(controls, measure) for measure in given_by(controls.before)}
    changes = {measure: change for measure, change in changes.items() if change.n >= LEAST}
    command = make_and_judge(record, kind.name)
    if not changes:
        n = max((int(_both(controls, measure).sum()) for measure in given_by(controls.before)), default=0)
        return not_measured(name, too_few(record, controls, n), command, n)
    measure = max(changes, key=lambda each: _clearness(changes[each]))
    change = changes[measure]
    warns = surely_above(change, 0) or surely_below(change, 0)
    moved = f"{measure} changes by {effect_words(change)} on average over {change.n:,} controls"
    said = (
        f"It is swayed by {kind.words}, though they say the same: {moved}."
        if warns
        else f"It is not surely swayed by {kind.words}: {moved}."
    )
    return Check(name, state_of(warns=warns), change, said, command, response_ids=_moved(controls, measure))


def _both(controls: ControlScores, measure: str) -> BoolArray:
    return ~np.isnan(controls.before[measure]) & ~np.isnan(controls.after[measure])


def _change(controls: ControlScores, measure: str) -> Estimate:
    rows = _both(controls, measure)
    groups = grouping(controls.groups[rows], int(rows.sum()))
    return mean_change(controls.before[measure][rows], controls.after[measure][rows], groups)


def _clearness(change: Estimate) -> float:
    """How many half-widths of its interval a change is away from none."""
    if change.value is None or change.low is None or change.high is None or abs(change.value) < TIE:
        return 0.0
    half = (change.high - change.low) / 2
    return abs(change.value) / max(half, TIE)


def _moved(controls: ControlScores, measure: str) -> tuple[int, ...]:
    rows = np.flatnonzero(_both(controls, measure))
    size = np.abs(controls.after[measure][rows] - controls.before[measure][rows])
    order = np.argsort(-size, kind="stable")
    return tuple(int(each) for each in controls.control_ids[rows[order[size[order] > TIE]]])


NEUTRAL = tuple(kind for kind in CONTROL_KINDS.values() if kind.effect is Effect.NEUTRAL)
