"""Health checks of a judge with control answers: does it notice those that are worse, and only those?"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from judgeboard.domain import RECORDED, Estimate
from judgeboard.health.calls import make_and_judge
from judgeboard.health.record import (
    MEASURES,
    Check,
    JudgeRecord,
    TitledCheck,
    given_by,
    half_widths,
    not_measured,
    state_of,
)
from judgeboard.health.scores import CHANCE, LEAST
from judgeboard.measure.notes import note
from judgeboard.methods.control_answers.run import CONTROL_KINDS, ControlKind, Effect
from judgeboard.stats.arrays import TIE, grouping
from judgeboard.stats.estimates import surely_above, surely_below
from judgeboard.stats.means import mean_change
from judgeboard.stats.proportions import superiority
from judgeboard.store.health import ControlScores

KNOWN_BAD = tuple(kind for kind in CONTROL_KINDS.values() if kind.lowers)
NEUTRAL = tuple(kind for kind in CONTROL_KINDS.values() if kind.effect is Effect.NEUTRAL)


def known_bad(record: JudgeRecord, kind: ControlKind) -> Check:
    """Warn if the lower 95 % bound of P(original > control) + ½ P(tie) is not above ½.

    This kind of control answer must lower a certain score. If the judge does not give it, another
    score is compared.
    """
    controls = record.controls.get(kind.name, ControlScores())
    wanted = [kind.lowers, *MEASURES] if kind.lowers else list(MEASURES)
    measures = given_by(controls.before)
    measure = next(
        (name for name in wanted if name in measures and controls.judged(name).any()), None
    )
    rows = controls.judged(measure) if measure else np.zeros(0, dtype=np.bool_)
    n = int(rows.sum())
    if measure is None or n < LEAST:
        return _too_few(record, kind, controls, n)
    before, after = controls.before[measure][rows], controls.after[measure][rows]
    estimate = superiority(before, after, grouping(controls.groups[rows], n))
    warns = estimate.low is None or estimate.low <= CHANCE
    finding = note(
        "control_unnoticed" if warns else "control_noticed", what=kind.words, measure=measure
    )
    unnoticed = np.argsort(before - after, kind="stable")
    unnoticed = unnoticed[(before - after)[unnoticed] <= TIE]
    ids = tuple(controls.control_ids[rows][unnoticed].tolist())
    command = make_and_judge(record, kind.name)
    return Check(
        kind.name,
        state_of(warns=warns),
        estimate,
        (finding,),
        command,
        share=True,
        response_ids=ids,
    )


def neutral(record: JudgeRecord, kind: ControlKind) -> Check:
    """Warn if the mean change of a score is significantly different from 0.

    Extended from "LLM-as-Judge", AI Engineering Patterns (2026). The interval is the 99 % interval
    (`stats.alarm`). If there are several scores, the one with the clearest change is shown.
    """
    name = kind.check
    controls = record.controls.get(kind.name, ControlScores())
    changes = {measure: _change(controls, measure) for measure in given_by(controls.before)}
    changes = {measure: change for measure, change in changes.items() if change.n >= LEAST}
    if not changes:
        n = max(
            (int(controls.judged(measure).sum()) for measure in given_by(controls.before)),
            default=0,
        )
        return _too_few(record, kind, controls, n)
    measure = max(changes, key=lambda each: half_widths(changes[each], 0))
    change = changes[measure]
    warns = surely_above(change, 0) or surely_below(change, 0)
    finding = note(
        "control_scored_differently" if warns else "control_scored_alike",
        what=kind.words,
        measure=measure,
    )
    command = make_and_judge(record, kind.name)
    rows = np.flatnonzero(controls.judged(measure))
    size = np.abs(controls.after[measure][rows] - controls.before[measure][rows])
    order = np.argsort(-size, kind="stable")
    return Check(
        name,
        state_of(warns=warns),
        change,
        (finding,),
        command,
        response_ids=tuple(
            int(each) for each in controls.control_ids[rows[order[size[order] > TIE]]]
        ),
    )


def _too_few(record: JudgeRecord, kind: ControlKind, controls: ControlScores, n: int) -> Check:
    """Return that too few control answers are judged, with the commands that judge more if the log has more."""
    if controls.suitable is not None and controls.suitable < LEAST:
        return not_measured(
            kind.check, None, note("few_suitable", n=controls.suitable, least=LEAST), n=n
        )
    why = [
        note("few_control_verdicts", n=n, least=LEAST)
        if controls.made
        else note("no_control_answers")
    ]
    if record.version.kind == RECORDED:
        why.append(note("import_control_verdicts"))
    return not_measured(kind.check, make_and_judge(record, kind.name), *why, n=n)


def _change(controls: ControlScores, measure: str) -> Estimate:
    rows = controls.judged(measure)
    groups = grouping(controls.groups[rows], int(rows.sum()))
    return mean_change(controls.before[measure][rows], controls.after[measure][rows], groups)


CHECKS: Mapping[str, TitledCheck] = {
    kind.check: TitledCheck(
        kind.title, partial(neutral if kind in NEUTRAL else known_bad, kind=kind)
    )
    for kind in (*KNOWN_BAD, *NEUTRAL)
}
"""The checks by name, in the order of command and page."""

_KINDS = {kind.check: kind.name for kind in CONTROL_KINDS.values()}


def control_kinds(checks: Sequence[Check]) -> tuple[str, ...]:
    """Return the kinds of control answers that these checks read."""
    return tuple(_KINDS[check.name] for check in checks)


def control_answers_command(record: JudgeRecord, checks: Sequence[Check]) -> str:
    """Return the commands that make the control answers of these checks and judge them."""
    kinds = control_kinds(checks)
    return make_and_judge(record, *(() if set(kinds) == CONTROL_KINDS.keys() else kinds))
