"""Control answers: does the judge notice what is surely worse, and is it moved by what changes nothing?"""

import numpy as np

from judgeboard.domain import RECORDED, Estimate
from judgeboard.health.commands import make_and_judge
from judgeboard.health.record import MEASURES, Check, JudgeRecord, effect_words, given_by, not_measured, state_of
from judgeboard.methods.control_answers import CONTROL_KINDS, ControlKind, Effect
from judgeboard.stats.arrays import TIE, grouping
from judgeboard.stats.estimates import percent_words, surely_above, surely_below
from judgeboard.stats.means import mean_change
from judgeboard.stats.proportions import superiority
from judgeboard.store.health import ControlScores

LEAST = 30
"""Controls that say anything. Source: "LLM-as-Judge", AI Engineering Patterns (2026), as Judgeboard extends it."""
CHANCE = 0.5
"""A judge that cannot tell original and control apart."""
KNOWN_BAD = tuple(kind for kind in CONTROL_KINDS.values() if kind.lowers)
NEUTRAL = tuple(kind for kind in CONTROL_KINDS.values() if kind.effect is Effect.NEUTRAL)
NAMES = {"passages_reordered": "passage_order", "hedges_removed": "confidence"}
"""What the fault is called that a control shows."""


def known_bad(record: JudgeRecord, kind: ControlKind) -> Check:
    """Warn where the lower 95 % bound of P(original > control) + ½ P(tie) is not above ½: the judge is blind.

    Of the scores the one that this control must lower is read, another one only where the judge does not give it.
    """
    controls = record.controls.get(kind.name, ControlScores())
    measure = _measure(controls, kind)
    rows = controls.judged(measure) if measure else np.zeros(0, dtype=np.bool_)
    n = int(rows.sum())
    if measure is None or n < LEAST:
        return not_measured(kind.name, _too_few(record, controls, n), make_and_judge(record, kind.name), n)
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
        n = max((int(controls.judged(measure).sum()) for measure in given_by(controls.before)), default=0)
        return not_measured(name, _too_few(record, controls, n), command, n)
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


def _too_few(record: JudgeRecord, controls: ControlScores, n: int) -> str:
    recorded = " Have them judged where the verdicts come from, and import those." * (record.version.kind == RECORDED)
    if not controls.made:
        return f"There are no such controls yet.{recorded}"
    return f"It takes {LEAST} controls judged together with their originals, and there are {n:,}.{recorded}"


def _measure(controls: ControlScores, kind: ControlKind) -> str | None:
    wanted = [kind.lowers, *MEASURES] if kind.lowers else list(MEASURES)
    given = given_by(controls.before)
    return next((name for name in wanted if name in given and controls.judged(name).any()), None)


def _change(controls: ControlScores, measure: str) -> Estimate:
    rows = controls.judged(measure)
    groups = grouping(controls.groups[rows], int(rows.sum()))
    return mean_change(controls.before[measure][rows], controls.after[measure][rows], groups)


def _clearness(change: Estimate) -> float:
    """How many half-widths of its interval a change is away from none."""
    if change.value is None or change.low is None or change.high is None or abs(change.value) < TIE:
        return 0.0
    half = (change.high - change.low) / 2
    return abs(change.value) / max(half, TIE)


def _moved(controls: ControlScores, measure: str) -> tuple[int, ...]:
    rows = np.flatnonzero(controls.judged(measure))
    size = np.abs(controls.after[measure][rows] - controls.before[measure][rows])
    order = np.argsort(-size, kind="stable")
    return tuple(int(each) for each in controls.control_ids[rows[order[size[order] > TIE]]])
