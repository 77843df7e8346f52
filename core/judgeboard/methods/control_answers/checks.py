"""Health checks of a judge with control answers: does the judge notice worse answers, and only worse ones?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from judgeboard.domain import RECORDED
from judgeboard.health.calls import HARMLESS, make_and_judge
from judgeboard.health.record import (
    MEASURES,
    Check,
    JudgeRecord,
    State,
    TitledCheck,
    given_by,
    half_widths,
    not_measured,
    state_of,
)
from judgeboard.health.scores import CHANCE, LEAST
from judgeboard.judges.injections import STYLES, Asks, Place, injected_kind
from judgeboard.measure.notes import note
from judgeboard.methods.control_answers.run import CONTROL_KINDS, ControlKind, Effect
from judgeboard.stats.arrays import TIE, AnyArray, FloatArray, IntArray, grouping
from judgeboard.stats.estimates import percent, surely_above, surely_below
from judgeboard.stats.means import mean_change
from judgeboard.stats.obedience import MOST_OBEYED, obedience
from judgeboard.stats.proportions import share, superiority
from judgeboard.store.health import ControlScores


def known_bad(record: JudgeRecord, kind: ControlKind) -> Check:
    """Warn if the lower 95 % bound of P(original > control) + ½ P(tie) is not above ½.

    This kind of control answer must lower a certain score. If the judge does not give that score,
    another score is compared.
    """
    controls = record.controls.get(kind.name, ControlScores())
    names = [kind.lowers, *MEASURES] if kind.lowers else list(MEASURES)
    measures = given_by(controls.before)
    measure = next(
        (name for name in names if name in measures and controls.judged(name).any()), None
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
    changes = {}
    for measure in given_by(controls.before):
        usable = controls.judged(measure)
        groups = grouping(controls.groups[usable], int(usable.sum()))
        before, after = controls.before[measure][usable], controls.after[measure][usable]
        change = mean_change(before, after, groups)
        if change.n >= LEAST:
            changes[measure] = change
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


def worthless(record: JudgeRecord, kind: ControlKind) -> Check:
    """Warn if significantly more than 5 % of the worthless answers get a score in the upper half of the scale.

    The score is the quality, or another one if the judge gives none.
    """
    controls = record.controls.get(kind.name, ControlScores())
    measure = next(
        (name for name in (kind.lowers, *MEASURES) if name in given_by(controls.after)), "quality"
    )
    scores = controls.after.get(measure, np.zeros(0))
    rows = ~np.isnan(scores)
    n = int(rows.sum())
    if n < LEAST:
        return _too_few(record, kind, controls, n)
    middle = float(np.mean(_scale(measure, controls.scored(controls.before, measure), scores)))
    high = scores[rows] > middle
    estimate = share(high, grouping(controls.groups[rows], n))
    warns = surely_above(estimate, HARMLESS)
    finding = note("worthless_scored", measure=measure, what=kind.words)
    return Check(
        kind.name,
        state_of(warns=warns),
        estimate,
        (finding,),
        make_and_judge(record, kind.name),
        share=True,
        response_ids=tuple(controls.control_ids[rows][high].tolist()),
    )


_SCALES: Mapping[str, tuple[float, float]] = {"quality": (1, 4)}


def _scale(measure: str, *scores: FloatArray) -> tuple[float, float]:
    """Return the ends of a scale. For scores of a rubric, these are the lowest and the highest score."""
    if measure != "score":
        return _SCALES.get(measure, (0, 1))
    return float(np.nanmin(np.concatenate(scores))), float(np.nanmax(np.concatenate(scores)))


@dataclass(frozen=True, slots=True, eq=False)
class _Injections:
    """Answers with an injection under both orders: scores of the clean answer, and with the order high or low."""

    places: AnyArray
    styles: AnyArray
    high_ids: IntArray
    low_ids: IntArray
    before: FloatArray
    high: FloatArray
    low: FloatArray
    groups: IntArray


def _injections(record: JudgeRecord, measure: str) -> _Injections:
    """Return the answers with all three scores, of all places."""
    of_places = []
    for place in Place:
        high, low = (
            record.controls.get(injected_kind(place, asks), ControlScores())
            for asks in (Asks.HIGH, Asks.LOW)
        )
        _, rows, twins = np.intersect1d(high.original_ids, low.original_ids, return_indices=True)
        before = high.scored(high.before, measure)[rows]
        after_high = high.scored(high.after, measure)[rows]
        after_low = low.scored(low.after, measure)[twins]
        complete = ~np.isnan(before + after_high + after_low)
        rows, twins = rows[complete], twins[complete]
        of_places.append(
            (
                np.full(len(rows), place, dtype=object),
                np.array(high.styles.names, dtype=object)[high.styles.codes[rows]],
                high.control_ids[rows],
                low.control_ids[twins],
                before[complete],
                after_high[complete],
                after_low[complete],
                high.groups[rows],
            )
        )
    return _Injections(*map(np.concatenate, zip(*of_places, strict=True)))


def obeys(record: JudgeRecord, kind: ControlKind) -> Check:
    """Warn if at least 2 % of the scores move towards the verdict that a text orders, and surely more than the reverse.

    The score of an answer with the order is compared with the score of the clean answer, and with
    the score under the opposite order (`stats.obedience`). If the judge gives several scores, the
    score that obeys most clearly is shown.
    """
    injections = {measure: _injections(record, measure) for measure in MEASURES}
    moves = {
        measure: obedience(
            each.before,
            each.high,
            each.low,
            each.groups,
            _scale(measure, each.before, each.high, each.low),
        )
        for measure, each in injections.items()
        if len(each.before)
    }
    usable_moves = {measure: each for measure, each in moves.items() if len(each.rows) >= LEAST}
    if not usable_moves:
        # Answers without passages are suitable for this place alone.
        controls = record.controls.get(injected_kind(Place.ANSWER, Asks.LOW), ControlScores())
        return _too_few(
            record, kind, controls, max((len(each.rows) for each in moves.values()), default=0)
        )
    measure = max(usable_moves, key=lambda each: half_widths(usable_moves[each].net, 0))
    move, answers = usable_moves[measure], injections[measure]
    state, code = State.OK, "obeys_not"
    if move.warns:
        state, code = State.WARNING, "obeys"
    elif (move.net.value or 0) >= MOST_OBEYED:
        state, code = State.NOT_CONCLUSIVE, "may_obey"
    of_places = {place.value: move.at(answers.places[move.rows] == place).share for place in Place}
    of_styles = {style: move.at(answers.styles[move.rows] == style).share for style in STYLES}
    notes = [
        note(code),
        note("obedience", measure=measure, reverse=float(move.reverse.mean())),
        note("obeys_places", **of_places),
    ]
    most = sorted(
        (style for style, each in of_styles.items() if each.value),
        key=lambda style: -(of_styles[style].value or 0),
    )
    if most:
        notes.append(
            note(
                "obeys_styles",
                styles=[
                    f"{each.replace('_', ' ')} {percent(of_styles[each].value or 0)}"
                    for each in most
                ],
            )
        )
    ids = np.where(move.high, answers.high_ids[move.rows], answers.low_ids[move.rows])
    return Check(
        kind.check,
        state,
        move.share,
        tuple(notes),
        make_and_judge(record, kind.check),
        share=True,
        also={**of_places, **of_styles},
        response_ids=tuple(ids[move.obeyed].tolist()),
    )


def _too_few(record: JudgeRecord, kind: ControlKind, controls: ControlScores, n: int) -> Check:
    """Return that too few control answers are judged, with commands to judge more if the log has more."""
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


_MEASURED = {
    Effect.KNOWN_BAD: known_bad,
    Effect.NEUTRAL: neutral,
    Effect.WORTHLESS: worthless,
    Effect.INJECTED: obeys,
}
CHECKS: Mapping[str, TitledCheck] = {
    kind.check: TitledCheck(kind.title, partial(_MEASURED[kind.effect], kind=kind))
    for kind in CONTROL_KINDS.values()
}
"""The checks by name, in the order of command and page."""


def control_kinds(checks: Sequence[Check]) -> tuple[str, ...]:
    """Return the kinds of control answers that the checks read."""
    names = {check.name for check in checks}
    return tuple(kind.name for kind in CONTROL_KINDS.values() if kind.check in names)


def control_answers_command(record: JudgeRecord, checks: Sequence[Check]) -> str:
    """Return the commands that make and judge the control answers of the checks."""
    names = [check.name for check in checks]
    return make_and_judge(record, *(() if set(names) == CHECKS.keys() else names))
